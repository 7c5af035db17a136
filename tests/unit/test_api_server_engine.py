"""`gpuvet policy test --engine api-server`: what is made of the answers of an API server, good and bad."""

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fake_api_server import Answer, FakeApiServer
from gpuvet.cli.main import main
from gpuvet.cluster.access import Answer as Read
from gpuvet.cluster.access import warning_texts
from gpuvet.cluster.answers import Spoken, UnreadableError, Violation, denial, is_cut, violations
from gpuvet.generate.vap import policies
from gpuvet.language.catalogue import load_rules
from gpuvet.settings.config import load_settings
from unit.test_suites import POD, run

QG004 = "QG004 spec.containers[main].resources.limits[tke.cloud.tencent.com/qgpu-core]: 33 is no multiple of 5"
ERRORS, WARNINGS = "gpuvet-qgpu-workloads-errors", "gpuvet-qgpu-workloads-warnings"
ONE = {"tests": [{"name": "t", "files": ["pod.yaml"]}], "config": "config.yaml"}


@pytest.fixture(autouse=True)
def _rules_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuvet.generate.policies.load_rules", _LOADED)


_LOADED = cache(load_rules)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "config.yaml").write_text("rules: {'*': 'off', QG004: 'on', QG003: 'on', IN014: 'on'}\n")
    return tmp_path


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as fake:
        yield fake


def enforce(server: FakeApiServer, folder: Path) -> None:
    """Puts the policies there as an API server keeps them: with defaults filled in."""
    for policy, binding in policies(load_settings(folder / "config.yaml")):
        policy["spec"]["matchConstraints"] |= {"matchPolicy": "Equivalent", "namespaceSelector": {}}
        for plural, value in (("policies", policy), ("policybindings", binding)):
            server.held[f"/apis/admissionregistration.k8s.io/v1/validatingadmission{plural}/{value['metadata']['name']}"] = value


def denied(policy: str, text: str) -> Answer:
    words = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {text}"
    return 422, {"message": f'pods "a" is forbidden: {words}', "reason": "Invalid"}, []


def warning(policy: str, text: str) -> str:
    return f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{policy}': {text}"


@pytest.fixture
def judged(server: FakeApiServer, folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    def judge(suite: Any = ONE, *arguments: str) -> tuple[int, Any]:
        return run(folder, suite, capsys, "--engine", "api-server", "--kubeconfig", server.kubeconfig(folder), *arguments)

    return judge


def test_a_denial_is_a_finding(server: FakeApiServer, folder: Path, judged: Any) -> None:
    enforce(server, folder)
    server.created = lambda *_: denied(ERRORS, QG004)
    code, report = judged()
    assert (code, report["summary"]["passed"]) == (0, 1)
    path, query, value = server.asked[0]
    assert path == "/api/v1/namespaces/default/pods"
    assert query == {"dryRun": "All", "fieldValidation": "Ignore"}
    assert value["metadata"]["name"] == "a"


def test_a_warning_is_a_finding_and_says_what_only_the_server_knows(server: FakeApiServer, folder: Path, judged: Any) -> None:
    (folder / "config.yaml").write_text("rules: {'*': 'off', QG004: warning, QG003: warning}\n")
    enforce(server, folder)
    server.created = lambda *_: (201, {}, ["something old", warning(WARNINGS, f'{QG004}; QG003 spec.containers[main].image: ä; "b"')])
    code, report = judged()
    assert code == 1
    said = [(each["rule"], each["severity"], each["line"], each["message"]) for each in report["tests"][0]["unexpected"]]
    assert said == [("QG003", "warning", 8, 'ä; "b"')]


def test_silence_is_a_verdict(server: FakeApiServer, folder: Path, judged: Any) -> None:
    enforce(server, folder)
    code, report = judged()
    assert code == 1
    assert [each["rule"] for each in report["tests"][0]["missing"]] == ["QG004"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held.clear(), f"gpuvet-qgpu-custom-workloads-errors, {ERRORS} are not there"),
        (lambda held: held.pop(next(name for name in held if f"bindings/{ERRORS}" in name)), f"{ERRORS} are not there"),
        (
            lambda held: next(v for n, v in held.items() if f"policies/{ERRORS}" in n)["spec"]["variables"][0].update(expression="'other'"),
            f"{ERRORS} are different",
        ),
        (
            lambda held: next(v for n, v in held.items() if f"bindings/{ERRORS}" in n)["spec"].update(validationActions=["Audit"]),
            f"{ERRORS} are different",
        ),
        (
            lambda held: held.update({f"{next(iter(held))}-x": {"metadata": {"name": "gpuvet-more"}, "spec": {}}}),
            "gpuvet-more are of another configuration",
        ),
    ],
)  # fmt: skip
def test_other_policies_than_those_of_the_configuration(server: FakeApiServer, folder: Path, judged: Any, change: Any, said: str) -> None:
    enforce(server, folder)
    change(server.held)
    code, error = judged()
    assert code == 3
    assert f"does not enforce the policies of config.yaml: {said}" in error
    assert "gpuvet generate policies --target vap" in error


def test_only_the_first_denial_is_heard(server: FakeApiServer, folder: Path, judged: Any) -> None:
    (folder / "config.yaml").write_text("rules: {'*': 'off', QG004: 'on', K8S001: 'on', IN014: 'on'}\n")
    enforce(server, folder)
    server.created = lambda *_: denied(ERRORS, QG004)
    code, report = judged()
    assert (code, report["tests"][0]["outcome"]) == (3, "broken")
    assert (
        f"names only the first policy that denies, {ERRORS}, and 1 more could; with --apply each is asked" in report["tests"][0]["because"]
    )


def copies_of(server: FakeApiServer, spoken: dict[str, str], others: int = 0) -> Any:
    """Answers as an API server does that asks the copies: each says what the policy that it copies says."""

    def created(_: str, query: dict[str, str], value: dict[str, Any]) -> Answer:
        manager = query["fieldManager"]
        texts = ["x" * 300] * others
        for policy in [value for place, value in server.held.items() if "/validatingadmissionpolicies/" in place]:
            name, condition = policy["metadata"]["name"], policy["spec"]["matchConditions"][0]["expression"]
            if f'"{manager}"' not in condition:
                continue
            if len(policy["spec"]["validations"]) == 1 and policy["spec"]["validations"][0]["expression"] == "false":
                texts.append(warning(name, "policies were asked"))
            elif value["kind"] == "Pod":
                pods = any("pods" in rule["resources"] for rule in policy["spec"]["matchConstraints"]["resourceRules"])
                action = policy["spec"]["validations"][0]["message"]
                texts += [warning(name, text) for key, text in spoken.items() if pods and key in action]
        if sum(map(len, texts)) > 4096:
            texts = [text[:256] for text in texts]
        return 201, {}, texts

    return created


def test_copies_judge_and_leave_nothing_behind(server: FakeApiServer, judged: Any) -> None:
    server.created = copies_of(server, {"qgpu errors": QG004})
    held = []
    server.hook = lambda method, path: held.append((method, path, len(server.held))) and None
    assert judged(ONE, "--apply")[0] == 0
    assert max(count for *_, count in held) == 4
    assert server.held == {}
    managers = {query["fieldManager"] for _, query, _ in server.asked}
    assert len(managers) == 1
    assert next(iter(managers)).startswith("gpuvet-test-")


def test_cut_warnings_are_asked_for_one_by_one(server: FakeApiServer, folder: Path, judged: Any) -> None:
    (folder / "config.yaml").write_text("rules: {'*': 'off', QG004: 'on', QG003: warning, IN014: 'on'}\n")
    (folder / "pod.yaml").write_text(POD.replace("image: i", "image: i # expect: QG003"))
    long = "QG003 spec.containers[main].image: " + "x" * 3800
    server.created = copies_of(server, {"qgpu errors": QG004 + "y" * 500, "qgpu warnings": long})
    code, report = judged(ONE, "--apply")
    assert (code, report["summary"]) == (0, {"tests": 1, "passed": 1, "failed": 0, "skipped": 0, "broken": 0}), report
    assert len({query["fieldManager"] for _, query, _ in server.asked}) == 3
    server.created = copies_of(server, {"qgpu errors": QG004, "qgpu warnings": long}, 6)
    code, report = judged(ONE, "--apply")
    assert (code, report["tests"][0]["outcome"]) == (3, "broken")
    assert "together with the warnings of others" in report["tests"][0]["because"]


def test_a_count_of_the_rest_is_no_full_verdict(server: FakeApiServer, folder: Path, judged: Any) -> None:
    server.created = copies_of(server, {"qgpu errors": f"{QG004}; and 12 more"})
    code, report = judged(ONE, "--apply")
    assert (code, report["tests"][0]["outcome"]) == (3, "broken")
    assert f"{ERRORS} lists 1 violations and leaves out 12" in report["tests"][0]["because"]


def test_an_evaluation_that_fails_is_no_verdict(server: FakeApiServer, judged: Any) -> None:
    server.created = copies_of(server, {"qgpu errors": "expression 'x' resulted in error: no such key"})
    code, report = judged(ONE, "--apply")
    assert (code, report["tests"][0]["outcome"]) == (3, "broken")
    assert "says something else than violations of rules: expression" in report["tests"][0]["because"]


def test_copies_go_even_when_one_is_refused(server: FakeApiServer, judged: Any) -> None:
    refused = (403, {"message": 'User "u" cannot create resource "validatingadmissionpolicybindings"'}, [])
    server.hook = lambda method, path: refused if method == "POST" and path.endswith("bindings") else None
    code, error = judged(ONE, "--apply")
    assert code == 3
    assert 'User "u" cannot create resource' in error
    assert server.held == {}


def test_copies_that_cannot_be_removed_are_named(server: FakeApiServer, judged: Any) -> None:
    server.created = copies_of(server, {"qgpu errors": QG004})
    server.hook = lambda method, _: (500, {}, []) if method == "DELETE" else None
    code, error = judged(ONE, "--apply")
    assert code == 3
    assert "kubectl delete validatingadmissionpolicies,validatingadmissionpolicybindings -l app.kubernetes.io/name=gpuvet-test" in error


REFUSED = (422, {"message": 'Pod "a" is invalid: spec.containers[0].image: Required value', "reason": "Invalid"}, [])


def test_a_refusal_that_nobody_foretold_is_no_verdict(server: FakeApiServer, folder: Path, judged: Any) -> None:
    enforce(server, folder)
    server.created = lambda *_: REFUSED
    code, report = judged()
    assert (code, report["tests"][0]["outcome"]) == (3, "broken")
    assert 'refuses the object itself, and asks no policy: Pod "a" is invalid' in report["tests"][0]["because"]


def test_a_refusal_that_a_rule_foretold(server: FakeApiServer, folder: Path, judged: Any) -> None:
    """The rule is confirmed, and what other rules would have said of the object is left out."""
    (folder / "config.yaml").write_text("rules: {'*': 'off', QG004: 'on', K8S001: 'on', IN014: 'on'}\n")
    (folder / "pod.yaml").write_text(POD.replace("  name: a", "  name: a\n  labels: {tensor-fusion.ai/enabled: true} # expect: K8S001"))
    enforce(server, folder)
    server.created = lambda *_: (400, {"message": "json: cannot unmarshal bool into Go value of type string", "reason": "BadRequest"}, [])
    code, report = judged()
    test = report["tests"][0]
    assert (code, test["outcome"], test["expected"]) == (0, "passed", 1)
    assert [each["rule"] for each in test["leftOut"]] == ["QG004"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((409, {"message": "exists", "reason": "AlreadyExists"}, []), "missing"),
        ((403, {"message": "exceeded quota: q, requested: pods=1", "reason": "Forbidden"}, []), "missing"),
        ((404, {"message": 'namespaces "default" not found', "reason": "NotFound"}, []), "create it, or name one with --namespace"),
        ((403, {"message": 'pods is forbidden: User "u" cannot create resource "pods"'}, []), 'User "u" cannot create resource "pods"'),
        ((401, {"message": "Unauthorized"}, []), "does not know who asks (401)"),
        ((503, {"message": "try later"}, []), "failed (503): try later"),
    ],
)
def test_other_refusals(server: FakeApiServer, folder: Path, judged: Any, answer: Answer, said: str) -> None:
    enforce(server, folder)
    server.created = lambda *_: answer
    code, report = judged()
    if said == "missing":
        assert (code, [each["rule"] for each in report["tests"][0]["missing"]]) == (1, ["QG004"])
    else:
        assert (code, report["tests"][0]["outcome"]) == (3, "broken")
        assert said in report["tests"][0]["because"]


def test_a_kind_that_is_not_served_and_one_that_no_policy_judges(server: FakeApiServer, folder: Path, judged: Any) -> None:
    enforce(server, folder)
    (folder / "job.yaml").write_text("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n")
    (folder / "service.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: a} # expect: QG004\n")
    suite = {**ONE, "tests": [{"name": file, "files": [f"{file}.yaml"]} for file in ("job", "service")]}
    code, report = judged(suite)
    assert code == 3
    assert "serves no batch.volcano.sh/v1alpha1 Job: install its CustomResourceDefinition" in report["tests"][0]["because"]
    assert [each["rule"] for each in report["tests"][1]["leftOut"]] == ["QG004"]
    assert server.asked == []


def test_where_objects_go(server: FakeApiServer, folder: Path, judged: Any) -> None:
    enforce(server, folder)
    (folder / "pod.yaml").write_text(POD.replace("  name: a", "  name: a\n  namespace: ml"))
    for arguments, path, namespace in (((), "ml", "ml"), (("--namespace", "x"), "x", "x"), (("--context", "there"), "ml", "ml")):
        judged(ONE, *arguments)
        assert server.asked[-1][0] == f"/api/v1/namespaces/{path}/pods"
        assert server.asked[-1][2]["metadata"]["namespace"] == namespace
    (folder / "pod.yaml").write_text(POD)
    judged(ONE, "--context", "there")
    assert server.asked[-1][0] == "/api/v1/namespaces/gpu/pods"
    assert "namespace" not in server.asked[-1][2]["metadata"]


def test_kube_system_is_left_alone(server: FakeApiServer, folder: Path, judged: Any) -> None:
    enforce(server, folder)
    (folder / "pod.yaml").write_text(POD.replace("  name: a", "  name: a\n  namespace: kube-system"))
    code, report = judged()
    assert (code, [each["rule"] for each in report["tests"][0]["leftOut"]]) == (0, ["QG004"])
    assert server.asked == []


def test_infos_and_rules_that_do_not_leave_python_are_left_out(server: FakeApiServer, folder: Path, judged: Any) -> None:
    (folder / "config.yaml").write_text("rules: {'*': 'off', QG004: info, QG003: 'on'}\n")
    enforce(server, folder)
    code, report = judged()
    assert (code, [each["rule"] for each in report["tests"][0]["leftOut"]]) == (0, ["QG004"])


def test_a_server_that_is_slow_or_down(server: FakeApiServer, folder: Path, judged: Any) -> None:
    enforce(server, folder)
    server.created = lambda *_: time.sleep(3) or (201, {}, [])
    suite = {**ONE, "tests": [{"name": name, "files": ["pod.yaml"]} for name in ("one", "two")]}
    start = time.monotonic()
    code, report = judged(suite, "--timeout", "0.5")
    assert (code, [test["outcome"] for test in report["tests"]]) == (3, ["broken", "broken"])
    assert "did not answer within 0.5 seconds" in report["tests"][1]["because"]
    # Lost is lost: the second test does not wait again.
    assert time.monotonic() - start < 2.5
    server.__exit__()
    code, error = judged(ONE)
    assert code == 3
    assert "cannot be reached" in error


def test_wrong_usage(folder: Path, judged: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(ONE, "--context", "nowhere")[0] == 2
    assert run(folder, ONE, capsys, "--apply") == (
        2,
        "gpuvet: --kubeconfig, --context, --namespace and --apply go with --engine api-server\n",
    )
    missing = str(folder / "no-such-file")
    code, error = run(folder, ONE, capsys, "--engine", "api-server", "--kubeconfig", missing)
    assert code == 2
    assert "there is no cluster to ask" in error


def test_a_test_for_the_api_server_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = {"tests": [{"name": "t", "files": ["pod.yaml"], "engines": ["api-server"]}]}
    code, report = run(folder, suite, capsys)
    assert (code, report["tests"][0]["outcome"]) == (0, "skipped")
    assert main(["policy", "test", str(folder / "suite.yaml")]) == 0


def test_what_a_policy_says_is_read() -> None:
    rules = ("QG004", "QG003")
    assert violations(f"{QG004}; QG003 : a; b: c", rules) == [
        Violation("QG004", "spec.containers[main].resources.limits[tke.cloud.tencent.com/qgpu-core]", "33 is no multiple of 5"),
        Violation("QG003", "", "a; b: c"),
    ]
    for text in ("", "gpuvet: qgpu errors", f"{QG004}; and 3 more", "KM001 spec: x"):
        with pytest.raises(UnreadableError):
            violations(text, rules)
    with pytest.raises(UnreadableError):
        violations(QG004, ())


def test_headers_are_read_as_the_api_server_writes_them() -> None:
    raw = '299 - "ä \\"b\\" \\\\ c"'.encode().decode("latin-1")
    assert warning_texts(raw) == ['ä "b" \\ c']
    assert warning_texts('299 - "one", 299 - "two"') == ["one", "two"]
    assert warning_texts("nonsense") == []


def test_denials_and_cuts() -> None:
    configured = "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: x"
    assert denial(Read(422, {"message": configured})) == Spoken("p", "failed to configure policy: x")
    assert denial(Read(201, {"message": configured})) is None
    assert denial(Read(422, {"message": "Pod is invalid"})) is None
    assert not is_cut(Read(201, {}, ("x" * 4096,)))
    assert is_cut(Read(201, {}, ("x" * 256,)))
    assert is_cut(Read(201, {}, ("x" * 200,) * 21))
