"""Tencent TKE qGPU: resources, node labels, Pod annotations and the retired elasticgpu GPU object (qgpu.md 1 to 5)."""

from typing import Annotated, Literal

from gpuvet.models.base import AnnotationSet, LabelSet, ResourceSet, key
from gpuvet.models.kubernetes import ResourceList
from gpuvet.models.scalars import Amount, LabelValue, whole_quantity
from gpuvet.models.structures import CustomResource, Integer32, Integer64, ObjectMeta, Opaque, OpenStructure, Structure, attribute

SchedulePolicy = Literal["best-effort", "be", "fixed-share", "fs", "burst-share", "bs"]
"""Isolation policies of a node, each with its short form: no cap, hard cap, guarantee plus what is idle."""

AppClass = Literal["online", "offline"]
"""Classes of online/offline colocation; absent is ordinary qGPU."""


class QgpuResources(ResourceSet, vocabulary="qgpu", stands=("container-resource", "node-status"), source="qgpu.md 1, 2"):
    """qGPU's extended resources; requests equal limits, and each container is allocated by itself."""

    core: Annotated[Amount, whole_quantity(minimum=5, maximum=100, step=5, or_multiple_of=100)] | None = key(
        "tke.cloud.tencent.com/qgpu-core",
        "Compute: 5 to 95 in steps of 5 is a slice, a multiple of 100 is whole cards.",
        unit="percent of one card",
        example="30",
    )
    memory: Annotated[Amount, whole_quantity(minimum=1, step=1)] | None = key(
        "tke.cloud.tencent.com/qgpu-memory",
        "Video memory of a slice in GiB, never bytes; left out for whole cards.",
        unit="GiB",
        example="5",
    )
    core_greedy: Annotated[Amount, whole_quantity(minimum=1, maximum=100)] | None = key(
        "tke.cloud.tencent.com/qgpu-core-greedy",
        "Low-priority compute of offline Pods. Nodes may show 0 of it although it is usable.",
        unit="percent of one card",
        example="50",
        source="qgpu.md 1, 4",
    )


class QgpuNodeLabels(LabelSet, vocabulary="qgpu", stands=("node-label",), source="qgpu.md 3.1, 3.2"):
    """Labels of nodes with qGPU, set through node pools."""

    schedule_policy: SchedulePolicy | None = key(
        "tke.cloud.tencent.com/qgpu-schedule-policy",
        "Isolation policy of the node's cards. On a Pod or namespace it does nothing.",
        default="best-effort",
        example="fixed-share",
    )
    device_enable: Literal["enable"] | None = key(
        "qgpu-device-enable", "The node offers qGPU; set on GPU nodes of pools with qGPU on.", example="enable"
    )
    mixed_enable: Literal["enable"] | None = key(
        "mixed-qgpu-enable", "Colocation, in older editions.", example="enable", deprecated="newer editions recreate the components instead"
    )
    version: LabelValue | None = key(
        "tke.cloud.tencent.com/qgpu.version", "Version of qGPU on the node, from qgpu-manager.", example="3.0.5", owner="system"
    )


class QgpuPodAnnotations(AnnotationSet, vocabulary="qgpu", stands=("pod-annotation",), source="qgpu.md 3.3, 4"):
    """Annotations that people write on Pods."""

    app_class: AppClass | None = key(
        "tke.cloud.tencent.com/app-class",
        "Class of colocation: offline takes qgpu-core-greedy and qgpu-memory, online qgpu-memory alone.",
        example="offline",
    )


class GpuSpec(Structure):
    """One card."""

    index: int = attribute("Index on the node.", required=True, example="0", source="qgpu.md 5.3")
    uuid: str | None = attribute("Identifier of the card.", source="qgpu.md 5.3")
    model: str | None = attribute("Model.", source="qgpu.md 5.3")
    path: str | None = attribute("Device file.", source="qgpu.md 5.3")
    memory: Integer64 | None = attribute("Memory; a bare integer, no suffix.", unit="bytes", source="qgpu.md 5.3")
    node_name: str | None = attribute("Node.", source="qgpu.md 5.3")


class AllocatedContainer(Structure):
    """A container and what it took."""

    container: str | None = attribute("Name of the container.")
    resource: ResourceList | None = attribute("What it took.")


class AllocatedPod(Structure):
    """A Pod and what its containers took."""

    namespace: str | None = attribute("Namespace of the Pod.")
    pod: str | None = attribute("Name of the Pod.")
    containers: list[AllocatedContainer] | None = attribute("Its containers.")


class GpuStatus(Structure):
    """What a card offers and what is taken."""

    state: str | None = attribute("State.")
    capacity: ResourceList | None = attribute("What it has.")
    allocatable: ResourceList | None = attribute("What can be taken.")
    allocated: dict[str, AllocatedPod] | None = attribute("What was taken.")


class ElasticGpu(CustomResource, plural="gpus", scope="Cluster"):
    """elasticgpu's GPU: retired, its definition stays for compatibility. Named after node and card index."""

    api_version: Literal["elasticgpu.io/v1alpha1"] = attribute("API group and version.", required=True)
    kind: Literal["GPU"] = attribute("Kind of the object.", required=True)
    spec: GpuSpec | None = attribute("The card.", source="qgpu.md 5.3")
    status: GpuStatus | None = attribute("What it offers.", source="qgpu.md 5.3")


_NODE_POOL = "qgpu.md 3.1, 3.4; qcloud-documents, declarative native nodes"


class MachineProvider(OpenStructure):
    """How the cloud makes the machines."""

    type: str | None = attribute("Type of the machines.", example="Native", source=_NODE_POOL)


class MachineSpec(OpenStructure):
    """One machine of the pool."""

    metadata: ObjectMeta | None = attribute("Labels here reach the Nodes.", source=_NODE_POOL)
    provider_spec: MachineProvider | None = attribute("How the cloud makes it.", source=_NODE_POOL)


class MachineTemplate(OpenStructure):
    """Template of the pool's machines."""

    metadata: ObjectMeta | None = attribute("Labels here reach the Machines; newer documents use them for Nodes too.", source=_NODE_POOL)
    spec: MachineSpec | None = attribute("The machine.", source=_NODE_POOL)


class MachineSetSpec(OpenStructure):
    """A node pool."""

    type: str | None = attribute("Type of the nodes; qGPU wants Native.", example="Native", source=_NODE_POOL)
    replicas: Integer32 | None = attribute("Nodes.", unit="nodes", source=_NODE_POOL)
    instance_types: list[str] | None = attribute("Instance types, such as GN7 (T4) or GT4 (A100).", source=_NODE_POOL)
    template: MachineTemplate | None = attribute("The machines.", source=_NODE_POOL)


class MachineSet(CustomResource, plural="machinesets", scope="Cluster"):
    """TKE's pool of native nodes: where the policy label is set in practice. Only what matters here; other fields pass."""

    api_version: Literal["node.tke.cloud.tencent.com/v1beta1"] = attribute("API group and version.", required=True)
    kind: Literal["MachineSet"] = attribute("Kind of the object.", required=True)
    spec: MachineSetSpec | None = attribute("The pool.", source=_NODE_POOL)
    status: Opaque | None = attribute("What the cloud reports.")
