"""Koordinator: Reservation, ClusterColocationProfile, and the Helm values with their feature gates (koordinator-metax.md 2.5, 3.3, 7)."""

from typing import Annotated, Any, Final, Literal, NamedTuple

from gpuvet.models.kubernetes import LabelSelector
from gpuvet.models.scalars import Scalar
from gpuvet.models.structures import Column, CustomResource, Opaque, OpenStructure, attribute

_HOOKS = "koordinator-metax.md 7.1"
_GATES = "koordinator-metax.md 3.3"

ReservationAllocatePolicy = Literal["Aligned", "Restricted"]
"""Whether Pods may take beyond the reservation."""


class FeatureGate(NamedTuple):
    """A switch of one of Koordinator's components."""

    name: str
    component: Literal["koord-scheduler", "koord-manager"]
    default: bool
    description: str
    source: str
    since: str = ""


FEATURE_GATES: Final = (
    FeatureGate(
        "DevicePluginAdaption", "koord-scheduler", False, "Writes what vendors' device plugins read; MetaX needs it.", _GATES, "1.8.0"
    ),
    FeatureGate(
        "EnableSyncGPUSharedResource", "koord-manager", False, "Nodes advertise koordinator.sh/gpu.shared; MetaX Pods need it.", _GATES
    ),
    FeatureGate(
        "PodMutatingWebhook", "koord-manager", True, "Rewrites device resources when Pods are created.", "koordinator-metax.md 2.5"
    ),
    FeatureGate(
        "DisableDeviceResourceSpec",
        "koord-manager",
        False,
        "Leaves device resources as written (after v1.8.0).",
        "koordinator-metax.md 2.5",
    ),
    FeatureGate("ValidatePodDeviceResource", "koord-manager", False, "Refuses some wrong sets of device resources.", _HOOKS),
    FeatureGate("PodEnhancedValidator", "koord-manager", False, "Demands labels that the administrator configures.", _HOOKS),
    FeatureGate("EnableQuotaAdmission", "koord-manager", False, "Refuses Pods that exceed their ElasticQuota.", _HOOKS),
)
"""Gates that bear on GPU Pods; others pass."""


def _read_gates(text: str) -> dict[str, bool]:
    gates: dict[str, bool] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name or value not in ("true", "false"):
            raise ValueError(f"{part!r} is no feature gate; write Name=true or Name=false, with commas and no blanks between them")
        gates[name] = value == "true"
    return gates


def _write_gates(value: Any) -> str:
    return ",".join(f"{name}={str(on).lower()}" for name, on in value.items())


FeatureGatesText = Annotated[
    dict[str, bool],
    Scalar(kind="words-list", read=_read_gates, write=_write_gates, pattern=r"^([A-Za-z0-9]+=(true|false)(,[A-Za-z0-9]+=(true|false))*)?$"),
]
"""Feature gates as the chart takes them: `Name=true,Other=false`."""


class SchedulerValues(OpenStructure):
    """koord-scheduler in the chart."""

    feature_gates: FeatureGatesText | None = attribute(
        "Gates of koord-scheduler; MetaX needs DevicePluginAdaption.", example="DevicePluginAdaption=true", source=_GATES
    )


class KoordinatorHelmValues(OpenStructure):
    """Values of Koordinator's Helm chart that bear on GPU Pods."""

    feature_gates: FeatureGatesText | None = attribute(
        "Gates of koord-manager; shared GPUs need EnableSyncGPUSharedResource.", example="EnableSyncGPUSharedResource=true", source=_GATES
    )
    scheduler: SchedulerValues | None = attribute("koord-scheduler.", source=_GATES)


class ReservationOwner(OpenStructure):
    """Pods that may use a reservation."""

    label_selector: LabelSelector | None = attribute("Labels of the Pods.", source=_HOOKS)


class ReservationSpec(OpenStructure):
    """Resources kept for Pods to come."""

    template: Opaque = attribute(
        "PodTemplateSpec; nothing checks it before the scheduler does, extended resources included.",
        required=True,
        source="koordinator-metax.md 7.1, 7.3",
    )
    owners: list[ReservationOwner] = attribute("Pods that may use it, one at least.", required=True, min_items=1, source=_HOOKS)
    allocate_policy: ReservationAllocatePolicy | None = attribute("Whether Pods may take beyond it.", source=_HOOKS)


class Reservation(CustomResource, plural="reservations", scope="Cluster"):
    """Resources kept for Pods to come."""

    columns = (Column("Phase", "string", ".status.phase"), Column("Node", "string", ".status.nodeName"))

    api_version: Literal["scheduling.koordinator.sh/v1alpha1"] = attribute("API group and version.", required=True)
    kind: Literal["Reservation"] = attribute("Kind of the object.", required=True)
    spec: ReservationSpec | None = attribute("What is kept, and for whom.", source=_HOOKS)
    status: Opaque | None = attribute("What the scheduler reports.")


class ClusterColocationProfileSpec(OpenStructure):
    """What is written into Pods when they are created."""

    namespace_selector: LabelSelector | None = attribute("Namespaces of the Pods.", source="koordinator-metax.md 7.3")
    selector: LabelSelector | None = attribute("Labels of the Pods.", source="koordinator-metax.md 7.3")
    labels: dict[str, str] | None = attribute("Labels to add.", source="koordinator-metax.md 7.3")
    annotations: dict[str, str] | None = attribute("Annotations to add.", source="koordinator-metax.md 7.3")
    scheduler_name: str | None = attribute(
        "Scheduler to set; so a Pod without schedulerName may still be right.", example="koord-scheduler", source="koordinator-metax.md 7.3"
    )
    patch: Opaque | None = attribute("Patch to apply.", source="koordinator-metax.md 7.3")


class ClusterColocationProfile(CustomResource, plural="clustercolocationprofiles", scope="Cluster"):
    """What koord-manager writes into Pods when they are created."""

    api_version: Literal["config.koordinator.sh/v1alpha1"] = attribute("API group and version.", required=True)
    kind: Literal["ClusterColocationProfile"] = attribute("Kind of the object.", required=True)
    spec: ClusterColocationProfileSpec | None = attribute("What is written, and into which Pods.", source="koordinator-metax.md 7.3")
    status: Opaque | None = attribute("What the manager reports.")
