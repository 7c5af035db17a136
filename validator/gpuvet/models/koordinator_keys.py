"""Koordinator: resources, labels and annotations of shared GPUs and other devices (koordinator-metax.md 1, 2, 4)."""

from typing import Annotated, Literal

from gpuvet.models.base import AnnotationSet, LabelSet, ResourceSet, key
from gpuvet.models.koordinator_shapes import (
    DeviceAllocated,
    DeviceAllocateHint,
    DeviceJointAllocate,
    GpuPartitionSpec,
    GpuPartitionTable,
)
from gpuvet.models.scalars import (
    Amount,
    BooleanText,
    CoreQuantity,
    Duration,
    IntegersList,
    IntegerText,
    JsonText,
    LabelValue,
    ObjectName,
    Text,
    WholeQuantity,
    json_text,
    whole_quantity,
)

GpuVendor = Literal["nvidia", "huawei", "cambricon", "metax", "baidu"]
"""Vendors that koord-scheduler has an adapter for; case counts (4.1)."""

PartitionPolicy = Literal["Honor", "Prefer"]
"""Whether a node's GPU partitions must or should be kept (4.1)."""

IsolationProvider = Literal["HAMi-core"]
"""Who keeps containers inside their share; NVIDIA only (4.1)."""


class KoordinatorResources(
    ResourceSet,
    vocabulary="koordinator",
    stands=("container-resource", "node-status", "device-resource"),
    source="koordinator-metax.md 1.1, 1.4",
):
    """Device resources of koord-scheduler's DeviceShare plugin."""

    gpu: WholeQuantity | None = key(
        "koordinator.sh/gpu",
        "N stands for gpu-core N and gpu-memory-ratio N; above 100 a multiple of 100. Not advertised on MetaX nodes.",
        unit="percent of one card",
        example="50",
        where=("container-resource", "node-status"),
    )
    gpu_shared: WholeQuantity | None = key(
        "koordinator.sh/gpu.shared",
        "Number of physical GPUs that the request spans. Nodes show 100 for each healthy GPU, if EnableSyncGPUSharedResource is on.",
        unit="physical GPUs",
        example="1",
        where=("container-resource", "node-status"),
    )
    gpu_core: WholeQuantity | None = key("koordinator.sh/gpu-core", "Compute; 100 is one card.", unit="percent of one card", example="10")
    gpu_memory: WholeQuantity | None = key(
        "koordinator.sh/gpu-memory",
        "Video memory in bytes: a bare 16 is sixteen bytes. MetaX needs at least 1Mi per card.",
        unit="bytes",
        example="1Gi",
    )
    gpu_memory_ratio: WholeQuantity | None = key(
        "koordinator.sh/gpu-memory-ratio", "Video memory in percent; never beside gpu-memory.", unit="percent of one card", example="50"
    )
    rdma: WholeQuantity | None = key(
        "koordinator.sh/rdma", "RDMA devices; above 100 a multiple of 100.", unit="percent of one device", example="100"
    )
    fpga: WholeQuantity | None = key(
        "koordinator.sh/fpga", "FPGAs; above 100 a multiple of 100.", unit="percent of one device", example="100"
    )


class HuaweiResources(
    ResourceSet,
    vocabulary="koordinator",
    stands=("container-resource", "node-status", "device-resource"),
    source="koordinator-metax.md 1.1",
):
    """Huawei NPU resources that DeviceShare knows."""

    npu_core: WholeQuantity | None = key(
        "huawei.com/npu-core",
        "Compute of Ascend NPUs: percent, or AI cores of a template.",
        unit="percent of one card or AI cores",
        example="100",
        copied_to=("pod-annotation",),
    )
    npu_cpu: WholeQuantity | None = key("huawei.com/npu-cpu", "AI CPUs; only in a slice.", unit="AI CPUs", example="1")
    npu_dvpp: Annotated[Amount, whole_quantity(maximum=100)] | None = key(
        "huawei.com/npu-dvpp", "Image preprocessing; only in a slice.", unit="percent", example="100"
    )


class CambriconResources(
    ResourceSet, vocabulary="koordinator", stands=("container-resource", "node-status"), source="koordinator-metax.md 1.2"
):
    """Cambricon dynamic sMLU; the vendor's own keys beside Koordinator's."""

    vcore: WholeQuantity | None = key("cambricon.com/mlu.smlu.vcore", "Compute of the slice.", unit="percent of one card", example="10")
    vmemory: WholeQuantity | None = key("cambricon.com/mlu.smlu.vmemory", "Memory of the slice; 1Gi is 4.", unit="256 MiB", example="4")


class KoordinatorBatchResources(
    ResourceSet, vocabulary="koordinator", stands=("container-resource", "node-status"), source="koordinator-metax.md 7.1"
):
    """Reclaimed CPU and memory; no GPUs, listed so that they pass as known."""

    batch_cpu: CoreQuantity | None = key("kubernetes.io/batch-cpu", "Reclaimed CPU of batch Pods.", unit="milli-CPU", example="1000")
    batch_memory: CoreQuantity | None = key("kubernetes.io/batch-memory", "Reclaimed memory of batch Pods.", unit="bytes", example="1Gi")
    mid_cpu: CoreQuantity | None = key("kubernetes.io/mid-cpu", "Reclaimed CPU of mid-priority Pods.", unit="milli-CPU", example="1000")
    mid_memory: CoreQuantity | None = key("kubernetes.io/mid-memory", "Reclaimed memory of mid-priority Pods.", unit="bytes", example="1Gi")
    old_batch_cpu: CoreQuantity | None = key(
        "koordinator.sh/batch-cpu",
        "Reclaimed CPU of batch Pods, under its old name.",
        unit="milli-CPU",
        replaced_by="kubernetes.io/batch-cpu",
        deprecated="renamed",
    )
    old_batch_memory: CoreQuantity | None = key(
        "koordinator.sh/batch-memory",
        "Reclaimed memory of batch Pods, under its old name.",
        unit="bytes",
        replaced_by="kubernetes.io/batch-memory",
        deprecated="renamed",
    )


class KoordinatorDeprecatedResources(
    ResourceSet, vocabulary="koordinator", stands=("container-resource", "node-status"), source="koordinator-metax.md 1.3"
):
    """Old names. Kubernetes takes them for native resources: no integer check, and requests may be below limits."""

    gpu: CoreQuantity | None = key(
        "kubernetes.io/gpu",
        "Old name of koordinator.sh/gpu.",
        unit="percent of one card",
        replaced_by="koordinator.sh/gpu",
        deprecated="only translated inside the scheduler",
    )
    gpu_core: CoreQuantity | None = key(
        "kubernetes.io/gpu-core",
        "Old name of koordinator.sh/gpu-core.",
        unit="percent of one card",
        replaced_by="koordinator.sh/gpu-core",
        deprecated="only translated inside the scheduler",
    )
    gpu_memory: CoreQuantity | None = key(
        "kubernetes.io/gpu-memory",
        "Old name of koordinator.sh/gpu-memory.",
        unit="bytes",
        replaced_by="koordinator.sh/gpu-memory",
        deprecated="only translated inside the scheduler",
    )
    gpu_memory_ratio: CoreQuantity | None = key(
        "kubernetes.io/gpu-memory-ratio",
        "Old name of koordinator.sh/gpu-memory-ratio.",
        unit="percent of one card",
        replaced_by="koordinator.sh/gpu-memory-ratio",
        deprecated="only translated inside the scheduler",
    )
    rdma: CoreQuantity | None = key(
        "kubernetes.io/rdma",
        "Old name of koordinator.sh/rdma.",
        unit="percent of one device",
        replaced_by="koordinator.sh/rdma",
        deprecated="only translated inside the scheduler",
    )
    fpga: CoreQuantity | None = key(
        "kubernetes.io/fpga",
        "Old name of koordinator.sh/fpga.",
        unit="percent of one device",
        replaced_by="koordinator.sh/fpga",
        deprecated="only translated inside the scheduler",
    )


class KoordinatorDeviceLabels(LabelSet, vocabulary="koordinator", stands=("device-label", "node-label"), source="koordinator-metax.md 4.1"):
    """Labels of the Device object, which koord-manager copies to the Node."""

    gpu_vendor: GpuVendor | None = key(
        "node.koordinator.sh/gpu-vendor", "Selects the vendor's adapter; any other text selects none.", example="metax"
    )
    gpu_model: LabelValue | None = key("node.koordinator.sh/gpu-model", "Model of the cards.", example="C500")
    gpu_driver_version: LabelValue | None = key(
        "node.koordinator.sh/gpu-driver-version", "Driver of the cards; empty for MetaX.", example="535.54.03"
    )
    gpu_partition_policy: PartitionPolicy | None = key(
        "node.koordinator.sh/gpu-partition-policy",
        "Whether the partition table must be kept; any other text behaves as Prefer.",
        default="Prefer",
        example="Honor",
    )
    secondary_device_well_planned: BooleanText | None = key(
        "node.koordinator.sh/secondary-device-well-planned",
        "Whether GPUs and RDMA devices are paired; exact lower case.",
        example="true",
        where=("device-label",),
    )


class KoordinatorIsolationLabels(LabelSet, vocabulary="koordinator", stands=("pod-label", "node-label"), source="koordinator-metax.md 4.1"):
    """Isolation of shared GPUs, the same label on Pod and Node."""

    gpu_isolation_provider: IsolationProvider | None = key(
        "koordinator.sh/gpu-isolation-provider",
        "Who isolates shares; only for shared requests on NVIDIA cards, and a Pod's value must equal the node's.",
        example="HAMi-core",
    )


class KoordinatorDeprecatedLabels(
    LabelSet, vocabulary="koordinator", stands=("node-label", "device-label"), source="koordinator-metax.md 1.3"
):
    """Old names of labels."""

    gpu_model: LabelValue | None = key(
        "kubernetes.io/gpu-model",
        "Old name of node.koordinator.sh/gpu-model.",
        replaced_by="node.koordinator.sh/gpu-model",
        deprecated="renamed",
    )
    gpu_driver: LabelValue | None = key(
        "kubernetes.io/gpu-driver",
        "Old name of node.koordinator.sh/gpu-driver-version.",
        replaced_by="node.koordinator.sh/gpu-driver-version",
        deprecated="renamed",
    )


class KoordinatorPodAnnotations(AnnotationSet, vocabulary="koordinator", stands=("pod-annotation",), source="koordinator-metax.md 4.2"):
    """Annotations that people write on Pods to steer device allocation. All but the last are JSON."""

    device_allocate_hint: Annotated[DeviceAllocateHint, json_text(DeviceAllocateHint)] | None = key(
        "scheduling.koordinator.sh/device-allocate-hint",
        "Which devices to choose, by device type. Bad JSON keeps the Pod pending; null for a device type panics the scheduler.",
        example='{"gpu":{"requiredTopologyScope":"PCIe"}}',
    )
    device_joint_allocate: Annotated[DeviceJointAllocate, json_text(DeviceJointAllocate)] | None = key(
        "scheduling.koordinator.sh/device-joint-allocate",
        "Device types to allocate together.",
        example='{"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"}',
    )
    gpu_partition_spec: Annotated[GpuPartitionSpec, json_text(GpuPartitionSpec)] | None = key(
        "scheduling.koordinator.sh/gpu-partition-spec",
        "How to choose a partition; its mere presence demands a node with a partition table.",
        example='{"allocatePolicy":"Restricted"}',
    )
    reservation_affinity: JsonText | None = key(
        "scheduling.koordinator.sh/reservation-affinity",
        "Which Reservation to use. Bad JSON keeps device Pods pending.",
        example='{"reservationSelector":{"app":"demo"}}',
        source="koordinator-metax.md 7.2",
    )


class KoordinatorDeviceAnnotations(
    AnnotationSet, vocabulary="koordinator", stands=("device-annotation",), source="koordinator-metax.md 4.2"
):
    """Annotations of the Device object."""

    gpu_partitions: Annotated[GpuPartitionTable, json_text(GpuPartitionTable)] | None = key(
        "scheduling.koordinator.sh/gpu-partitions",
        "Partition table: number of cards to partitions. Bad JSON is only logged.",
        example='{"2":[{"minors":[0,1],"gpuLinkType":"NVLink","ringBusBandwidth":"200Gi","allocationScore":1}]}',
    )


class KoordinatorSchedulerAnnotations(
    AnnotationSet, vocabulary="koordinator", stands=("pod-annotation",), owner="system", source="koordinator-metax.md 3.4"
):
    """Pod annotations that only koord-scheduler writes."""

    device_allocated: Annotated[DeviceAllocated, json_text(DeviceAllocated)] | None = key(
        "scheduling.koordinator.sh/device-allocated",
        "Devices that were allocated. Bad JSON keeps any Pod pending; null entries panic Koordinator's components.",
        example='{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"10"}}]}',
    )
    bind_timestamp: IntegerText | None = key("scheduling.koordinator.sh/bind-timestamp", "When the Pod was bound.", unit="ns")
    gpu_minors: IntegersList | None = key("scheduling.koordinator.sh/gpu-minors", "Minor numbers of the Pod's GPUs.", example="0,1")
    predicate_time: IntegerText | None = key("predicate-time", "Huawei: when the Pod was placed.", unit="ns")
    ascend310p: Text | None = key("huawei.com/Ascend310P", "Huawei: cards of the Pod.", example="Ascend310P-0")
    dsmlu_assigned: Text | None = key("CAMBRICON_DSMLU_ASSIGHED", "Cambricon: whether the slice was handed out (spelt so).")
    dsmlu_profile: Text | None = key("CAMBRICON_DSMLU_PROFILE", "Cambricon: minor, vcore and vmemory.", example="0_10_4")
    dsmlu_lock: Text | None = key("cambricon.com/dsmlu.lock", "Cambricon: lock while a slice is handed out.", where=("node-annotation",))


class KoordinatorPodLabels(LabelSet, vocabulary="koordinator", stands=("pod-label",), source="koordinator-metax.md 7.1"):
    """Labels of Koordinator that are not about devices."""

    qos_class: Literal["LSE", "LSR", "LS", "BE", "SYSTEM"] | None = key("koordinator.sh/qosClass", "Koordinator's QoS class.", example="LS")
    priority: IntegerText | None = key("koordinator.sh/priority", "Priority inside a priority class.", example="5000")
    priority_class: LabelValue | None = key("koordinator.sh/priority-class", "Priority class.", example="koord-prod")
    quota_name: ObjectName | None = key("quota.scheduling.koordinator.sh/name", "ElasticQuota that the Pod counts in.", example="team-a")
    preemptible: BooleanText | None = key("quota.scheduling.koordinator.sh/preemptible", "Whether quota may preempt the Pod.")


class KoordinatorGangAnnotations(AnnotationSet, vocabulary="koordinator", stands=("pod-annotation",), source="koordinator-metax.md 8.1"):
    """Koordinator's gang scheduling, by annotations."""

    name: Text | None = key("gang.scheduling.koordinator.sh/name", "Name of the gang.", example="gang-a")
    min_available: IntegerText | None = key("gang.scheduling.koordinator.sh/min-available", "Quorum.", unit="Pods", example="2")
    total_number: IntegerText | None = key("gang.scheduling.koordinator.sh/total-number", "Members.", unit="Pods", example="4")
    waiting_time: Duration | None = key("gang.scheduling.koordinator.sh/waiting-time", "How long the gang waits.", example="5m")
    mode: Literal["Strict", "NonStrict"] | None = key(
        "gang.scheduling.koordinator.sh/mode", "What happens when a member cannot be placed.", default="Strict"
    )
    groups: JsonText | None = key("gang.scheduling.koordinator.sh/groups", "Gangs that belong together.")
    match_policy: Literal["only-waiting", "waiting-and-running", "once-satisfied"] | None = key(
        "gang.scheduling.koordinator.sh/match-policy", "Which Pods count as members."
    )
    timeout: Text | None = key("gang.scheduling.koordinator.sh/timeout", "The gang waited too long.", owner="system")


class KoordinatorQuotaLabels(LabelSet, vocabulary="koordinator", stands=("quota-label",), source="koordinator-metax.md 7.1"):
    """Labels of ElasticQuota."""

    parent: LabelValue | None = key("quota.scheduling.koordinator.sh/parent", "Parent quota.")
    is_parent: BooleanText | None = key("quota.scheduling.koordinator.sh/is-parent", "The quota has children.")
    is_root: BooleanText | None = key("quota.scheduling.koordinator.sh/is-root", "The quota is the root of a tree.")
    tree_id: LabelValue | None = key("quota.scheduling.koordinator.sh/tree-id", "Tree that the quota belongs to.")
    allow_lent_resource: BooleanText | None = key(
        "quota.scheduling.koordinator.sh/allow-lent-resource", "Whether idle resources are lent.", default="true"
    )


class KoordinatorQuotaAnnotations(AnnotationSet, vocabulary="koordinator", stands=("quota-annotation",), source="koordinator-metax.md 7.1"):
    """Annotations of ElasticQuota."""

    shared_weight: JsonText | None = key(
        "quota.scheduling.koordinator.sh/shared-weight", "Weight in sharing idle resources, as JSON of resource names and amounts."
    )
