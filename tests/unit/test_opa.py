"""OPA: what a server may do wrong, pushing, judging by it, and the users' own packages."""

import io
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fake_opa import FakeOpa
from gpuvet.admission.app import Webhook
from gpuvet.admission.certificates import make_certificates
from gpuvet.admission.install import Plan, manifests, webhook_configuration
from gpuvet.admission.metrics import Metrics
from gpuvet.admission.review import review
from gpuvet.admission.state import RuleWatch, load_state
from gpuvet.cli.main import main
from gpuvet.cli.outside import outside
from gpuvet.engine.context import EmptyContext
from gpuvet.generate.packages import packages_of
from gpuvet.manifests.reader import read
from gpuvet.opa.connection import Access, Connection
from gpuvet.opa.items import NotAnItemError, items_of, path_of
from gpuvet.opa.packages import Packages
from gpuvet.opa.push import FOLDER, MARK, policies_of, push
from gpuvet.settings.config import load_settings
from gpuvet.values.errors import ConfigError, EngineError, UsageError

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  containers:
    - name: main
      image: i
      resources:
        limits:
          tke.cloud.tencent.com/qgpu-core: "33"
"""
SMALL = {
    "tables.rego": "package gpuvet.tables\n\nfacts := {}\n",
    "lib.rego": "package gpuvet.lib\n\nimport data.gpuvet.tables\n\none := 1\n",
    "subjects.rego": "package gpuvet.lib\n\nimport data.gpuvet.tables\n\ntwo := 2\n",
    "qgpu.rego": "# GENERATED\npackage gpuvet\n\nimport data.gpuvet.lib\n\nrules.QG004 := {}\n",
    "verdict.rego": "package gpuvet\n\nimport data.gpuvet.lib\n\nverdict := set()\n",
    "lib_test.rego": "package gpuvet.lib_test\n",
}


@pytest.fixture
def opa() -> Iterator[FakeOpa]:
    with FakeOpa() as server:
        server.data["gpuvet/rules"] = lambda _: {"QG004": {"severity": "error"}}
        server.data["gpuvet/verdict"] = lambda _: []
        yield server


def connection(opa: FakeOpa, **rest: Any) -> Connection:
    return Connection(Access(opa.url, **{"timeout": 2.0, **rest}))


def failure(opa: FakeOpa, **rest: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        connection(opa, **rest).ask("gpuvet", "rules", {})
    assert "\n" not in str(caught.value)
    return caught.value


# A server that does wrong.


def test_nobody_listens() -> None:
    with FakeOpa() as server:
        url = server.url
    with pytest.raises(EngineError, match=r"cannot be reached: Connection refused; is it running\?") as caught:
        Connection(Access(url)).packages()
    assert caught.value.lasting


def test_no_such_host() -> None:
    with pytest.raises(EngineError) as caught:
        Connection(Access("http://no-such-host.invalid:8181")).packages()
    assert caught.value.reason == "unreachable"


def test_a_slow_server(opa: FakeOpa) -> None:
    opa.hook = lambda *_: time.sleep(10)  # type: ignore[func-returns-value]
    start = time.monotonic()
    assert "did not answer within 0.2 seconds" in str(failure(opa, timeout=0.2))
    assert time.monotonic() - start < 5


def test_a_server_that_sends_a_byte_now_and_then(opa: FakeOpa) -> None:
    """Each byte comes in time; all of them together never do."""
    opa.drip = 0.05
    opa.data["gpuvet/rules"] = lambda _: "x" * 200
    start = time.monotonic()
    assert failure(opa, timeout=0.5).reason == "timeout"
    assert time.monotonic() - start < 5


def test_a_token_is_wanted_or_refused(opa: FakeOpa, tmp_path: Path) -> None:
    opa.token = "right"
    assert "wants a token: name its file (HTTP 401)" in str(failure(opa))
    file = tmp_path / "token"
    file.write_text("wrong\n")
    assert f"refuses the token of {file}" in str(failure(opa, token_file=file))
    asked = connection(opa, token_file=file)
    file.write_text("right\n")
    assert asked.ask("gpuvet", "rules", {}) == {"QG004": {"severity": "error"}}
    file.write_text("")
    assert "holds no token" in str(failure(opa, token_file=file))


def test_tls_must_be_trusted(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["127.0.0.1"])
    with FakeOpa().secure(tmp_path) as server:
        server.data["gpuvet/rules"] = lambda _: {}
        error = failure(server)
        assert error.reason == "tls"
        assert "name the CA" in str(error)
        assert connection(server, ca=tmp_path / "ca.crt").ask("gpuvet", "rules", {}) == {}
        plain = Connection(Access(server.url.replace("https", "http")))
        with pytest.raises(EngineError):
            plain.packages()


def test_the_environment_changes_nothing(opa: FakeOpa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    assert connection(opa).ask("gpuvet", "rules", {})


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, b"<html>welcome</html>", "answers nonsense: HTTP 200 and no JSON; is it an OPA server?"),
        (200, b"[]", "answers nonsense: JSON, but no object"),
        (200, b"", "answers nonsense"),
        (302, b"http://elsewhere/", "sends us on to http://elsewhere/"),
        (404, b"not found", "answers nonsense: HTTP 404 and no JSON"),
        (500, b'{"code": "internal_error", "message": "e", "errors": [{"message": "conflict"}]}', "failed: conflict"),
        (500, b'{"code": "internal_error", "message": "broken"}', "failed: broken"),
        (400, b"{}", "failed: it does not say why"),
    ],
)
def test_nonsense(opa: FakeOpa, status: int, body: bytes, words: str) -> None:
    opa.hook = lambda *_: (status, body)
    assert words in str(failure(opa))


@pytest.mark.parametrize("body", [b'{"result": 1}', b'{"result": [1]}', b'{"result": [{"id": "x", "ast": {"package": {"path": [{}]}}}]}'])
def test_nonsense_for_a_list_of_policies(opa: FakeOpa, body: bytes) -> None:
    opa.hook = lambda *_: (200, body)
    with pytest.raises(EngineError, match="nonsense"):
        connection(opa).packages()


@pytest.mark.parametrize("url", ["localhost:8181", "ftp://x", "http://", "http://x:99999", "http://user:secret@x", "http://x/?a=b"])
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="not the URL of an OPA server"):
        Connection(Access(url))


def test_a_path_before_the_api(opa: FakeOpa) -> None:
    opa.hook = lambda _, path, __: (200, b'{"result": 7}') if path.startswith("/opa/v1/data/a/b") else (404, b"{}")
    assert Connection(Access(f"{opa.url}/opa/")).ask("a.b", None, {}) == 7


def test_a_connection_that_was_closed_meanwhile_is_made_anew(opa: FakeOpa) -> None:
    asked = connection(opa)
    for _ in range(3):
        assert asked.ask("gpuvet", "rules", {})
        opa.hook = None


# Push.


def test_one_policy_a_package() -> None:
    policies = policies_of(packages_of(SMALL))
    assert sorted(policies) == [f"{FOLDER}{name}.rego" for name in ("facts", "library", "rules")]
    assert policies["gpuvet/library.rego"] == f"{MARK}package gpuvet.lib\n\nimport data.gpuvet.tables\n\none := 1\n\ntwo := 2\n"
    assert policies["gpuvet/rules.rego"].count("import data.gpuvet.lib") == 1


def test_push_twice(opa: FakeOpa) -> None:
    opa.policies["mine"] = "package mine\n"
    policies = policies_of(packages_of(SMALL))
    first = push(connection(opa), policies, ["QG004"])
    assert (sorted(first.written), first.removed, first.rules) == (sorted(policies), (), 1)
    opa.requests.clear()
    second = push(connection(opa), policies, ["QG004"])
    assert (second.written, second.removed, sorted(second.unchanged)) == ((), (), sorted(policies))
    assert {method for method, _ in opa.requests} == {"GET", "POST"}
    assert opa.policies["mine"] == "package mine\n"


def test_what_is_no_longer_shipped_goes_and_what_is_not_ours_stays(opa: FakeOpa) -> None:
    opa.policies = {
        "gpuvet/old.rego": f"{MARK}package gpuvet.old\n",
        "gpuvet/theirs.rego": "package company\n",
        "other": f"{MARK}package other\n",
    }
    done = push(connection(opa), policies_of(packages_of(SMALL)), ["QG004"])
    assert done.removed == ("gpuvet/old.rego",)
    assert {"gpuvet/theirs.rego", "other"} <= opa.policies.keys()


@pytest.mark.parametrize(("name", "text"), [("gpuvet/rules.rego", "package mine\n"), ("policies/qgpu.rego", "package gpuvet\n")])
def test_somebody_elses_policy_is_in_the_way(opa: FakeOpa, name: str, text: str) -> None:
    opa.policies = {name: text}
    with pytest.raises(UsageError, match="which gpuvet did not push"):
        push(connection(opa), policies_of(packages_of(SMALL)), ["QG004"])
    assert opa.policies == {name: text}


def test_policies_are_written_in_the_order_that_compiles(opa: FakeOpa) -> None:
    def hook(method: str, path: str, _: bytes) -> tuple[int, bytes] | None:
        late = path.endswith("facts.rego") and "gpuvet/rules.rego" not in opa.policies
        return (
            (400, b'{"code": "invalid_parameter", "message": "m", "errors": [{"message": "undefined"}]}')
            if method == "PUT" and late
            else None
        )

    opa.hook = hook
    assert len(push(connection(opa), policies_of(packages_of(SMALL)), ["QG004"]).written) == 3


REFUSAL = json.dumps(
    {"code": "invalid_parameter", "message": "m", "errors": [{"message": "var x is unsafe", "location": {"file": "f", "row": 3}}]}
)


def test_a_refused_policy_leaves_nothing_behind(opa: FakeOpa) -> None:
    opa.hook = lambda method, path, _: (400, REFUSAL.encode()) if method == "PUT" and path.endswith("rules.rego") else None
    with pytest.raises(EngineError, match=r"refuses policy gpuvet/rules.rego: f:3: var x is unsafe"):
        push(connection(opa), policies_of(packages_of(SMALL)), ["QG004"])
    assert opa.policies == {}


def test_a_refused_policy_brings_the_old_ones_back(opa: FakeOpa) -> None:
    old = policies_of(packages_of({**SMALL, "qgpu.rego": "package gpuvet\n\nrules.QG004 := 1\n"}))
    push(connection(opa), old, ["QG004"])
    new = policies_of(packages_of(SMALL))
    opa.hook = lambda method, path, body: (400, REFUSAL.encode()) if method == "PUT" and body.decode() == new["gpuvet/rules.rego"] else None
    with pytest.raises(EngineError, match="refuses policy"):
        push(connection(opa), new, ["QG004"])
    assert opa.policies == old


def test_a_server_that_forgets_or_enforces_something_else(opa: FakeOpa) -> None:
    opa.hook = lambda method, *_: (200, b"{}") if method == "PUT" else None
    with pytest.raises(EngineError, match="gives back another text"):
        push(connection(opa), policies_of(packages_of(SMALL)), ["QG004"])
    opa.hook = None
    with pytest.raises(EngineError, match="other rules than were pushed: QG005"):
        push(connection(opa), policies_of(packages_of(SMALL)), ["QG004", "QG005"])
    opa.data["gpuvet/verdict"] = lambda _: [{"msg": "x"}]
    with pytest.raises(EngineError, match="against an empty Pod"):
        push(connection(opa), policies_of(packages_of(SMALL)), ["QG004"])


def test_the_command_pushes_a_configuration(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("rules: {'*': 'off', QG004: warning}\n")
    arguments = ["opa", "push", "--url", opa.url, "--config", str(config)]
    assert main(arguments) == 0
    assert 'rules["QG004"] := {"severity": "warning"' in opa.policies["gpuvet/rules.rego"]
    assert "it enforces 1 rules" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "nothing was changed" in capsys.readouterr().out
    opa.token = "secret"
    assert main(arguments) == 3
    assert "wants a token" in capsys.readouterr().err


# Check by OPA.


def qgpu(rule: str = "QG004", message: str = "whatever", severity: str = "error", **more: Any) -> dict[str, Any]:
    at = ["spec", "containers", 0, "resources", "limits", "tke.cloud.tencent.com/qgpu-core"]
    return {"rule": rule, "msg": message, "severity": severity, "path": "?", "at": at} | more


def checked(opa: FakeOpa, folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, text: str = POD) -> tuple[int, Any]:
    (folder / "pod.yaml").write_text(text)
    code = main(["opa", "check", "--url", opa.url, "--format", "json", *arguments, str(folder / "pod.yaml")])
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


def test_the_report_is_that_of_check(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opa.data["gpuvet/verdict"] = lambda _: [qgpu()]
    code, report = checked(opa, tmp_path, capsys)
    assert code == 1
    assert main(["check", "--format", "json", str(tmp_path / "pod.yaml")]) == 1
    ours = json.loads(capsys.readouterr().out)
    assert [f for f in ours["findings"] if f["rule"] == "QG004"] == report["findings"]
    assert report["summary"] == ours["summary"] | {"bySeverity": {"error": 1, "warning": 0, "info": 0}}
    assert report["engine"]["name"] == "opa"
    assert report["engine"]["rules"] == 1
    assert report["engine"]["cannotSee"]["TF041"].startswith("needs another object")
    assert report["engine"]["cannotSee"]["QG003"] == "not on this server: push this configuration"


def test_the_verdict_is_opas(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(opa, tmp_path, capsys)[0] == 0
    opa.data["gpuvet/verdict"] = lambda _: [
        qgpu(severity="warning"),
        qgpu("ZZ001", "ZZ001 spec.nodeName: not here", at=["spec", "nodeName"]),
    ]
    code, report = checked(opa, tmp_path, capsys)
    assert code == 1
    softer, theirs = sorted(report["findings"], key=lambda finding: finding["rule"])
    assert (softer["severity"], softer["line"]) == ("warning", 11)
    assert (theirs["message"], theirs["line"], theirs["consequence"]) == ("not here", 5, "forbidden-by-policy")


def test_ignore_comments_and_objects_of_lists(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        f"  {'- ' if not n else '  '}{line}\n" for n, line in enumerate(POD.splitlines())
    )
    opa.data["gpuvet/verdict"] = lambda value: [qgpu()] if value["kind"] == "Pod" else []
    code, report = checked(opa, tmp_path, capsys, text=listed)
    assert code == 1
    assert [(finding["rule"], finding["line"], finding["path"][0]) for finding in report["findings"]] == [("QG004", 14, "spec")]
    assert checked(opa, tmp_path, capsys, text=listed.replace('"33"', '"33" # gpuvet: ignore[QG004]'))[0] == 0


@pytest.mark.parametrize("verdict", [7, [1], [{"rule": "X"}], [qgpu(at="spec")], [qgpu(severity="bad")], [qgpu(at=[None])]])
def test_a_verdict_that_is_none(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str], verdict: Any) -> None:
    opa.data["gpuvet/verdict"] = lambda _: verdict
    code, error = checked(opa, tmp_path, capsys)
    assert code == 3
    assert error.startswith("gpuvet: OPA at http://127.0.0.1:")
    assert error.count("\n") == 1


def test_a_server_without_our_policies(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del opa.data["gpuvet/rules"]
    code, error = checked(opa, tmp_path, capsys)
    assert code == 3
    assert f"run `gpuvet opa push --url {opa.url}`" in error


def test_text_says_who_judged(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    assert main(["opa", "check", "--url", opa.url, str(tmp_path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"each object judged alone by opa at {opa.url}, which enforces 1 rule; ")
    assert "gpuvet rules --exports" in last


# What Rego may say.

OBJECT = {"spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}, {"name": "2"}], "a.b": 1}}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (None, ()),
        ("", ()),
        ("spec", ("spec",)),
        ("spec.containers[main].resources.limits[nvidia.com/gpu]", ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu")),
        ("$.spec.containers[0]", ("spec", "containers", 0)),
        ("spec.containers[2].image", ("spec", "containers", 1, "image")),
        ("spec.containers[sidecar].image", ("spec", "containers")),
        ("spec[a.b]", ("spec", "a.b")),
        ("/spec/containers/0/resources/limits/nvidia.com~1gpu", ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu")),
        (["spec", "containers", 0, "image"], ("spec", "containers", 0, "image")),
        (["spec", "containers", "main"], ("spec", "containers", 0)),
        ("metadata.labels.team", ("metadata", "labels", "team")),
    ],
)
def test_paths(given: Any, path: tuple[Any, ...]) -> None:
    assert path_of(given, OBJECT) == path


def test_items_of_all_sets() -> None:
    answer = {
        "deny": ["a", {"msg": "b", "path": "spec", "rule": "ACME1"}],
        "deny_more": [{"msg": "c", "severity": "warning"}],
        "violation": [{"msg": "d", "details": {}}],
        "warn": ["e"],
        "inform": ["f"],
        "denylist": ["no item"],
        "helper": 7,
    }
    said = {item.message: (item.severity, item.path, item.rule) for item in items_of(answer, OBJECT)}
    assert said == {
        "a": ("error", (), None),
        "b": ("error", ("spec",), "ACME1"),
        "c": ("warning", (), None),
        "d": ("error", (), None),
        "e": ("warning", (), None),
        "f": ("info", (), None),
    }


@pytest.mark.parametrize(
    "item",
    [7, {}, {"msg": ""}, {"msg": "m", "severity": "bad"}, {"msg": "m", "rule": "a b"}, {"msg": "m", "path": 1}, {"msg": "m", "path": [{}]}],
)
def test_items_that_are_none(item: Any) -> None:
    with pytest.raises(NotAnItemError):
        items_of({"deny": [item]}, OBJECT)
    with pytest.raises(NotAnItemError):
        items_of({"deny": "x"}, OBJECT)


# The users' own packages in a check.


def own(folder: Path, url: str, more: str = "", text: str = POD) -> list[str]:
    (folder / ".gpuvet.yaml").write_text(f"opa:\n  url: {url}\n  packages: [company.gpu]\n{more}")
    (folder / "pod.yaml").write_text(text)
    return ["check", "--format", "json", str(folder)]


def test_denials_become_findings(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    opa.data["company/gpu"] = lambda value: (
        seen.append(value)
        or {
            "deny": [{"msg": "no team", "path": "metadata.labels.team", "rule": "ACME7"}],
            "warn": ["old\nimage"],
        }
    )
    assert main(own(tmp_path, opa.url, text=POD.replace("tke.cloud.tencent.com/qgpu-core", "cpu"))) == 1
    report = json.loads(capsys.readouterr().out)
    found = [
        {key: finding[key] for key in ("rule", "name", "severity", "consequence", "message", "line", "pathText")}
        for finding in report["findings"]
    ]
    assert found == [
        {
            "rule": "company.gpu",
            "name": "company.gpu",
            "severity": "warning",
            "consequence": "forbidden-by-policy",
            "message": "old image",
            "line": 1,
            "pathText": "",
        },
        {
            "rule": "ACME7",
            "name": "company.gpu",
            "severity": "error",
            "consequence": "forbidden-by-policy",
            "message": "no team",
            "line": 3,
            "pathText": "metadata.labels.team",
        },
    ]
    assert seen[0]["kind"] == "Pod"
    assert "engine" not in report
    assert report["summary"]["skipped"] == 0


def test_a_silent_server_is_told_once_and_ours_still_count(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeOpa() as gone:
        url = gone.url
    assert main(own(tmp_path, url, text=f"{POD}---\n{POD}")) == 3
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["rule"] for finding in findings if finding["rule"] in ("IN014", "QG004")] == ["IN014", "QG004", "QG004"]
    assert "cannot be reached" in findings[0]["message"]
    assert "it was not asked again" in findings[0]["message"]


def test_a_package_that_fails_on_one_object(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opa.data["company/gpu"] = lambda value: {"deny": 7 if value["metadata"]["name"] == "a" else ["second"]}
    assert main(own(tmp_path, opa.url, text=f"{POD}---\n{POD.replace('name: a', 'name: b')}")) == 3
    rules = [finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert rules.count("IN014") == 1
    assert "company.gpu" in rules


def test_a_package_that_is_not_served(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(own(tmp_path, opa.url)) == 3
    assert "serves no package company.gpu" in capsys.readouterr().out


def test_something_else_than_opa_is_told_once(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opa.hook = lambda *_: (200, b"<html>")
    assert main(own(tmp_path, opa.url, text="---\n".join([POD] * 20))) == 3
    rules = [finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert (rules.count("IN014"), len(opa.requests)) == (1, 1)


def test_the_extra_is_not_installed(
    opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(own(tmp_path, opa.url)) == 2
    assert "pip install 'gpuvet[opa]'" in capsys.readouterr().err
    assert main(["opa", "push", "--url", opa.url]) == 2


def test_what_has_no_json_form_is_not_sent(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opa.data["company/gpu"] = lambda _: {"deny": []}
    assert main(own(tmp_path, opa.url, text="apiVersion: v1\nkind: ConfigMap\ndata: {a: .inf}\n")) == 1
    assert [finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]] == ["IN007"]


def test_a_server_that_was_not_there_is_left_alone_for_a_while(opa: FakeOpa) -> None:
    document = read(POD.encode()).documents[0]
    opa.hook = lambda *_: (401, b"")
    packages = Packages(connection(opa), ["a", "b"], False)
    for _ in range(5):
        with pytest.raises(EngineError, match="wants a token"):
            packages.judge(document, (), document.value, "f")
    assert len(opa.requests) == 1


# Configuration.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("opa: 7", "config.yaml:1:6: opa takes a mapping"),
        ("opa: {url: 'http://x', packages: [a], tokenfile: x}", "unknown key of opa 'tokenfile'; did you mean 'tokenFile'?"),
        ("opa: {packages: [a]}", "config.yaml:1:1: opa needs url"),
        ("opa: {url: 'http://x'}", "opa needs packages"),
        ("opa: {url: 'x', packages: [a]}", "opa.url takes a URL"),
        ("opa: {url: 'http://x', packages: a}", "opa.packages takes a list"),
        ("opa: {url: 'http://x', packages: [a/b]}", "'a/b' is not the name of a Rego package"),
        ("opa: {url: 'http://x', packages: [a], timeout: 11}", "opa.timeout takes a number of seconds above 0 and up to 10"),
        ("opa: {url: 'http://x', packages: [a], timeout: true}", "opa.timeout takes"),
        ("opa: {url: 'http://x', packages: [a], onFailure: ignore}", "opa.onFailure is one of allow, deny, not 'ignore'"),
        ("opa: {url: 'http://x', packages: [a], ca: 7}", "opa.ca takes a text"),
    ],
)
def test_mistakes_in_the_configuration(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "config.yaml").write_text(text + "\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path / "config.yaml")
    assert words in str(caught.value)


def test_the_configuration(tmp_path: Path) -> None:
    text = "opa: {url: 'https://x', packages: [data.a.b, a.b], tokenFile: t, ca: ca.crt, timeout: 1.5, onFailure: deny}"
    (tmp_path / "config.yaml").write_text(text)
    opa = load_settings(tmp_path / "config.yaml").opa
    assert opa is not None
    assert (opa.url, opa.packages, opa.token_file, opa.ca, opa.cert) == ("https://x", ("a.b",), tmp_path / "t", tmp_path / "ca.crt", None)
    assert (opa.timeout, opa.denies_when_silent) == (1.5, True)
    (tmp_path / "config.yaml").write_text("opa:\n")
    assert load_settings(tmp_path / "config.yaml").opa is None


def test_a_missing_file_is_told_before_anything_is_asked(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(own(tmp_path, opa.url, more="  tokenFile: nowhere\n")) == 2
    assert "nowhere: no such file" in capsys.readouterr().err


# The users' own packages at admission.


def reviewed(folder: Path, opa: FakeOpa, more: str = "", operation: str = "CREATE", old: Any = None) -> tuple[dict[str, Any], Any]:
    own(folder, opa.url, more)
    state = load_state(folder / ".gpuvet.yaml", EmptyContext(), ask=outside)
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    request = {"uid": "u", "operation": operation, "kind": {"kind": "Pod"}, "namespace": "ml", "object": value, "oldObject": old and value}
    outcome = review(json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode(), state)
    return json.loads(outcome.body)["response"], outcome


def test_denials_deny_and_warnings_warn(opa: FakeOpa, tmp_path: Path) -> None:
    opa.data["company/gpu"] = lambda value: {
        "deny": [{"msg": f"no team in {value['metadata']['namespace']}", "path": "spec.containers[main].image"}],
        "warn": ["old image"],
    }
    response, outcome = reviewed(tmp_path, opa)
    assert not response["allowed"]
    assert response["status"]["message"].startswith("[company.gpu] spec.containers[main].image: no team in ml")
    assert response["warnings"] == ["[company.gpu] object: old image"]
    assert (outcome.rules, outcome.silent) == (("company.gpu",), ())


def test_the_ratchet_holds_for_them(opa: FakeOpa, tmp_path: Path) -> None:
    opa.data["company/gpu"] = lambda _: {"deny": ["no team"]}
    response, _ = reviewed(tmp_path, opa, operation="UPDATE", old=True)
    assert response["allowed"]
    assert response["auditAnnotations"]["not-denied-because"] == "was so before"


@pytest.mark.parametrize(("policy", "allowed"), [("", True), ("  onFailure: allow\n", True), ("  onFailure: deny\n", False)])
def test_a_silent_server_at_admission(opa: FakeOpa, tmp_path: Path, policy: str, allowed: bool) -> None:
    opa.hook = lambda *_: time.sleep(10)  # type: ignore[func-returns-value]
    start = time.monotonic()
    response, outcome = reviewed(tmp_path, opa, f"  timeout: 0.1\n{policy}")
    assert time.monotonic() - start < 5
    assert response["allowed"] is allowed
    words = response["warnings"][0] if allowed else response["status"]["message"]
    assert words.startswith("[IN014] object: OPA at http://127.0.0.1:")
    assert "did not answer within 0.1 seconds" in words
    assert outcome.silent == ("timeout",)
    assert outcome.record["silent"] == ("timeout",)


def test_silence_is_no_excuse_for_an_update(opa: FakeOpa, tmp_path: Path) -> None:
    """That it was silent about the old object, too, does not make the denial an old one."""
    opa.hook = lambda *_: (500, b"{}")
    response, outcome = reviewed(tmp_path, opa, "  onFailure: deny\n", "UPDATE", True)
    assert not response["allowed"]
    assert outcome.silent == ("failed", "failed")


def test_the_configured_policy_comes_before_the_end_of_patience(opa: FakeOpa, tmp_path: Path) -> None:
    """The API server of an old installation waits for a short time only; OPA would be waited for longer."""
    opa.hook = lambda *_: time.sleep(10)  # type: ignore[func-returns-value]
    own(tmp_path, opa.url, "  timeout: 5\n  onFailure: deny\n")
    start = time.monotonic()
    answer, _ = posted(tmp_path, "timeout=4s")
    assert time.monotonic() - start < 3
    assert not answer["response"]["allowed"]
    assert re.search(r"did not answer within 1\.[234] seconds", answer["response"]["status"]["message"])


def test_silence_is_counted(opa: FakeOpa, tmp_path: Path) -> None:
    opa.hook = lambda *_: (500, b"{}")
    own(tmp_path, opa.url)
    _, metrics = posted(tmp_path)
    assert b'gpuvet_opa_failures_total{reason="failed"} 1.0' in metrics.text()


def posted(folder: Path, query: str = "") -> tuple[Any, Metrics]:
    """What the application answers to a Pod."""
    metrics = Metrics()
    rules = RuleWatch(folder / ".gpuvet.yaml", EmptyContext(), 60, lambda *_: None, outside)
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    body = json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {"uid": "u", "operation": "CREATE", "kind": {"kind": "Pod"}, "object": value},
        }
    ).encode()
    environ = {
        "PATH_INFO": "/validate",
        "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "QUERY_STRING": query,
        "wsgi.input": io.BytesIO(body),
    }
    answer = b"".join(Webhook(rules, metrics, lambda: True)(environ, lambda *_: None))
    return json.loads(answer), metrics


def test_the_installation_follows(tmp_path: Path) -> None:
    own(tmp_path, "https://opa.example.com:8443", "  timeout: 3\n")
    plan = Plan(config=str(tmp_path / ".gpuvet.yaml"))
    pods = [entry for entry in webhook_configuration(plan)["webhooks"] if any("pods" in rule["resources"] for rule in entry["rules"])]
    assert {entry["timeoutSeconds"] for entry in pods} == {10}
    assert [condition["name"] for condition in pods[0]["matchConditions"]] == ["is-not-being-deleted"]
    policy = next(each for each in manifests(plan) if each["kind"] == "NetworkPolicy")
    assert config_volume(plan) == {"name": "config", "configMap": {"name": "gpuvet-config"}}
    assert {"protocol": "TCP", "port": 8443} in policy["spec"]["egress"][-1]["ports"]


def config_volume(plan: Plan) -> Any:
    pod = next(each for each in manifests(plan) if each["kind"] == "Deployment")["spec"]["template"]["spec"]
    return next(volume for volume in pod["volumes"] if volume["name"] == "config")


def test_secrets_are_mounted_beside_the_configuration(tmp_path: Path) -> None:
    plan = Plan(config=str(tmp_path / ".gpuvet.yaml"))
    own(tmp_path, "https://opa:8181", "  tokenFile: opa-token\n  ca: opa-ca.crt\n")
    assert config_volume(plan)["projected"]["sources"] == [
        {"configMap": {"name": "gpuvet-config"}},
        {"secret": {"name": "gpuvet-opa", "items": [{"key": name, "path": name} for name in ("opa-token", "opa-ca.crt")]}},
    ]
    own(tmp_path, "https://opa:8181", "  tokenFile: secrets/opa-token\n")
    with pytest.raises(UsageError, match="stands in another folder"):
        manifests(plan)


def test_items_of_a_typed_list_are_whole_objects(opa: FakeOpa, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opa.data["company/gpu"] = lambda value: {"deny": [{"msg": value["kind"], "path": "metadata.name"}]}
    text = "apiVersion: v1\nkind: PodList\nitems:\n  - metadata:\n      name: a\n  - metadata:\n      name: b\n"
    assert main(own(tmp_path, opa.url, text=text)) == 1
    found = [finding for finding in json.loads(capsys.readouterr().out)["findings"] if finding["rule"] == "company.gpu"]
    assert [(each["message"], each["line"], each["object"]["name"]) for each in found] == [("Pod", 5, "a"), ("Pod", 7, "b")]


# Whoever else may listen there.


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\xff\x15 what?\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.7\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(500)) + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n\xff\xfe\xfd\xfc",
    ],
)
def test_no_http_at_all(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(65536)
                    client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        asked = Connection(Access(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=10))
        start = time.monotonic()
        with pytest.raises(EngineError) as caught:
            asked.ask("gpuvet", "rules", {})
        assert time.monotonic() - start < 9
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
        listener.shutdown(socket.SHUT_RDWR)
