"""Whole-card resources of device plugins: one unit is one physical card (or one MIG device).

TensorFusion strips them from injected containers, Koordinator turns some into its own, qGPU forbids them beside its own
(tensor-fusion.md 2.1, koordinator-metax.md 1.1, qgpu.md 1).
"""

from gpuvet.models.base import ResourceSet, key
from gpuvet.models.scalars import WholeQuantity


class WholeCardResources(ResourceSet, vocabulary="native", stands=("container-resource", "node-status"), source="koordinator-metax.md 1.1"):
    """Extended resources that stand for whole accelerators."""

    nvidia_gpu: WholeQuantity | None = key(
        "nvidia.com/gpu",
        "NVIDIA GPUs. Also the widespread key of a taint on GPU nodes.",
        unit="cards",
        example="1",
        where=("container-resource", "node-status", "node-taint"),
        source="koordinator-metax.md 1.1; tensor-fusion.md 5.2",
    )
    nvidia_mig: WholeQuantity | None = key(
        "nvidia.com/mig-",
        "NVIDIA MIG devices; the profile is part of the key, as in nvidia.com/mig-1g.10gb.",
        unit="MIG devices",
        example="1",
        where=("container-resource", "node-status", "node-label"),
        family=True,
        source="tensor-fusion.md 2.1",
    )
    nvidia_shared: WholeQuantity | None = key(
        "nvidia.com/gpu.shared", "Shares of time-sliced NVIDIA GPUs, when the device plugin renames them.", unit="shares", example="1"
    )
    amd_gpu: WholeQuantity | None = key("amd.com/gpu", "AMD GPUs.", unit="cards", example="1")
    hygon_dcu: WholeQuantity | None = key("dcu.com/gpu", "Hygon DCUs.", unit="cards", example="1")
    metax_gpu: WholeQuantity | None = key(
        "metax-tech.com/gpu", "MetaX GPUs of MetaX' own device plugin.", unit="cards", example="1", source="koordinator-metax.md 1.2"
    )
    alibaba_ppu: WholeQuantity | None = key(
        "aliyun.com/ppu", "Alibaba PPUs of their own device plugin.", unit="cards", example="1", source="tensor-fusion.md 2.9"
    )
