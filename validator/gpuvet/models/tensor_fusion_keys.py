"""TensorFusion: annotations and labels of Pods, and the keys that only the operator writes.

Domain `tensor-fusion.ai`; a custom domain is made canonical before anything is looked up here. Sections: tensor-fusion.md 1 and 2.
"""

from typing import Annotated, Final, Literal

from gpuvet.models.base import AnnotationSet, Dialect, LabelSet, ResourceSet, key
from gpuvet.models.scalars import (
    BooleanText,
    CountText,
    Duration,
    IntegersList,
    IntegerText,
    JsonText,
    LabelName,
    LabelValue,
    NamesList,
    ObjectName,
    PercentText,
    PodTemplateText,
    QuantityText,
    Text,
    WholeQuantity,
    integer,
    words,
)

Qos = Literal["low", "medium", "high", "critical"]
"""Service levels: low = training and labs, medium = offline jobs, high = online inference, critical = real time (2.7)."""

Isolation = Literal["shared", "soft", "hard", "partitioned"]
"""How compute is kept apart: not at all, by a limiter, by dedicated multiprocessors, by partitions (2.9)."""

Vendor = Literal[
    "NVIDIA",
    "AMD",
    "Intel",
    "Qualcomm",
    "AWSNeuron",
    "Google",
    "Cerebras",
    "Hygon",
    "MetaX",
    "MooreThreads",
    "Biren",
    "THead",
    "PPU",
    "Ascend",
    "Cambricon",
    "Enflame",
    "KunlunXin",
    "Horizon",
    "Moore",
    "Example",
    "Unknown",
]
"""Accelerator vendors as GPU.status.vendor spells them; compared with case (2.9)."""

AutoscaleTarget = Literal["compute", "vram", "all"]
"""What vertical autoscaling scales (1.2)."""

FeatureWords = Annotated[tuple[str, ...], words("gpu-opt", "gpu-limiter", "mem-manager", "start-worker")]
"""Built-in features that can be switched off; `start-worker` is for debugging (1.2)."""

GpuCount = Annotated[int, integer(minimum=1, maximum=128)]
"""Devices per worker, 1 to 128 (1.1)."""

GangMembers = Annotated[int, integer(minimum=2)]
"""A gang's quorum, at least 2 (1.2, 2.11)."""

_ALL: Final[tuple[Dialect, ...]] = ("seed", "mid", "current")


class TensorFusionPodAnnotations(
    AnnotationSet, vocabulary="tensor-fusion", stands=("pod-annotation",), dialects=("current",), source="tensor-fusion.md 1.2"
):
    """Annotations that people write on a Pod or Pod template and that the operator reads today."""

    gpupool: ObjectName | None = key(
        "tensor-fusion.ai/gpupool",
        "Name of the GPUPool to take GPUs from. Without it the default pool counts; before v1.35.0 it is mandatory.",
        example="default-pool",
        since="1.9.0",
        dialects=_ALL,
        copied_to=("pod-label",),
        source="tensor-fusion.md 1.1",
    )
    inject_container: NamesList | None = key(
        "tensor-fusion.ai/inject-container",
        "Containers of spec.containers that get the vGPU. May be left out when the Pod has one container (from v1.35.0).",
        example="python",
        since="1.16.0",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 2.5",
    )
    tflops_request: QuantityText | None = key(
        "tensor-fusion.ai/tflops-request",
        "Compute reserved for each worker on each of its devices.",
        unit="FP16 TFLOPS per GPU device and worker",
        example="10",
        since="1.16.0",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 2.1",
    )
    tflops_limit: QuantityText | None = key(
        "tensor-fusion.ai/tflops-limit",
        "Ceiling of compute for each worker on each of its devices. A missing request takes it (from v1.48.0).",
        unit="FP16 TFLOPS per GPU device and worker",
        example="20",
        since="1.16.0",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 2.1",
    )
    vram_request: QuantityText | None = key(
        "tensor-fusion.ai/vram-request",
        "Video memory reserved for each worker on each of its devices.",
        unit="bytes per GPU device and worker",
        example="4Gi",
        since="1.16.0",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 2.1",
    )
    vram_limit: QuantityText | None = key(
        "tensor-fusion.ai/vram-limit",
        "Ceiling of video memory for each worker on each of its devices. A missing request takes it (from v1.48.0).",
        unit="bytes per GPU device and worker",
        example="4Gi",
        since="1.16.0",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 2.1",
    )
    qos: Qos | None = key(
        "tensor-fusion.ai/qos",
        "Service level of the vGPU. When absent: high if every request equals its limit, else the pool's default, else medium.",
        default="medium",
        example="medium",
        since="1.37.0",
        dialects=("mid", "current"),
        source="tensor-fusion.md 1.1, 2.7",
    )
    workload_profile: ObjectName | None = key(
        "tensor-fusion.ai/workload-profile",
        "WorkloadProfile of the Pod's namespace to take parameters from; annotations win over it. Before v1.36.0: client-profile.",
        example="default-profile",
        since="1.36.0",
        dialects=("mid", "current"),
        source="tensor-fusion.md 1.1, 2.6",
    )
    is_local_gpu: BooleanText | None = key(
        "tensor-fusion.ai/is-local-gpu",
        "Run the application on the GPU node of its worker. When absent the pool decides, and true if it says nothing (from v1.48.2).",
        example="true",
        since="1.26.21",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 2.4",
    )
    gpu_count: GpuCount | None = key(
        "tensor-fusion.ai/gpu-count",
        "Devices of each worker, all on one node; every per-device amount is consumed that many times.",
        unit="GPU devices per worker",
        default="1",
        example="1",
        since="1.26.21",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 2.2",
    )
    gpu_model: Text | None = key(
        "tensor-fusion.ai/gpu-model",
        "Required model, exactly as GPU.status.gpuModel spells it.",
        example="A100_SXM_80G",
        since="1.30.0",
        dialects=_ALL,
        source="tensor-fusion.md 1.1, 1.5",
    )
    enabled_replicas: CountText | None = key(
        "tensor-fusion.ai/enabled-replicas",
        "Grey release: convert only the first N Pods of the owner. Needs a controller as owner.",
        unit="Pods",
        example="1",
        since="1.26.0",
        dialects=_ALL,
    )
    isolation: Isolation | None = key(
        "tensor-fusion.ai/isolation",
        "How compute is kept apart between workers of one device.",
        default="soft",
        example="soft",
        since="1.48.5",
        source="tensor-fusion.md 1.2, 2.9",
    )
    vendor: Vendor | None = key(
        "tensor-fusion.ai/vendor",
        "Required accelerator vendor, with the exact spelling.",
        example="NVIDIA",
        since="1.48.2",
        source="tensor-fusion.md 1.2, 2.9",
    )
    gpu_indices: IntegersList | None = key(
        "tensor-fusion.ai/gpu-indices",
        "Device indices to pin; their number replaces gpu-count.",
        example="0,1",
        since="1.48.2",
    )
    compute_percent_request: PercentText | None = key(
        "tensor-fusion.ai/compute-percent-request",
        "Compute reserved in percent of a card, instead of TFLOPS. Escapes namespace quotas.",
        unit="percent of one card",
        example="50",
        since="1.48.0",
    )
    compute_percent_limit: PercentText | None = key(
        "tensor-fusion.ai/compute-percent-limit",
        "Ceiling of compute in percent of a card, instead of TFLOPS. Escapes namespace quotas.",
        unit="percent of one card",
        example="50",
        since="1.48.0",
    )
    sidecar_worker: BooleanText | None = key(
        "tensor-fusion.ai/sidecar-worker",
        "Run the worker as a sidecar; forces local mode. For NVIDIA or no vendor it needs isolation hard or shared (from v2.6.0).",
        example="true",
        since="1.47.0",
        source="tensor-fusion.md 1.2, 2.11",
    )
    worker_pod_template: PodTemplateText | None = key(
        "tensor-fusion.ai/worker-pod-template",
        "PodTemplateSpec in YAML or JSON that is merged into the remote worker. Refused in local mode.",
        since="1.47.0",
    )
    dedicated_gpu: BooleanText | None = key(
        "tensor-fusion.ai/dedicated-gpu",
        "Reserve whole cards. Needs gpu-model with a known capacity and overwrites TFLOPS and VRAM.",
        example="true",
        since="1.43.3",
        dialects=("mid", "current"),
    )
    partition_id: Text | None = key(
        "tensor-fusion.ai/partition-id",
        "Partition or MIG template, by id or name. Counts only with isolation partitioned.",
        example="1g.10gb",
        since="2.0.0",
    )
    autoscale: BooleanText | None = key(
        "tensor-fusion.ai/autoscale",
        "Turn on vertical autoscaling; details live in the profile's autoScalingConfig.",
        example="true",
        since="1.49.16",
        source="tensor-fusion.md 1.2, 2.8",
    )
    autoscale_target: AutoscaleTarget | None = key(
        "tensor-fusion.ai/autoscale-target",
        "What vertical autoscaling scales; any other value scales nothing.",
        default="all",
        example="all",
        since="1.49.16",
        source="tensor-fusion.md 1.2, 2.8",
    )
    gang_enabled: BooleanText | None = key(
        "tensor-fusion.ai/gang-enabled",
        "Schedule the workload's Pods as one gang.",
        example="true",
        since="2.4.4",
    )
    gang_min_members: GangMembers | None = key(
        "tensor-fusion.ai/gang-min-members",
        "Quorum of the gang, at most the desired replicas. Absent or 0 is refused from v2.8.2.",
        unit="Pods",
        example="2",
        since="2.0.0",
        source="tensor-fusion.md 1.2, 2.11",
    )
    gang_timeout: Duration | None = key(
        "tensor-fusion.ai/gang-timeout",
        "How long the gang waits for its members; 0 waits forever.",
        default="0s",
        example="5m",
        since="2.0.0",
    )
    disable_features: FeatureWords | None = key(
        "tensor-fusion.ai/disable-features",
        "Built-in features to switch off; words are not trimmed. Does nothing in local soft, shared and partitioned mode.",
        example="gpu-limiter,mem-manager",
        since="1.38.2",
        dialects=("mid", "current"),
    )
    eviction_protection: Duration | None = key(
        "tensor-fusion.ai/eviction-protection",
        "How long the Pod is protected from preemption; also counts in billing.",
        example="1h",
        since="1.44.0",
        dialects=("mid", "current"),
    )
    require_gpu_topology: BooleanText | None = key(
        "tensor-fusion.ai/require-gpu-topology",
        "Demand devices with a close interconnect, against the scheduler's configuration.",
        example="true",
        since="2.5.0",
    )
    gpu_topology_max_tier: CountText | None = key(
        "tensor-fusion.ai/gpu-topology-max-tier",
        "Furthest interconnect tier allowed; tiers run from 0 (closest) to 3.",
        example="1",
        since="2.5.0",
    )
    gpu_topology_source: Literal["auto", "numa", "vendor"] | None = key(
        "tensor-fusion.ai/gpu-topology-source",
        "Where the interconnect topology is read from.",
        example="auto",
        since="2.5.0",
    )


class TensorFusionOldPodAnnotations(
    AnnotationSet, vocabulary="tensor-fusion", stands=("pod-annotation",), dialects=("seed",), source="tensor-fusion.md 1.1"
):
    """Annotations of older contracts, and names that were only ever documented. Newer operators ignore them."""

    replicas: Annotated[int, integer(minimum=1)] | None = key(
        "tensor-fusion.ai/replicas",
        "Number of vGPU workers; should equal the Deployment's replicas. Today only spec.replicas of a WorkloadProfile counts.",
        unit="workers",
        default="1",
        example="1",
        since="1.17.0",
        until="1.35.0",
        deprecated="not read from v1.35.0",
        source="tensor-fusion.md 1.1, 2.10",
    )
    workload: ObjectName | None = key(
        "tensor-fusion.ai/workload",
        "TensorFusionWorkload of the Pod's namespace to reuse, or to create when generate-workload is 'true'.",
        example="pytorch-example",
        since="1.17.0",
        until="1.47.1",
        dialects=("seed", "mid"),
        copied_to=("pod-label",),
        deprecated="not read as annotation from v1.47.1; the name follows from the controller",
        source="tensor-fusion.md 1.1, 2.3",
    )
    generate_workload: BooleanText | None = key(
        "tensor-fusion.ai/generate-workload",
        "'true' creates the workload that `workload` names, 'false' looks it up.",
        default="false",
        example="true",
        since="1.17.0",
        until="1.35.0",
        deprecated="not read from v1.35.0; workloads are created when needed",
        source="tensor-fusion.md 1.1, 2.3",
    )
    client_profile: ObjectName | None = key(
        "tensor-fusion.ai/client-profile",
        "WorkloadProfile to take parameters from, under its name before v1.36.0.",
        example="default-profile",
        until="1.36.0",
        dialects=("seed", "mid"),
        replaced_by="tensor-fusion.ai/workload-profile",
        deprecated="renamed in v1.36.0",
        source="tensor-fusion.md 1.1, 1.5",
    )
    auto_requests: BooleanText | None = key(
        "tensor-fusion.ai/auto-requests",
        "Let history set the requests. Parsed, never acted on.",
        default="false",
        since="1.26.21",
        until="1.45.0",
        dialects=("seed", "mid"),
        replaced_by="tensor-fusion.ai/autoscale",
        deprecated="not read from v1.45.0",
        source="tensor-fusion.md 1.1, 2.8",
    )
    auto_limits: BooleanText | None = key(
        "tensor-fusion.ai/auto-limits",
        "Let history set the limits. Parsed, never acted on.",
        default="false",
        since="1.26.21",
        until="1.45.0",
        dialects=("seed", "mid"),
        replaced_by="tensor-fusion.ai/autoscale",
        deprecated="not read from v1.45.0",
        source="tensor-fusion.md 1.1, 2.8",
    )
    auto_replicas: BooleanText | None = key(
        "tensor-fusion.ai/auto-replicas",
        "Let history set the number of workers. Parsed, never acted on; there is no horizontal scaling.",
        default="false",
        since="1.26.21",
        until="1.49.16",
        dialects=("seed", "mid"),
        deprecated="not read from v1.49.16, without effect before",
        source="tensor-fusion.md 1.1, 2.8",
    )
    no_standalone_worker_mode: BooleanText | None = key(
        "tensor-fusion.ai/no-standalone-worker-mode",
        "Embed the worker in an init container; only with is-local-gpu 'true'. No operator release acts on it.",
        default="false",
        since="1.26.21",
        until="1.35.0",
        deprecated="never had an effect; from v2.4.4 isolation decides",
        replaced_by="tensor-fusion.ai/isolation",
        source="tensor-fusion.md 1.1, 2.4",
    )
    standalone_worker_mode: BooleanText | None = key(
        "tensor-fusion.ai/standalone-worker-mode",
        "A name that only the documentation used (from 2025-06-08); the operator never had it.",
        dialects=(),
        replaced_by="tensor-fusion.ai/isolation",
        deprecated="never existed in the operator",
        source="tensor-fusion.md 1.5 C9",
    )
    compute_isolation: Isolation | None = key(
        "tensor-fusion.ai/compute-isolation",
        "How compute is kept apart, under its name of v1.48.0 to v1.48.4.",
        since="1.48.0",
        until="1.48.5",
        dialects=("current",),
        replaced_by="tensor-fusion.ai/isolation",
        deprecated="renamed in v1.48.5",
        source="tensor-fusion.md 1.2",
    )
    auto_resources: BooleanText | None = key(
        "tensor-fusion.ai/auto-resources",
        "Turn on vertical autoscaling, under its name of v1.45.0 to v1.49.15.",
        since="1.45.0",
        until="1.49.16",
        dialects=("mid", "current"),
        replaced_by="tensor-fusion.ai/autoscale",
        deprecated="renamed in v1.49.16",
        source="tensor-fusion.md 1.2",
    )
    auto_scale_target_resource: Literal["tflops", "vram", "all"] | None = key(
        "tensor-fusion.ai/auto-scale-target-resource",
        "What vertical autoscaling scales, under its name of v1.45.0 to v1.49.15.",
        default="all",
        since="1.45.0",
        until="1.49.16",
        dialects=("mid", "current"),
        replaced_by="tensor-fusion.ai/autoscale-target",
        deprecated="renamed in v1.49.16; write compute for tflops",
        source="tensor-fusion.md 1.2",
    )
    partition: Text | None = key(
        "tensor-fusion.ai/partition",
        "A constant that no code reads.",
        dialects=(),
        replaced_by="tensor-fusion.ai/partition-id",
        deprecated="never read",
        source="tensor-fusion.md 1.2",
    )


class TensorFusionPodLabels(LabelSet, vocabulary="tensor-fusion", stands=("pod-label",), dialects=_ALL, source="tensor-fusion.md 1.2"):
    """Labels that people write on a Pod or Pod template."""

    enabled: BooleanText | None = key(
        "tensor-fusion.ai/enabled",
        "Opts the Pod in; must stand on the Pod template. 'false' opts out even of auto-migration, absent is not managed.",
        example="true",
        since="1.2.0",
    )
    host_port: Literal["auto"] | None = key(
        "tensor-fusion.ai/host-port",
        "Allocate a cluster-wide host port; needs port-name.",
        example="auto",
        since="1.33.4",
    )
    port_name: LabelName | None = key(
        "tensor-fusion.ai/port-name",
        "Name of the declared container port that gets the host port.",
        example="http",
        since="1.33.4",
    )


_OPERATOR = "tensor-fusion.md 1.3"


class TensorFusionOperatorPodAnnotations(
    AnnotationSet, vocabulary="tensor-fusion", stands=("pod-annotation",), owner="system", dialects=_ALL, source=_OPERATOR
):
    """Pod annotations that only the operator and its scheduler write."""

    gpu_ids: Text | None = key(
        "tensor-fusion.ai/gpu-ids", "Devices that the scheduler assigned. A preset value passes for an earlier placement."
    )
    container_gpus: JsonText | None = key("tensor-fusion.ai/container-gpus", "Devices of each container, as JSON.")
    container_gpu_count: JsonText | None = key("tensor-fusion.ai/container-gpu-count", "Number of devices of each container, as JSON.")
    index: IntegerText | None = key("tensor-fusion.ai/index", "Index by which the device plugin recognises the Pod, 1 to 128.")
    partition_uuids: Text | None = key("tensor-fusion.ai/partition-uuids", "Partitions that were created for the Pod.")
    effective_hard_sm_percent: Text | None = key(
        "tensor-fusion.ai/effective-hard-sm-percent", "Share of multiprocessors that hard isolation really gives.", unit="percent"
    )
    selected_workload: ObjectName | None = key("tensor-fusion.ai/selected-workload", "Workload that the webhook chose for a remote client.")
    pending_owned_workload: Text | None = key("tensor-fusion.ai/pending-owned-workload", "Workload whose owner is still to be set.")
    embedded_worker: BooleanText | None = key("tensor-fusion.ai/embedded-worker", "The worker runs inside the application's process.")
    dedicated_worker: BooleanText | None = key("tensor-fusion.ai/dedicated-worker", "The worker serves one client alone.")
    gang_desired_members: CountText | None = key("tensor-fusion.ai/gang-desired-members", "Members that the gang should have.")
    gang_required_members: CountText | None = key("tensor-fusion.ai/gang-required-members", "Members that the gang needs.")
    gang_group_key: Text | None = key("tensor-fusion.ai/gang-group-key", "Identity of the gang.")
    pod_counter_key: Text | None = key("tensor-fusion.ai/pod-counter-key", "Counter of grey release that the Pod belongs to.")
    port_number: IntegerText | None = key("tensor-fusion.ai/port-number", "Host port that was allocated.")
    workload_mode: Literal["dynamic", "fixed"] | None = key(
        "tensor-fusion.ai/workload-mode", "Whether workers follow the Pods or stand in a fixed number."
    )
    gpu_released: BooleanText | None = key("tensor-fusion.ai/gpu-released", "The Pod's devices were given back.")
    hourly_pricing: Text | None = key("tensor-fusion.ai/hourly-pricing", "Price of the devices.", unit="currency per hour")
    defrag_evicted_since: Text | None = key("tensor-fusion.ai/defrag-evicted-since", "When defragmentation evicted the Pod.")
    defrag_evicted_pool: Text | None = key("tensor-fusion.ai/defrag-evicted-pool", "Pool whose defragmentation evicted the Pod.")


class TensorFusionOperatorLabels(
    LabelSet, vocabulary="tensor-fusion", stands=("pod-label",), owner="system", dialects=_ALL, source=_OPERATOR
):
    """Labels that only the operator writes, on Pods and on its own objects."""

    component: Literal["client", "worker", "hypervisor", "operator", "driver-probe"] | None = key(
        "tensor-fusion.ai/component", "Part of TensorFusion that the Pod is."
    )
    managed_by: LabelValue | None = key(
        "tensor-fusion.ai/managed-by", "Owner of the object.", where=("pod-label", "platform-label", "node-label")
    )
    cluster: LabelValue | None = key("tensor-fusion.ai/cluster", "TensorFusionCluster that owns the object.", where=("platform-label",))
    node_class: LabelValue | None = key("tensor-fusion.ai/node-class", "GPUNodeClass of the node.", where=("platform-label", "node-label"))
    pod_template_hash: LabelValue | None = key(
        "tensor-fusion.ai/pod-template-hash", "Hash of the worker's template.", where=("pod-label", "platform-label")
    )
    node_selector_hash: LabelValue | None = key(
        "tensor-fusion.ai/node-selector-hash", "Hash of the pool's node selector.", where=("platform-label", "node-label")
    )
    worker_name: LabelValue | None = key("tensor-fusion.ai/worker-name", "Worker that a connection leads to.", where=("platform-label",))
    gpu: LabelValue | None = key("tensor-fusion.ai/gpu", "Device of the object, in older releases.", where=("pod-label", "platform-label"))
    pool: BooleanText | None = key(
        "tensor-fusion.ai/pool-", "Pool that the node belongs to; the pool's name is part of the key.", where=("node-label",), family=True
    )
    should_delete: BooleanText | None = key("tensor-fusion.ai/should-delete", "The node is to be removed.", where=("node-label",))
    expansion_source: LabelValue | None = key(
        "tensor-fusion.ai/expansion-source", "What caused the node's creation.", where=("node-label",)
    )
    node_provisioner: LabelValue | None = key(
        "tensor-fusion.ai/node-provisioner", "GPUNode that a cloud node was created for.", where=("node-label",)
    )
    orphan: LabelValue | None = key("tensor-fusion.ai/orphan", "The node has no GPUNode.", where=("node-label",))
    hardware_vendor: LabelValue | None = key("tensor-fusion.ai/hardware-vendor", "Vendor of the hardware.", where=("node-label",))
    do_not_disrupt: BooleanText | None = key(
        "tensor-fusion.ai/do-not-disrupt",
        "Keeps a GPUNode and what runs on it in place.",
        where=("platform-label", "pod-label"),
        owner="user",
    )
    defrag_evicted: BooleanText | None = key("tensor-fusion.ai/defrag-evicted", "Defragmentation evicted the Pod.")
    defrag_source: BooleanText | None = key("tensor-fusion.ai/defrag-source", "The node is being emptied.", where=("node-label",))
    defrag_evict_skip: BooleanText | None = key(
        "tensor-fusion.ai/defrag-evict-skip", "Defragmentation leaves the node alone.", where=("node-label",)
    )


class TensorFusionOperatorObjectAnnotations(
    AnnotationSet, vocabulary="tensor-fusion", stands=("platform-annotation",), owner="system", dialects=_ALL, source=_OPERATOR
):
    """Annotations that only the operator writes, on its own objects, on owners of Pods and on nodes."""

    tf_pod_count: CountText | None = key(
        "tensor-fusion.ai/tf-pod-count", "Pods of the owner that were converted.", unit="Pods", where=("owner-annotation",)
    )
    is_default_pool: BooleanText | None = key("tensor-fusion.ai/is-default-pool", "The GPUPool that counts when a Pod names none.")
    last_sync: Text | None = key("tensor-fusion.ai/last-sync", "When the object was last brought up to date.")
    gpu_missing_since: Text | None = key("tensor-fusion.ai/gpu-missing-since", "Since when the device is gone.")
    virtualization_capabilities: JsonText | None = key("tensor-fusion.ai/virtualization-capabilities", "What the device can do, as JSON.")
    provider_config_hash: Text | None = key("tensor-fusion.ai/provider-config-hash", "Hash of the ProviderConfig.")
    provider_config_revisions: Text | None = key("tensor-fusion.ai/provider-config-revisions", "Revisions of the ProviderConfig.")
    manual_compaction: Text | None = key("tensor-fusion.ai/manual-compaction", "Asks a GPUPool to compact its nodes now.", owner="user")
    client_update_in_progress: Text | None = key("tensor-fusion.ai/client-update-in-progress", "Clients of the pool are being updated.")
    client_batch_update_last_time: Text | None = key(
        "tensor-fusion.ai/client-batch-update-last-time", "When clients of the pool were last updated."
    )
    hypervisor_update_in_progress: Text | None = key(
        "tensor-fusion.ai/hypervisor-update-in-progress", "Hypervisors of the pool are being updated."
    )
    hypervisor_batch_update_last_time: Text | None = key(
        "tensor-fusion.ai/hypervisor-batch-update-last-time", "When hypervisors of the pool were last updated."
    )
    worker_update_in_progress: Text | None = key("tensor-fusion.ai/worker-update-in-progress", "Workers of the pool are being updated.")
    worker_batch_update_last_time: Text | None = key(
        "tensor-fusion.ai/worker-batch-update-last-time", "When workers of the pool were last updated."
    )
    defrag_source_since: Text | None = key(
        "tensor-fusion.ai/defrag-source-since", "Since when the node is being emptied.", where=("node-annotation",)
    )
    defrag_source_pool: Text | None = key("tensor-fusion.ai/defrag-source-pool", "Pool that empties the node.", where=("node-annotation",))
    defrag_evict_skip_since: Text | None = key(
        "tensor-fusion.ai/defrag-evict-skip-since", "Since when defragmentation leaves the node alone.", where=("node-annotation",)
    )
    defrag_evict_skip_pool: Text | None = key(
        "tensor-fusion.ai/defrag-evict-skip-pool", "Pool whose defragmentation leaves the node alone.", where=("node-annotation",)
    )
    defrag_evict_skip_reason: Text | None = key(
        "tensor-fusion.ai/defrag-evict-skip-reason", "Why defragmentation leaves the node alone.", where=("node-annotation",)
    )
    defrag: Text | None = key(
        "tensor-fusion.ai/defrag-",
        "State of defragmentation; every key with this beginning is the operator's.",
        where=("pod-annotation", "pod-label", "node-annotation", "node-label"),
        family=True,
    )


class TensorFusionNodeTaints(LabelSet, vocabulary="tensor-fusion", stands=("node-taint",), owner="system", dialects=_ALL, source=_OPERATOR):
    """Taints of TensorFusion's GPU nodes."""

    used_by: Literal["tensor-fusion"] | None = key(
        "tensor-fusion.ai/used-by", "Marks nodes that TensorFusion uses; injected Pods tolerate it with effect PreferNoSchedule."
    )


class TensorFusionOperatorResources(
    ResourceSet, vocabulary="tensor-fusion", stands=("container-resource",), owner="system", dialects=_ALL, source=_OPERATOR
):
    """Extended resources that the webhook adds so that the device plugin recognises the Pod."""

    index: WholeQuantity | None = key(
        "tensor-fusion.ai/index_", "Dummy device that carries the Pod's index; `index_0` to `index_f`.", family=True
    )
