"""Volcano: labels and annotations of Jobs and their Pods (tensor-fusion.md 1.4, 5.6)."""

from typing import Literal

from gpuvet.models.base import AnnotationSet, LabelSet, key
from gpuvet.models.scalars import BooleanText, CountText, Duration, IntegerText, JsonText, LabelValue, ObjectName, Text

_SOURCE = "tensor-fusion.md 1.4"


class VolcanoAnnotations(AnnotationSet, vocabulary="volcano", stands=("pod-annotation", "owner-annotation"), source=_SOURCE):
    """Annotations that people write; the Job controller copies this short list from a Job to its Pods."""

    preemptable: BooleanText | None = key("volcano.sh/preemptable", "The Pods may be preempted.", example="true")
    cooldown_time: Duration | None = key("volcano.sh/cooldown-time", "How long Pods are spared from preemption.", example="600s")
    revocable_zone: Text | None = key("volcano.sh/revocable-zone", "Revocable nodes that the Pods may use.", example="*")
    jdb_min_available: Text | None = key("volcano.sh/jdb-min-available", "Pods that must stay, number or percent.", example="50%")
    jdb_max_unavailable: Text | None = key("volcano.sh/jdb-max-unavailable", "Pods that may go, number or percent.", example="1")
    queue_name: ObjectName | None = key("scheduling.volcano.sh/queue-name", "Queue of a Pod without a Volcano Job.", default="default")
    group_name: ObjectName | None = key("scheduling.k8s.io/group-name", "PodGroup that the Pod belongs to.")
    group_min_member: CountText | None = key(
        "scheduling.volcano.sh/group-min-member", "Quorum of the PodGroup that is made for an owner.", where=("owner-annotation",)
    )
    sla_waiting_time: Duration | None = key("volcano.sh/sla-waiting-time", "How long the Job may wait.", example="1h")
    task_priority: IntegerText | None = key("volcano.sh/task-priority", "Priority of a task inside its Job.")
    numa_topology_policy: Literal["none", "best-effort", "restricted", "single-numa-node"] | None = key(
        "volcano.sh/numa-topology-policy", "How close CPUs must be; Jobs write it from topologyPolicy."
    )
    silo_resource: JsonText | None = key("volcano.sh/silo-resource", "Resources of a remote cluster.", owner="system")


class VolcanoControllerAnnotations(AnnotationSet, vocabulary="volcano", stands=("pod-annotation",), owner="system", source=_SOURCE):
    """Pod annotations that only the Job controller writes; most of them are labels too."""

    task_spec: LabelValue | None = key("volcano.sh/task-spec", "Task of the Pod.", where=("pod-annotation", "pod-label"))
    task_index: IntegerText | None = key("volcano.sh/task-index", "Index of the Pod in its task.", where=("pod-annotation", "pod-label"))
    job_name: LabelValue | None = key("volcano.sh/job-name", "Job of the Pod.", where=("pod-annotation", "pod-label"))
    job_namespace: LabelValue | None = key("volcano.sh/job-namespace", "Namespace of the Job.", where=("pod-label",))
    queue_name: LabelValue | None = key("volcano.sh/queue-name", "Queue of the Job.", where=("pod-annotation", "pod-label"))
    job_version: IntegerText | None = key("volcano.sh/job-version", "Version of the Job.")
    job_type: LabelValue | None = key("volcano.sh/job-type", "Kind of the Job.", where=("pod-label",))
    job_retry_count: IntegerText | None = key("volcano.sh/job-retry-count", "Retries of the Job.")
    partition_id: LabelValue | None = key("volcano.sh/partition-id", "Partition of the Pod.", where=("pod-annotation", "pod-label"))
    template_uid: Text | None = key("volcano.sh/template-uid", "Template of the Pod.")
    job_forwarding: BooleanText | None = key("volcano.sh/job-forwarding", "The Job runs in another cluster.")
    forward_cluster: Text | None = key("volcano.sh/forward-cluster", "Cluster that the Job runs in.")
    cronjob_scheduled_timestamp: Text | None = key(
        "volcano.sh/cronjob-scheduled-timestamp", "Time of a CronJob's run.", where=("owner-annotation",)
    )


class VolcanoPodLabels(LabelSet, vocabulary="volcano", stands=("pod-label",), source=_SOURCE):
    """Labels that people write on Pods."""

    qos_level: LabelValue | None = key("volcano.sh/qos-level", "Level of colocation.", where=("pod-annotation", "pod-label"))
