"""Pydantic models of every annotation, label, resource key, profile and CRD; the source of schemas, documents and key tables.

    profile = WorkloadProfile.from_manifest(yaml.safe_load(text))
    annotations = TensorFusionPodAnnotations.from_annotations(pod["metadata"]["annotations"])

Both give typed values, or raise a `ModelError` whose `problems` list everything that is wrong. docs/python-api.md shows more.
"""

from gpuvet.models.base import AnnotationSet, KeyDeclaration, KeySet, LabelSet, ModelError, Problem, ResourceSet
from gpuvet.models.koordinator_keys import (
    CambriconResources,
    HuaweiResources,
    KoordinatorDeprecatedResources,
    KoordinatorDeviceAnnotations,
    KoordinatorDeviceLabels,
    KoordinatorPodAnnotations,
    KoordinatorResources,
    KoordinatorSchedulerAnnotations,
)
from gpuvet.models.koordinator_objects import Device, ElasticQuota
from gpuvet.models.koordinator_platform import ClusterColocationProfile, KoordinatorHelmValues, Reservation
from gpuvet.models.koordinator_shapes import DeviceAllocated, DeviceAllocateHint, DeviceJointAllocate, GpuPartitionSpec, GpuPartitionTable
from gpuvet.models.metax import MetaxClusterConfig, MetaxDeviceConfig, MetaxNodesConfig, MetaxPodAnnotations, MetaxResources
from gpuvet.models.native import WholeCardResources
from gpuvet.models.placement import ControlPlaneTaints, GpuFeatureLabels, PlacementLabels
from gpuvet.models.qgpu import ElasticGpu, MachineSet, QgpuNodeLabels, QgpuPodAnnotations, QgpuResources
from gpuvet.models.scalars import Amount, GoDuration
from gpuvet.models.tensor_fusion_keys import TensorFusionOldPodAnnotations, TensorFusionPodAnnotations, TensorFusionPodLabels
from gpuvet.models.tensor_fusion_objects import GPUResourceQuota, TensorFusionWorkload, WorkloadProfile
from gpuvet.models.tensor_fusion_platform import (
    GPUNode,
    GPUNodeClaim,
    GPUNodeClass,
    GPUPool,
    ProviderConfig,
    SchedulingConfigTemplate,
    TensorFusionCluster,
    TensorFusionConnection,
    TensorFusionGPU,
    TensorFusionHelmValues,
)
from gpuvet.models.volcano_keys import VolcanoAnnotations
from gpuvet.models.volcano_objects import VolcanoCronJob, VolcanoJob

__all__ = [
    "Amount",
    "AnnotationSet",
    "CambriconResources",
    "ClusterColocationProfile",
    "ControlPlaneTaints",
    "Device",
    "DeviceAllocateHint",
    "DeviceAllocated",
    "DeviceJointAllocate",
    "ElasticGpu",
    "ElasticQuota",
    "GPUNode",
    "GPUNodeClaim",
    "GPUNodeClass",
    "GPUPool",
    "GPUResourceQuota",
    "GoDuration",
    "GpuFeatureLabels",
    "GpuPartitionSpec",
    "GpuPartitionTable",
    "HuaweiResources",
    "KeyDeclaration",
    "KeySet",
    "KoordinatorDeprecatedResources",
    "KoordinatorDeviceAnnotations",
    "KoordinatorDeviceLabels",
    "KoordinatorHelmValues",
    "KoordinatorPodAnnotations",
    "KoordinatorResources",
    "KoordinatorSchedulerAnnotations",
    "LabelSet",
    "MachineSet",
    "MetaxClusterConfig",
    "MetaxDeviceConfig",
    "MetaxNodesConfig",
    "MetaxPodAnnotations",
    "MetaxResources",
    "ModelError",
    "PlacementLabels",
    "Problem",
    "ProviderConfig",
    "QgpuNodeLabels",
    "QgpuPodAnnotations",
    "QgpuResources",
    "Reservation",
    "ResourceSet",
    "SchedulingConfigTemplate",
    "TensorFusionCluster",
    "TensorFusionConnection",
    "TensorFusionGPU",
    "TensorFusionHelmValues",
    "TensorFusionOldPodAnnotations",
    "TensorFusionPodAnnotations",
    "TensorFusionPodLabels",
    "TensorFusionWorkload",
    "VolcanoAnnotations",
    "VolcanoCronJob",
    "VolcanoJob",
    "WholeCardResources",
    "WorkloadProfile",
]
