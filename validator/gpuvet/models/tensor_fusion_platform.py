"""TensorFusion: the kinds that administrators and the operator write (`tensor-fusion.ai/v1`; tensor-fusion.md 3).

Only what bears on workloads is described; other members pass.
"""

from typing import Literal

from gpuvet.models.scalars import CrdQuantity
from gpuvet.models.structures import Column, CustomResource, Integer32, Opaque, OpenStructure, Structure, attribute
from gpuvet.models.tensor_fusion_keys import Isolation, Qos
from gpuvet.models.tensor_fusion_objects import AutoScalingConfig

_KINDS = "tensor-fusion.md 3"
_POOL = "tensor-fusion.md 4"
_QOS = "tensor-fusion.md 2.7"
_SCALING = "tensor-fusion.md 2.6, 3.2"

_PHASE = Column("Phase", "string", ".status.phase")


class Oversubscription(OpenStructure):
    """How much more than its hardware a pool hands out."""

    tflops_oversell_ratio: Integer32 | None = attribute(
        "Compute that is handed out.", minimum=100, maximum=100000, default="500", unit="percent of the physical compute", source=_POOL
    )
    vram_expand_to_host_mem: Integer32 | None = attribute(
        "Video memory that host memory adds.", minimum=0, maximum=100, default="50", unit="percent of the host's memory", source=_POOL
    )
    vram_expand_to_host_disk: Integer32 | None = attribute(
        "Video memory that host disks add.", minimum=0, maximum=100, default="70", unit="percent of the host's disk", source=_POOL
    )


class CapacityConfig(OpenStructure):
    """What a pool may hand out."""

    oversubscription: Oversubscription | None = attribute("How much more than its hardware.", source=_POOL)


class QosConfig(OpenStructure):
    """Service levels of a pool."""

    default_qos: Qos | None = attribute(
        "Service level of workloads that name none and whose requests differ from their limits.",
        "defaultQoS",
        example="medium",
        source=_QOS,
    )


class NodeManagerConfig(OpenStructure):
    """Which nodes a pool has, and how they are run."""

    default_vendor: str | None = attribute("Vendor of the pool's cards.", default="NVIDIA", example="NVIDIA", source=_KINDS)
    default_isolation_mode: Isolation | None = attribute("Isolation mode of nodes that no rule names.", default="soft", source=_KINDS)
    provisioning_mode: Literal["Provisioned", "AutoSelect", "Karpenter"] | None = attribute(
        "Where nodes come from.", default="AutoSelect", source=_KINDS
    )


class GPUPoolSpec(OpenStructure):
    """A set of GPU nodes."""

    default_using_local_gpu: bool | None = attribute(
        "Local mode of Pods that do not say is-local-gpu; absent means true (from v1.48.2).",
        "defaultUsingLocalGPU",
        since="1.48.2",
        source="tensor-fusion.md 1.1",
    )
    capacity_config: CapacityConfig | None = attribute("What may be handed out.", source=_POOL)
    qos_config: QosConfig | None = attribute("Service levels.", source=_QOS)
    node_manager_config: NodeManagerConfig = attribute("Which nodes it has.", required=True, source=_KINDS)
    scheduling_config_template: str | None = attribute(
        "SchedulingConfigTemplate that counts for its workloads.", example="default", source=_SCALING
    )


class GPUPool(CustomResource, plural="gpupools", scope="Cluster"):
    """A set of GPU nodes that Pods name with the gpupool annotation."""

    columns = (_PHASE, Column("Total GPU", "integer", ".status.totalGPUs"))

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["GPUPool"] = attribute("Kind of the object.", required=True)
    spec: GPUPoolSpec | None = attribute("The pool.", source=_KINDS)
    status: Opaque | None = attribute("What the operator reports.")


class VerticalScalingRule(OpenStructure):
    """Autoscaling of the Pods that a selector names; overrides what profile and annotation say."""

    name: str | None = attribute("Name of the rule.", source=_SCALING)
    selector: Opaque | None = attribute("Label selector of the Pods; the first rule that fits counts.", source=_SCALING)
    auto_scaling: AutoScalingConfig | None = attribute("Autoscaling of those Pods.", source=_SCALING)


class Placement(OpenStructure):
    """How workers are placed."""

    mode: Literal["CompactFirst", "LowLoadFirst", "NodeCompactGPULowLoad"] = attribute(
        "Strategy.", required=True, default="NodeCompactGPULowLoad", source=_KINDS
    )


class SchedulingConfigTemplateSpec(OpenStructure):
    """Scheduling and scaling of a pool's workloads."""

    placement: Placement = attribute("How workers are placed.", required=True, source=_KINDS)
    vertical_scaling_rules: list[VerticalScalingRule] | None = attribute(
        "Vertical autoscaling by Pod labels.", max_items=64, source=_SCALING
    )


class SchedulingConfigTemplate(CustomResource, plural="schedulingconfigtemplates", scope="Cluster"):
    """Scheduling and scaling that pools refer to by name."""

    columns = (Column("Mode", "string", ".spec.placement.mode"),)

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["SchedulingConfigTemplate"] = attribute("Kind of the object.", required=True)
    spec: SchedulingConfigTemplateSpec | None = attribute("The template.", source=_KINDS)
    status: Opaque | None = attribute("What the operator reports.")


class ProviderImages(OpenStructure):
    """Images of a vendor's components."""

    middleware: str = attribute("Image of the vendor's middleware.", required=True, source=_KINDS)


class ProviderConfigSpec(OpenStructure):
    """What the operator knows of a vendor."""

    vendor: str = attribute("Vendor, as GPU.status.vendor spells it.", required=True, example="NVIDIA", source="tensor-fusion.md 2.9")
    images: ProviderImages = attribute("Images of the vendor's components.", required=True, source=_KINDS)
    in_use_resource_names: list[str] | None = attribute(
        "Native resources whose limits count as whole cards.", source="tensor-fusion.md 2.1"
    )


class ProviderConfig(CustomResource, plural="providerconfigs", scope="Cluster"):
    """What the operator knows of a vendor."""

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["ProviderConfig"] = attribute("Kind of the object.", required=True)
    spec: ProviderConfigSpec | None = attribute("The vendor.", source=_KINDS)
    status: Opaque | None = attribute("What the operator reports.")


class TensorFusionGPUStatus(OpenStructure):
    """What the operator reports about a card."""

    gpu_model: str | None = attribute("Model; what gpu-model must equal.", example="A100_SXM_80G", source="tensor-fusion.md 1.1, 2.9")
    vendor: str | None = attribute("Vendor; what vendor must equal.", default="NVIDIA", source="tensor-fusion.md 2.9")
    uuid: str | None = attribute("Identifier of the card.", source=_KINDS)
    used_by: Literal["tensor-fusion", "nvidia-device-plugin"] | None = attribute("Who hands it out.", source=_KINDS)


class TensorFusionGPU(CustomResource, plural="gpus", scope="Cluster"):
    """One card; written by the operator."""

    columns = (_PHASE, Column("GPU Model", "string", ".status.gpuModel"))

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["GPU"] = attribute("Kind of the object.", required=True)
    status: TensorFusionGPUStatus | None = attribute("What the operator reports.", source=_KINDS)


class GPUNodeSpec(OpenStructure):
    """A node that TensorFusion uses."""

    manage_mode: Literal["Manual", "AutoSelect", "Provisioned"] | None = attribute(
        "Where the node comes from.", default="AutoSelect", source=_KINDS
    )
    gpu_card_indices: list[int] | None = attribute("Cards that TensorFusion may use; absent means all.", source=_KINDS)


class GPUNode(CustomResource, plural="gpunodes", scope="Cluster"):
    """A node that TensorFusion uses; written by the operator."""

    columns = (_PHASE, Column("GPU Count", "integer", ".status.totalGPUs"))

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["GPUNode"] = attribute("Kind of the object.", required=True)
    spec: GPUNodeSpec | None = attribute("The node.", source=_KINDS)
    status: Opaque | None = attribute("What the operator reports.")


class NodeClassReference(Structure):
    """A node class by its identity."""

    group: str = attribute("API group.", required=True)
    version: str = attribute("API version.", required=True)
    kind: str = attribute("Kind.", required=True)
    name: str = attribute("Name.", required=True)


class GPUNodeClaimSpec(OpenStructure):
    """A cloud node to make."""

    gpu_device_offered: Integer32 = attribute("Cards of the node.", required=True, unit="cards", source=_KINDS)
    tflops_offered: CrdQuantity = attribute("Compute of the node.", required=True, unit="FP16 TFLOPS", source=_KINDS)
    vram_offered: CrdQuantity = attribute("Video memory of the node.", required=True, unit="bytes", source=_KINDS)
    node_class_ref: NodeClassReference | None = attribute("How to make it.", source=_KINDS)


class GPUNodeClaim(CustomResource, plural="gpunodeclaims", scope="Cluster"):
    """A cloud node that the operator asks for; written by the operator."""

    columns = (_PHASE,)

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["GPUNodeClaim"] = attribute("Kind of the object.", required=True)
    spec: GPUNodeClaimSpec | None = attribute("The node.", source=_KINDS)
    status: Opaque | None = attribute("What the operator reports.")


class GPUNodeClassSpec(OpenStructure):
    """How cloud nodes are made."""

    os_image_type: Literal["Private", "Public", "System"] | None = attribute("Where the image is from.", default="Private", source=_KINDS)


class GPUNodeClass(CustomResource, plural="gpunodeclasses", scope="Cluster"):
    """How cloud nodes are made."""

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["GPUNodeClass"] = attribute("Kind of the object.", required=True)
    spec: GPUNodeClassSpec | None = attribute("The class.", source=_KINDS)
    status: Opaque | None = attribute("Empty.")


class TensorFusionConnectionSpec(Structure):
    """A client and the workload that serves it."""

    workload_name: str = attribute("TensorFusionWorkload of the same namespace.", required=True, source=_KINDS)
    client_pod: str = attribute("Pod that uses it.", required=True, source=_KINDS)


class TensorFusionConnection(CustomResource, plural="tensorfusionconnections"):
    """The way of a client Pod to its worker; written by the operator."""

    columns = (_PHASE, Column("Worker Name", "string", ".status.workerName"), Column("Workload Name", "string", ".spec.workloadName"))

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["TensorFusionConnection"] = attribute("Kind of the object.", required=True)
    spec: TensorFusionConnectionSpec | None = attribute("Client and workload.", source=_KINDS)
    status: Opaque | None = attribute("What the operator reports.")


class PoolOfCluster(OpenStructure):
    """A pool that a cluster object makes."""

    name: str | None = attribute("Name of the pool.", source=_KINDS)
    is_default: bool | None = attribute("The pool that counts when a Pod names none.", source="tensor-fusion.md 1.1, 1.3")
    spec_template: GPUPoolSpec = attribute("The pool.", required=True, source=_KINDS)


class TensorFusionClusterSpec(OpenStructure):
    """Pools of a cluster."""

    gpu_pools: list[PoolOfCluster] | None = attribute("The pools.", source=_KINDS)


class TensorFusionCluster(CustomResource, plural="tensorfusionclusters", scope="Cluster"):
    """All pools of a cluster."""

    columns = (_PHASE, Column("Total Pools", "integer", ".status.totalPools"))

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["TensorFusionCluster"] = attribute("Kind of the object.", required=True)
    spec: TensorFusionClusterSpec | None = attribute("The pools.", source=_KINDS)
    status: Opaque | None = attribute("What the operator reports.")


class NvidiaMigration(OpenStructure):
    """The chart's switches of its controller."""

    nvidia_operator_progressive_migration: bool | None = attribute(
        "The webhook sees every Pod, not only those with the label `enabled`.", default="false", source="tensor-fusion.md 0"
    )
    isolation_mode_policy: str | None = attribute(
        "Scheduling domains; with `dynamic` partitioned allocation is refused.",
        default="dynamic",
        since="2.17.0",
        source="tensor-fusion.md 2.9",
    )


class AutoMigration(OpenStructure):
    """Conversion of Pods with native GPU limits."""

    enable: bool | None = attribute(
        "Every Pod with a native GPU limit becomes a TensorFusion Pod with isolation shared, unless its label `enabled` is 'false'.",
        default="false",
        since="1.49.14",
        source="tensor-fusion.md 0",
    )


class DynamicConfig(OpenStructure):
    """Configuration that the operator reads again when it changes."""

    auto_migration: AutoMigration | None = attribute("Conversion of Pods with native GPU limits.", source="tensor-fusion.md 0")


class TensorFusionHelmValues(OpenStructure):
    """Values of TensorFusion's Helm chart that change what a manifest means."""

    controller: NvidiaMigration | None = attribute("The controller.", source="tensor-fusion.md 0")
    dynamic_config: DynamicConfig | None = attribute("Configuration that is read again.", source="tensor-fusion.md 0")
