"""Hybrid training and inference placement: usage and product labels and taints, and GFD's node labels (tensor-fusion.md 5).

The company's own domain is configurable; it is made canonical as `COMPANY_DOMAIN` before anything is looked up here.
"""

from typing import Final, Literal

from gpuvet.models.base import LabelSet, key
from gpuvet.models.scalars import BooleanText, CountText, DriverVersion, IntegerText, LabelValue

COMPANY_DOMAIN: Final = "maip.mxsf.io"
"""The domain of the published example; stands for the company's own."""

Usage = Literal["training", "inference", "hybrid"]
"""What a node is for; hybrid nodes take the overflow of both."""


class PlacementLabels(LabelSet, vocabulary="placement", stands=("node-label", "node-taint"), source="tensor-fusion.md 5.1"):
    """Labels that are taints too: a task selects them by affinity and tolerates them."""

    usage: Usage | None = key("maip.mxsf.io/node.usage", "What the node is for.", example="training")
    product: LabelValue | None = key(
        "nvidia.com/gpu.product",
        "Model of the cards; blanks become dashes. As a taint it keeps other tasks off; the administrator adds that.",
        example="NVIDIA-H20",
        source="tensor-fusion.md 5.1, 5.2",
    )


class ControlPlaneTaints(LabelSet, vocabulary="placement", stands=("node-taint", "node-label"), source="tensor-fusion.md 5.1, 5.4"):
    """Taints that keep tasks off the control plane; nothing should tolerate them."""

    company: LabelValue | None = key("maip.mxsf.io/control-plane", "The company's taint of its control plane.", where=("node-taint",))
    control_plane: LabelValue | None = key("node-role.kubernetes.io/control-plane", "Kubernetes' taint of the control plane.")
    master: LabelValue | None = key(
        "node-role.kubernetes.io/master",
        "Kubernetes' taint of the control plane before 1.24.",
        replaced_by="node-role.kubernetes.io/control-plane",
        deprecated="renamed",
    )


class GpuFeatureLabels(LabelSet, vocabulary="placement", stands=("node-label",), source="tensor-fusion.md 5.2"):
    """Node labels of NVIDIA GPU Feature Discovery."""

    count: CountText | None = key("nvidia.com/gpu.count", "Cards, or MIG devices with the single strategy.", unit="cards", example="8")
    memory: CountText | None = key("nvidia.com/gpu.memory", "Memory of a card: an integer without unit.", unit="MiB", example="97871")
    replicas: CountText | None = key("nvidia.com/gpu.replicas", "Shares of each card when time slicing.", example="1")
    sharing_strategy: Literal["none", "mps", "time-slicing"] | None = key("nvidia.com/gpu.sharing-strategy", "How cards are shared.")
    family: LabelValue | None = key("nvidia.com/gpu.family", "Architecture of the cards.", example="hopper")
    machine: LabelValue | None = key("nvidia.com/gpu.machine", "Machine type.")
    mode: LabelValue | None = key("nvidia.com/gpu.mode", "Compute or display.", example="compute")
    present: BooleanText | None = key("nvidia.com/gpu.present", "The node has cards.")
    compute_major: IntegerText | None = key("nvidia.com/gpu.compute.major", "Compute capability, major.", example="9")
    compute_minor: IntegerText | None = key("nvidia.com/gpu.compute.minor", "Compute capability, minor.", example="0")
    clique: LabelValue | None = key("nvidia.com/gpu.clique", "Cards that share a memory fabric.")
    mig_strategy: Literal["none", "single", "mixed"] | None = key("nvidia.com/mig.strategy", "How MIG devices are offered.")
    mig_capable: BooleanText | None = key("nvidia.com/mig.capable", "The cards can be split by MIG.")
    mps_capable: BooleanText | None = key("nvidia.com/mps.capable", "The cards can be shared by MPS.")
    vgpu_present: BooleanText | None = key("nvidia.com/vgpu.present", "The node has NVIDIA vGPUs.")
    timestamp: IntegerText | None = key("nvidia.com/gfd.timestamp", "When the labels were written.", unit="seconds since 1970")
    driver_upgrade_state: LabelValue | None = key(
        "nvidia.com/gpu-driver-upgrade-state", "Progress of a driver upgrade by NVIDIA's operator.", example="upgrade-done", owner="system"
    )
    driver_full: DriverVersion | None = key("nvidia.com/cuda.driver-version.full", "Version of the driver.", example="535.54.03")
    driver_major: IntegerText | None = key("nvidia.com/cuda.driver-version.major", "Version of the driver, branch.", example="535")
    driver_minor: IntegerText | None = key("nvidia.com/cuda.driver-version.minor", "Version of the driver, second part.", example="54")
    driver_revision: LabelValue | None = key("nvidia.com/cuda.driver-version.revision", "Version of the driver, third part.", example="03")
    runtime_full: LabelValue | None = key("nvidia.com/cuda.runtime-version.full", "Version of CUDA.", example="12.4")
    runtime_major: IntegerText | None = key("nvidia.com/cuda.runtime-version.major", "Version of CUDA, major.", example="12")
    runtime_minor: IntegerText | None = key("nvidia.com/cuda.runtime-version.minor", "Version of CUDA, minor.", example="4")
    old_driver_major: IntegerText | None = key(
        "nvidia.com/cuda.driver.major",
        "Version of the driver, branch, under its old name.",
        replaced_by="nvidia.com/cuda.driver-version.major",
        deprecated="renamed; still written",
    )
    old_driver_minor: IntegerText | None = key(
        "nvidia.com/cuda.driver.minor",
        "Version of the driver, second part, under its old name.",
        replaced_by="nvidia.com/cuda.driver-version.minor",
        deprecated="renamed; still written",
    )
    old_driver_revision: LabelValue | None = key(
        "nvidia.com/cuda.driver.rev",
        "Version of the driver, third part, under its old name.",
        replaced_by="nvidia.com/cuda.driver-version.revision",
        deprecated="renamed; still written",
    )
    old_runtime_major: IntegerText | None = key(
        "nvidia.com/cuda.runtime.major",
        "Version of CUDA, major, under its old name.",
        replaced_by="nvidia.com/cuda.runtime-version.major",
        deprecated="renamed; still written",
    )
    old_runtime_minor: IntegerText | None = key(
        "nvidia.com/cuda.runtime.minor",
        "Version of CUDA, minor, under its old name.",
        replaced_by="nvidia.com/cuda.runtime-version.minor",
        deprecated="renamed; still written",
    )
    driver_version: DriverVersion | None = key(
        "nvidia.com/gpu.driver-version",
        "Version of the driver, by hand only: GFD never writes it, so affinity on it matches no node by itself.",
        example="535.54.03",
        replaced_by="nvidia.com/cuda.driver-version.full",
        deprecated="GFD never writes it",
    )
