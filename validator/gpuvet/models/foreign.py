"""Keys of products that people mix with ours: HAMi, gpu-manager (vcuda), elastic-gpu, Volcano vGPU.

None of them works together with the vocabularies that are judged here (koordinator-metax.md 1.2, 3.1; qgpu.md 1).
"""

from typing import Annotated, Literal

from gpuvet.models.base import AnnotationSet, LabelSet, ResourceSet, key
from gpuvet.models.scalars import Amount, LabelValue, Text, WholeQuantity, whole_quantity


class HamiMetaxResources(ResourceSet, vocabulary="foreign", stands=("container-resource",), source="koordinator-metax.md 1.2"):
    """HAMi's companions of metax-tech.com/sgpu; not Koordinator's."""

    vcore: WholeQuantity | None = key(
        "metax-tech.com/vcore",
        "HAMi: share of a MetaX card.",
        unit="percent of one card",
        example="60",
        replaced_by="koordinator.sh/gpu-core",
    )
    vmemory: WholeQuantity | None = key(
        "metax-tech.com/vmemory",
        "HAMi: memory of a MetaX card. A bare number means GiB, one with a suffix means bytes.",
        unit="GiB, or bytes with a suffix",
        example="4",
        replaced_by="koordinator.sh/gpu-memory",
    )


class HamiPodAnnotations(AnnotationSet, vocabulary="foreign", stands=("pod-annotation",), source="koordinator-metax.md 3.1"):
    """HAMi's annotations for MetaX."""

    sgpu_app_class: Literal["online", "offline"] | None = key(
        "metax-tech.com/sgpu-app-class", "HAMi: class of the application; sgpu must then be 1, and online skips QoS.", example="online"
    )


class HamiLocks(AnnotationSet, vocabulary="foreign", stands=("node-annotation",), owner="system", source="koordinator-metax.md 3.4"):
    """Locks that schedulers put on nodes while a device plugin allocates."""

    mutex: Text | None = key("hami.io/mutex.lock", "RFC 3339 time, namespace and Pod, with commas; times out after five minutes.")


class HamiLabels(LabelSet, vocabulary="foreign", stands=("pod-label",), owner="system", source="koordinator-metax.md 3.4"):
    """HAMi's labels that koord-scheduler writes."""

    vgpu_node: LabelValue | None = key("hami.io/vgpu-node", "Node of the Pod, with gpu-isolation-provider HAMi-core.")


class VcudaResources(ResourceSet, vocabulary="foreign", stands=("container-resource", "node-status"), source="qgpu.md 1"):
    """gpu-manager, the product before qGPU."""

    vcuda_core: WholeQuantity | None = key(
        "tencent.com/vcuda-core",
        "gpu-manager: compute; 100 is one card.",
        unit="percent of one card",
        example="50",
        replaced_by="tke.cloud.tencent.com/qgpu-core",
    )
    vcuda_memory: WholeQuantity | None = key(
        "tencent.com/vcuda-memory",
        "gpu-manager: memory in units of 256 MiB.",
        unit="256 MiB",
        example="20",
        replaced_by="tke.cloud.tencent.com/qgpu-memory",
    )


class ElasticGpuResources(ResourceSet, vocabulary="foreign", stands=("container-resource", "node-status"), source="qgpu.md 1"):
    """elastic-gpu, the open-source relative of qGPU; its constants and its README disagree about the domain."""

    core: WholeQuantity | None = key(
        "elasticgpu.com/gpu-core",
        "elastic-gpu: compute.",
        unit="percent of one card",
        replaced_by="tke.cloud.tencent.com/qgpu-core",
    )
    memory: WholeQuantity | None = key(
        "elasticgpu.com/gpu-memory", "elastic-gpu: memory.", unit="GB", replaced_by="tke.cloud.tencent.com/qgpu-memory"
    )
    readme_core: WholeQuantity | None = key(
        "elasticgpu.io/gpu-core",
        "elastic-gpu's README: compute.",
        unit="percent of one card",
        replaced_by="tke.cloud.tencent.com/qgpu-core",
    )
    readme_memory: WholeQuantity | None = key(
        "elasticgpu.io/gpu-memory", "elastic-gpu's README: memory.", unit="MB", replaced_by="tke.cloud.tencent.com/qgpu-memory"
    )


class ElasticGpuPodAnnotations(AnnotationSet, vocabulary="foreign", stands=("pod-annotation",), owner="system", source="qgpu.md 3.3"):
    """What elastic-gpu-scheduler writes on Pods."""

    assumed: Text | None = key("elasticgpu.io/assumed", "The scheduler has chosen cards.")
    container: Text | None = key("elasticgpu.io/container-", "Cards of a container; the container's name is part of the key.", family=True)


class VolcanoVgpuResources(
    ResourceSet, vocabulary="foreign", stands=("container-resource", "node-status"), source="tensor-fusion.md 7 item 19"
):
    """Volcano's own GPU sharing; gpu-* and vgpu-* exclude each other."""

    vgpu_number: WholeQuantity | None = key("volcano.sh/vgpu-number", "Volcano: virtual GPUs.", unit="virtual GPUs", example="1")
    vgpu_memory: WholeQuantity | None = key("volcano.sh/vgpu-memory", "Volcano: memory of each virtual GPU.", unit="MiB", example="3000")
    vgpu_memory_percentage: Annotated[Amount, whole_quantity(maximum=100)] | None = key(
        "volcano.sh/vgpu-memory-percentage", "Volcano: memory of each virtual GPU.", unit="percent of one card", example="50"
    )
    vgpu_cores: WholeQuantity | None = key(
        "volcano.sh/vgpu-cores", "Volcano: compute of each virtual GPU.", unit="percent of one card", example="50"
    )
    gpu_memory: WholeQuantity | None = key("volcano.sh/gpu-memory", "Volcano: memory, in the older sharing.", unit="MiB", example="1024")
    gpu_number: WholeQuantity | None = key("volcano.sh/gpu-number", "Volcano: cards, in the older sharing.", unit="cards", example="1")
