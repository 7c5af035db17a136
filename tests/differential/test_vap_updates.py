"""What policies say of an update: nothing of what was there before, on the real API server with policies that deny."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.build import components
from cluster.server import Answer, ApiServer
from differential.vap import policed
from e2e.cluster import resource_path
from gpuvet.generate.vap import policies
from gpuvet.settings.config import load_settings

pytestmark = pytest.mark.real

CORE = "tke.cloud.tencent.com/qgpu-core"
MEMORY = "tke.cloud.tencent.com/qgpu-memory"
WANTED = ("gpuvet-qgpu-workloads-errors", "gpuvet-qgpu-custom-workloads-errors", "gpuvet-qgpu-objects-errors")
Value = dict[str, Any]


def spec(core: str) -> Value:
    return {
        "containers": [
            {"name": "main", "image": "i", "resources": {"limits": {CORE: core, MEMORY: "4"}, "requests": {CORE: core, MEMORY: "4"}}}
        ]
    }


def objects(core: str) -> list[Value]:
    """Of each way of describing Pods one, whose container asks for so much."""
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": spec(core)}
    other = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "other", "image": "i"}]}}
    deployment = {"selector": {"matchLabels": {"a": "b"}}, "replicas": 1, "template": pod}
    ray = {"headGroupSpec": {"template": other}, "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "template": pod}]}
    workflow = {"podMetadata": {}, "templates": [{"name": "t", "container": pod["spec"]["containers"][0]}]}
    made: list[tuple[str, str, Value]] = [
        ("v1", "Pod", pod["spec"]),
        ("apps/v1", "Deployment", deployment),
        ("ray.io/v1", "RayCluster", ray),
        ("argoproj.io/v1alpha1", "Workflow", workflow),
    ]
    return [
        copy.deepcopy({"apiVersion": version, "kind": kind, "metadata": {"name": "old", "namespace": "default"}, "spec": of})
        for version, kind, of in made
    ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """With objects that were there before the policies."""
    with policed(components(), tmp_path_factory.mktemp("updates")) as found:
        for value in objects("7"):
            answer = found.server.request("POST", resource_path(found.server, value), value)
            assert answer.ok, answer.message
        wanted = [(policy, binding) for policy, binding in policies(load_settings(None)) if policy["metadata"]["name"] in WANTED]
        assert len(wanted) == len(WANTED)
        found.install(wanted, ("Deny", "Audit"))
        yield found.server


def there(server: ApiServer, value: Value) -> tuple[str, Value]:
    path = f"{resource_path(server, value)}/old"
    answer = server.request("GET", path)
    assert answer.ok, answer.message
    return path, answer.body


def put(server: ApiServer, value: Value, change: Any) -> Answer:
    path, now = there(server, value)
    change(now)
    return server.request("PUT", path, now)


def denied(answer: Answer) -> bool:
    assert answer.ok or "ValidatingAdmissionPolicy" in answer.message, answer.message
    return not answer.ok


def containers(value: Value) -> list[Value]:
    """Those that ask for something."""
    match value["kind"]:
        case "Pod":
            return list(value["spec"]["containers"])
        case "Deployment":
            return list(value["spec"]["template"]["spec"]["containers"])
        case "RayCluster":
            return list(value["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"])
    return [value["spec"]["templates"][0]["container"]]


def limit(value: Value, core: str) -> None:
    for container in containers(value):
        for part in ("limits", "requests"):
            container["resources"][part][CORE] = core


@pytest.mark.parametrize("value", objects("7"), ids=lambda value: value["kind"])
def test_what_was_there_before_passes(server: ApiServer, value: Value) -> None:
    fresh = {**value, "metadata": {"name": "new", "namespace": "default"}}
    assert denied(server.request("POST", f"{resource_path(server, fresh)}?dryRun=All", fresh)), "a new one is denied"
    changes = {
        "nothing": lambda now: None,
        "a label": lambda now: now["metadata"].setdefault("labels", {}).update({"team": "x"}),
        "an annotation of somebody": lambda now: now["metadata"].setdefault("annotations", {}).update({"example.com/seen": "yes"}),
        "a finalizer": lambda now: now["metadata"].update({"finalizers": ["example.com/wait"]}),
        "no finalizer": lambda now: now["metadata"].update({"finalizers": []}),
    }
    if value["kind"] != "Pod":
        changes["an owner"] = lambda now: now["metadata"].update(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]}
        )
    for what, change in changes.items():
        answer = put(server, value, change)
        assert answer.ok, f"{what}: {answer.message}"


def test_scaling_passes(server: ApiServer) -> None:
    deployment, ray = objects("7")[1:3]
    assert put(server, deployment, lambda now: now["spec"].update({"replicas": 3})).ok
    path, _ = there(server, deployment)
    scale = server.request("GET", f"{path}/scale").body
    scale["spec"]["replicas"] = 2
    assert server.request("PUT", f"{path}/scale", scale).ok
    assert put(server, ray, lambda now: now["spec"]["workerGroupSpecs"][0].update({"replicas": 2})).ok


def test_a_template_that_did_not_change_is_not_looked_at(server: ApiServer) -> None:
    ray = objects("7")[2]

    def bad_head(now: Value) -> None:
        now["spec"]["headGroupSpec"]["template"]["spec"] = spec("9")

    assert put(server, ray, lambda now: now["spec"]["headGroupSpec"]["template"]["spec"].update({"priorityClassName": "x"})).ok
    answer = put(server, ray, bad_head)
    assert denied(answer)
    assert "headGroupSpec" in answer.message
    assert "workerGroupSpecs" not in answer.message


@pytest.mark.parametrize("value", objects("7")[1:], ids=lambda value: value["kind"])
def test_a_new_violation_is_denied(server: ApiServer, value: Value) -> None:
    assert denied(put(server, value, lambda now: limit(now, "8")))
    assert put(server, value, lambda now: limit(now, "10")).ok, "what mends it passes"
    assert denied(put(server, value, lambda now: limit(now, "7"))), "and cannot be undone"


def created_by(server: ApiServer, user: str, owner: Value | None) -> str:
    """What kubectl says of a Pod that breaks a rule; empty when it may be."""
    metadata = {
        "name": "made",
        "namespace": "default",
        "ownerReferences": [{"name": "x", "uid": "1", "controller": True, **owner}] if owner else [],
    }
    made = objects("7")[0] | {"metadata": metadata}
    groups = ["--as-group=system:masters", f"--as={user}"]
    done = server.kubectl("create", "--dry-run=server", *groups, "-f", "-", stdin=json.dumps(made))
    return done.stderr if done.returncode else ""


def test_pods_of_what_runs_are_let_in(server: ApiServer) -> None:
    replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    kubernetes, operator = (
        "system:serviceaccount:kube-system:replicaset-controller",
        "system:serviceaccount:volcano-system:volcano-controllers",
    )
    assert not created_by(server, kubernetes, replica_set)
    assert not created_by(server, operator, volcano)
    for user, owner in (
        (kubernetes, None),
        (operator, {"apiVersion": "example.com/v1", "kind": "Thing"}),
        ("system:serviceaccount:default:deployer", replica_set),
        ("somebody", replica_set),
    ):
        assert "ValidatingAdmissionPolicy" in created_by(server, user, owner), (user, owner)


def test_many_templates_before_and_after_stay_within_the_budget(server: ApiServer) -> None:
    value = objects("7")[3]

    def another(now: Value) -> None:
        limit(now, "8")
        now["spec"]["templates"] += [{**now["spec"]["templates"][0], "name": f"t{number}"} for number in range(63)]

    # An evaluation that costs too much is no denial here, since these policies fail open; the installed ones were made to fail shut.
    answer = put(server, value, another)
    assert denied(answer)
    assert "more" in answer.message
    assert "cost limit" not in answer.message


def test_an_object_with_a_finalizer_can_go(server: ApiServer) -> None:
    pod = objects("7")[0]
    assert put(server, pod, lambda now: now["metadata"].update({"finalizers": ["example.com/wait"]})).ok
    path, _ = there(server, pod)
    assert server.request("DELETE", path).ok
    assert put(server, pod, lambda now: now["metadata"].update({"finalizers": []})).ok
