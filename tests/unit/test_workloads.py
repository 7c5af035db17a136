"""Every workload kind finds its Pod templates, and every path leads back to what the author wrote."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuvet.manifests.workloads import INDEX, TABLE, Row, Template, index, objects, pod_shape, row_of, rows_from_config, templates
from gpuvet.values.errors import ConfigError
from gpuvet.values.path import Path, step

CONTAINER = {"name": "main", "image": "cuda", "resources": {"limits": {"example.com/gpu": 1}}}
TEMPLATE = {"metadata": {"annotations": {"a": "1"}}, "spec": {"containers": [CONTAINER]}}


def obj(api_version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def expand(value: dict[str, Any]) -> list[Template]:
    row = row_of(value)
    assert row is not None
    return templates(value, row)


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = step(value, key)
    return value


VOLCANO = {
    "schedulerName": "volcano",
    "minAvailable": 3,
    "tasks": [{"name": "ps", "replicas": 1, "template": TEMPLATE}, {"replicas": 2, "minAvailable": 1, "template": TEMPLATE}],
}
RAY = {
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "minReplicas": 3, "numOfHosts": 2, "template": TEMPLATE}],
}
SPARK = {
    "nodeSelector": {"zone": "a"},
    "driver": {"labels": {"l": "1"}, "schedulerName": "koord-scheduler"},
    "executor": {"instances": 4, "gpu": {"name": "example.com/gpu", "quantity": 2}, "sidecars": [CONTAINER], "annotations": {"a": "1"}},
}
ARGO = {
    "schedulerName": "from-workflow",
    "podMetadata": {"annotations": {"a": "weak", "b": "2"}},
    "templates": [
        {"name": "train", "container": CONTAINER, "metadata": {"annotations": {"a": "1"}}},
        {"name": "script", "script": {"image": "x", "source": "y"}, "schedulerName": "own"},
        {"name": "set", "containerSet": {"containers": [CONTAINER, CONTAINER]}, "initContainers": [CONTAINER]},
        {"name": "flow", "steps": [[{"name": "one", "inline": {"container": CONTAINER}}]]},
        {"name": "graph", "dag": {"tasks": [{"name": "node", "inline": {"container": CONTAINER}}]}},
    ],
}
ARGO_NAMES = [("train", None), ("script", None), ("set", None), ("one", None), ("node", None)]
JOBSET = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": TEMPLATE}}}]}
LWS = {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE}}
WORKFLOW_KINDS = ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate")

CASES: list[tuple[dict[str, Any], list[tuple[str, int | None]]]] = [
    (obj("v1", "Pod", {"containers": [CONTAINER]}), [("", 1)]),
    ({"apiVersion": "v1", "kind": "PodTemplate", "template": TEMPLATE}, [("", None)]),
    (obj("v1", "ReplicationController", {"replicas": 2, "template": TEMPLATE}), [("", 2)]),
    (obj("apps/v1", "ReplicaSet", {"template": TEMPLATE}), [("", 1)]),
    (obj("apps/v1", "Deployment", {"replicas": 0, "template": TEMPLATE}), [("", 0)]),
    (obj("apps/v1", "StatefulSet", {"replicas": "{{ n }}", "template": TEMPLATE}), [("", None)]),
    (obj("apps/v1", "DaemonSet", {"template": TEMPLATE}), [("", None)]),
    (obj("batch/v1", "Job", {"parallelism": 5, "template": TEMPLATE}), [("", 5)]),
    (obj("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": TEMPLATE}}}), [("", 1)]),
    (obj("batch.volcano.sh/v1alpha1", "Job", VOLCANO), [("ps", 1), ("1", 2)]),
    (obj("batch.volcano.sh/v1alpha1", "CronJob", {"jobTemplate": {"spec": VOLCANO}}), [("ps", 1), ("1", 2)]),
    (obj("flow.volcano.sh/v1alpha1", "JobTemplate", VOLCANO), [("ps", 1), ("1", 2)]),
    (obj("argoproj.io/v1alpha1", "Rollout", {"template": TEMPLATE}), [("", 1)]),
    *((obj("argoproj.io/v1alpha1", kind, ARGO), ARGO_NAMES) for kind in WORKFLOW_KINDS),
    (obj("argoproj.io/v1alpha1", "CronWorkflow", {"workflowSpec": ARGO}), ARGO_NAMES),
    (obj("ray.io/v1", "RayCluster", RAY), [("head", 1), ("gpu", 6)]),
    (obj("ray.io/v1", "RayJob", {"rayClusterSpec": RAY, "submitterPodTemplate": TEMPLATE}), [("head", 1), ("gpu", 6), ("submitter", 1)]),
    (obj("ray.io/v1", "RayCronJob", {"jobTemplate": {"rayClusterSpec": RAY}}), [("head", 1), ("gpu", 6)]),
    (obj("ray.io/v1", "RayService", {"rayClusterConfig": RAY}), [("head", 1), ("gpu", 6)]),
    *(
        (obj("kubeflow.org/v1", kind, {field: {"Master": {"template": TEMPLATE}, "Worker": {"replicas": 2, "template": TEMPLATE}}}), names)
        for kind, field in (
            ("PyTorchJob", "pytorchReplicaSpecs"),
            ("TFJob", "tfReplicaSpecs"),
            ("XGBoostJob", "xgbReplicaSpecs"),
            ("PaddleJob", "paddleReplicaSpecs"),
            ("JAXJob", "jaxReplicaSpecs"),
        )
        for names in ([("Master", 1), ("Worker", 2)],)
    ),
    *(
        (
            obj(version, "MPIJob", {"mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}, "Worker": {"template": TEMPLATE}}}),
            [("Launcher", 1), ("Worker", 0)],
        )
        for version in ("kubeflow.org/v1", "kubeflow.org/v2beta1")
    ),
    (
        obj(
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            {
                "trainer": {"numNodes": 4, "resourcesPerNode": CONTAINER["resources"]},
                "podTemplateOverrides": [TEMPLATE],
                "podSpecOverrides": [{"nodeSelector": {"a": "b"}}],
            },
        ),
        [("trainer", 4), ("0", None), ("0", None)],
    ),
    *(
        (obj("trainer.kubeflow.org/v1alpha1", kind, {"template": {"spec": JOBSET}}), [("w", None)])
        for kind in ("TrainingRuntime", "ClusterTrainingRuntime")
    ),
    (obj("sparkoperator.k8s.io/v1beta2", "SparkApplication", SPARK), [("driver", 1), ("executor", 4)]),
    (obj("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", {"template": SPARK}), [("driver", 1), ("executor", 4)]),
    (obj("jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET), [("w", 6)]),
    (obj("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", LWS), [("leader", 2), ("worker", 6)]),
    (
        obj(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            {
                "predictor": {"minReplicas": 1, "model": {"resources": {}}, "annotations": {"a": "1"}, "workerSpec": {"containers": []}},
                "transformer": {"containers": [CONTAINER]},
                "explainer": {"art": CONTAINER},
                "canary": [{"predictor": {"name": "next", "triton": CONTAINER}}],
            },
        ),
        [("predictor", None), ("worker", None), ("transformer", None), ("explainer", None), ("next", None)],
    ),
    (
        obj(
            "serving.kserve.io/v1alpha2",
            "LLMInferenceService",
            {"replicas": 2, "template": TEMPLATE["spec"], "prefill": {"worker": TEMPLATE["spec"]}},
        ),
        [("template", 2), ("prefill worker", None)],
    ),
    *(
        (obj("serving.kserve.io/v1alpha1", kind, {"containers": [CONTAINER], "annotations": {"a": "1"}}), [("", None)])
        for kind in ("ServingRuntime", "ClusterServingRuntime")
    ),
    *((obj("serving.knative.dev/v1", kind, {"template": TEMPLATE}), [("", None)]) for kind in ("Service", "Configuration")),
    (obj("scheduling.koordinator.sh/v1alpha1", "Reservation", {"template": TEMPLATE}), [("", 1)]),
    *(
        (obj("tensor-fusion.ai/v1", kind, {"replicas": 3, "workerPodTemplate": TEMPLATE}), [("", 3)])
        for kind in ("TensorFusionWorkload", "WorkloadProfile")
    ),
]


@pytest.mark.parametrize(("value", "expected"), CASES, ids=[f"{value['apiVersion']}.{value['kind']}" for value, _ in CASES])
def test_names_and_replicas(value: dict[str, Any], expected: list[tuple[str, int | None]]) -> None:
    assert expected == [(template.name, template.replicas) for template in expand(value)]


def test_every_row_has_a_case() -> None:
    assert {(row.group, row.kind) for row in TABLE} == {
        (row.group, row.kind) for value, _ in CASES for row in [row_of(value)] if row is not None
    }


@pytest.mark.parametrize("value", [value for value, _ in CASES], ids=[f"{value['apiVersion']}.{value['kind']}" for value, _ in CASES])
def test_paths_lead_back(value: dict[str, Any]) -> None:
    for template in expand(value):
        for name in ("containers", "initContainers"):
            for i, container in enumerate(template.spec.get(name, ())):
                for key, part in container.items():
                    there = at(value, template.locate(("spec", name, i, key)))
                    made = (template.name, key) in (
                        ("driver", "name"),
                        ("executor", "name"),
                        ("trainer", "name"),
                        ("executor", "resources"),
                    )
                    assert made or there == part
        for part, entries in template.metadata.items():
            if part in ("annotations", "labels"):
                for key, entry in entries.items():
                    assert at(value, template.locate(("metadata", part, key))) == entry
        for key, entry in template.spec.items():
            if template.moved is None or ("spec", key) in template.moved:
                assert at(value, template.locate(("spec", key))) == entry
        if template.replicas_path is not None:
            assert at(value, template.replicas_path) is None or at(value, template.replicas_path[:-1])


def test_table_names_its_sources() -> None:
    assert all(row.source for row in TABLE)
    assert all(row.validated in ("api", "webhook", "none") for row in TABLE)


def test_volcano_gang() -> None:
    first, second = expand(obj("batch.volcano.sh/v1alpha1", "Job", VOLCANO))
    assert (first.gang_minimum, second.gang_minimum, first.gang_total) == (1, 1, 3)
    assert (first.validated, first.scheduler) == ("webhook", "volcano")
    (only,) = expand(obj("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 2, "tasks": [{"replicas": 8, "template": TEMPLATE}]}))
    assert only.gang_minimum == 2
    (omitted,) = expand(obj("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 0, "tasks": [{"template": TEMPLATE}]}))
    assert (omitted.replicas, omitted.gang_minimum, omitted.gang_total) == (0, 0, None)


def test_volcano_cron_job_is_not_validated_by_the_webhook() -> None:
    value = obj("batch.volcano.sh/v1alpha1", "CronJob", {"jobTemplate": {"spec": VOLCANO}})
    assert {template.validated for template in expand(value)} == {"none"}


def test_tensor_fusion_gang() -> None:
    def gang(spec: dict[str, Any]) -> int | None:
        return expand(obj("tensor-fusion.ai/v1", "WorkloadProfile", {"replicas": 4, "workerPodTemplate": TEMPLATE, **spec}))[0].gang_minimum

    assert gang({}) is None
    assert gang({"gangScheduling": {}}) == 4
    assert gang({"gangScheduling": {"minMembers": 0}}) == 4
    assert gang({"gangScheduling": {"minMembers": 2}}) == 2


def test_kubeflow_gang_is_the_owners() -> None:
    spec = {
        "runPolicy": {"schedulingPolicy": {"minAvailable": 3}},
        "pytorchReplicaSpecs": {"Master": {"template": TEMPLATE}, "Worker": {"replicas": 4, "template": TEMPLATE}},
    }
    assert [(each.gang_minimum, each.gang_total) for each in expand(obj("kubeflow.org/v1", "PyTorchJob", spec))] == [(None, 3), (None, 3)]


def test_autoscaled_replicas_are_unknown() -> None:
    ray = expand(obj("ray.io/v1", "RayCluster", {**RAY, "enableInTreeAutoscaling": True}))
    assert [each.replicas for each in ray] == [1, None]
    spark = expand(obj("sparkoperator.k8s.io/v1beta2", "SparkApplication", {**SPARK, "dynamicAllocation": {"enabled": True}}))
    assert [each.replicas for each in spark] == [1, None]
    fixed = expand(obj("sparkoperator.k8s.io/v1beta2", "SparkApplication", {**SPARK, "dynamicAllocation": {"enabled": False}}))
    assert [each.replicas for each in fixed] == [1, 4]


def test_leaders_without_a_template_of_their_own_count_as_workers() -> None:
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": TEMPLATE}}
    assert [(each.name, each.replicas) for each in expand(obj("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec))] == [("worker", 8)]


def test_argo_view_is_put_together() -> None:
    first, second, third, *_ = expand(obj("argoproj.io/v1alpha1", "Workflow", ARGO))
    assert first.metadata == {"annotations": {"a": "1", "b": "2"}}
    assert first.locate(("metadata", "annotations", "b")) == ("spec", "podMetadata", "annotations", "b")
    assert first.locate(("metadata", "annotations", "new")) == ("spec", "templates", 0, "metadata", "annotations", "new")
    assert first.locate(("spec", "containers", 0, "resources")) == ("spec", "templates", 0, "container", "resources")
    assert (first.spec["schedulerName"], second.spec["schedulerName"]) == ("from-workflow", "own")
    assert first.locate(("spec", "schedulerName")) == ("spec", "schedulerName")
    assert third.locate(("spec", "containers", 1, "image")) == ("spec", "templates", 2, "containerSet", "containers", 1, "image")
    assert third.locate(("spec", "initContainers", 0)) == ("spec", "templates", 2, "initContainers", 0)


def test_spark_gpu_is_a_limit_of_the_made_container() -> None:
    _, executor = expand(obj("sparkoperator.k8s.io/v1beta2", "SparkApplication", SPARK))
    path: Path = ("spec", "containers", 0, "resources", "limits", "example.com/gpu")
    assert at({"spec": executor.spec}, path) == 2
    assert executor.locate(path) == ("spec", "executor", "gpu", "quantity")
    assert executor.locate(("spec", "containers", 1)) == ("spec", "executor", "sidecars", 0)
    assert executor.locate(("spec", "nodeSelector")) == ("spec", "nodeSelector")


def test_a_patch_without_a_spec_is_still_a_template() -> None:
    (only,) = expand(obj("apps/v1", "Deployment", {"template": {"metadata": {"annotations": {"a": "1"}}}}))
    assert (only.spec, only.locate(("spec", "containers"))) == ({}, ("spec", "template", "spec", "containers"))


def test_unknown_kinds_and_groups() -> None:
    assert row_of({"apiVersion": "example.com/v1", "kind": "Deployment"}) is None
    assert row_of({"apiVersion": 1, "kind": "Pod"}) is None
    assert row_of({"kind": "Pod"}) is None


def test_a_row_may_hold_for_some_versions_only() -> None:
    rows = index([Row("example.com", "Thing", "things", (), version="v1|v2")])
    assert row_of({"apiVersion": "example.com/v2", "kind": "Thing"}, rows) is not None
    assert row_of({"apiVersion": "example.com/v3", "kind": "Thing"}, rows) is None


def test_lists() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod"}
    nested = {"apiVersion": "v1", "kind": "List", "items": [pod, {"kind": "List", "items": [pod, 3]}]}
    assert [path for path, _ in objects(nested)] == [("items", 0), ("items", 1, "items", 0)]
    typed = {"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {"resourceVersion": "1"}, "items": [{"spec": {}}]}
    assert list(objects(typed)) == [(("items", 0), {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}})]
    own = {"kind": "AllowList", "metadata": {"name": "x"}, "items": [pod]}
    assert list(objects(own)) == [((), own)]
    assert list(objects([pod])) == []


def test_pod_shape() -> None:
    assert pod_shape(obj("example.com/v1", "Thing", {"parts": [{"pod": {"containers": [{"image": "x"}]}}]})) == ("spec", "parts", 0, "pod")
    assert pod_shape({"kind": "Thing", "spec": {"containers": ["main"]}}) is None
    assert pod_shape({"kind": "Metrics", "containers": [{"name": "main", "usage": {}}]}) is None
    deep: dict[str, Any] = {"containers": [{"image": "x"}]}
    for _ in range(500):
        deep = {"more": deep}
    assert pod_shape(deep) is None


USER_ROW = {
    "group": "example.com",
    "kind": "TrainingRun",
    "templates": [
        {
            "podTemplate": "spec.workers[*].template",
            "name": "spec.workers[*].name",
            "replicas": "spec.workers[*].count",
            "defaultReplicas": 1,
        }
    ],
    "schedulerName": "spec.scheduler",
}


def test_rows_of_the_user() -> None:
    rows = rows_from_config([USER_ROW])
    assert rows[0].resource == "trainingruns"
    value = obj("example.com/v1", "TrainingRun", {"scheduler": "s", "workers": [{"name": "a", "count": 2, "template": TEMPLATE}]})
    row = row_of(value, index(rows, INDEX))
    assert row is not None
    (only,) = templates(value, row)
    assert (only.name, only.replicas, only.scheduler, only.validated) == ("a", 2, "s", "none")
    assert only.spec_path == ("spec", "workers", 0, "template", "spec")
    assert row_of({"apiVersion": "v1", "kind": "Pod"}, index(rows, INDEX)) is not None


def test_a_row_of_the_user_with_containers_only() -> None:
    entry = {"kind": "Bare", "templates": [{"containers": "spec.parts[*].containers", "metadata": "spec.parts[*].meta"}]}
    value = obj("v1", "Bare", {"parts": [{"meta": {"labels": {"l": "1"}}, "containers": [CONTAINER]}, {"containers": []}]})
    (only,) = templates(value, rows_from_config([entry])[0])
    assert only.metadata == {"labels": {"l": "1"}}
    assert only.locate(("spec", "containers", 0)) == ("spec", "parts", 0, "containers", 0)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({}, "workloads: must be a list"),
        ([3], r"workloads\[0\]: must be a mapping"),
        ([{"templates": []}], "kind is missing"),
        ([{**USER_ROW, "kin": "x"}], "unknown key 'kin'; did you mean 'kind'"),
        ([{**USER_ROW, "templates": []}], "at least one template"),
        ([{**USER_ROW, "templates": [{}]}], "exactly one of"),
        ([{**USER_ROW, "templates": [{"podTemplate": "spec..x"}]}], "is not a place"),
        ([{**USER_ROW, "templates": [{"podTemplate": "spec.a[*].t", "name": "spec.b[*].n"}]}], "does not share"),
        ([{**USER_ROW, "templates": [{"podTemplate": "spec.t", "defaultReplicas": "1"}]}], "whole number"),
        ([{**USER_ROW, "templates": [{"containers": "containers"}]}], "inside a mapping"),
        ([{**USER_ROW, "schedulerName": "spec.a[*].b"}], r"cannot hold \[\*\]"),
        ([{**USER_ROW, "validated": "maybe"}], "must be one of"),
    ],
)
def test_wrong_rows_of_the_user(value: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        rows_from_config(value)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "x", "{{ x }}"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "template", "spec", "containers"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(data=st.data())
def test_wrong_types_never_raise(data: st.DataObject) -> None:
    value, _ = data.draw(st.sampled_from(CASES))
    broken = _broken(value, data.draw(st.integers(0, 60)), data.draw(JUNK))
    row = row_of(broken)
    if row is not None:
        for template in templates(broken, row):
            assert isinstance(template.spec, dict)
            assert isinstance(template.metadata, dict)
            assert isinstance(template.locate(("spec", "containers", 0)), tuple)
    pod_shape(broken)
    assert list(objects(broken))


def _broken(value: dict[str, Any], position: int, junk: Any) -> dict[str, Any]:
    """A copy in which the node at a position of the walk is replaced; kind and apiVersion stay."""
    seen = 0

    def walk(node: Any, depth: int) -> Any:
        nonlocal seen
        seen += 1
        if depth > 1 and seen > position:
            seen = -10_000
            return junk
        if type(node) is dict:
            return {key: walk(each, depth + 1) if depth or key in ("spec", "template") else each for key, each in node.items()}
        if type(node) is list:
            return [walk(each, depth + 1) for each in node]
        return node

    out: dict[str, Any] = walk(value, 0)
    return out
