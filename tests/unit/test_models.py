"""The models read what the vendors document, refuse what the platforms refuse, and say why."""

from typing import Any

import pytest

from gpuvet.models import (
    Device,
    ElasticGpu,
    GpuFeatureLabels,
    GPUResourceQuota,
    KeySet,
    KoordinatorDeviceAnnotations,
    KoordinatorPodAnnotations,
    KoordinatorResources,
    KoordinatorSchedulerAnnotations,
    MachineSet,
    MetaxDeviceConfig,
    MetaxNodesConfig,
    MetaxPodAnnotations,
    MetaxResources,
    ModelError,
    PlacementLabels,
    QgpuNodeLabels,
    QgpuPodAnnotations,
    QgpuResources,
    TensorFusionOldPodAnnotations,
    TensorFusionPodAnnotations,
    TensorFusionPodLabels,
    TensorFusionWorkload,
    VolcanoJob,
    WorkloadProfile,
)
from gpuvet.models.catalogue import KEY_SETS, RESOURCES, SHAPES
from gpuvet.models.structures import CustomResource, Structure

TF = "tensor-fusion.ai/"


def profile(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "tensor-fusion.ai/v1", "kind": "WorkloadProfile", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


def device(**fields: Any) -> dict[str, Any]:
    item = {
        "health": True,
        "id": "89033010-2354-0000-0000-000000000000",
        "minor": 0,
        "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "64Gi", "koordinator.sh/gpu-memory-ratio": "100"},
        "topology": {"busID": "0000:38:00.0", "nodeID": 3, "pcieID": "pci0000:3a", "socketID": -1},
        "type": "gpu",
        **fields,
    }
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": "n", "labels": {"node.koordinator.sh/gpu-vendor": "metax"}},
        "spec": {"devices": [item]},
        "status": {},
    }


def condition(**fields: Any) -> dict[str, Any]:
    return {
        "type": "Healthy",
        "status": "True",
        "reason": "DeviceHealthy",
        "message": "device is healthy",
        "lastTransitionTime": "2025-03-15T10:00:00Z",
        **fields,
    }


def job(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


def problem_keys(error: pytest.ExceptionInfo[ModelError]) -> set[str]:
    return {problem.key for problem in error.value.problems}


def test_documented_annotations_are_typed() -> None:
    annotations = {
        f"{TF}gpupool": "default-pool",
        f"{TF}inject-container": "python,sidecar",
        f"{TF}tflops-request": "500m",
        f"{TF}vram-limit": "4Gi",
        f"{TF}qos": "medium",
        f"{TF}is-local-gpu": "true",
        f"{TF}gpu-count": "1",
        f"{TF}gang-timeout": "1h30m",
        f"{TF}gpu-indices": "0,3",
        f"{TF}disable-features": "gpu-opt,gpu-limiter",
        f"{TF}replicas": "1",
        "prometheus.io/scrape": "true",
    }
    read = TensorFusionPodAnnotations.from_annotations(annotations)
    assert read.tflops_request is not None
    assert read.tflops_request.nanos == 500_000_000
    assert read.vram_limit is not None
    assert read.vram_limit.nanos == 4 * 1024**3 * 10**9
    assert read.inject_container == ("python", "sidecar")
    assert read.is_local_gpu is True
    assert read.gpu_count == 1
    assert read.gang_timeout is not None
    assert read.gang_timeout.nanoseconds == 5400 * 10**9
    assert read.gpu_indices == (0, 3)
    assert read.vram_request is None
    old = TensorFusionOldPodAnnotations.from_annotations(annotations)
    assert old.replicas == 1
    assert read.to_mapping() | old.to_mapping() == {name: text for name, text in annotations.items() if name.startswith(TF)}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tflops-request", "4GB", "no quantity"),
        ("tflops-request", "", "no quantity"),
        ("tflops-request", "Gi", "no quantity"),
        ("vram-limit", "-4Gi", "below the minimum"),
        ("vram-limit", 4, "must be a text, not int"),
        ("is-local-gpu", True, "must be a text, not bool"),
        ("is-local-gpu", "True", "neither 'true' nor 'false'"),
        ("qos", "High", "'low', 'medium', 'high' or 'critical'"),
        ("gpu-count", "0", "below the minimum of 1"),
        ("gpu-count", "129", "above the maximum of 128"),
        ("gpu-count", "2.0", "no plain base-10 integer"),
        ("gpu-indices", "0,,1", "comma-separated list"),
        ("gpu-indices", "1,1", "twice"),
        ("inject-container", "a, b", "no blanks"),
        ("inject-container", "a,a", "twice"),
        ("compute-percent-limit", "0", "not above 0"),
        ("compute-percent-limit", "101", "above the maximum of 100"),
        ("disable-features", "gpu-opt, gpu-limiter", "no blanks after commas"),
        ("gang-timeout", "300", "no duration"),
        ("gang-timeout", "1d", "no duration"),
        ("gang-min-members", "1", "below the minimum of 2"),
        ("workload-profile", "Default_Profile", "no object name"),
        ("vendor", "nvidia", "'NVIDIA'"),
        ("isolation", "", "'shared'"),
        ("autoscale-target", "tflops", "'compute'"),
    ],
)
def test_wrong_annotation_is_named_and_explained(key: str, value: object, message: str) -> None:
    with pytest.raises(ModelError, match=TF + key) as error:
        TensorFusionPodAnnotations.from_annotations({TF + key: value})
    assert problem_keys(error) == {TF + key}
    assert message in error.value.problems[0].message


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(ModelError) as error:
        TensorFusionPodAnnotations.from_annotations({f"{TF}qos": "best", f"{TF}vram-limit": "4 Gi", f"{TF}gpu-count": "x"})
    assert problem_keys(error) == {f"{TF}qos", f"{TF}vram-limit", f"{TF}gpu-count"}


@pytest.mark.parametrize(
    ("model", "good", "bad"),
    [
        (TensorFusionPodLabels, {f"{TF}enabled": "true"}, {f"{TF}enabled": "yes"}),
        (MetaxPodAnnotations, {"metax-tech.com/sgpu-qos-policy": "fixed-share"}, {"metax-tech.com/sgpu-qos-policy": "fixed-shares"}),
        (MetaxResources, {"metax-tech.com/sgpu": 1}, {"metax-tech.com/sgpu": "0.5"}),
        (KoordinatorResources, {"koordinator.sh/gpu-memory": "1Gi"}, {"koordinator.sh/gpu-memory": "1GB"}),
        (KoordinatorResources, {"koordinator.sh/gpu-core": "1000m"}, {"koordinator.sh/gpu-core": "500m"}),
        (QgpuResources, {"tke.cloud.tencent.com/qgpu-core": "200"}, {"tke.cloud.tencent.com/qgpu-core": "150"}),
        (QgpuResources, {"tke.cloud.tencent.com/qgpu-core": 30}, {"tke.cloud.tencent.com/qgpu-core": 33}),
        (QgpuResources, {"tke.cloud.tencent.com/qgpu-core": "5"}, {"tke.cloud.tencent.com/qgpu-core": "0"}),
        (QgpuResources, {"tke.cloud.tencent.com/qgpu-memory": "5"}, {"tke.cloud.tencent.com/qgpu-memory": 0.5}),
        (
            QgpuNodeLabels,
            {"tke.cloud.tencent.com/qgpu-schedule-policy": "bs"},
            {"tke.cloud.tencent.com/qgpu-schedule-policy": "fixed-shares"},
        ),
        (QgpuPodAnnotations, {"tke.cloud.tencent.com/app-class": "offline"}, {"tke.cloud.tencent.com/app-class": "Offline"}),
        (PlacementLabels, {"maip.mxsf.io/node.usage": "hybrid"}, {"maip.mxsf.io/node.usage": "train"}),
        (GpuFeatureLabels, {"nvidia.com/gpu.memory": "97871"}, {"nvidia.com/gpu.memory": "80Gi"}),
        (GpuFeatureLabels, {"nvidia.com/cuda.driver-version.full": "525.105.17"}, {"nvidia.com/cuda.driver-version.full": 525.1}),
        (
            KoordinatorPodAnnotations,
            {"scheduling.koordinator.sh/device-allocate-hint": '{"gpu":{"requiredTopologyScope":"PCIe"}}'},
            {"scheduling.koordinator.sh/device-allocate-hint": '{"gpu":null}'},
        ),
        (
            KoordinatorPodAnnotations,
            {"scheduling.koordinator.sh/device-joint-allocate": "{}"},
            {"scheduling.koordinator.sh/device-joint-allocate": ""},
        ),
        (
            KoordinatorDeviceAnnotations,
            {"scheduling.koordinator.sh/gpu-partitions": '{"2":[{"minors":[0,1],"allocationScore":1}]}'},
            {"scheduling.koordinator.sh/gpu-partitions": '{"2":[{"minors":[0,1],"allocationScore":"1"}]}'},
        ),
        (
            KoordinatorSchedulerAnnotations,
            {"scheduling.koordinator.sh/device-allocated": '{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"10"}}]}'},
            {"scheduling.koordinator.sh/device-allocated": '{"gpu":[null]}'},
        ),
    ],
)
def test_good_and_bad_keys(model: type[KeySet], good: dict[str, object], bad: dict[str, object]) -> None:
    assert set(model.from_mapping(good).to_mapping()) == set(good)
    with pytest.raises(ModelError) as error:
        model.from_mapping(bad)
    assert problem_keys(error) == set(bad)


def test_driver_versions_compare_as_numbers() -> None:
    newer = GpuFeatureLabels.from_labels({"nvidia.com/cuda.driver-version.full": "525.105.17"}).driver_full
    older = GpuFeatureLabels.from_labels({"nvidia.com/cuda.driver-version.full": "525.89.02"}).driver_full
    assert newer is not None
    assert older is not None
    assert newer > older


def test_documented_profile_is_valid() -> None:
    read = WorkloadProfile.from_manifest(
        profile(
            resources={"requests": {"tflops": "5", "vram": "3Gi"}, "limits": {"tflops": 15, "vram": "3Gi", "compute": "0"}},
            replicas=2,
            isLocalGPU=True,
            poolName="default-pool",
            qos="medium",
            gpuCount=1,
            gpuModel="A100",
            autoScalingConfig={},
            gangScheduling={"minMembers": 2, "timeout": "5m", "mode": "Strict"},
            workerPodTemplate={"spec": {"anything": 1}},
        )
    )
    assert read.spec is not None
    assert read.spec.resources is not None
    assert read.spec.resources.limits.tflops.nanos == 15 * 10**9
    assert read.spec.gpu_model == "A100"


@pytest.mark.parametrize(
    ("spec", "key", "message"),
    [
        ({"autoScaling": True}, "spec.autoScaling", "write autoScalingConfig"),
        ({"minReplicas": 1}, "spec.minReplicas", "no horizontal scaling"),
        ({"standaloneWorkerMode": True}, "spec.standaloneWorkerMode", "write isolation"),
        ({"autoScalingConfig": {"autoSetLimits": {}}}, "spec.autoScalingConfig.autoSetLimits", "write autoSetResources"),
        ({"gpuModell": "A100"}, "spec.gpuModell", "is no field of this object"),
        ({"gpuCount": 0}, "spec.gpuCount", "greater than or equal to 1"),
        ({"gpuCount": "1"}, "spec.gpuCount", "valid integer"),
        ({"qos": ""}, "spec.qos", "'low'"),
        ({"isLocalGPU": "true"}, "spec.isLocalGPU", "valid boolean"),
        ({"resources": {"requests": {"tflops": "5", "vram": "3Gi"}}}, "spec.resources.limits", "required"),
        (
            {"resources": {"requests": {"tflops": 5.5, "vram": "1"}, "limits": {"tflops": "1", "vram": "1"}}},
            "spec.resources.requests.tflops",
            "float",
        ),
        ({"gangScheduling": {"minMembers": 2, "timeout": "5"}}, "spec.gangScheduling.timeout", "no duration"),
        (
            {"autoScalingConfig": {"autoSetResources": {"marginFraction": 0.15}}},
            "spec.autoScalingConfig.autoSetResources.marginFraction",
            "text",
        ),
        (
            {"autoScalingConfig": {"autoSetResources": {"updateThreshold": "2"}}},
            "spec.autoScalingConfig.autoSetResources.updateThreshold",
            "outside",
        ),
        (
            {"autoScalingConfig": {"cronScalingRules": [{"start": "@daily"}]}},
            "spec.autoScalingConfig.cronScalingRules.0.start",
            "five fields",
        ),
    ],
)
def test_wrong_profile_field_is_named_and_explained(spec: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(ModelError) as error:
        WorkloadProfile.from_manifest(profile(**spec))
    assert problem_keys(error) == {key}
    assert message in error.value.problems[0].message


def test_workload_takes_the_profile_spec() -> None:
    document = profile(replicas=2) | {"kind": "TensorFusionWorkload"}
    assert TensorFusionWorkload.from_manifest(document).spec == WorkloadProfile.from_manifest(profile(replicas=2)).spec
    with pytest.raises(ModelError, match="kind"):
        WorkloadProfile.from_manifest(document)


def test_quota_is_valid() -> None:
    amounts = {"tflops": "10", "vram": "8Gi"}
    quota = {
        "apiVersion": "tensor-fusion.ai/v1",
        "kind": "GPUResourceQuota",
        "spec": {"single": {"defaultRequests": amounts, "maxGPUCount": 8}},
    }
    read = GPUResourceQuota.from_manifest(quota)
    assert read.spec is not None
    assert read.spec.single is not None
    assert read.spec.single.max_gpu_count == 8


@pytest.mark.parametrize("time", ["2025-03-15T10:00:00Z", "2025-03-15t10:00:00.123456789z", "2025-03-15T10:00:00+08:00"])
def test_device_with_rfc3339_time_is_valid(time: str) -> None:
    read = Device.from_manifest(device(conditions=[condition(lastTransitionTime=time)]))
    assert read.spec is not None
    assert read.spec.devices is not None
    assert read.spec.devices[0].topology is not None
    assert read.spec.devices[0].topology.socket_id == -1


@pytest.mark.parametrize(
    "time",
    [
        "20256-03-15T10:00:00Z",
        "2025-03-15",
        "2025-03-15 10:00:00Z",
        "2025-03-15T10:00:00",
        "2025-03-15T10:00:00+0800",
        "2025-02-30T10:00:00Z",
    ],
)
def test_device_with_other_time_is_refused(time: str) -> None:
    with pytest.raises(ModelError) as error:
        Device.from_manifest(device(conditions=[condition(lastTransitionTime=time)]))
    assert problem_keys(error) == {"spec.devices.0.conditions.0.lastTransitionTime"}


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"health": "true"}, "health"),
        ({"topology": {"nodeID": 0, "pcieID": "0"}}, "topology.socketID"),
        ({"topology": {"nodeID": 0, "pcieID": 0, "socketID": 0}}, "topology.pcieID"),
        ({"resources": {"koordinator.sh/gpu-core": 99.5}}, "resources.koordinator.sh/gpu-core"),
        ({"conditions": [condition(status=True)]}, "conditions.0.status"),
        ({"conditions": [condition(reason="")]}, "conditions.0.reason"),
        ({"conditions": [condition(reason="Device-Healthy")]}, "conditions.0.reason"),
    ],
)
def test_wrong_device_is_refused(fields: dict[str, Any], key: str) -> None:
    with pytest.raises(ModelError) as error:
        Device.from_manifest(device(**fields))
    assert problem_keys(error) == {f"spec.devices.0.{key}"}


def test_conditions_at_the_wrong_level_are_explained() -> None:
    with pytest.raises(ModelError, match=r"belong into each device.*write devices\[\]\.conditions"):
        Device.from_manifest(device() | {"spec": {"conditions": [condition()]}})


def test_metax_config() -> None:
    data = {"version": "v1", "cluster-config": 'mode: "native"\n', "nodes-config": "- nodeName: a\n  mode: sgpu\n"}
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "metax-device-config", "annotations": None},
        "data": data,
    }
    assert MetaxDeviceConfig.from_manifest(document).data.version == "v1"
    assert [entry.mode for entry in MetaxNodesConfig.model_validate([{"nodeName": "a", "mode": "sgpu"}]).root] == ["sgpu"]
    with pytest.raises(ModelError, match=r"data\.nodes-config"):
        MetaxDeviceConfig.from_manifest(document | {"data": data | {"nodes-config": [{"nodeName": "a"}]}})


def test_volcano_job() -> None:
    read = VolcanoJob.from_manifest(
        job(
            schedulerName="volcano",
            minAvailable=1,
            policies=[{"action": "CompleteJob", "event": "TaskCompleted"}],
            tasks=[{"name": "worker", "replicas": 1, "template": {"spec": {"containers": []}}, "dependsOn": {"name": ["master"]}}],
            plugins={"svc": [], "pytorch": ["--master=master"]},
        )
    )
    assert read.spec is not None
    assert read.spec.tasks is not None
    assert read.spec.tasks[0].replicas == 1


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        ({"tasks": []}, "tasks"),
        ({"tasks": [{"name": "Worker"}]}, "tasks.0.name"),
        ({"tasks": [{"replicas": -1}]}, "tasks.0.replicas"),
        ({"policies": [{"event": "PodRunning", "action": "AbortJob"}]}, "policies.0.event"),
        ({"policies": [{"exitCode": 3, "action": "CloseQueue"}]}, "policies.0.action"),
        ({"policies": [{"event": "PodPending", "action": "AbortJob", "timeout": "600"}]}, "policies.0.timeout"),
        ({"volumes": [{"mountPath": "a:b"}]}, "volumes.0.mountPath"),
        ({"plugins": {"tensorflo": []}}, "plugins.tensorflo.[key]"),
        ({"minSuccess": 0}, "minSuccess"),
    ],
)
def test_wrong_volcano_job_is_refused(spec: dict[str, Any], key: str) -> None:
    with pytest.raises(ModelError) as error:
        VolcanoJob.from_manifest(job(**spec))
    assert problem_keys(error) == {f"spec.{key}"}


def test_elastic_gpu() -> None:
    gpu: dict[str, Any] = {"apiVersion": "elasticgpu.io/v1alpha1", "kind": "GPU", "metadata": {"name": "n-0"}}
    assert ElasticGpu.from_manifest(gpu).spec is None
    with pytest.raises(ModelError) as error:
        ElasticGpu.from_manifest(gpu | {"spec": {"memory": "31Gi"}})
    assert problem_keys(error) == {"spec.index", "spec.memory"}


def test_machine_set_passes_unknown_fields() -> None:
    labels = {"tke.cloud.tencent.com/qgpu-schedule-policy": "fs"}
    pool = {
        "apiVersion": "node.tke.cloud.tencent.com/v1beta1",
        "kind": "MachineSet",
        "spec": {"type": "Native", "subnetIDs": ["s"], "template": {"spec": {"metadata": {"labels": labels}, "runtimeRootDir": "/var"}}},
    }
    read = MachineSet.from_manifest(pool)
    assert read.spec is not None
    assert read.spec.template is not None
    assert read.spec.template.spec is not None
    assert read.spec.template.spec.metadata is not None
    assert read.spec.template.spec.metadata.labels == labels


@pytest.mark.parametrize("model", [*KEY_SETS, *RESOURCES.values(), *SHAPES.values()], ids=lambda model: model.__name__)
def test_every_model_has_a_json_schema_and_a_docstring(model: type[Structure]) -> None:
    assert model.__doc__
    assert model.model_json_schema()


@pytest.mark.parametrize("model", RESOURCES.values(), ids=lambda model: model.__name__)
def test_every_resource_knows_its_identity(model: type[CustomResource]) -> None:
    group, version, kind = model.identity()
    assert "." in group
    assert version.startswith("v1")
    assert kind
    assert model.plural == model.plural.lower()


@pytest.mark.parametrize("key_set", KEY_SETS, ids=lambda key_set: key_set.__name__)
def test_every_example_and_default_is_legal(key_set: type[KeySet]) -> None:
    for declared in key_set.declarations():
        assert declared.description.endswith(".")
        assert declared.where
        assert declared.source
        for text in filter(None, (declared.example, declared.default)):
            assert key_set.from_mapping({declared.name: text}).to_mapping() == {declared.name: text}, declared.name
