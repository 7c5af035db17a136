"""What else happens to objects, and what happens when the webhook does not: nothing that hurts the cluster."""

import copy
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.server import ApiServer
from e2e.cluster import Restartable, configure, create, delete, remove_configuration, resource_path, to_text, until
from gpuvet.admission.certificates import make_certificates
from webhook.reviews import deployment, pod, quiet
from webhook.server import WebhookServer, mount

pytestmark = pytest.mark.real

PATH = "/apis/apps/v1/namespaces/team-a/deployments"


@pytest.fixture(autouse=True)
def clean(cluster: ApiServer) -> Iterator[None]:
    """No Deployments and Pods are left behind."""
    yield
    remove_configuration(cluster)
    for path in (PATH, "/api/v1/namespaces/team-a/pods", "/apis/tensor-fusion.ai/v1/namespaces/team-a/workloadprofiles"):
        cluster.request("DELETE", path)


def plain(number: int, kind: str) -> dict[str, Any]:
    value = deployment(name=f"plain-{number}")
    value["spec"]["template"]["metadata"] = {"labels": {"app": "inference"}, "annotations": {"prometheus.io/scrape": "true"}}
    value["spec"]["template"]["spec"] |= {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]}}
                ]
            }
        },
    }
    value["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    if kind == "Pod":
        template = value["spec"]["template"]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"] | value["metadata"], "spec": template["spec"]}
    return value


def existing(cluster: ApiServer, value: dict[str, Any]) -> None:
    """Created before the webhook was installed."""
    remove_configuration(cluster)
    until(lambda: create(cluster, value, dry_run=True).ok)
    answer = create(cluster, value)
    assert answer.ok, answer.message


def test_plain_objects_are_never_sent(installed: ApiServer, running: WebhookServer) -> None:
    before = running.metric("gpuvet_reviews_total")
    for number in range(500):
        for kind in ("Pod", "Deployment"):
            answer = create(installed, plain(number, kind))
            assert answer.ok, answer.message
            delete(installed, answer.body)
    assert running.metric("gpuvet_reviews_total") == before
    assert create(installed, quiet()).ok
    assert running.metric("gpuvet_reviews_total") == before + 1


def test_ratchet(cluster: ApiServer, running: WebhookServer) -> None:
    bad = deployment("20", "10")
    existing(cluster, bad)
    configure(cluster, running)
    again = cluster.kubectl("-n", "team-a", "annotate", "deployment", "inference", "touched=yes")
    assert again.returncode == 0
    assert "[TF013]" in again.stderr
    worse = cluster.request(
        "PATCH", f"{PATH}/inference", _annotations({"tensor-fusion.ai/vram-request": "8Gi"}), "application/merge-patch+json"
    )
    assert not worse.ok
    assert "TF414" in worse.message
    better = cluster.request(
        "PATCH", f"{PATH}/inference", _annotations({"tensor-fusion.ai/tflops-request": "10"}), "application/merge-patch+json"
    )
    assert better.ok, better.message
    back = cluster.request(
        "PATCH", f"{PATH}/inference", _annotations({"tensor-fusion.ai/tflops-request": "20"}), "application/merge-patch+json"
    )
    assert not back.ok


def _annotations(annotations: dict[str, str]) -> dict[str, Any]:
    return {"spec": {"template": {"metadata": {"annotations": annotations}}}}


def test_scale_status_and_deletion_are_free(cluster: ApiServer, running: WebhookServer) -> None:
    existing(cluster, deployment("20", "10"))
    configure(cluster, running)
    before = running.metric("gpuvet_reviews_total")
    scaled = cluster.kubectl("-n", "team-a", "scale", "deployment", "inference", "--replicas=3")
    assert scaled.returncode == 0, scaled.stderr
    status = cluster.request("PATCH", f"{PATH}/inference/status", {"status": {"replicas": 3}}, "application/merge-patch+json")
    assert status.ok, status.message
    deleted = cluster.kubectl("-n", "team-a", "delete", "deployment", "inference")
    assert deleted.returncode == 0, deleted.stderr
    assert running.metric("gpuvet_reviews_total") == before


def test_finalizer_can_be_taken_off(cluster: ApiServer, running: WebhookServer) -> None:
    existing(cluster, deployment("20", "10", finalizers=["example.com/wait"]))
    configure(cluster, running, policy="Fail")
    assert cluster.request("DELETE", f"{PATH}/inference").ok
    assert cluster.request("GET", f"{PATH}/inference").body["metadata"]["deletionTimestamp"]
    # Even a change for the worse: the object is going away.
    patch = {"metadata": {"finalizers": None}} | _annotations({"tensor-fusion.ai/vram-request": "8Gi"})
    assert cluster.request("PATCH", f"{PATH}/inference", patch, "application/merge-patch+json").ok
    until(lambda: cluster.request("GET", f"{PATH}/inference").status == 404)


def test_namespace_can_be_deleted(cluster: ApiServer, running: WebhookServer) -> None:
    assert cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "leaving"}}).ok
    value = deployment("20", "10", namespace="leaving")
    existing(cluster, value)
    configure(cluster, running, policy="Fail")
    before = running.metric("gpuvet_reviews_total", verdict="denied")
    assert cluster.request("DELETE", "/api/v1/namespaces/leaving").ok
    # The namespace controller deletes what is in it.
    assert cluster.request("DELETE", "/apis/apps/v1/namespaces/leaving/deployments").ok
    until(lambda: cluster.request("GET", resource_path(cluster, value, "inference")).status == 404)
    assert running.metric("gpuvet_reviews_total", verdict="denied") == before


@pytest.mark.parametrize("namespace", ["kube-system", "gpuvet-system"])
def test_excluded_namespaces(installed: ApiServer, namespace: str) -> None:
    installed.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    answer = create(installed, deployment("20", "10", namespace=namespace))
    assert answer.ok, answer.message
    assert not any(warning.startswith("[") for warning in answer.warnings)
    delete(installed, answer.body)


def as_controller(cluster: ApiServer, value: dict[str, Any], name: str = "kube-system:replicaset-controller", dry_run: bool = True) -> Any:
    """Created by a controller, whose service account is named with its namespace."""
    user = f"system:serviceaccount:{name}"
    more = ["--dry-run=server"] if dry_run else []
    groups = ["--as-group=system:masters", f"--as-group=system:serviceaccounts:{name.partition(':')[0]}"]
    return cluster.kubectl("create", *more, f"--as={user}", *groups, "-f", "-", stdin=to_text([value]))


OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "inference-1",
    "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
    "controller": True,
}


@pytest.mark.parametrize("policy", ["Ignore", "Fail"])
def test_pods_of_running_owners_are_let_in(cluster: ApiServer, running: WebhookServer, policy: str) -> None:
    configure(cluster, running, policy=policy)
    made = as_controller(cluster, pod("20", "10", ownerReferences=[OWNER]))
    assert made.returncode == 0, made.stderr
    assert "Warning: [TF013]" in made.stderr
    by_hand = as_controller(cluster, pod("20", "10"))
    assert by_hand.returncode == 1
    assert "[TF013]" in by_hand.stderr
    replica_set = deployment("20", "10", ownerReferences=[OWNER | {"kind": "Deployment"}]) | {"kind": "ReplicaSet"}
    made = as_controller(cluster, replica_set, "kube-system:deployment-controller")
    assert made.returncode == 0, made.stderr
    job = OWNER | {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    made = as_controller(cluster, pod("20", "10", ownerReferences=[job]), "volcano-system:volcano-controllers")
    assert made.returncode == 0, made.stderr
    assert "Warning: [TF013]" in made.stderr


def test_nodes_speak_freely_of_themselves(installed: ApiServer) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"tke.cloud.tencent.com/qgpu-schedule-policy": "Spread"}},
    }
    by_hand = create(installed, node, dry_run=True)
    assert "admission.gpuvet" in by_hand.message
    arguments = ["--as=system:node:node-1", "--as-group=system:nodes", "--as-group=system:masters"]
    itself = installed.kubectl("create", "--dry-run=server", *arguments, "-f", "-", stdin=to_text([node]))
    assert itself.returncode == 0, itself.stderr


def test_webhook_that_is_down(cluster: ApiServer, folder: Path) -> None:
    with WebhookServer(folder) as webhook:
        configure(cluster, webhook, policy="Fail")
    ours, others = quiet(), plain(1, "Deployment")
    refused = create(cluster, ours, dry_run=True)
    assert refused.status == 500
    assert "failed calling webhook" in refused.message
    assert create(cluster, others, dry_run=True).ok
    assert create(cluster, plain(1, "Pod"), dry_run=True).ok
    made = as_controller(cluster, pod("20", "10", ownerReferences=[OWNER]))
    assert made.returncode == 0, made.stderr
    assert cluster.request("GET", "/api/v1/namespaces").ok
    with WebhookServer(folder) as webhook:
        configure(cluster, webhook, policy="Ignore")
    let_in = create(cluster, deployment("20", "10"), dry_run=True)
    assert let_in.ok, let_in.message


@pytest.mark.parametrize("sort", ["Pod", "Deployment", "JobSet", "RayCluster"])
def test_large_objects_without_our_keys_are_let_in(cluster: ApiServer, folder: Path, sort: str) -> None:
    """Match conditions have a budget; whoever exceeds it would be refused by failurePolicy Fail."""
    with WebhookServer(folder) as webhook:
        configure(cluster, webhook, policy="Fail")
    template = plain(1, "Deployment")["spec"]["template"]
    main = template["spec"]["containers"][0]
    template["metadata"]["annotations"] = {f"example.com/key-{number}": "x" * 100 for number in range(200)}
    template["spec"]["tolerations"] = [{"key": f"example.com/{number}", "operator": "Exists"} for number in range(100)]
    template["spec"]["containers"] = [
        main | {"name": f"c{number}", "env": [{"name": f"E{each}", "value": "x"} for each in range(50)]} for number in range(100)
    ]
    value: dict[str, Any]
    if sort == "Pod":
        value = {"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"] | {"name": "large"}, "spec": template["spec"]}
    elif sort == "Deployment":
        value = plain(1, "Deployment") | {"metadata": {"name": "large"}}
        value["spec"]["template"] = template
    else:
        small = {"spec": {"containers": [main], "tolerations": template["spec"]["tolerations"][:5]}}
        api, groups = ("jobset.x-k8s.io/v1alpha2", "replicatedJobs") if sort == "JobSet" else ("ray.io/v1", "workerGroupSpecs")
        inner = {"spec": {"template": small}} if sort == "JobSet" else small
        spec = {groups: [{"name": f"g{number}", "groupName": f"g{number}", "template": inner} for number in range(100)]}
        value = {"apiVersion": api, "kind": sort, "metadata": {"name": "large"}, "spec": spec}
    answer = create(cluster, value, dry_run=True)
    assert answer.ok, answer.message[:500]


VERSIONED = """
apiVersion: jobset.x-k8s.io/v1beta9
kind: JobSet
metadata: {name: later, namespace: team-a}
spec:
  replicatedJobs:
    - name: workers
      template:
        spec:
          template:
            spec:
              containers:
                - name: main
                  image: i
                  resources: {limits: {tke.cloud.tencent.com/qgpu-core: "7", tke.cloud.tencent.com/qgpu-memory: "1"}}
"""


def test_object_sent_in_another_version_is_judged(installed: ApiServer) -> None:
    """Of a kind that is served in several."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobsets.jobset.x-k8s.io"
    known = installed.request("GET", path).body
    (version,) = known["spec"]["versions"]
    known["spec"]["versions"] = [version, version | {"name": "v1beta9", "storage": False}]
    assert installed.request("PUT", path, known).ok
    where = "/apis/jobset.x-k8s.io/v1beta9/namespaces/team-a/jobsets"
    until(lambda: installed.request("GET", where).ok, 30)
    answer = installed.request("POST", f"{where}?dryRun=All", yaml.safe_load(VERSIONED))
    assert not answer.ok
    assert "[QG004]" in answer.message
    known = installed.request("GET", path).body
    known["spec"]["versions"] = [version]
    assert installed.request("PUT", path, known).ok


def test_subresources_of_pods_are_free(cluster: ApiServer, running: WebhookServer) -> None:
    value = pod("20", "10")
    existing(cluster, value)
    configure(cluster, running)
    before = running.metric("gpuvet_reviews_total")
    where = "/api/v1/namespaces/team-a/pods/inference-1"
    debug = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "i", "targetContainerName": "main"}]}}
    strategic = "application/strategic-merge-patch+json"
    assert cluster.request("PATCH", f"{where}/ephemeralcontainers", debug, strategic).ok
    larger = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
    resized = cluster.request("PATCH", f"{where}/resize?dryRun=All", larger, strategic)
    assert "admission.gpuvet" not in resized.message
    assert cluster.request("PATCH", f"{where}/status", {"status": {"phase": "Running"}}, strategic).ok
    target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "inference-1"}, "target": {"kind": "Node", "name": "n"}}
    assert cluster.request("POST", f"{where}/binding", target).ok
    assert running.metric("gpuvet_reviews_total") == before


def test_slow_webhook_costs_two_seconds_at_most(cluster: ApiServer, folder: Path) -> None:
    import socket

    with WebhookServer(folder) as webhook:
        configure(cluster, webhook, policy="Ignore")
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        deaf.bind(("127.0.0.1", webhook.port))
        deaf.listen()
        start = time.monotonic()
        assert create(cluster, deployment("20", "10"), dry_run=True).ok
        assert 1.5 < time.monotonic() - start < 4


SLOW_RULE = """
family: SLOW
title: Rules that take their time
rules:
  - id: SLOW001
    name: every-toleration-with-every-other
    severity: error
    consequence: advice
    on: pod
    trigger: {keys: [tke.cloud.tencent.com/*]}
    let: {all: pod.spec.tolerations}
    forbidden: {that: "all.exists(a, all.exists(b, all.exists(c, a.key == c.value && b.key == c.value)))", at: pod.spec.tolerations}
    message: two tolerations are alike
    why: They should not be.
"""


def test_object_that_takes_too_long_is_left_to_the_policy(cluster: ApiServer, folder: Path) -> None:
    """One rule with one object: minutes, if nobody put an end to it."""
    (folder / "slow.yaml").write_text(SLOW_RULE)
    config = folder / ".gpuvet.yaml"
    config.write_text("ruleFiles: [slow.yaml]\n")
    large = quiet()
    large["spec"]["template"]["spec"]["tolerations"] = [{"key": f"k{n}", "value": "x", "operator": "Equal"} for n in range(3000)]
    with WebhookServer(folder, "--config", str(config)) as webhook:
        configure(cluster, webhook, config, policy="Fail")
        start = time.monotonic()
        refused = create(cluster, large, dry_run=True)
        assert 1.4 < time.monotonic() - start < 2.5
        assert not refused.ok
        assert "the object was not judged within 1.5 seconds" in refused.message
        assert webhook.records()[-1]["verdict"] == "unjudged"
        assert webhook.metric("gpuvet_reviews_total", verdict="unjudged") == 1
        # Others are answered meanwhile, and the server is as it was.
        assert create(cluster, quiet(), dry_run=True).ok
        configure(cluster, webhook, config, policy="Ignore")
        let_in = create(cluster, large, dry_run=True)
        assert let_in.ok, let_in.message


def test_certificate_is_rotated_under_load(cluster: ApiServer, folder: Path) -> None:
    """In a secret as the kubelet mounts it, with failurePolicy Fail: one lost request would be an error."""
    hosts = ["127.0.0.1", "localhost"]
    make_certificates(folder / "first", hosts)
    make_certificates(folder / "next", hosts, days=90)
    shutil.copytree(folder / "next", folder / "mixed")
    shutil.copy(folder / "first" / "tls.key", folder / "mixed" / "tls.key")
    mount(folder, folder / "first")
    with WebhookServer(folder) as webhook:
        wanted = configure(cluster, webhook, policy="Fail")
        first = webhook.metric("gpuvet_certificate_expiry_timestamp_seconds")
        # The API server trusts both before the webhook shows the new one.
        both = webhook.ca + (folder / "next" / "ca.crt").read_bytes()
        (folder / "next" / "ca.crt").write_bytes(both)
        configure_in_place(cluster, both, copy.deepcopy(wanted))
        sent, failed = 0, []

        def load(seconds: float) -> None:
            nonlocal sent
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                answer = create(cluster, quiet(), dry_run=True)
                sent += 1
                if not answer.ok:
                    failed.append(answer.message)

        load(1)
        # A certificate with the key of another: the one in use stays.
        mount(folder, folder / "mixed")
        load(2.5)
        assert webhook.metric("gpuvet_certificate_last_reload_success") == 0.0
        assert webhook.metric("gpuvet_certificate_expiry_timestamp_seconds") == first
        assert "tls.key: is not the key of" in webhook.records()[-1]["message"]
        webhook.close()
        mount(folder, folder / "next")
        load(6)
        assert failed == []
        assert sent > 100
        assert webhook.metric("gpuvet_certificate_expiry_timestamp_seconds") < first
        assert webhook.metric("gpuvet_certificate_last_reload_success") == 1.0


def configure_in_place(cluster: ApiServer, bundle: bytes, wanted: dict[str, Any]) -> None:
    from base64 import b64encode

    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/gpuvet"
    for entry in wanted["webhooks"]:
        entry["clientConfig"]["caBundle"] = b64encode(bundle).decode()
    wanted["metadata"]["resourceVersion"] = cluster.request("GET", path).body["metadata"]["resourceVersion"]
    answer = cluster.request("PUT", path, wanted)
    assert answer.ok, answer.message


def test_rules_are_swapped_under_load(cluster: ApiServer, folder: Path) -> None:
    config = folder / ".gpuvet.yaml"
    config.write_text("rules: {TF013: error}\n")
    with WebhookServer(folder, "--config", str(config)) as webhook:
        configure(cluster, webhook, policy="Fail")
        seen = []
        end = time.monotonic() + 5
        written = False
        while time.monotonic() < end:
            if not written and time.monotonic() > end - 4:
                config.write_text("rules: {TF013: warning}\n")
                written = True
            answer = create(cluster, deployment("20", "10"), dry_run=True)
            warned = any("[TF013]" in warning for warning in answer.warnings)
            assert (not answer.ok and "[TF013]" in answer.message) or (answer.ok and warned), answer
            seen.append(answer.ok)
        # The old set, then the new one, and never back.
        assert seen == sorted(seen)
        assert seen[0] is False
        assert seen[-1] is True
        config.write_text("rules: {TF013: nonsense}\n")
        until(lambda: webhook.metric("gpuvet_rules_last_reload_success") == 0.0)
        assert create(cluster, deployment("20", "10"), dry_run=True).ok
        assert webhook.request("GET", "/readyz")[0] == 200


def test_api_server_restart_with_the_webhook_down(tmp_path: Path) -> None:
    """The control plane comes up without us."""
    from cluster.build import components

    with Restartable(components()) as server:
        with WebhookServer(tmp_path) as webhook:
            configure(server, webhook, policy="Fail")
        server.restart()
        until(lambda: server.request("GET", "/api/v1/namespaces/kube-system").ok, 30)
        answer = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})
        assert answer.ok, answer.message
        value = plain(1, "Deployment")
        value["metadata"]["namespace"] = "new"
        assert create(server, value).ok
        assert not create(server, quiet(namespace="new")).ok
