"""Koordinator: the Device and ElasticQuota objects (koordinator-metax.md 5, 7.1)."""

from typing import ClassVar, Literal

from gpuvet.models.koordinator_shapes import DeviceType
from gpuvet.models.kubernetes import Condition, ResourceList
from gpuvet.models.relations import Relation, unique
from gpuvet.models.structures import CustomResource, Integer32, Removed, Structure, attribute

_SOURCE = "koordinator-metax.md 5"


class DeviceTopology(Structure):
    """Where the device sits; where the block stands, all but busID are required."""

    socket_id: Integer32 = attribute("CPU socket; koordlet always reports -1.", "socketID", required=True, example="-1", source=_SOURCE)
    node_id: Integer32 = attribute("NUMA node; -1 when unknown.", "nodeID", required=True, example="0", source=_SOURCE)
    pcie_id: str = attribute("PCIe switch; quote bare digits.", "pcieID", required=True, example="pci0000:3a", source=_SOURCE)
    bus_id: str | None = attribute(
        "Bus address; quote it when it holds only digits and colons.", "busID", example="0000:38:00.0", source=_SOURCE
    )


class VirtualFunction(Structure):
    """A virtual function of a device."""

    minor: Integer32 = attribute("Minor number.", required=True, source=_SOURCE)
    bus_id: str | None = attribute("Bus address.", "busID", source=_SOURCE)


class VirtualFunctionGroup(Structure):
    """Virtual functions with common labels."""

    labels: dict[str, str] | None = attribute("Labels that hints select.", source=_SOURCE)
    vfs: list[VirtualFunction] | None = attribute("The functions.", source=_SOURCE)


class DeviceInfo(Structure):
    """One device of a node."""

    type: DeviceType | None = attribute(
        "Kind of device; other texts are stored and ignored.", enforced=False, example="gpu", source=_SOURCE
    )
    id: str | None = attribute(
        "UUID of a GPU, bus id of an RDMA device; MetaX needs it.",
        cost_length=253,
        example="89033010-2354-0000-0000-000000000000",
        source=_SOURCE,
    )
    minor: Integer32 | None = attribute("Minor number; the scheduler panics without it.", needed=True, example="0", source=_SOURCE)
    module_id: Integer32 | None = attribute("Physical slot.", "moduleID", source=_SOURCE)
    health: bool = attribute(
        "Whether the device counts; absent is made false.", required=True, default="false", example="true", source=_SOURCE
    )
    labels: dict[str, str] | None = attribute("Labels that hints select.", source=_SOURCE)
    resources: ResourceList | None = attribute(
        "What the device offers; MetaX: gpu-core 100, gpu-memory, gpu-memory-ratio 100.", source=_SOURCE
    )
    topology: DeviceTopology | None = attribute("Where it sits.", source=_SOURCE)
    vf_groups: list[VirtualFunctionGroup] | None = attribute("Virtual functions.", "vfGroups", source=_SOURCE)
    conditions: list[Condition] | None = attribute(
        "Conditions of this device, one of a type; they belong here, not under spec or status.",
        list_type="map",
        list_keys=("type",),
        source=_SOURCE,
    )


class DeviceSpec(Structure):
    """Devices of a node."""

    removed: ClassVar[dict[str, Removed]] = {"conditions": Removed("devices[].conditions", "conditions belong into each device")}

    relations = (
        unique("devices", ("type", "minor"), "two devices of one type have the same minor: the scheduler would count one of them"),
        unique("devices", ("id",), "two devices have the same id: give each its own"),
    )

    devices: list[DeviceInfo] | None = attribute("The devices.", max_items=256, source=_SOURCE)


class AllocationEntry(Structure):
    """A Pod and its devices."""

    name: str | None = attribute("Name of the Pod.")
    namespace: str | None = attribute("Namespace of the Pod.")
    uuid: str | None = attribute("UID of the Pod.")
    minors: list[Integer32] | None = attribute("Minor numbers.")


class DeviceAllocationStatus(Structure):
    """Allocations of one device type."""

    type: str | None = attribute("Kind of device.")
    entries: list[AllocationEntry] | None = attribute("Pods.")


class DeviceStatus(Structure):
    """What is allocated; not used for conditions."""

    removed: ClassVar[dict[str, Removed]] = {"conditions": Removed("spec.devices[].conditions", "conditions belong into each device")}

    allocations: list[DeviceAllocationStatus] | None = attribute("Allocations.", source=_SOURCE)


class Device(CustomResource, plural="devices", scope="Cluster"):
    """The devices of the node that bears the same name; normally written by koordlet."""

    has_status = False

    api_version: Literal["scheduling.koordinator.sh/v1alpha1"] = attribute("API group and version.", required=True)
    kind: Literal["Device"] = attribute("Kind of the object.", required=True)
    spec: DeviceSpec | None = attribute("The devices.", source=_SOURCE)
    status: DeviceStatus | None = attribute("What is allocated.", source=_SOURCE)


class ElasticQuotaSpec(Structure):
    """Guaranteed and most resources of a quota."""

    relations = (
        Relation(
            cel="!has(self.min) || self.min.all(k, has(self.max) && k in self.max"
            " && quantity(string(self.min[k])).compareTo(quantity(string(self.max[k]))) <= 0)",
            message="a resource of min is missing in max, or above it: raise max or lower min",
            holds=lambda quota: all(
                key in (quota.max or {}) and amount.nanos <= quota.max[key].nanos for key, amount in (quota.min or {}).items()
            ),
            at="min",
        ),
    )

    min: ResourceList | None = attribute(
        "Guaranteed; keys must stand in max, values not above it.", max_items=64, source="koordinator-metax.md 7.1"
    )
    max: ResourceList | None = attribute("The most; the same keys all along a tree.", max_items=64, source="koordinator-metax.md 7.1")


class ElasticQuotaStatus(Structure):
    """What is used."""

    used: ResourceList | None = attribute("What is used.")


class ElasticQuota(CustomResource, plural="elasticquotas"):
    """A quota that lends what is idle; one of a tree."""

    has_status = False
    approval = "https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"

    api_version: Literal["scheduling.sigs.k8s.io/v1alpha1"] = attribute("API group and version.", required=True)
    kind: Literal["ElasticQuota"] = attribute("Kind of the object.", required=True)
    spec: ElasticQuotaSpec | None = attribute("The quota.", source="koordinator-metax.md 7.1")
    status: ElasticQuotaStatus | None = attribute("What is used.")
