"""Volcano: Job and CronJob of `batch.volcano.sh/v1alpha1` (tensor-fusion.md 5.6)."""

from typing import Literal

from gpuvet.models.relations import Relation, at_most_one, exactly_one, ordered, unique
from gpuvet.models.scalars import DNS_LABEL_PATTERN, DNS_SUBDOMAIN_PATTERN, Duration
from gpuvet.models.structures import Column, CustomResource, Integer32, Integer64, ObjectMeta, Opaque, Structure, attribute

_SOURCE = "tensor-fusion.md 5.6"

Event = Literal["*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"]
"""Events that people may name in a policy."""

InternalEvent = Literal["PodRunning", "OutOfSync", "CommandIssued"]
"""Events that the CRD takes and the webhook refuses."""

Action = Literal["AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob"]
"""Actions that people may name in a policy. RestartPod from v1.11, RestartPartition from v1.14."""

InternalAction = Literal["SyncJob", "EnqueueJob", "SyncQueue", "OpenQueue", "CloseQueue"]
"""Actions that the webhook refuses beside events, and does not look at beside exitCode."""

Plugin = Literal["ssh", "env", "svc", "tensorflow", "mpi", "pytorch", "hcclrank", "ray"]
"""Job plugins that the webhook knows."""

TopologyPolicy = Literal["none", "best-effort", "restricted", "single-numa-node"]
"""How close a task's CPUs must be."""

TierMode = Literal["hard", "soft"]
"""Whether the network tier must or should be kept."""

Iteration = Literal["any", "all"]
"""Whether one or every task that is depended on must be ready."""


class Policy(Structure):
    """What to do when something happens: event(s) or exitCode, not both."""

    relations = (
        Relation(
            cel="(has(self.event) || (has(self.events) && size(self.events) > 0)) != has(self.exitCode)",
            message="a policy names either event(s) or exitCode: write one of them",
            holds=lambda policy: (policy.event is not None or bool(policy.events)) != (policy.exit_code is not None),
            schema={
                "oneOf": [
                    {"required": ["exitCode"]},
                    {"anyOf": [{"required": ["event"]}, {"required": ["events"], "properties": {"events": {"minItems": 1}}}]},
                ]
            },
        ),
        Relation(
            cel="has(self.action) || has(self.exitCode)",
            message="a policy for an event needs an action",
            holds=lambda policy: policy.action is not None or policy.exit_code is not None,
            schema={"anyOf": [{"required": ["action"]}, {"required": ["exitCode"]}]},
        ),
        Relation(
            cel="!has(self.exitCode) || self.exitCode != 0",
            message="exitCode is 0: a policy can only be about failures",
            holds=lambda policy: policy.exit_code != 0,
            at="exitCode",
            schema={"properties": {"exitCode": {"not": {"const": 0}}}},
        ),
    )

    action: Action | None = attribute("What to do; needed beside events.", enforced=False, example="CompleteJob", source=_SOURCE)
    event: Event | None = attribute(
        "When. PodRunning, OutOfSync and CommandIssued pass the schema and are refused by the webhook.",
        narrower=True,
        example="TaskCompleted",
        source=_SOURCE,
    )
    events: list[Event] | None = attribute("When, several.", narrower=True, source=_SOURCE)
    exit_code: Integer32 | None = attribute("Exit code of a container; any but 0.", example="3", source=_SOURCE)
    timeout: Duration | None = attribute("Grace before acting; goes with PodPending.", example="10m", source=_SOURCE)


class NetworkTopology(Structure):
    """How far the Pods may be apart; one of the two tiers, not both."""

    relations = (at_most_one("highestTierAllowed", "highestTierName", "both tiers are named: keep highestTierAllowed or highestTierName"),)

    mode: TierMode | None = attribute("Must or should.", default="hard", source=_SOURCE)
    highest_tier_allowed: int | None = attribute("Highest tier, by number.", minimum=0, source=_SOURCE)
    highest_tier_name: str | None = attribute("Highest tier, by name.", max_length=253, source=_SOURCE)


class PartitionPolicy(Structure):
    """Groups inside a task; totalPartitions times partitionSize is replicas."""

    relations = (ordered("minPartitions", "totalPartitions", "integer"),)

    total_partitions: Integer32 = attribute("Groups.", required=True, minimum=1, source=_SOURCE)
    partition_size: Integer32 = attribute("Pods of a group.", required=True, minimum=1, unit="Pods", source=_SOURCE)
    min_partitions: Integer32 | None = attribute("Groups that must run.", minimum=0, default="0", source=_SOURCE)
    network_topology: NetworkTopology | None = attribute("How far a group may be apart.", source=_SOURCE)


class DependsOn(Structure):
    """Tasks that must be ready first."""

    name: list[str] | None = attribute("Their names: known, without a cycle, each once.", list_type="set", source=_SOURCE)
    iteration: Iteration | None = attribute("One or all of them; any text passes.", enforced=False, source=_SOURCE)


class Task(Structure):
    """Pods of one role."""

    relations = (
        Relation(
            cel="!has(self.minAvailable) || self.minAvailable <= (has(self.replicas) ? self.replicas : 0)",
            message="minAvailable is above replicas (absent replicas are 0): lower it or raise replicas",
            holds=lambda task: (task.min_available or 0) <= (task.replicas or 0),
            at="minAvailable",
        ),
        Relation(
            cel="!has(self.partitionPolicy) || self.partitionPolicy.totalPartitions * self.partitionPolicy.partitionSize"
            " == (has(self.replicas) ? self.replicas : 0)",
            message="totalPartitions times partitionSize is not replicas: make them agree",
            holds=lambda task: (
                task.partition_policy is None
                or task.partition_policy.total_partitions * task.partition_policy.partition_size == (task.replicas or 0)
            ),
            at="partitionPolicy",
        ),
    )

    name: str | None = attribute(
        "Name, unique in the Job; default<index> when absent.", max_length=63, pattern=DNS_LABEL_PATTERN, example="worker", source=_SOURCE
    )
    replicas: Integer32 | None = attribute("Pods. Absent means 0, not 1.", minimum=0, default="0", unit="Pods", example="1", source=_SOURCE)
    min_available: Integer32 | None = attribute(
        "Pods that must run, at most replicas; absent is replicas.", minimum=0, unit="Pods", source=_SOURCE
    )
    template: Opaque | None = attribute(
        "PodTemplateSpec; its name does not matter, its restartPolicy is Always when absent.", source=_SOURCE
    )
    policies: list[Policy] | None = attribute("What to do when something happens in this task.", source=_SOURCE)
    topology_policy: TopologyPolicy | None = attribute("How close CPUs must be; needs whole CPU requests.", source=_SOURCE)
    max_retry: Integer32 | None = attribute("Retries.", minimum=0, default="3", source=_SOURCE)
    depends_on: DependsOn | None = attribute("Tasks that must be ready first.", source=_SOURCE)
    partition_policy: PartitionPolicy | None = attribute("Groups inside the task.", since="1.14", source=_SOURCE)


class JobVolume(Structure):
    """A claim that every Pod mounts: by name or made from a spec, not both."""

    relations = (exactly_one("volumeClaim", "volumeClaimName", "a volume has either volumeClaim or volumeClaimName: write one of them"),)

    mount_path: str = attribute(
        "Where; no colon, once in the Job.", required=True, min_length=1, pattern=r"^[^:]+$", example="/data", source=_SOURCE
    )
    volume_claim_name: str | None = attribute("Name of the claim.", max_length=253, source=_SOURCE)
    volume_claim: Opaque | None = attribute("PersistentVolumeClaimSpec of a claim to make.", source=_SOURCE)


class JobSpec(Structure):
    """A gang of tasks."""

    relations = (
        unique("tasks", ("name",), "two tasks have the same name: give each its own"),
        unique("policies", ("event",), "two policies of the Job are about the same event: keep one"),
        Relation(
            cel="!has(self.minAvailable) || !has(self.tasks)"
            " || self.minAvailable <= self.tasks.map(t, has(t.replicas) ? t.replicas : 0).sum()",
            message="minAvailable is above the sum of the tasks' replicas, so the gang never starts: lower it",
            holds=lambda job: (job.min_available or 0) <= sum(task.replicas or 0 for task in job.tasks or ()) or job.tasks is None,
            at="minAvailable",
        ),
    )

    scheduler_name: str | None = attribute(
        "Scheduler of templates that name none.", max_length=63, default="volcano", example="volcano", source=_SOURCE
    )
    min_available: Integer32 | None = attribute(
        "Pods that must run together, at most the sum of replicas; absent or 0 is the sum of the tasks'.",
        minimum=0,
        unit="Pods",
        source=_SOURCE,
    )
    volumes: list[JobVolume] | None = attribute(
        "Claims that every Pod mounts, each at its own place.", list_type="map", list_keys=("mountPath",), source=_SOURCE
    )
    tasks: list[Task] | None = attribute("The tasks; the webhook demands them.", needed=True, min_items=1, max_items=256, source=_SOURCE)
    policies: list[Policy] | None = attribute("What to do when something happens.", max_items=64, source=_SOURCE)
    plugins: dict[Plugin, list[str]] | None = attribute(
        "Plugins and their arguments; others are refused by the webhook.", enforced=False, source=_SOURCE
    )
    running_estimate: Duration | None = attribute("How long it is going to run.", source=_SOURCE)
    queue: str | None = attribute(
        "Queue: exists, open, a leaf.", max_length=253, pattern=DNS_SUBDOMAIN_PATTERN, default="default", source=_SOURCE
    )
    max_retry: Integer32 | None = attribute("Retries.", minimum=0, default="3", source=_SOURCE)
    ttl_seconds_after_finished: Integer32 | None = attribute("When a finished Job is removed.", minimum=0, unit="seconds", source=_SOURCE)
    priority_class_name: str | None = attribute(
        "Priority class of templates that name none.", max_length=253, pattern=DNS_SUBDOMAIN_PATTERN, source=_SOURCE
    )
    min_success: Integer32 | None = attribute("Pods that must succeed.", minimum=1, unit="Pods", source=_SOURCE)
    network_topology: NetworkTopology | None = attribute("How far Pods may be apart.", source=_SOURCE)


class VolcanoJob(CustomResource, plural="jobs"):
    """Volcano's Job."""

    short_names = ("vcjob", "vj")
    columns = (
        Column("Status", "string", ".status.state.phase"),
        Column("MinAvailable", "integer", ".status.minAvailable"),
        Column("Runnings", "integer", ".status.running"),
        Column("Age", "date", ".metadata.creationTimestamp"),
        Column("Queue", "string", ".spec.queue", 1),
    )

    api_version: Literal["batch.volcano.sh/v1alpha1"] = attribute("API group and version.", required=True)
    kind: Literal["Job"] = attribute("Kind of the object.", required=True)
    spec: JobSpec | None = attribute("The Job.", source=_SOURCE)
    status: Opaque | None = attribute("What the controller reports.")


class JobTemplate(Structure):
    """A Job inside a CronJob."""

    metadata: ObjectMeta | None = attribute("Metadata of the Jobs, never of their Pods.", source="tensor-fusion.md 1.4")
    spec: JobSpec | None = attribute("The Job.", source=_SOURCE)


class CronJobSpec(Structure):
    """When Jobs are made."""

    schedule: str = attribute("Cron expression.", required=True, example="0 2 * * *")
    time_zone: str | None = attribute("Time zone of the schedule.")
    starting_deadline_seconds: Integer64 | None = attribute("How late a run may start.", minimum=0, unit="seconds")
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] | None = attribute("What happens to overlapping runs.", default="Allow")
    suspend: bool | None = attribute("No further runs.", default="false")
    job_template: JobTemplate = attribute("The Job.", required=True)
    successful_jobs_history_limit: Integer32 | None = attribute("Finished Jobs to keep.", minimum=0, default="3")
    failed_jobs_history_limit: Integer32 | None = attribute("Failed Jobs to keep.", minimum=0, default="1")


class VolcanoCronJob(CustomResource, plural="cronjobs"):
    """Volcano's CronJob."""

    short_names = ("cronvcjob", "cronvj")

    api_version: Literal["batch.volcano.sh/v1alpha1"] = attribute("API group and version.", required=True)
    kind: Literal["CronJob"] = attribute("Kind of the object.", required=True)
    spec: CronJobSpec | None = attribute("When and what.")
    status: Opaque | None = attribute("What the controller reports.")
