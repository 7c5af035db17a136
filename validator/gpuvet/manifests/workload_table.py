"""Where the Pod templates stand in each workload kind: the data table, and the notation its rows are written in.

A place is written as people write it: `spec.tasks[*].template`. `[*]` stands for each item of a list or each value of a mapping.
All places of one slot that begin with the same `...[*]` belong to the same item; all others are looked up from the root of the object.

Every row names the files it was read from: project, version, path.
"""

from typing import NamedTuple

Validated = str
"""Who refuses a wrong template when the object is created: `api` (kube-apiserver), `webhook` (the vendor's own), `none`."""


class Count(NamedTuple):
    """One factor of the number of Pods. Its value is a non-negative integer; anything else makes the product unknown."""

    at: str = ""
    """Where it stands; empty for a factor that is fixed to `default`."""
    default: int | None = None
    """What an absent field means; None when that cannot be known from the object."""
    by_name: tuple[tuple[str, int], ...] = ()
    """Defaults that differ by the slot's name, in lower case: (name, default)."""
    at_least: str = ""
    """A second field the operator raises this one to."""
    less_one_if: str = ""
    """A field whose presence takes one Pod off (a group's leader that has a template of its own)."""


class Made(NamedTuple):
    """A container that the object does not spell out: the operator makes it from single fields."""

    name: str
    at: str
    image: str = ""
    resources: str = ""
    gpu: str = ""
    """Where a mapping {name: RESOURCE, quantity: N} stands that becomes the limit of that extended resource."""


class Slot(NamedTuple):
    """One place (or one per item) where Pods are described. Either `template`, or `spec`, or `containers` says what is there."""

    template: str = ""
    """A PodTemplateSpec: `metadata` and `spec` beneath it."""
    spec: str = ""
    """A PodSpec, or a mapping with the fields of one among others."""
    metadata: tuple[str, ...] = ()
    """Mappings that hold `annotations` and `labels`, weakest first; the last one is where an author would add some."""
    at: str = ""
    """A mapping that must exist for the slot to exist, where neither `template` nor `spec` says it."""
    containers: tuple[str | Made, ...] = ()
    """Lists of containers or single containers outside `spec.containers`."""
    init_containers: tuple[str, ...] = ()
    fields: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """PodSpec fields that stand elsewhere: (name in the PodSpec, places, strongest first)."""
    name: str = ""
    """Where the slot's name stands; for an item of a mapping its key is the name anyway."""
    label: str = ""
    """A fixed name."""
    replicas: tuple[Count, ...] = ()
    """Factors of the number of Pods; none means that it cannot be known."""
    autoscaled: str = ""
    """A field that, when it is true or a mapping that is not `enabled: false`, makes the number of Pods unknown."""
    gang: str = ""
    """Where the least number of Pods of this slot stands that are started together."""
    gang_in: str = ""
    """A mapping without which there is no gang."""
    gang_default_replicas: bool = False
    """An absent gang minimum means all Pods of the slot."""
    gang_zero_is_absent: bool = False
    partial: bool = False
    """The template is merged over one that stands elsewhere: that a field is missing means nothing."""


class Row(NamedTuple):
    """One workload kind."""

    group: str
    """API group; empty for the core group."""
    kind: str
    resource: str
    """The kind's plural, as RBAC and webhooks name it."""
    templates: tuple[Slot, ...]
    validated: Validated = "none"
    scheduler: str = ""
    """Where the owner names the scheduler outside the Pod template."""
    gang_total: str = ""
    """Where the least number of Pods of all slots together stands."""
    version: str = "*"
    """`*`, or the versions for which the row holds, separated by `|`."""
    source: str = ""
    """Where the places were read: project, version, files."""


ONE = (Count(default=1),)


def _replicated(at: str = "spec") -> Slot:
    return Slot(template=f"{at}.template", replicas=(Count(f"{at}.replicas", 1),))


def _job(at: str) -> Slot:
    return Slot(template=f"{at}.template", replicas=(Count(f"{at}.parallelism", 1),))


def _volcano(group: str, kind: str, resource: str, at: str, source: str, validated: Validated = "none") -> Row:
    task = f"{at}.tasks[*]"
    slot = Slot(
        template=f"{task}.template",
        name=f"{task}.name",
        replicas=(Count(f"{task}.replicas", 0),),
        gang=f"{task}.minAvailable",
        gang_default_replicas=True,
    )
    return Row(group, kind, resource, (slot,), validated, f"{at}.schedulerName", f"{at}.minAvailable", source=source)


_ARGO_FIELDS = (
    *("nodeSelector", "affinity", "tolerations", "schedulerName"),
    *("volumes", "hostAliases", "securityContext", "serviceAccountName"),
)


def _argo_at(workflow: str, template: str, name: str) -> Slot:
    default = f"{workflow}.templateDefaults"
    return Slot(
        at=template,
        metadata=(f"{workflow}.podMetadata", f"{default}.metadata", f"{template}.metadata"),
        containers=(f"{template}.container", f"{template}.script", f"{template}.containerSet.containers", f"{template}.sidecars"),
        init_containers=(f"{template}.initContainers",),
        fields=(
            *((field, (f"{template}.{field}", f"{default}.{field}", f"{workflow}.{field}")) for field in _ARGO_FIELDS),
            (
                "priorityClassName",
                (f"{template}.priorityClassName", f"{default}.priorityClassName", f"{workflow}.podPriorityClassName"),
            ),
        ),
        name=name,
    )


def _argo(workflow: str) -> tuple[Slot, ...]:
    template = f"{workflow}.templates[*]"
    step, task = f"{template}.steps[*][*]", f"{template}.dag.tasks[*]"
    return (
        _argo_at(workflow, template, f"{template}.name"),
        _argo_at(workflow, f"{step}.inline", f"{step}.name"),
        _argo_at(workflow, f"{task}.inline", f"{task}.name"),
    )


def _ray_cluster(at: str) -> tuple[Slot, ...]:
    worker = f"{at}.workerGroupSpecs[*]"
    return (
        Slot(template=f"{at}.headGroupSpec.template", label="head", replicas=ONE),
        Slot(
            template=f"{worker}.template",
            name=f"{worker}.groupName",
            replicas=(Count(f"{worker}.replicas", 0, at_least=f"{worker}.minReplicas"), Count(f"{worker}.numOfHosts", 1)),
            autoscaled=f"{at}.enableInTreeAutoscaling",
        ),
    )


def _ray_job(at: str) -> tuple[Slot, ...]:
    submitter = Slot(template=f"{at}.submitterPodTemplate", label="submitter", replicas=ONE)
    return (*_ray_cluster(f"{at}.rayClusterSpec"), submitter)


def _kubeflow(kind: str, resource: str, specs: str, source: str, elastic: bool = False, by_name: tuple[tuple[str, int], ...] = ()) -> Row:
    each = f"spec.{specs}[*]"
    slot = Slot(
        template=f"{each}.template",
        replicas=(Count(f"{each}.replicas", 1, by_name=by_name),),
        autoscaled="spec.elasticPolicy" if elastic else "",
    )
    return Row("kubeflow.org", kind, resource, (slot,), gang_total="spec.runPolicy.schedulingPolicy.minAvailable", source=source)


def _spark_pod(at: str, container: str, label: str, replicas: tuple[Count, ...], application: str) -> Slot:
    template = f"{at}.template"
    own = ("affinity", "tolerations", "schedulerName", "hostAliases", "hostNetwork", "priorityClassName")
    return Slot(
        at=at,
        spec=f"{template}.spec",
        metadata=(f"{template}.metadata", at),
        containers=(Made(container, at, f"{at}.image", gpu=f"{at}.gpu"), f"{at}.sidecars"),
        init_containers=(f"{at}.initContainers",),
        fields=(
            *((field, (f"{at}.{field}",)) for field in own),
            ("nodeSelector", (f"{at}.nodeSelector", f"{application}.nodeSelector")),
            ("serviceAccountName", (f"{at}.serviceAccount",)),
            ("securityContext", (f"{at}.podSecurityContext",)),
        ),
        label=label,
        replicas=replicas,
        autoscaled=f"{application}.dynamicAllocation" if label == "executor" else "",
    )


def _spark(at: str) -> tuple[Slot, ...]:
    return (
        _spark_pod(f"{at}.driver", "spark-kubernetes-driver", "driver", ONE, at),
        _spark_pod(f"{at}.executor", "spark-kubernetes-executor", "executor", (Count(f"{at}.executor.instances", 1),), at),
    )


def _job_set(at: str, counted: bool) -> tuple[Slot, ...]:
    job = f"{at}.replicatedJobs[*]"
    counts = (Count(f"{job}.replicas", 1), Count(f"{job}.template.spec.parallelism", 1)) if counted else ()
    return (Slot(template=f"{job}.template.spec.template", name=f"{job}.name", replicas=counts),)


# A training runtime is a mould: the TrainJob that names it decides how many Pods there are.
_RUNTIME = _job_set("spec.template.spec", counted=False)

_TRAIN_JOB = (
    Slot(
        at="spec.trainer",
        containers=(Made("node", "spec.trainer", "spec.trainer.image", resources="spec.trainer.resourcesPerNode"),),
        label="trainer",
        replicas=(Count("spec.trainer.numNodes"),),
        partial=True,
    ),
    Slot(template="spec.podTemplateOverrides[*]", partial=True),
    Slot(spec="spec.podSpecOverrides[*]", partial=True),
    Slot(
        template="spec.runtimePatches[*].trainingRuntimeSpec.template.spec.replicatedJobs[*].template.spec.template",
        name="spec.runtimePatches[*].trainingRuntimeSpec.template.spec.replicatedJobs[*].name",
        partial=True,
    ),
)

_KSERVE_SERVERS = (
    *("model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton"),
    *("onnx", "huggingface", "pmml", "lightgbm", "paddle"),
)


def _kserve(at: str, label: str, servers: tuple[str, ...] = ()) -> Slot:
    # KServe copies the InferenceService's own annotations to its Pods; the component's come on top.
    return Slot(spec=at, metadata=("metadata", at), containers=tuple(f"{at}.{server}" for server in servers), label=label)


def _llm(at: str, prefix: str) -> tuple[Slot, ...]:
    counts = (Count(f"{at}.replicas"),)
    return (
        Slot(spec=f"{at}.template", metadata=(at,), label=f"{prefix}template", replicas=counts),
        Slot(spec=f"{at}.worker", metadata=(at,), label=f"{prefix}worker"),
    )


_INFERENCE = (
    _kserve("spec.predictor", "predictor", _KSERVE_SERVERS),
    _kserve("spec.predictor.workerSpec", "worker"),
    _kserve("spec.transformer", "transformer"),
    _kserve("spec.explainer", "explainer", ("art",)),
    _kserve("spec.canary[*].predictor", "", _KSERVE_SERVERS)._replace(name="spec.canary[*].predictor.name"),
)

_LLM = (*_llm("spec", ""), *_llm("spec.prefill", "prefill "))

_SERVING_RUNTIME = (Slot(spec="spec", metadata=("spec",)),)

_GROUP = "spec.leaderWorkerTemplate"

_LEADER_WORKER = (
    Slot(template=f"{_GROUP}.leaderTemplate", label="leader", replicas=(Count("spec.replicas", 1),)),
    Slot(
        template=f"{_GROUP}.workerTemplate",
        label="worker",
        replicas=(Count("spec.replicas", 1), Count(f"{_GROUP}.size", 1, less_one_if=f"{_GROUP}.leaderTemplate")),
    ),
)

_CORE = "kubernetes 1.36: staging/src/k8s.io/api/core/v1/types.go"
_APPS = "kubernetes 1.36: staging/src/k8s.io/api/apps/v1/types.go"
_BATCH = "kubernetes 1.36: staging/src/k8s.io/api/batch/v1/types.go"
_VOLCANO = (
    "volcano-sh/volcano 1.15: staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/job.go, "
    "pkg/webhooks/admission/jobs/mutate/mutate_job.go, pkg/webhooks/admission/cronjobs/validate/admit_cronjob.go"
)
_FLOW = "volcano-sh/volcano 1.15: staging/src/volcano.sh/apis/pkg/apis/flow/v1alpha1/jobtemplate_types.go"
_ROLLOUT = "argoproj/argo-rollouts 1.9: pkg/apis/rollouts/v1alpha1/types.go, utils/defaults/defaults.go"
_ARGO = "argoproj/argo-workflows 4.1: pkg/apis/workflow/v1alpha1/*workflow*_types.go, workflow/controller/workflowpod.go"
_RAY = "ray-project/kuberay 1.7: ray-operator/apis/ray/v1/ray*_types.go, ray-operator/controllers/ray/utils/util.go"
_KUBEFLOW = "kubeflow/training-operator 1.9: pkg/apis/kubeflow.org/v1/*_types.go, defaulting_utils.go"
_MPI = (
    "kubeflow/training-operator 1.9: pkg/apis/kubeflow.org/v1/mpi_types.go, mpi_defaults.go; "
    "kubeflow/mpi-operator 0.8: pkg/apis/kubeflow/v2beta1/types.go, default.go"
)
_TRAINER = "kubeflow/trainer 2.0 to 2.3: pkg/apis/trainer/v1alpha1/*_types.go, pkg/runtime/framework/plugins/jobset/builder.go"
_SPARK = "kubeflow/spark-operator 2.5: api/v1beta2/*_types.go, defaults.go, internal/webhook/sparkpod_defaulter.go"
_JOBSET = "kubernetes-sigs/jobset 0.12: api/jobset/v1alpha2/jobset_types.go"
_LEADER = "kubernetes-sigs/lws 0.10: api/leaderworkerset/v1/leaderworkerset_types.go"
_KSERVE = (
    "kserve/kserve 0.20: pkg/apis/serving/v1beta1/{inference_service,predictor,component,podspec}.go, "
    "pkg/controller/v1beta1/inferenceservice/components/predictor.go"
)
_KSERVE_LLM = "kserve/kserve 0.20: pkg/apis/serving/v1alpha2/llm_inference_service_types.go"
_KSERVE_RUNTIME = "kserve/kserve 0.20: pkg/apis/serving/v1alpha1/servingruntime_types.go"
_KNATIVE = "knative/serving 1.23: pkg/apis/serving/v1/{service,configuration,revision}_types.go"
_RESERVATION = "koordinator-sh/koordinator 1.8: apis/scheduling/v1alpha1/reservation_types.go"
_TF = "NexusGPU/tensor-fusion 2.17: api/v1/workloadprofile_types.go, internal/worker/worker.go"

_WORKER = Slot(
    template="spec.workerPodTemplate",
    replicas=(Count("spec.replicas"),),
    gang="spec.gangScheduling.minMembers",
    gang_in="spec.gangScheduling",
    gang_default_replicas=True,
    gang_zero_is_absent=True,
    partial=True,
)

TABLE: tuple[Row, ...] = (
    Row("", "Pod", "pods", (Slot(spec="spec", metadata=("metadata",), replicas=ONE),), "api", source=_CORE),
    Row("", "PodTemplate", "podtemplates", (Slot(template="template"),), "api", source=_CORE),
    Row("", "ReplicationController", "replicationcontrollers", (_replicated(),), "api", source=_CORE),
    Row("apps", "ReplicaSet", "replicasets", (_replicated(),), "api", source=_APPS),
    Row("apps", "Deployment", "deployments", (_replicated(),), "api", source=_APPS),
    Row("apps", "StatefulSet", "statefulsets", (_replicated(),), "api", source=_APPS),
    Row("apps", "DaemonSet", "daemonsets", (Slot(template="spec.template"),), "api", source=_APPS),
    Row("batch", "Job", "jobs", (_job("spec"),), "api", source=_BATCH),
    Row("batch", "CronJob", "cronjobs", (_job("spec.jobTemplate.spec"),), "api", source=_BATCH),
    _volcano("batch.volcano.sh", "Job", "jobs", "spec", _VOLCANO, validated="webhook"),
    # Volcano's webhook looks at a CronJob's schedule only; the template is judged when the Job is made.
    _volcano("batch.volcano.sh", "CronJob", "cronjobs", "spec.jobTemplate.spec", _VOLCANO),
    _volcano("flow.volcano.sh", "JobTemplate", "jobtemplates", "spec", _FLOW),
    Row("argoproj.io", "Rollout", "rollouts", (_replicated(),), source=_ROLLOUT),
    Row("argoproj.io", "Workflow", "workflows", _argo("spec"), source=_ARGO),
    Row("argoproj.io", "WorkflowTemplate", "workflowtemplates", _argo("spec"), source=_ARGO),
    Row("argoproj.io", "ClusterWorkflowTemplate", "clusterworkflowtemplates", _argo("spec"), source=_ARGO),
    Row("argoproj.io", "CronWorkflow", "cronworkflows", _argo("spec.workflowSpec"), source=_ARGO),
    Row("ray.io", "RayCluster", "rayclusters", _ray_cluster("spec"), source=_RAY),
    Row("ray.io", "RayJob", "rayjobs", _ray_job("spec"), source=_RAY),
    Row("ray.io", "RayCronJob", "raycronjobs", _ray_job("spec.jobTemplate"), source=_RAY),
    Row("ray.io", "RayService", "rayservices", _ray_cluster("spec.rayClusterConfig"), source=_RAY),
    _kubeflow("PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs", _KUBEFLOW, elastic=True),
    _kubeflow("TFJob", "tfjobs", "tfReplicaSpecs", _KUBEFLOW),
    _kubeflow("MPIJob", "mpijobs", "mpiReplicaSpecs", _MPI, by_name=(("worker", 0),)),
    _kubeflow("XGBoostJob", "xgboostjobs", "xgbReplicaSpecs", _KUBEFLOW),
    _kubeflow("PaddleJob", "paddlejobs", "paddleReplicaSpecs", _KUBEFLOW, elastic=True),
    _kubeflow("JAXJob", "jaxjobs", "jaxReplicaSpecs", _KUBEFLOW),
    Row("trainer.kubeflow.org", "TrainJob", "trainjobs", _TRAIN_JOB, source=_TRAINER),
    Row("trainer.kubeflow.org", "TrainingRuntime", "trainingruntimes", _RUNTIME, source=_TRAINER),
    Row("trainer.kubeflow.org", "ClusterTrainingRuntime", "clustertrainingruntimes", _RUNTIME, source=_TRAINER),
    Row("sparkoperator.k8s.io", "SparkApplication", "sparkapplications", _spark("spec"), source=_SPARK),
    Row("sparkoperator.k8s.io", "ScheduledSparkApplication", "scheduledsparkapplications", _spark("spec.template"), source=_SPARK),
    Row("jobset.x-k8s.io", "JobSet", "jobsets", _job_set("spec", counted=True), source=_JOBSET),
    Row("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets", _LEADER_WORKER, source=_LEADER),
    Row("serving.kserve.io", "InferenceService", "inferenceservices", _INFERENCE, source=_KSERVE),
    Row("serving.kserve.io", "LLMInferenceService", "llminferenceservices", _LLM, source=_KSERVE_LLM),
    Row("serving.kserve.io", "ServingRuntime", "servingruntimes", _SERVING_RUNTIME, source=_KSERVE_RUNTIME),
    Row("serving.kserve.io", "ClusterServingRuntime", "clusterservingruntimes", _SERVING_RUNTIME, source=_KSERVE_RUNTIME),
    Row("serving.knative.dev", "Service", "services", (Slot(template="spec.template"),), source=_KNATIVE),
    Row("serving.knative.dev", "Configuration", "configurations", (Slot(template="spec.template"),), source=_KNATIVE),
    Row("scheduling.koordinator.sh", "Reservation", "reservations", (Slot(template="spec.template", replicas=ONE),), source=_RESERVATION),
    Row("tensor-fusion.ai", "TensorFusionWorkload", "tensorfusionworkloads", (_WORKER,), source=_TF),
    Row("tensor-fusion.ai", "WorkloadProfile", "workloadprofiles", (_WORKER,), source=_TF),
)
