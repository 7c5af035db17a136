"""The manifests of the webhook, what deploy/ is made of, and what the doctor says of them."""

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuvet import __version__
from gpuvet.admission.certificates import make_certificates, trusted
from gpuvet.admission.install import Plan, manifests, unknown_kinds, webhook_configuration
from gpuvet.admission.review import review
from gpuvet.admission.state import load_state
from gpuvet.cli.main import main
from gpuvet.cluster.doctor import PROBE, diagnose
from gpuvet.cluster.watch import KINDS
from gpuvet.compiled.bundles import BUNDLES
from gpuvet.engine.context import EmptyContext
from gpuvet.manifests.workload_table import TABLE
from gpuvet.manifests.written import to_yaml
from gpuvet.settings.config import load_settings
from gpuvet.values.errors import UsageError

WATCHED = tuple(kind.resource for kind in KINDS)


def entries(**plan: Any) -> dict[str, dict[str, Any]]:
    return {entry["name"].partition(".")[0]: entry for entry in webhook_configuration(Plan(ca=b"ca", **plan))["webhooks"]}


def policies(**plan: Any) -> dict[str, str]:
    return {name: entry["failurePolicy"] for name, entry in entries(**plan).items()}


def test_same_text_every_time() -> None:
    assert to_yaml(manifests(Plan(watched=WATCHED))) == to_yaml(manifests(Plan(watched=WATCHED)))


def test_every_entry_is_harmless() -> None:
    for name, entry in entries().items():
        assert entry["sideEffects"] == "None", name
        assert entry["timeoutSeconds"] == 2
        assert entry["matchPolicy"] == "Equivalent"
        assert entry["matchConditions"][0]["expression"] == "!has(object.metadata.deletionTimestamp)"
        assert entry["namespaceSelector"]["matchExpressions"][0]["values"] == ["gpuvet-system", "kube-system"]
        for rule in entry["rules"]:
            assert rule["operations"] == ["CREATE", "UPDATE"]
            assert not any("/" in resource for resource in rule["resources"])


def test_every_workload_kind_is_asked_about() -> None:
    asked = {
        (group, resource)
        for entry in entries().values()
        for rule in entry["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert {(row.group, row.resource) for row in TABLE} <= asked
    assert {("", "nodes"), ("", "configmaps"), ("rbac.authorization.k8s.io", "clusterroles")} <= asked


def test_failure_policy_follows_the_bundle(tmp_path: Path) -> None:
    assert set(policies().values()) == {"Ignore"}
    config = tmp_path / ".gpuvet.yaml"
    config.write_text("bundle: strict\n")
    strict = policies(config=str(config))
    assert strict["core-pods"] == "Fail"
    assert strict["apps-deployments"] == "Fail"
    general = ("nodes", "configmaps", "clusterroles-rbac-authorization-k8s-io", "roles-rbac-authorization-k8s-io", "resourcequotas")
    assert {strict[name] for name in general} == {"Ignore"}
    assert strict["core-pods-of-controllers"] == "Ignore"
    assert set(policies(config=str(config), failure_policy="Ignore").values()) == {"Ignore"}


def test_match_conditions_follow_the_rules(tmp_path: Path) -> None:
    config = tmp_path / ".gpuvet.yaml"
    config.write_text("rules: {'*': 'off', TF013: error}\n")
    text = str(entries(config=str(config))["core-pods"]["matchConditions"])
    assert "tensor-fusion.ai/tflops-request" in text
    assert "koordinator" not in text
    assert "nodes" not in entries(config=str(config))
    config.write_text("domains: {tensorFusion: gpu.example.com}\n")
    assert "gpu.example.com" in str(entries(config=str(config))["core-pods"]["matchConditions"])
    config.write_text("usageKey: example.com/usage\n")
    assert "'example.com/usage'" in str(entries(config=str(config))["core-pods"]["matchConditions"])


def test_own_rules_travel_with_the_configuration(tmp_path: Path) -> None:
    config, own = tmp_path / ".gpuvet.yaml", tmp_path / "own.yaml"
    config.write_text("ruleFiles: [own.yaml]\n")
    own.write_text(
        "family: XX\ntitle: Ours\nrules:\n  - id: XX001\n    name: no-such-key\n    severity: error\n    consequence: advice\n"
        "    on: object\n    trigger: {kinds: [Thing.example.com], keys: [example.com/x]}\n"
        "    forbidden: {that: \"has(object.metadata.labels['example.com/x'])\", at: object.metadata.labels}\n    why: For the test.\n"
    )
    (config_map,) = (value for value in manifests(Plan(config=str(config))) if value["kind"] == "ConfigMap")
    assert config_map["data"] == {".gpuvet.yaml": config.read_text(), "own.yaml": own.read_text()}
    assert unknown_kinds(str(config)) == ["Thing.example.com"]


def test_pods_are_restricted() -> None:
    (deployment,) = (value for value in manifests(Plan()) if value["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    container = pod["containers"][0]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]
    assert not any(value["kind"].startswith("ClusterRole") for value in manifests(Plan()))


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_certificates(tmp_path, ["gpuvet-webhook.gpuvet-system.svc"])
    assert main(["webhook", "manifests", "--ca", str(tmp_path / "ca.crt"), "--cluster", "--image", "example.com/gpuvet:1"]) == 0
    out, err = capsys.readouterr()
    values = list(yaml.safe_load_all(out))
    kinds = [value["kind"] for value in values]
    assert kinds[0] == "Namespace"
    assert kinds[-1] == "ValidatingWebhookConfiguration"
    assert err == ""
    assert len(out) < 1_000_000
    assert main(["webhook", "manifests", "--ca", str(tmp_path / "missing")]) == 2


class Cluster:
    """Answers the doctor."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        made = make_certificates(folder, ["gpuvet-webhook.gpuvet-system.svc"])
        assert made
        values = manifests(Plan(ca=(folder / "ca.crt").read_bytes(), watched=WATCHED, image=f"gpuvet:{__version__}", **plan))
        by_kind = {value["kind"]: value for value in values}
        self.configuration = by_kind["ValidatingWebhookConfiguration"]
        self.deployment = by_kind["Deployment"] | {"status": {"readyReplicas": 2}}
        self.secret = {"data": {"tls.crt": b64encode((folder / "tls.crt").read_bytes()).decode()}}
        self.service = by_kind["Service"]
        self.allowed = True
        self.minor = "36"
        self.trial: tuple[int, Any] = (422, {"message": 'admission webhook "x.admission.gpuvet" denied the request: [TF013] no'})

    def ask(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/version":
            return 200, {"minor": self.minor, "gitVersion": f"v1.{self.minor}.0"}
        if path.startswith("/api/v1/namespaces/default/pods"):
            return self.trial
        if method == "POST":
            return 201, {"status": {"allowed": self.allowed}}
        kept = {"validatingwebhookconfigurations/gpuvet": self.configuration, "secrets/gpuvet-webhook-tls": self.secret}
        kept |= {"deployments/gpuvet-webhook": self.deployment, "services/gpuvet-webhook": self.service}
        found = kept.get("/".join(path.split("/")[-2:]))
        return (200, found) if found else (404, {})

    def wrong(self) -> str:
        return "\n".join(
            f"{found.state}: {found.text}"
            for found in diagnose(self.ask, trusted, "gpuvet-system", "gpuvet", __version__)
            if found.state != "ok"
        )


def test_doctor_finds_nothing_wrong(tmp_path: Path) -> None:
    assert Cluster(tmp_path).wrong() == ""


def test_doctor_says_what_is_wrong(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, failure_policy="Fail")
    cluster.minor = "29+"
    cluster.allowed = False
    cluster.deployment["status"] = {}
    make_certificates(tmp_path / "other", ["gpuvet-webhook.gpuvet-system.svc"])
    cluster.secret["data"]["tls.crt"] = b64encode((tmp_path / "other" / "tls.crt").read_bytes()).decode()
    next(entry for entry in cluster.configuration["webhooks"] if entry["failurePolicy"] == "Fail")["namespaceSelector"] = {}
    wrong = cluster.wrong()
    for words in ("v1.29+", "may not list", "none of 2 replicas", "no CA of the bundle", "does not exclude gpuvet-system, kube-system"):
        assert words in wrong
    cluster.configuration = {}
    assert "cannot be read (404)" in cluster.wrong()


def test_doctor_sees_entries_that_refuse_too_much(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, failure_policy="Fail")
    closed = [entry for entry in cluster.configuration["webhooks"] if entry["failurePolicy"] == "Fail"]
    closed[0]["rules"][0]["operations"] = ["CREATE", "DELETE"]
    closed[1]["rules"][0]["resources"] = ["*/*"]
    wrong = cluster.wrong()
    assert f"{closed[0]['name']} fails closed for DELETE" in wrong
    assert f"{closed[1]['name']} fails closed for */*" in wrong
    assert wrong.count("fails closed for") == 2


def test_doctor_sees_a_service_that_leads_nowhere(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    cluster.service = cluster.service | {"spec": {"selector": {"app": "other"}}}
    assert "gpuvet-webhook does not select the Pods" in cluster.wrong()
    cluster.service = {}
    assert "the Service gpuvet-system/gpuvet-webhook cannot be read (404)" in cluster.wrong()


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (f"registry.example.com:5000/gpuvet:{__version__}", ""),
        (f"registry.example.com:5000/gpuvet:{__version__}@sha256:{'a' * 64}", ""),
        (f"registry.example.com:5000/gpuvet@sha256:{'a' * 64}", "cannot be told"),
        ("registry.example.com:5000/gpuvet", "cannot be told"),
        ("gpuvet:0.0.1", "runs 0.0.1"),
    ],
)
def test_doctor_reads_the_version_of_an_image(tmp_path: Path, image: str, words: str) -> None:
    cluster = Cluster(tmp_path)
    containers = cluster.deployment["spec"]["template"]["spec"]["containers"]
    containers[0]["image"] = image
    containers.append({"name": "istio-proxy", "image": "istio:1.2"})
    assert words in cluster.wrong()
    assert bool(words) == bool(cluster.wrong())


@pytest.mark.parametrize("bundle", BUNDLES)
def test_doctor_tries_a_pod_that_every_bundle_denies(bundle: str) -> None:
    request = {"uid": "1", "operation": "CREATE", "kind": {"kind": "Pod"}, "object": PROBE}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    assert review(body, load_state(None, EmptyContext(), bundle=bundle)).verdict == "denied"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"name": "Foo Bar"}, "--name 'Foo Bar'"),
        ({"name": "a" * 45}, "at most 43"),
        ({"namespace": ""}, "--namespace ''"),
        ({"namespace": "x_y"}, "--namespace 'x_y'"),
        ({"replicas": -1}, "--replicas -1"),
        ({"url": "http://hooks.example.com/validate"}, "over https only"),
    ],
    ids=str,
)
def test_what_the_api_server_would_refuse_is_not_printed(plan: dict[str, Any], words: str) -> None:
    for make in (manifests, webhook_configuration):
        with pytest.raises(UsageError, match=re.escape(words)):
            make(Plan(**plan))


def test_other_names_are_used_everywhere() -> None:
    text = to_yaml(manifests(Plan(namespace="team-gpu", name="vet", watched=WATCHED)))
    assert "gpuvet-system" not in text
    assert "gpuvet-webhook" not in text
    values = manifests(Plan(namespace="team-gpu", name="vet", watched=WATCHED))
    assert {value["metadata"].get("namespace", "team-gpu") for value in values} == {"team-gpu"}
    names = {value["kind"]: value["metadata"]["name"] for value in values}
    (entry, *_) = values[-1]["webhooks"]
    assert entry["clientConfig"]["service"]["name"] == names["Service"] == "vet-webhook"
    assert entry["namespaceSelector"]["matchExpressions"][0]["values"] == ["kube-system", "team-gpu"]


def test_cert_manager_renews_below_a_ca_that_stays() -> None:
    values = {(value["kind"], value["metadata"]["name"]): value for value in manifests(Plan())}
    serving, authority = (values["Certificate", f"gpuvet-webhook{end}"]["spec"] for end in ("", "-ca"))
    issuer, root = (values["Issuer", f"gpuvet-webhook{end}"]["spec"] for end in ("-ca", "-self-signed"))
    assert serving["issuerRef"]["name"] == "gpuvet-webhook-ca"
    assert issuer == {"ca": {"secretName": authority["secretName"]}}
    assert authority["isCA"] is True
    assert authority["issuerRef"]["name"] == "gpuvet-webhook-self-signed"
    assert root == {"selfSigned": {}}
    assert "gpuvet-webhook.gpuvet-system.svc" in serving["dnsNames"]
    configuration = values["ValidatingWebhookConfiguration", "gpuvet"]
    assert configuration["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "gpuvet-system/gpuvet-webhook"}
    volume = values["Deployment", "gpuvet-webhook"]["spec"]["template"]["spec"]["volumes"][0]
    assert volume["secret"]["secretName"] == serving["secretName"]


def test_one_replica_can_be_moved() -> None:
    (budget,) = (value for value in manifests(Plan(replicas=1)) if value["kind"] == "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] == 1
    assert "minAvailable" not in budget["spec"]


def test_doctor_tries_a_webhook_outside_the_cluster(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, url="https://hooks.example.com/validate")
    cluster.secret, cluster.deployment = {}, {}
    assert cluster.wrong() == ""
    for answer, words in (
        ((201, {"kind": "Pod"}), "is let in"),
        ((500, {"message": 'failed calling webhook "x.admission.gpuvet": failed to call webhook: EOF'}), "does not reach the webhook: EOF"),
        ((403, {"message": "jane may not"}), "cannot be tried (403): jane may not"),
        ((0, {"message": "gone"}), "nothing can be tried: gone"),
    ):
        cluster.trial = answer
        assert words in cluster.wrong()


def test_trust(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["a.example"], days=10)
    ca, serving = (tmp_path / "ca.crt").read_bytes(), (tmp_path / "tls.crt").read_bytes()
    wrong, days = trusted(ca, serving, "a.example")
    assert wrong == ""
    assert 9 < days <= 10
    assert "not for b.example" in trusted(ca, serving, "b.example")[0]
    assert "no PEM" in trusted(b"", serving, "a.example")[0]
    assert load_settings(None).bundle == "default"
