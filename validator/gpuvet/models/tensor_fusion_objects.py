"""TensorFusion: WorkloadProfile, TensorFusionWorkload and GPUResourceQuota (`tensor-fusion.ai/v1`; tensor-fusion.md 3)."""

from typing import ClassVar, Literal

from gpuvet.models.kubernetes import Condition
from gpuvet.models.relations import Relation, at_most, not_both_positive, ordered
from gpuvet.models.scalars import CrdQuantity, CronText, Duration, Factor, Ratio, Timestamp
from gpuvet.models.structures import Column, CustomResource, Integer32, Opaque, Removed, Structure, attribute
from gpuvet.models.tensor_fusion_keys import AutoscaleTarget, Isolation, Qos

_PROFILE = "tensor-fusion.md 3.1"
_SCALING = "tensor-fusion.md 3.2"


class ResourceAmounts(Structure):
    """Amounts of one side (requests or limits), per GPU device and worker."""

    tflops: CrdQuantity = attribute(
        "Compute. Zero means unset.", required=True, unit="FP16 TFLOPS per GPU device and worker", example="10", source=_PROFILE
    )
    vram: CrdQuantity = attribute(
        "Video memory. Zero means unset.", required=True, unit="bytes per GPU device and worker", example="4Gi", source=_PROFILE
    )
    compute: CrdQuantity | None = attribute(
        "Compute in percent of a card, instead of TFLOPS; the annotations call it compute-percent-*.",
        unit="percent of one card",
        example="50",
        since="1.48.0",
        source=_PROFILE,
    )


class Resources(Structure):
    """Requests and limits; where the block stands, both sides are required."""

    relations = (
        ordered("requests.tflops", "limits.tflops", "quantity", zero_is_unset=True, optional=False),
        ordered("requests.vram", "limits.vram", "quantity", zero_is_unset=True, optional=False),
        ordered("requests.compute", "limits.compute", "quantity", zero_is_unset=True),
        not_both_positive(
            "requests.compute", "requests.tflops", "requests has both compute and tflops: leave out compute, or write tflops 0"
        ),
        not_both_positive("limits.compute", "limits.tflops", "limits has both compute and tflops: leave out compute, or write tflops 0"),
        at_most("requests.compute", 100, "requests.compute is above 100: it counts percent of one card"),
        at_most("limits.compute", 100, "limits.compute is above 100: it counts percent of one card"),
    )

    requests: ResourceAmounts = attribute("What is reserved.", required=True, source=_PROFILE)
    limits: ResourceAmounts = attribute("What may be used at most.", required=True, source=_PROFILE)


class AutoSetResources(Structure):
    """Vertical autoscaling from usage. All numbers are texts; what cannot be parsed silently keeps its default."""

    removed: ClassVar[dict[str, Removed]] = {
        **{
            old: Removed(new, "renamed in v1.49.16", "1.45.0", "1.49.16")
            for old, new in (
                ("targettflopspercentile", "targetComputePercentile"),
                ("lowerboundtflopspercentile", "lowerBoundComputePercentile"),
                ("upperboundtflopspercentile", "upperBoundComputePercentile"),
                ("targetvrampercentile", "targetVRAMPercentile"),
                ("lowerboundvrampercentile", "lowerBoundVRAMPercentile"),
                ("upperboundvrampercentile", "upperBoundVRAMPercentile"),
                ("requestMarginFraction", "marginFraction"),
                ("historyLength", "historyDataPeriod"),
            )
        },
        "confidenceInterval": Removed("", "removed in v1.49.16", "1.45.0", "1.49.16"),
        "historyResolution": Removed("", "removed in v1.49.16", "1.45.0", "1.49.16"),
        **{
            old: Removed(new, "a spelling that only the documentation used")
            for old, new in (
                ("targetTflopsPercentile", "targetComputePercentile"),
                ("lowerBoundTflopsPercentile", "lowerBoundComputePercentile"),
                ("upperBoundTflopsPercentile", "upperBoundComputePercentile"),
                ("targetVramPercentile", "targetVRAMPercentile"),
                ("lowerBoundVramPercentile", "lowerBoundVRAMPercentile"),
                ("upperBoundVramPercentile", "upperBoundVRAMPercentile"),
            )
        },
    }

    relations = (
        ordered("lowerBoundComputePercentile", "targetComputePercentile", "number"),
        ordered("targetComputePercentile", "upperBoundComputePercentile", "number"),
        ordered("lowerBoundVRAMPercentile", "targetVRAMPercentile", "number"),
        ordered("targetVRAMPercentile", "upperBoundVRAMPercentile", "number"),
        ordered("updateThreshold", "marginFraction", "number", hint="otherwise no recommendation is ever applied"),
    )

    enable: bool | None = attribute("Turns it on; without targetResource it only recommends.", default="false", source=_SCALING)
    target_resource: AutoscaleTarget | None = attribute(
        "What is scaled; the schema takes any text, another one scales nothing.", enforced=False, source=_SCALING
    )
    target_compute_percentile: Ratio | None = attribute("Usage percentile that compute is set to.", default="0.95", source=_SCALING)
    lower_bound_compute_percentile: Ratio | None = attribute("Lower bound for compute.", default="0.5", source=_SCALING)
    upper_bound_compute_percentile: Ratio | None = attribute("Upper bound for compute.", default="0.99", source=_SCALING)
    target_vram_percentile: Ratio | None = attribute(
        "Usage percentile that memory is set to.", "targetVRAMPercentile", default="0.98", source=_SCALING
    )
    lower_bound_vram_percentile: Ratio | None = attribute(
        "Lower bound for memory.", "lowerBoundVRAMPercentile", default="0.5", source=_SCALING
    )
    upper_bound_vram_percentile: Ratio | None = attribute(
        "Upper bound for memory.", "upperBoundVRAMPercentile", default="0.99", source=_SCALING
    )
    margin_fraction: Ratio | None = attribute("Safety margin added to the usage.", default="0.15", source=_SCALING)
    update_threshold: Ratio | None = attribute(
        "Smallest relative change that is applied; above marginFraction nothing ever is.", default="0.1", source=_SCALING
    )
    history_data_period: Duration | None = attribute("How far back usage is read.", default="2h", source=_SCALING)
    min_vram_resources_ratio: Ratio | None = attribute(
        "Least memory, as a factor of the original.", "minVRAMResourcesRatio", default="0.2", source=_SCALING
    )
    max_vram_resources_ratio: Factor | None = attribute(
        "Most memory, as a factor of the original.", "maxVRAMResourcesRatio", default="5.0", source=_SCALING
    )
    min_compute_resources_ratio: Ratio | None = attribute("Least compute, as a factor of the original.", default="0.1", source=_SCALING)
    max_compute_resources_ratio: Factor | None = attribute("Most compute, as a factor of the original.", default="10.0", source=_SCALING)
    initial_delay_period: Duration | None = attribute("Wait after creation.", default="30m", source=_SCALING)
    interval: Duration | None = attribute("How often it is evaluated; otherwise the global interval.", source=_SCALING)


class CronScalingRule(Structure):
    """Resources for a window of time. A rule that is disabled or lacks name, start or end is skipped."""

    removed: ClassVar[dict[str, Removed]] = {
        "desiredReplicas": Removed("", "removed in v1.49.16; there is no horizontal scaling", "1.45.0", "1.49.16"),
    }

    relations = (
        Relation(
            cel="!has(self.start) || !has(self.end) || self.start != self.end",
            message="start and end are equal: the window never opens, and cron scaling of the workload stops",
            holds=lambda rule: rule.start is None or rule.start != rule.end,
            at="end",
        ),
    )

    enable: bool | None = attribute("Whether the rule counts.", default="false", source=_SCALING)
    name: str | None = attribute("Name of the rule.", source=_SCALING)
    start: CronText | None = attribute(
        "When the window opens: cron of five fields.", cost_length=128, example="0 9 * * 1-5", source=_SCALING
    )
    end: CronText | None = attribute(
        "When the window closes: cron of five fields, not the same as start.", cost_length=128, example="0 18 * * 1-5", source=_SCALING
    )
    desired_resources: Resources | None = attribute("What the workload gets inside the window.", source=_SCALING)


class SecretReference(Structure):
    """A Secret by name and namespace."""

    name: str | None = attribute("Name of the Secret.")
    namespace: str | None = attribute("Namespace of the Secret.")


class ExternalScaler(Structure):
    """A service that recommends resources."""

    enable: bool | None = attribute("Turns it on.", default="false", source=_SCALING)
    url: str | None = attribute("Where recommendations are asked for, with POST.", source=_SCALING)
    api_key_secret_ref: SecretReference | None = attribute("Secret with the bearer token.", "apiKeySecretRef", source=_SCALING)
    initial_delay_period: Duration | None = attribute("Wait after creation.", default="30m", source=_SCALING)
    interval: Duration | None = attribute("How often it is asked; otherwise the global interval.", source=_SCALING)


class AutoScalingConfig(Structure):
    """How the workload's resources follow its use."""

    removed: ClassVar[dict[str, Removed]] = {
        "autoSetLimits": Removed("autoSetResources", "merged into autoSetResources in v1.45.0", "1.26.21", "1.45.0"),
        "autoSetRequests": Removed("autoSetResources", "merged into autoSetResources in v1.45.0", "1.26.21", "1.45.0"),
        "autoSetReplicas": Removed("", "removed in v1.49.16; there is no horizontal scaling", "1.26.21", "1.49.16"),
        "scaleToZero": Removed("", "removed in v1.45.0", "1.26.21", "1.45.0"),
    }

    auto_set_resources: AutoSetResources | None = attribute("Vertical autoscaling from usage.", since="1.45.0", source=_SCALING)
    cron_scaling_rules: list[CronScalingRule] | None = attribute(
        "Resources by the time of day.", max_items=64, since="1.45.0", source=_SCALING
    )
    external_scaler: ExternalScaler | None = attribute("Recommendations of another service.", since="1.45.0", source=_SCALING)


class GangScheduling(Structure):
    """Schedule several Pods together or not at all."""

    relations = (
        Relation(
            cel="!has(self.minMembers) || self.minMembers != 1",
            message="minMembers is 1: a gang has at least 2 members",
            holds=lambda gang: gang.min_members != 1,
            at="minMembers",
            schema={"properties": {"minMembers": {"not": {"const": 1}}}},
        ),
    )

    min_members: Integer32 | None = attribute(
        "Quorum: at least 2, at most spec.replicas. 0 or absent is meant as the default, yet such Pods are refused (from v2.8.2).",
        needed=True,
        minimum=0,
        unit="Pods",
        since="2.0.0",
        source="tensor-fusion.md 3.1, 2.11",
    )
    timeout: Duration | None = attribute(
        "How long the gang waits; 0s waits forever. A text that is no duration breaks every profile of the cluster.",
        default="0s",
        since="2.0.0",
        source=_PROFILE,
    )
    mode: Literal["Strict"] | None = attribute(
        "What happens when a member cannot be placed.", default="Strict", since="2.8.2", source=_PROFILE
    )


class WorkloadProfileSpec(Structure):
    """Parameters of vGPU workloads; the same type in WorkloadProfile and TensorFusionWorkload."""

    removed: ClassVar[dict[str, Removed]] = {
        "autoScaling": Removed("autoScalingConfig", "never existed in this kind"),
        "minReplicas": Removed("autoScalingConfig", "never existed in this kind; there is no horizontal scaling"),
        "maxReplicas": Removed("autoScalingConfig", "never existed in this kind; there is no horizontal scaling"),
        "noStandaloneWorkerMode": Removed("isolation", "removed in v1.34.0, without effect before", "1.26.21", "1.34.0"),
        "standaloneWorkerMode": Removed("isolation", "removed in v1.35.0, without effect before", "1.34.0", "1.35.0"),
    }

    relations = (ordered("gangScheduling.minMembers", "replicas", "integer"),)

    replicas: Integer32 | None = attribute(
        "Fixed number of workers; absent follows the Pods. Meant to be absent in local mode. 0 and less pass the schema.",
        unit="workers",
        since="1.27.1",
        source="tensor-fusion.md 3.1, 2.10",
    )
    pool_name: str | None = attribute(
        "GPUPool. Always overwritten by the gpupool annotation or the default pool.", source="tensor-fusion.md 3.1, 2.6"
    )
    resources: Resources | None = attribute("Requests and limits per device and worker.", source=_PROFILE)
    qos: Qos | None = attribute("Service level.", source="tensor-fusion.md 3.1, 2.7")
    is_local_gpu: bool | None = attribute(
        "Local mode. Overwritten on every admission by the annotation or the pool (from v1.47.1).",
        "isLocalGPU",
        source="tensor-fusion.md 3.1, 2.6",
    )
    sidecar_worker: bool | None = attribute("Run the worker as a sidecar.", since="1.47.0", source=_PROFILE)
    isolation: Isolation | None = attribute(
        "How compute is kept apart. Overwritten on every admission.", default="soft", since="1.48.0", source="tensor-fusion.md 3.1, 2.6"
    )
    partition_template_id: str | None = attribute("Partition template.", since="2.0.0", source=_PROFILE)
    gpu_model: str | None = attribute("Required model, exactly as GPU.status.gpuModel.", since="1.32.0", source=_PROFILE)
    gpu_count: Integer32 | None = attribute(
        "Devices per worker.", minimum=1, maximum=128, default="1", unit="GPU devices per worker", since="1.26.21", source=_PROFILE
    )
    gpu_indices: list[Integer32] | None = attribute(
        "Device indices, each once. Overwritten on every admission.", list_type="set", source="tensor-fusion.md 3.1, 2.6"
    )
    vendor: str | None = attribute("Required vendor; no enumeration in the schema, compared with case.", source="tensor-fusion.md 3.1, 2.9")
    auto_scaling_config: AutoScalingConfig | None = attribute("How resources follow use.", source=_SCALING)
    node_affinity: Opaque | None = attribute("Stored, and nothing feeds it to scheduling.", source="tensor-fusion.md 3.1, 2.6")
    worker_pod_template: Opaque | None = attribute("PodTemplateSpec merged into remote workers.", since="1.47.0", source=_PROFILE)
    gang_scheduling: GangScheduling | None = attribute("Schedule the workload's Pods as one gang.", since="2.0.0", source=_PROFILE)


class WorkloadProfile(CustomResource, plural="workloadprofiles"):
    """Parameters that Pods of its namespace take with the workload-profile annotation."""

    columns = (
        Column("Pool Name", "string", ".spec.poolName"),
        Column("QoS", "string", ".spec.qos"),
        Column("GPU Number", "integer", ".spec.gpuCount"),
        Column("Replicas", "integer", ".spec.replicas"),
    )

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["WorkloadProfile"] = attribute("Kind of the object.", required=True)
    spec: WorkloadProfileSpec | None = attribute("The parameters.", source=_PROFILE)
    status: Opaque | None = attribute("Empty.", source=_PROFILE)


class GangStatus(Structure):
    """What the operator reports about a gang."""

    phase: Literal["Pending", "Waiting", "Scheduling", "Running", "TimedOut", "Failed"] | None = attribute("Phase.", default="Pending")
    group_key: str | None = attribute("Identity of the gang.")
    desired_members: Integer32 | None = attribute("Quorum.", unit="Pods")
    waiting_members: Integer32 | None = attribute("Pods that wait for the quorum.", unit="Pods")
    scheduled_members: Integer32 | None = attribute("Pods that are scheduled.", unit="Pods")
    ready_members: Integer32 | None = attribute("Pods that are ready.", unit="Pods")
    last_transition_time: Timestamp | None = attribute("Time of the last change.")
    reason: str | None = attribute("Reason of the last change.")
    message: str | None = attribute("Message for people.")
    backoff_until: str | None = attribute("When the gang is tried again.")


class TensorFusionWorkloadStatus(Structure):
    """What the operator reports about a workload."""

    worker_count: Integer32 = attribute("Workers.", required=True)
    ready_workers: Integer32 | None = attribute("Workers that are ready.")
    phase: Literal["Pending", "Running", "Failed", "Unknown"] | None = attribute("Phase.", default="Pending", source=_PROFILE)
    pod_template_hash: str | None = attribute("Hash of the workers' template.")
    recommendation: Resources | None = attribute("Latest recommendation of the autoscaler.")
    active_cron_scaling_rule: CronScalingRule | None = attribute("The cron rule that counts now.")
    applied_recommended_replicas: Integer32 | None = attribute("Replicas that were applied.")
    gang: GangStatus | None = attribute("State of the gang.", since="2.0.0")
    conditions: list[Condition] | None = attribute("Conditions.")


class TensorFusionWorkload(CustomResource, plural="tensorfusionworkloads"):
    """A group of vGPU workers; normally written by the operator."""

    columns = (
        Column("Phase", "string", ".status.phase"),
        Column("Worker Count", "integer", ".status.workerCount"),
        Column("Ready Workers", "integer", ".status.readyWorkers"),
    )

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["TensorFusionWorkload"] = attribute("Kind of the object.", required=True)
    spec: WorkloadProfileSpec | None = attribute("The parameters.", source=_PROFILE)
    status: TensorFusionWorkloadStatus | None = attribute("What the operator reports.")


class QuotaTotal(Structure):
    """Totals of a namespace; compared with value x gpu-count."""

    requests: ResourceAmounts | None = attribute("Most that all workloads may request.")
    limits: ResourceAmounts | None = attribute("Most that all workloads may be limited to.")
    max_workers: Integer32 | None = attribute("Most workers.", default="32768", unit="workers")
    alert_threshold_percent: Integer32 | None = attribute(
        "Usage that raises an alert.", minimum=0, maximum=100, default="95", unit="percent"
    )


class QuotaSingle(Structure):
    """Bounds and defaults of one workload; compared with the per-device value."""

    relations = tuple(
        ordered(f"{lesser}.{amount}", f"{greater}.{amount}", "quantity", zero_is_unset=True)
        for lesser, greater in (("defaultRequests", "defaultLimits"), ("defaultRequests", "maxRequests"), ("defaultLimits", "maxLimits"))
        for amount in ("tflops", "vram")
    )

    default_requests: ResourceAmounts | None = attribute("Requests of workloads that name none.", source="tensor-fusion.md 2.1")
    default_limits: ResourceAmounts | None = attribute("Limits of workloads that name none.", source="tensor-fusion.md 2.1")
    max_requests: ResourceAmounts | None = attribute("Most that one workload may request.", source="tensor-fusion.md 2.11")
    max_limits: ResourceAmounts | None = attribute("Most that one workload may be limited to.", source="tensor-fusion.md 2.11")
    max_gpu_count: Integer32 | None = attribute(
        "Most devices per worker.", "maxGPUCount", unit="GPU devices per worker", source="tensor-fusion.md 2.11"
    )


class GPUResourceQuotaSpec(Structure):
    """Bounds of a namespace."""

    total: QuotaTotal | None = attribute("Totals of the namespace.")
    single: QuotaSingle | None = attribute("Bounds and defaults of one workload.")


class GPUResourceQuota(CustomResource, plural="gpuresourcequotas"):
    """Quota of a namespace; its defaults count in the effective requests and limits (tensor-fusion.md 2.1)."""

    api_version: Literal["tensor-fusion.ai/v1"] = attribute("API group and version.", required=True)
    kind: Literal["GPUResourceQuota"] = attribute("Kind of the object.", required=True)
    spec: GPUResourceQuotaSpec | None = attribute("The bounds.")
    status: Opaque | None = attribute("What the operator reports.")
