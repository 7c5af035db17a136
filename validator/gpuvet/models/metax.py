"""MetaX sGPU under Koordinator: resource, annotations and the ConfigMap metax-device-config (koordinator-metax.md 3)."""

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, RootModel

from gpuvet.models.base import AnnotationSet, ResourceSet, key
from gpuvet.models.scalars import ObjectName, WholeQuantity, json_text, yaml_text
from gpuvet.models.structures import Integer32, ObjectMeta, OpenStructure, Structure, attribute

SgpuQosPolicy = Literal["fixed-share", "best-effort", "burst-share"]
"""fixed-share caps at the quota, best-effort does not cap, burst-share guarantees the quota and lends what is idle."""

DeviceMode = Literal["native", "sgpu", "shared", "vgpu"]
"""How a node's cards are offered."""


class MetaxResources(ResourceSet, vocabulary="metax", stands=("container-resource", "node-status"), source="koordinator-metax.md 1.2"):
    """Resources of metax-gpu-device."""

    sgpu: WholeQuantity | None = key(
        "metax-tech.com/sgpu",
        "Virtual GPUs; a node offers up to 16 for each card in sGPU mode. koord-scheduler does not interpret it.",
        unit="virtual GPUs",
        example="1",
    )


class MetaxPodAnnotations(AnnotationSet, vocabulary="metax", stands=("pod-annotation",), source="koordinator-metax.md 3.1"):
    """Annotations that people write on Pods with sGPU."""

    sgpu_qos_policy: SgpuQosPolicy | None = key(
        "metax-tech.com/sgpu-qos-policy",
        "How compute is shared. Compared with case; plurals and qGPU's short forms are unknown.",
        example="fixed-share",
    )


class AllocatedSgpu(Structure):
    """A share of a card as MetaX' device plugin reads it."""

    uuid: str = attribute("Identifier of the card.", required=True)
    compute: Integer32 = attribute("Compute.", required=True, unit="percent of one card")
    v_ram: Integer32 = attribute("Video memory.", "vRam", required=True, unit="MiB")


class AllocatedSgpus(RootModel[list[list[AllocatedSgpu]]]):
    """Shares by container; Koordinator writes a single inner list."""

    model_config = ConfigDict(frozen=True)


class MetaxSchedulerAnnotations(
    AnnotationSet, vocabulary="metax", stands=("pod-annotation",), owner="system", source="koordinator-metax.md 3.4"
):
    """Pod annotations that only koord-scheduler writes for MetaX."""

    gpu_devices_allocated: Annotated[AllocatedSgpus, json_text(AllocatedSgpus)] | None = key(
        "metax-tech.com/gpu-devices-allocated",
        "Shares that were allocated.",
        since="1.8.0",
        example='[[{"uuid":"GPU-1","compute":10,"vRam":1024}]]',
    )


class MetaxClusterConfig(Structure):
    """The YAML text under `cluster-config`."""

    mode: DeviceMode = attribute("How cards are offered where nodes-config says nothing.", required=True, enforced=False, example="native")


class MetaxNodeConfig(Structure):
    """One entry of the YAML text under `nodes-config`."""

    node_name: ObjectName = attribute("Node, named once in the list.", required=True, enforced=False, example="node-1")
    mode: DeviceMode = attribute("How the node's cards are offered.", required=True, enforced=False, example="sgpu")


class MetaxNodesConfig(RootModel[list[MetaxNodeConfig]]):
    """The YAML text under `nodes-config`: exceptions from the cluster's mode."""

    model_config = ConfigDict(frozen=True)


class MetaxDeviceConfigData(Structure):
    """Data of the ConfigMap; values are texts (block scalars)."""

    version: Literal["v1"] = attribute(
        "Version of the format.", required=True, enforced=False, example="v1", source="koordinator-metax.md 3.5"
    )
    cluster_config: Annotated[str, yaml_text(MetaxClusterConfig)] = attribute(
        "The cluster's mode, as YAML text.", "cluster-config", required=True, enforced=False, source="koordinator-metax.md 3.5"
    )
    nodes_config: Annotated[str, yaml_text(MetaxNodesConfig)] = attribute(
        "Modes of single nodes, as YAML text.", "nodes-config", required=True, enforced=False, source="koordinator-metax.md 3.5"
    )


class MetaxDeviceConfig(OpenStructure):
    """The ConfigMap metax-device-config of metax-gpu-device."""

    config_map: ClassVar[str] = "metax-device-config"

    api_version: Literal["v1"] = attribute("API version.", required=True)
    kind: Literal["ConfigMap"] = attribute("Kind of the object.", required=True)
    metadata: ObjectMeta | None = attribute("Object metadata.")
    data: MetaxDeviceConfigData = attribute("The configuration.", required=True, source="koordinator-metax.md 3.5")
