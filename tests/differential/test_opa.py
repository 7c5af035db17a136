"""`gpuvet opa` and `opa:` with a real OPA: pushing, judging by it, the users' own packages, and its death."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from differential.opa import Running, opa_binary, running
from gpuvet.cli.main import main
from gpuvet.engine.context import EmptyContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.ruleset import RuleSet
from gpuvet.generate.packages import packages_of
from gpuvet.generate.policies import render_rego
from gpuvet.opa.connection import Access, Connection
from gpuvet.opa.push import policies_of, push
from gpuvet.report.json import render_json
from gpuvet.scan.rules import rule_set
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from webhook.server import WebhookServer

pytestmark = pytest.mark.real

ROOT = Path(__file__).parent.parent.parent
OWN = """package company.gpu

deny contains {"msg": "every workload names its team", "path": "metadata.labels.team", "rule": "COMPANY001"} if {
	input.kind in {"Pod", "Deployment"}
	not input.metadata.labels.team
}

warn contains {"msg": "latest is no version", "path": sprintf("spec.containers[%s].image", [container.name])} if {
	some container in input.spec.containers
	endswith(container.image, ":latest")
}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
  labels:
    app: a
spec:
  containers:
    - name: main
      image: example.com/a:latest
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """With the rules of the default bundle."""
    with running() as opa:
        assert main(["opa", "push", "--url", opa.url]) == 0
        yield opa


@pytest.fixture
def empty() -> Iterator[Running]:
    with running() as opa:
        yield opa


def connection(opa: Running) -> Connection:
    return Connection(Access(opa.url, timeout=120))


def pushed(opa: Running, config: Path) -> Any:
    settings = load_settings(config)
    rules = [rule.info.id for rule in rule_set(settings).rules if rule.info.exports["rego"] is True]
    return push(connection(opa), policies_of(packages_of(render_rego(settings))), rules)


def test_push_again_with_fewer_rules_and_strangers_beside(empty: Running, tmp_path: Path) -> None:
    theirs = connection(empty)
    theirs.put_policy("company/gpu.rego", OWN)
    theirs.put_policy("gpuvet/extra.rego", "package gpuvet_extra\n\nfine if data.gpuvet.rules.QG004\n")
    config = tmp_path / "config.yaml"
    config.write_text("rules: {'*': 'off', QG*: 'on', VJ*: 'on'}\n")
    first = pushed(empty, config)
    assert (len(first.written), first.removed) == (3, ())
    second = pushed(empty, config)
    assert (second.written, second.removed, len(second.unchanged)) == ((), (), 3)
    theirs.put_policy(
        "gpuvet/former.rego", "# Pushed by `gpuvet opa push`, which replaces and removes this policy.\npackage gpuvet.former\n\na := 1\n"
    )
    config.write_text("rules: {'*': 'off', QG*: 'on', QG004: 'off'}\n")
    third = pushed(empty, config)
    assert "gpuvet/rules.rego" in third.written
    assert third.removed == ("gpuvet/former.rego",)
    assert "QG004" not in theirs.ask("gpuvet", "rules", {})
    assert theirs.policy("company/gpu.rego") == OWN
    assert set(theirs.packages()) == {
        *("company/gpu.rego", "gpuvet/extra.rego", "gpuvet/facts.rego", "gpuvet/library.rego", "gpuvet/rules.rego"),
    }


def test_a_policy_that_does_not_compile_leaves_the_old_rules_in_force(empty: Running, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("rules: {'*': 'off', QG004: 'on'}\n")
    pushed(empty, config)
    policies = policies_of(packages_of(render_rego(load_settings(config))))
    broken = {**policies, "gpuvet/rules.rego": policies["gpuvet/rules.rego"] + "\nbad if lib.no_such_function(1)\n"}
    with pytest.raises(Exception, match=r"refuses policy gpuvet/rules.rego: .*undefined function data.gpuvet.lib.no_such_function"):
        push(connection(empty), broken, ["QG004"])
    assert connection(empty).policy("gpuvet/rules.rego") == policies["gpuvet/rules.rego"]
    assert pushed(empty, config).written == ()


def test_an_opa_that_was_started_with_our_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(str(ROOT / "policies" / "rego")) as opa:
        assert main(["opa", "push", "--url", opa.url]) == 2
    assert "which gpuvet did not push" in capsys.readouterr().err


def reports(opa: Running, paths: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, Any]:
    """By OPA, and by the exported rules here, each object alone."""
    assert main(["opa", "check", "--url", opa.url, "--format", "json", *paths]) in (0, 1, 2)
    theirs = json.loads(capsys.readouterr().out)
    settings = load_settings(None)

    class Alone(Judge):
        def judge(self, document: Any, file: str, _: Any) -> Any:
            for verdict in super().judge(document, file, EmptyContext()):
                yield verdict._replace(hearing=None)

    def alone(rules: RuleSet) -> Judge:
        return Alone(RuleSet(rule for rule in rules.rules if rule.info.exports["rego"] is True))

    return theirs, json.loads(render_json(scan(Scan(paths, settings, instead=alone))))


@pytest.mark.parametrize("paths", [["examples"], ["tests/fixtures"]], ids=["examples", "fixtures"])
def test_opa_check_gives_the_report_of_check(server: Running, paths: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    theirs, ours = reports(server, [str(ROOT / path) for path in paths], capsys)
    assert theirs.pop("engine")["rules"] > 300
    key = ("file", "line", "rule", "message")

    def listed(report: Any) -> list[Any]:
        return sorted(report["findings"], key=lambda finding: [finding[part] for part in key])

    here, there = listed(ours), listed(theirs)
    assert len(here) > (15 if paths == ["examples"] else 1000)
    differ = [finding for finding in here if finding not in there] + [finding for finding in there if finding not in here]
    # OPA hands out maps in the order of their keys: where a rule names the first of several, gpuvet takes the author's.
    places = {(finding["file"], finding["rule"]) for finding in differ}
    assert len(places) < 0.005 * len(here) + 1, json.dumps(differ[:4], indent=1)
    assert {(f["file"], f["rule"], f["severity"]) for f in here} == {(f["file"], f["rule"], f["severity"]) for f in there}
    assert theirs["summary"] == ours["summary"]


def test_opa_check_and_check_agree_on_files_that_stand_alone(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole of the two reports, where nothing refers to anything else and all rules that speak are exported."""
    file = str(ROOT / "examples" / "broken" / "qgpu-inference.yaml")
    assert main(["opa", "check", "--url", server.url, file]) == 1
    theirs = capsys.readouterr().out.splitlines()
    assert main(["check", file]) == 1
    assert theirs[:-1] == capsys.readouterr().out.splitlines()


def own(folder: Path, opa: Running, more: str = "") -> Path:
    (folder / ".gpuvet.yaml").write_text(f"opa:\n  url: {opa.url}\n  packages: [company.gpu]\n{more}")
    (folder / "pod.yaml").write_text(POD)
    return folder


def test_own_packages_in_check(empty: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    connection(empty).put_policy("company/gpu.rego", OWN)
    assert main(["check", "--format", "json", str(own(tmp_path, empty))]) == 1
    found = [(each["rule"], each["severity"], each["line"], each["column"]) for each in json.loads(capsys.readouterr().out)["findings"]]
    assert found == [("COMPANY001", "error", 5, 3), ("company.gpu", "warning", 10, 14)]


def test_opa_is_killed_in_the_middle_of_a_check(tmp_path: Path) -> None:
    """Exit code 3, every finding of our own, and no waiting."""
    with running() as opa:
        connection(opa).put_policy("company/gpu.rego", OWN)
        folder = own(tmp_path, opa)
        for number in range(400):
            shutil.copy(ROOT / "examples" / "broken" / "qgpu-inference.yaml", folder / f"{number:03}.yaml")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "validator")}
        command = [sys.executable, "-m", "gpuvet", "check", "--format", "json", str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        opa.wait_for_questions(20)
        os.kill(opa.pid, signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    rules = [finding["rule"] for finding in json.loads(out)["findings"]]
    assert rules.count("QG004") == 400
    assert rules.count("IN014") == 1
    assert rules.count("COMPANY001") >= 10


@pytest.mark.parametrize("policy", ["allow", "deny"])
def test_own_packages_in_the_webhook_and_opa_killed(tmp_path: Path, policy: str) -> None:
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "main", "image": "i:latest"}]}}
    request = {"uid": "u", "operation": "CREATE", "kind": {"kind": "Pod"}, "namespace": "ml", "object": value}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    with running() as opa:
        connection(opa).put_policy("company/gpu.rego", OWN)
        config = own(tmp_path, opa, f"  onFailure: {policy}\n") / ".gpuvet.yaml"
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "validator")}
        with WebhookServer(tmp_path, "--config", str(config), environment=environment) as webhook:

            def ask() -> Any:
                status, answer = webhook.request("POST", "/validate", body)
                assert status == 200
                return json.loads(answer)["response"]

            denied = ask()
            assert not denied["allowed"]
            assert "[COMPANY001] metadata.labels.team: every workload names its team" in denied["status"]["message"]
            assert denied["warnings"] == ["[company.gpu] spec.containers[main].image: latest is no version"]
            os.kill(opa.pid, signal.SIGKILL)
            silent = [ask() for _ in range(20)]
            assert {answer["allowed"] for answer in silent} == {policy == "allow"}
            words = [answer["warnings"][0] if policy == "allow" else answer["status"]["message"] for answer in silent]
            assert all(text.startswith("[IN014] object: OPA at ") and "cannot be reached" in text for text in words)
            counted = webhook.request("GET", "/metrics")[1].decode()
            assert 'gpuvet_opa_failures_total{reason="unreachable"} 20.0' in counted


def test_a_suite_on_a_local_opa(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Our rules and own ones as Rego, and own Rego beside both engines; what a program leaves behind is nothing."""
    example = str(ROOT / "examples" / "policy-test" / "gpuvet-suite.yaml")
    assert main(["policy", "test", "--engine", "opa", "--opa", str(opa_binary()), example]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "4 tests on opa: 4 passed"
    (tmp_path / "company.rego").write_text(OWN)
    (tmp_path / "pod.yaml").write_text(
        POD.replace("  labels:", "  labels: # expect: COMPANY001").replace(":latest", ":latest # expect: company.gpu")
    )
    (tmp_path / "suite.yaml").write_text("rego: [company.rego]\npackages: [company.gpu]\ntests: [{name: t, files: [pod.yaml]}]\n")
    for engine in ("python", "opa"):
        assert main(["policy", "test", "--engine", engine, "--opa", str(opa_binary()), str(tmp_path / "suite.yaml")]) == 0
        assert "2 findings expected" in capsys.readouterr().out
    (tmp_path / "company.rego").write_text(OWN.replace("not input", "nope input"))
    assert main(["policy", "test", "--opa", str(opa_binary()), str(tmp_path / "suite.yaml")]) == 3
    assert "the local OPA does not start: " in capsys.readouterr().err
