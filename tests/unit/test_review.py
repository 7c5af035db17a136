"""AdmissionReview in, AdmissionReview out."""

import io
import json
import logging
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.admission.app import Webhook, patience
from gpuvet.admission.metrics import Metrics
from gpuvet.admission.review import MAX_BODY, Outcome, RuleState
from gpuvet.admission.review import review as answer
from gpuvet.admission.serve import JsonLines
from gpuvet.admission.state import RuleWatch, kinds_of, load_state
from gpuvet.admission.words import DENIAL, WARNING
from gpuvet.engine.context import EmptyContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.ruleset import BoundRule, RuleSet
from gpuvet.manifests.document import Document
from gpuvet.values.finding import Finding
from gpuvet.values.path import Path
from webhook.reviews import KEY, body, deployment, pod, quiet, review

STATE = load_state(None, EmptyContext())
REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "inference-1", "uid": "1", "controller": True}
CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"


def ask(*arguments: Any, state: RuleState = STATE, **more: Any) -> tuple[Outcome, dict[str, Any]]:
    """The outcome, and the decoded response."""
    outcome = answer(body(*arguments, **more), state)
    assert outcome.status == 200
    decoded = json.loads(outcome.body)
    assert (decoded["apiVersion"], decoded["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert decoded["response"]["uid"] == review({})["request"]["uid"]
    return outcome, decoded["response"]


def bad(**metadata: Any) -> dict[str, Any]:
    return deployment("20", "10", **metadata)


def test_good_object_is_allowed_without_a_word() -> None:
    outcome, response = ask(quiet())
    assert response == {"uid": response["uid"], "allowed": True}
    assert (outcome.verdict, outcome.rules, outcome.record) == ("allowed", (), None)


def test_denial_names_rule_place_values_and_fix() -> None:
    outcome, response = ask(bad())
    assert response["allowed"] is False
    assert response["status"]["code"] == 422
    message = response["status"]["message"]
    assert message.startswith("[TF013] spec.template.metadata.annotations")
    assert "expected " in message
    assert "actual 20" in message
    assert response["auditAnnotations"] == {"rules": "TF013,TF501", "rules-digest": STATE.digest}
    assert outcome.record is not None
    assert outcome.record["verdict"] == outcome.verdict == "denied"
    assert (outcome.record["kind"], outcome.record["name"], outcome.record["user"]) == ("Deployment", "inference", "jane")
    assert "spec" not in json.dumps(outcome.record)


def test_dry_run_is_answered_alike() -> None:
    assert ask(bad(), dryRun=True)[1] == ask(bad())[1]


def test_weaker_findings_are_warnings() -> None:
    value = deployment()
    del value["spec"]["template"]["metadata"]["annotations"][f"{KEY}tflops-limit"]
    value["spec"]["template"]["metadata"]["annotations"][f"{KEY}generate-workload"] = "true"
    outcome, response = ask(value)
    assert (outcome.verdict, response["allowed"]) == ("warned", True)
    assert response["warnings"]
    assert all(warning.startswith("[TF") and len(warning) <= WARNING for warning in response["warnings"])


def test_all_violations_are_shown_and_the_rest_counted() -> None:
    value = deployment()
    container = value["spec"]["template"]["spec"]["containers"][0]
    value["spec"]["template"]["spec"]["containers"] = [
        container
        | {"name": f"c{index}", "resources": {"limits": {"tke.cloud.tencent.com/qgpu-core": "7", "tke.cloud.tencent.com/qgpu-memory": "1"}}}
        for index in range(200)
    ]
    message = ask(value)[1]["status"]["message"]
    assert len(message) < DENIAL + 2000
    assert message.splitlines()[-1].startswith("and ")
    assert all(line.startswith("[") for line in message.splitlines()[:-1])


def test_update_that_keeps_a_violation_is_warned_and_a_new_one_denied() -> None:
    changed = bad(labels={"touched": "yes"})
    outcome, response = ask(changed, "UPDATE", old=bad())
    assert (outcome.verdict, response["allowed"]) == ("warned", True)
    assert response["warnings"][0].startswith("[TF013]")
    assert response["auditAnnotations"]["not-denied-because"] == "was so before"
    assert ask(bad(), "UPDATE", old=deployment())[0].verdict == "denied"
    worse = bad()
    worse["spec"]["template"]["metadata"]["annotations"][f"{KEY}vram-request"] = "8Gi"
    outcome, response = ask(worse, "UPDATE", old=bad())
    assert outcome.verdict == "denied"
    assert response["status"]["message"].count("\n") == 0
    assert any(warning.startswith("[TF013]") for warning in response["warnings"])


def test_other_values_of_the_same_violation_are_a_new_one() -> None:
    assert ask(deployment("30", "10"), "UPDATE", old=deployment("20", "10"))[0].verdict == "denied"


def test_reordering_containers_is_no_new_violation() -> None:
    old = deployment()
    odd = {
        "name": "odd",
        "image": "i",
        "resources": {"limits": {"tke.cloud.tencent.com/qgpu-core": "7", "tke.cloud.tencent.com/qgpu-memory": "1"}},
    }
    old["spec"]["template"]["spec"]["containers"].append(odd)
    new = deployment()
    new["spec"]["template"]["spec"]["containers"].insert(0, odd)
    assert ask(old)[0].verdict == "denied"
    assert ask(new, "UPDATE", old=old)[0].verdict == "warned"


def test_update_without_an_old_object_is_judged_as_new() -> None:
    assert ask(bad(), "UPDATE")[0].verdict == "denied"


@pytest.mark.parametrize(
    "more",
    [
        *({"operation": operation} for operation in ("DELETE", "CONNECT", None)),
        *({"subResource": name} for name in ("scale", "status", "ephemeralcontainers", "resize", "binding", "eviction")),
    ],
    ids=str,
)
def test_what_is_none_of_ours_passes(more: dict[str, Any]) -> None:
    outcome, response = ask(bad(), **more)
    assert (outcome.verdict, response["allowed"]) == ("passed", True)


def test_object_that_is_going_away_passes() -> None:
    outcome, _ = ask(bad(deletionTimestamp="2026-01-01T00:00:00Z"), "UPDATE", old=deployment())
    assert outcome.verdict == "passed"
    assert ask(None, "DELETE")[0].verdict == "passed"


def test_what_controllers_make_of_covered_owners_is_warned() -> None:
    value = pod("20", "10", ownerReferences=[REPLICA_SET])
    outcome, response = ask(value, user=CONTROLLER)
    assert (outcome.verdict, response["allowed"]) == ("warned", True)
    assert response["auditAnnotations"]["not-denied-because"].startswith("a controller")
    assert ask(value)[0].verdict == "denied"
    assert ask(value, user="system:serviceaccount:team-a:replicaset-controller")[0].verdict == "denied"
    job = REPLICA_SET | {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    assert (
        ask(pod("20", "10", ownerReferences=[job]), user="system:serviceaccount:volcano-system:volcano-controllers")[0].verdict == "warned"
    )
    assert ask(pod("20", "10"), user=CONTROLLER)[0].verdict == "denied"
    unknown = REPLICA_SET | {"apiVersion": "example.com/v1", "kind": "Thing"}
    assert ask(pod("20", "10", ownerReferences=[unknown]), user=CONTROLLER)[0].verdict == "denied"
    assert ask(pod("20", "10", ownerReferences=[REPLICA_SET | {"controller": False}]), user=CONTROLLER)[0].verdict == "denied"


def test_replica_set_of_a_deployment_that_was_there_before_is_warned() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "inference", "uid": "1", "controller": True}
    value = bad(name="inference-1", ownerReferences=[owner]) | {"kind": "ReplicaSet"}
    assert ask(value, user="system:serviceaccount:kube-system:deployment-controller")[0].verdict == "warned"
    assert ask(value)[0].verdict == "denied"


def test_nodes_are_not_denied_what_they_say_of_themselves() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"tke.cloud.tencent.com/qgpu-schedule-policy": "Spread"}},
    }
    outcome, response = ask(node)
    assert outcome.verdict == "denied", response
    assert ask(node, user="system:node:n", groups=["system:nodes"])[0].verdict == "warned"
    assert ask(bad(), user="system:node:n", groups=["system:nodes"])[0].verdict == "denied"


def test_namespace_of_the_request_counts() -> None:
    value = bad()
    del value["metadata"]["namespace"]
    old = bad()
    assert ask(value, "UPDATE", old=old, namespace="team-a")[0].verdict == "warned"


def test_text_rules_are_silent() -> None:
    assert not any(rule.info.sees == "text" or rule.info.kind == "input" for rule in STATE.judge.rules.rules)
    assert len(STATE.judge.rules.rules) > 250


def test_rule_that_fails_denies_nothing_and_is_told() -> None:
    def broken(subject: Any, parameters: Any, report: Any) -> None:
        raise ZeroDivisionError("a bug")

    rules = [BoundRule(rule.info, rule.severity, rule.parameters, broken) for rule in STATE.judge.rules.rules if rule.info.id == "TF013"]
    outcome, response = ask(bad(), state=STATE._replace(judge=Judge(RuleSet(rules))))
    assert response["allowed"] is True
    assert outcome.crashes == ("TF013",)
    assert outcome.record is not None
    assert outcome.record["crashed"] == ["TF013: ZeroDivisionError: a bug"]


def test_half_a_surrogate_pair_is_answered() -> None:
    def quote(subject: Any, parameters: Any, report: Any) -> None:
        report((("self",), False, "not \ud800", None, None, (), None, ()))

    rule = next(rule for rule in STATE.judge.rules.rules if rule.info.id == "TF013")
    state = STATE._replace(judge=Judge(RuleSet([BoundRule(rule.info, "error", {}, quote)])))
    outcome, response = ask(bad(), state=state)
    assert response["allowed"] is False, outcome
    assert "\ud800" in response["status"]["message"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b"hello", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 10_000, "not JSON"),
        (b"[" * 10_000 + b"]" * 10_000, "not JSON"),
        (b"[]", "not an AdmissionReview"),
        (b"null", "not an AdmissionReview"),
        (b'{"kind": "Pod"}', "not an AdmissionReview"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "1"}}', "v1beta1"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', "uid"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": []}', "uid"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": 7}}', "uid"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": ""}}', "uid"),
    ],
    ids=range(13),
)
def test_what_is_no_review_is_refused(data: bytes, words: str) -> None:
    outcome = answer(data, STATE)
    assert (outcome.status, outcome.verdict) == (400, "refused")
    assert words in outcome.body.decode()


@pytest.mark.parametrize("depth", [200, 900])
def test_deep_object_is_answered(depth: int) -> None:
    deep: Any = "leaf"
    for _ in range(depth):
        deep = {f"{KEY}x": deep}
    value = deployment()
    value["spec"]["template"]["spec"]["affinity"] = deep
    assert ask(value)[1]["allowed"] in (True, False)


@pytest.mark.parametrize("name", [[], {}, ["a"], 7, True, None])
def test_name_of_another_object_may_be_anything(name: Any) -> None:
    value = deployment()
    value["spec"]["template"]["metadata"]["annotations"][f"{KEY}workload-profile"] = name
    outcome, _ = ask(value)
    assert outcome.crashes == ()


KEYS = st.sampled_from(
    [
        *("metadata", "spec", "template", "containers", "initContainers", "resources", "limits", "requests", "annotations", "labels"),
        *("nodeSelector", "affinity", "tolerations", "key", "name", "namespace", "image", "tasks", "policies", "replicas"),
        *(f"{KEY}tflops-request", f"{KEY}tflops-limit", f"{KEY}workload-profile", f"{KEY}enabled", f"{KEY}gpu-indices"),
        *("tke.cloud.tencent.com/qgpu-core", "koordinator.sh/gpu-core", "metax-tech.com/sgpu", "node.usage", "nvidia.com/gpu.product"),
        *("deletionTimestamp", "ownerReferences", "controller", "status", "capacity", "data", "rules"),
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["10", "1Gi", "1e3", "-1", "true", "0.5"])
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25)
IDENTITIES = st.sampled_from(
    [
        *(("v1", kind) for kind in ("Pod", "Node", "List", "ConfigMap")),
        *(("apps/v1", "Deployment"), ("batch/v1", "CronJob"), ("batch.volcano.sh/v1alpha1", "Job"), ("ray.io/v1", "RayCluster")),
        *(("tensor-fusion.ai/v1", "WorkloadProfile"), ("kubeflow.org/v1", "PyTorchJob")),
    ]
)
OBJECTS = st.builds(
    lambda identity, metadata, spec, more: {"apiVersion": identity[0], "kind": identity[1]} | more | {"metadata": metadata, "spec": spec},
    IDENTITIES,
    VALUES,
    VALUES,
    st.dictionaries(KEYS, VALUES, max_size=2),
)


def _wrapped(value: Any) -> dict[str, Any]:
    """A Pod template of anything."""
    template = {"metadata": {"annotations": value}, "spec": {"containers": [{"name": "c", "resources": value}], "nodeSelector": value}}
    return deployment() | {"spec": {"template": template}}


@settings(max_examples=150, deadline=None)
@given(OBJECTS | VALUES.map(_wrapped), st.sampled_from(["CREATE", "UPDATE"]), st.none() | OBJECTS, VALUES)
def test_any_object_is_answered(value: Any, operation: str, old: Any, user: Any) -> None:
    request = review(value, operation, old) | {}
    request["request"]["userInfo"] = user
    outcome = answer(json.dumps(request, allow_nan=False, default=str).encode() if _finite(request) else b"{}", STATE)
    assert outcome.status in (200, 400)
    assert not outcome.crashes, outcome.record
    json.dumps(outcome.record)


def _finite(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


@settings(max_examples=100, deadline=None)
@given(VALUES, st.dictionaries(st.sampled_from(["uid", "object", "operation", "kind", "namespace", "oldObject", "userInfo"]), VALUES))
def test_any_request_is_answered(value: Any, request: dict[str, Any]) -> None:
    for asked in (value, request, {"uid": "1"} | request):
        document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
        if _finite(document):
            assert answer(json.dumps(document).encode(), STATE).status in (200, 400)


class Watch(RuleWatch):
    """Holds the default rules."""

    def __init__(self) -> None:
        super().__init__(None, EmptyContext(), 60, lambda ok, state: None)


@pytest.fixture(name="metrics")
def metrics_fixture() -> Metrics:
    metrics = Metrics()
    metrics.loaded(True, STATE.digest, kinds_of(STATE))
    return metrics


@pytest.fixture(name="app")
def app_fixture(metrics: Metrics) -> Webhook:
    return Webhook(Watch(), metrics, lambda: False)


def http(app: Webhook, method: str, path: str, data: bytes = b"", **environ: Any) -> tuple[int, bytes]:
    answers: list[str] = []
    whole = {"REQUEST_METHOD": method, "PATH_INFO": path, "wsgi.input": io.BytesIO(data), "CONTENT_TYPE": "application/json"}
    whole |= {"CONTENT_LENGTH": str(len(data))} | environ
    sent = b"".join(app(whole, lambda status, headers: answers.append(status)))
    return int(answers[0].split()[0]), sent


def test_paths_and_statuses(app: Webhook) -> None:
    good = body(deployment())
    assert http(app, "POST", "/validate", good)[0] == 200
    assert http(app, "POST", "/validate", good, CONTENT_TYPE="application/json; charset=utf-8")[0] == 200
    assert http(app, "GET", "/validate")[0] == 405
    assert http(app, "POST", "/validate", good, CONTENT_TYPE="text/plain")[0] == 415
    assert http(app, "POST", "/validate", b"x", CONTENT_LENGTH=str(MAX_BODY + 1))[0] == 413
    assert http(app, "POST", "/validate", b"x" * (MAX_BODY + 1))[0] == 413
    for length in ("", "-1", "x", "\N{ARABIC-INDIC DIGIT ONE}", "1" * 5000):
        assert http(app, "POST", "/validate", good, CONTENT_LENGTH=length)[0] == 411
    assert http(app, "POST", "/validate", b"x")[0] == 400
    assert http(app, "GET", "/healthz")[0] == 200
    assert http(app, "GET", "/readyz")[0] == 503
    assert http(app, "GET", "/other")[0] == 404


def test_connection_that_breaks_is_no_crash(app: Webhook) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("gone")

    assert http(app, "POST", "/validate", **{"wsgi.input": Broken()})[0] == 400


def test_metrics_count_verdicts_rules_and_kinds(app: Webhook, metrics: Metrics) -> None:
    http(app, "POST", "/validate", body(bad()))
    http(app, "POST", "/validate", body(quiet()))
    http(app, "POST", "/validate", b"x")
    text = http(app, "GET", "/metrics")[1].decode()
    assert 'gpuvet_reviews_total{kind="Deployment",verdict="denied"} 1.0' in text
    assert 'gpuvet_reviews_total{kind="Deployment",verdict="allowed"} 1.0' in text
    assert 'gpuvet_reviews_total{kind="",verdict="refused"} 1.0' in text
    assert 'gpuvet_findings_total{rule="TF013",verdict="denied"} 1.0' in text
    assert "gpuvet_review_seconds_count 3.0" in text


def test_invented_kinds_do_not_fill_the_metrics(app: Webhook, metrics: Metrics) -> None:
    for index in range(300):
        http(app, "POST", "/validate", body({"kind": f"Kind{index}", "metadata": {}}))
    http(app, "POST", "/validate", body(bad()))
    http(app, "POST", "/validate", body({"kind": "WorkloadProfile", "metadata": {}}))
    text = metrics.text().decode()
    assert text.count("gpuvet_reviews_total{") == 3
    assert 'gpuvet_reviews_total{kind="other",verdict="allowed"} 300.0' in text
    assert 'gpuvet_reviews_total{kind="Deployment",verdict="denied"} 1.0' in text
    assert 'kind="WorkloadProfile"' in text


def test_names_can_neither_forge_nor_flood_the_log() -> None:
    forged = 'x\n{"verdict": "allowed"}\u2028\x85\x1b[2J'
    outcome, _ = ask(bad(), name=forged, user="u" * 100_000, operation="CREATE")
    assert outcome.record is not None
    line = JsonLines().format(logging.LogRecord("x", logging.INFO, "", 0, "%s", (json.dumps(outcome.record, ensure_ascii=False),), None))
    assert len(line.splitlines()) == 1
    assert line.isascii()
    assert "\x1b" not in line
    assert len(line) < 2000
    assert json.loads(line)["name"] == forged
    outcome, _ = ask(bad(), name={"secret": "object"}, namespace=["x"])
    assert outcome.record is not None
    assert (outcome.record["name"], outcome.record["namespace"]) == (None, None)
    huge = json.dumps({"kind": "AdmissionReview", "apiVersion": "v" * 100_000, "request": {"uid": "1"}}).encode()
    assert len(answer(huge, STATE).body) < 400


def test_no_verdict_in_time_is_left_to_the_api_server(metrics: Metrics, caplog: pytest.LogCaptureFixture) -> None:
    def endless(subject: Any, parameters: Any, report: Any) -> None:
        while True:
            subject.part("resources")

    rule = next(rule for rule in STATE.judge.rules.rules if rule.info.id == "TF013")
    rules = Watch()
    rules.state = STATE._replace(judge=Judge(RuleSet([BoundRule(rule.info, "error", {}, endless)])))
    app = Webhook(rules, metrics, lambda: True)
    caplog.set_level("INFO", "gpuvet.webhook")
    start = time.monotonic()
    status, text = http(app, "POST", "/validate", body(bad()), QUERY_STRING="timeout=1s")
    assert 0.7 < time.monotonic() - start < 1
    assert (status, text) == (500, b"gpuvet: the object was not judged within 0.75 seconds")
    record = json.loads(caplog.records[-1].message)
    assert (record["verdict"], record["kind"], record["name"]) == ("unjudged", "Deployment", "inference")
    assert 'gpuvet_reviews_total{kind="Deployment",verdict="unjudged"} 1.0' in metrics.text().decode()
    assert http(app, "GET", "/healthz")[0] == 200


class Slow:
    """An engine outside that takes its time."""

    denies_when_silent = False

    def judge(self, document: Document, path: Path, value: dict[str, Any], file: str, until: float | None = None) -> list[Finding]:
        time.sleep(0.002)
        return []


@pytest.mark.parametrize("outside", [False, True], ids=["rules-alone", "with-opa"])
def test_all_threads_work_only_where_others_are_waited_for(metrics: Metrics, outside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuvet.admission.standby.processors", lambda: 2)
    rules = Watch()
    rules.state = STATE._replace(outside=(Slow(),) if outside else ())
    app = Webhook(rules, metrics, lambda: True)
    data = body(deployment())
    together = threading.Barrier(6)

    def ask_often() -> None:
        together.wait()
        for _ in range(50):
            http(app, "POST", "/validate", data)

    threads = [threading.Thread(target=ask_often, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5 if outside else 0.3)
    assert any(thread.is_alive() for thread in threads) != outside


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("", 2.0),
        ("timeout=2s", 2.0),
        ("timeout=10s", 10.0),
        ("a=b&timeout=1.5s", 1.5),
        ("timeout=1m5s", 30.0),
        ("timeout=x", 2.0),
        ("xtimeout=9s", 2.0),
    ],
)
def test_patience_of_who_asks(query: str, seconds: float) -> None:
    assert patience(query) == seconds
