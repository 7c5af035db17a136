"""What Koordinator's JSON annotations hold (koordinator-metax.md 3.4, 4.2). Go's decoder ignores members it does not know."""

from typing import Literal

from pydantic import ConfigDict, RootModel

from gpuvet.models.kubernetes import LabelSelector, ResourceList
from gpuvet.models.scalars import CrdQuantity
from gpuvet.models.structures import Structure, attribute

_SOURCE = "koordinator-metax.md 4.2"

DeviceType = Literal["gpu", "rdma", "fpga"]
"""Device types known to koord-scheduler."""

AllocateStrategy = Literal["ApplyForAll", "RequestsAsCount"]
"""Whether every device gets the request, or the request counts devices."""

TopologyScope = Literal["Device", "PCIe", "NUMANode", "Node"]
"""How close devices must be. `Device` can never be met."""

ExclusivePolicy = Literal["DeviceLevel", "PCIeLevel"]
"""Where Pods exclude each other."""

JointScope = Literal["SamePCIe"]
"""Where jointly allocated devices must meet."""

PartitionAllocatePolicy = Literal["Restricted", "BestEffort"]
"""Whether only the best partitions count."""

GpuLinkType = Literal["NVLink", "HCCS"]
"""Links between cards of a partition; HCCS only in Ascend's documents."""


class DeviceHint(Structure):
    """Which devices of one type to choose."""

    selector: LabelSelector | None = attribute("Labels of the device.", source=_SOURCE)
    vf_selector: LabelSelector | None = attribute(
        "Labels of virtual functions; refused by devices that have none.", "vfSelector", source=_SOURCE
    )
    allocate_strategy: AllocateStrategy | None = attribute("How the request is read.", enforced=False, source=_SOURCE)
    required_topology_scope: TopologyScope | None = attribute(
        "How close devices must be; any text, known or not, forbids several slices.", enforced=False, source=_SOURCE
    )
    exclusive_policy: ExclusivePolicy | None = attribute("Where Pods exclude each other.", enforced=False, source=_SOURCE)


class DeviceAllocateHint(RootModel[dict[DeviceType, DeviceHint]]):
    """Hints by device type; null for a type panics the scheduler."""

    model_config = ConfigDict(frozen=True)


class DeviceJointAllocate(Structure):
    """Device types to allocate together."""

    device_types: list[DeviceType] | None = attribute("The types.", enforced=False, source=_SOURCE)
    required_scope: JointScope | None = attribute("Where they must meet.", enforced=False, source=_SOURCE)


class GpuPartitionSpec(Structure):
    """How to choose a partition of a card table."""

    allocate_policy: PartitionAllocatePolicy | None = attribute(
        "Which partitions count.", enforced=False, default="BestEffort", source=_SOURCE
    )
    ring_bus_bandwidth: CrdQuantity | None = attribute("Least bandwidth of the ring.", unit="bytes per second", source=_SOURCE)


class GpuPartition(Structure):
    """Cards that belong together."""

    minors: list[int] = attribute("Minor numbers of the cards.", required=True, source=_SOURCE)
    gpu_link_type: GpuLinkType | None = attribute("Link between them.", enforced=False, source=_SOURCE)
    ring_bus_bandwidth: CrdQuantity | None = attribute("Bandwidth of the ring.", unit="bytes per second", source=_SOURCE)
    allocation_score: int | None = attribute("Higher is better.", source=_SOURCE)


class GpuPartitionTable(RootModel[dict[str, list[GpuPartition]]]):
    """Partitions by the number of their cards."""

    model_config = ConfigDict(frozen=True)


class AllocatedVirtualFunction(Structure):
    """A virtual function that was allocated."""

    minor: int | None = attribute("Minor number.")
    bus_id: str | None = attribute("Bus address.", "busID")


class AllocationExtension(Structure):
    """Vendor's part of an allocation."""

    vfs: list[AllocatedVirtualFunction] | None = attribute("Virtual functions.")
    gpu_shared_resource_template: str | None = attribute("Template of a Huawei slice.")


class DeviceAllocation(Structure):
    """One device, or a share of it, that was allocated."""

    minor: int = attribute("Minor number.", required=True, source="koordinator-metax.md 3.4")
    resources: ResourceList = attribute("What was taken of it.", required=True, source="koordinator-metax.md 3.4")
    id: str | None = attribute("Identifier.", source="koordinator-metax.md 3.4")
    extension: AllocationExtension | None = attribute("Vendor's part.", source="koordinator-metax.md 3.4")


class DeviceAllocated(RootModel[dict[DeviceType, list[DeviceAllocation]]]):
    """Allocations by device type; null entries panic Koordinator's components."""

    model_config = ConfigDict(frozen=True)


class GpuSharedResourceTemplates(RootModel[dict[str, dict[str, ResourceList]]]):
    """Templates of Huawei slices by `<vendor>-<model>` and name (koordinator-metax.md 7.2)."""

    model_config = ConfigDict(frozen=True)
