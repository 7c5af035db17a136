"""All models in one place: what tables, schemas and documents are generated from."""

from typing import Any, Final, get_args

from pydantic import BaseModel

from gpuvet.models import (
    foreign,
    koordinator_keys,
    koordinator_objects,
    koordinator_platform,
    koordinator_shapes,
    kubernetes,
    metax,
    native,
    placement,
    qgpu,
    tensor_fusion_keys,
    tensor_fusion_objects,
    tensor_fusion_platform,
    volcano_keys,
    volcano_objects,
)
from gpuvet.models.base import KeySet
from gpuvet.models.structures import CustomResource

KEY_SETS: Final[tuple[type[KeySet], ...]] = (
    tensor_fusion_keys.TensorFusionPodAnnotations,
    tensor_fusion_keys.TensorFusionOldPodAnnotations,
    tensor_fusion_keys.TensorFusionPodLabels,
    tensor_fusion_keys.TensorFusionOperatorPodAnnotations,
    tensor_fusion_keys.TensorFusionOperatorLabels,
    tensor_fusion_keys.TensorFusionOperatorObjectAnnotations,
    tensor_fusion_keys.TensorFusionNodeTaints,
    tensor_fusion_keys.TensorFusionOperatorResources,
    koordinator_keys.KoordinatorResources,
    koordinator_keys.HuaweiResources,
    koordinator_keys.CambriconResources,
    koordinator_keys.KoordinatorBatchResources,
    koordinator_keys.KoordinatorDeprecatedResources,
    koordinator_keys.KoordinatorDeviceLabels,
    koordinator_keys.KoordinatorIsolationLabels,
    koordinator_keys.KoordinatorDeprecatedLabels,
    koordinator_keys.KoordinatorPodAnnotations,
    koordinator_keys.KoordinatorDeviceAnnotations,
    koordinator_keys.KoordinatorSchedulerAnnotations,
    koordinator_keys.KoordinatorPodLabels,
    koordinator_keys.KoordinatorGangAnnotations,
    koordinator_keys.KoordinatorQuotaLabels,
    koordinator_keys.KoordinatorQuotaAnnotations,
    metax.MetaxResources,
    metax.MetaxPodAnnotations,
    metax.MetaxSchedulerAnnotations,
    qgpu.QgpuResources,
    qgpu.QgpuNodeLabels,
    qgpu.QgpuPodAnnotations,
    placement.PlacementLabels,
    placement.ControlPlaneTaints,
    placement.GpuFeatureLabels,
    volcano_keys.VolcanoAnnotations,
    volcano_keys.VolcanoControllerAnnotations,
    volcano_keys.VolcanoPodLabels,
    native.WholeCardResources,
    foreign.HamiMetaxResources,
    foreign.HamiPodAnnotations,
    foreign.HamiLocks,
    foreign.HamiLabels,
    foreign.VcudaResources,
    foreign.ElasticGpuResources,
    foreign.ElasticGpuPodAnnotations,
    foreign.VolcanoVgpuResources,
)
"""Every family of keys."""

RESOURCES: Final[dict[str, type[CustomResource]]] = {
    "WorkloadProfile": tensor_fusion_objects.WorkloadProfile,
    "TensorFusionWorkload": tensor_fusion_objects.TensorFusionWorkload,
    "GPUResourceQuota": tensor_fusion_objects.GPUResourceQuota,
    "TensorFusionConnection": tensor_fusion_platform.TensorFusionConnection,
    "TensorFusionCluster": tensor_fusion_platform.TensorFusionCluster,
    "GPUPool": tensor_fusion_platform.GPUPool,
    "TensorFusionGPU": tensor_fusion_platform.TensorFusionGPU,
    "GPUNode": tensor_fusion_platform.GPUNode,
    "GPUNodeClaim": tensor_fusion_platform.GPUNodeClaim,
    "GPUNodeClass": tensor_fusion_platform.GPUNodeClass,
    "SchedulingConfigTemplate": tensor_fusion_platform.SchedulingConfigTemplate,
    "ProviderConfig": tensor_fusion_platform.ProviderConfig,
    "Device": koordinator_objects.Device,
    "ElasticQuota": koordinator_objects.ElasticQuota,
    "Reservation": koordinator_platform.Reservation,
    "ClusterColocationProfile": koordinator_platform.ClusterColocationProfile,
    "GPU": qgpu.ElasticGpu,
    "MachineSet": qgpu.MachineSet,
    "VolcanoJob": volcano_objects.VolcanoJob,
    "VolcanoCronJob": volcano_objects.VolcanoCronJob,
}
"""Objects of CRDs, by the name that tables call them by."""

SHAPES: Final[dict[str, type[BaseModel]]] = {
    "MetaxDeviceConfig": metax.MetaxDeviceConfig,
    "MetaxClusterConfig": metax.MetaxClusterConfig,
    "MetaxNodesConfig": metax.MetaxNodesConfig,
    "AllocatedSgpus": metax.AllocatedSgpus,
    "DeviceAllocateHint": koordinator_shapes.DeviceAllocateHint,
    "DeviceJointAllocate": koordinator_shapes.DeviceJointAllocate,
    "GpuPartitionSpec": koordinator_shapes.GpuPartitionSpec,
    "GpuPartitionTable": koordinator_shapes.GpuPartitionTable,
    "DeviceAllocated": koordinator_shapes.DeviceAllocated,
    "GpuSharedResourceTemplates": koordinator_shapes.GpuSharedResourceTemplates,
    "KoordinatorHelmValues": koordinator_platform.KoordinatorHelmValues,
    "TensorFusionHelmValues": tensor_fusion_platform.TensorFusionHelmValues,
}
"""ConfigMaps with known data, what JSON or YAML texts hold, and Helm values, by the model's name."""

EMBEDDED_YAML: Final[dict[str, dict[str, str]]] = {
    "metax-device-config": {"cluster-config": "MetaxClusterConfig", "nodes-config": "MetaxNodesConfig"},
    "gpu-shared-resource-templates": {"data.yaml": "GpuSharedResourceTemplates"},
}
"""ConfigMap name and data key of YAML texts, with the shape inside."""

_LITERALS: Final[dict[str, Any]] = {
    "Qos": tensor_fusion_keys.Qos,
    "Isolation": tensor_fusion_keys.Isolation,
    "Vendor": tensor_fusion_keys.Vendor,
    "AutoscaleTarget": tensor_fusion_keys.AutoscaleTarget,
    "GpuVendor": koordinator_keys.GpuVendor,
    "PartitionPolicy": koordinator_keys.PartitionPolicy,
    "IsolationProvider": koordinator_keys.IsolationProvider,
    "DeviceType": koordinator_shapes.DeviceType,
    "AllocateStrategy": koordinator_shapes.AllocateStrategy,
    "TopologyScope": koordinator_shapes.TopologyScope,
    "ExclusivePolicy": koordinator_shapes.ExclusivePolicy,
    "JointScope": koordinator_shapes.JointScope,
    "PartitionAllocatePolicy": koordinator_shapes.PartitionAllocatePolicy,
    "GpuLinkType": koordinator_shapes.GpuLinkType,
    "ReservationAllocatePolicy": koordinator_platform.ReservationAllocatePolicy,
    "SgpuQosPolicy": metax.SgpuQosPolicy,
    "DeviceMode": metax.DeviceMode,
    "SchedulePolicy": qgpu.SchedulePolicy,
    "AppClass": qgpu.AppClass,
    "Usage": placement.Usage,
    "VolcanoEvent": volcano_objects.Event,
    "VolcanoInternalEvent": volcano_objects.InternalEvent,
    "VolcanoAction": volcano_objects.Action,
    "VolcanoInternalAction": volcano_objects.InternalAction,
    "VolcanoPlugin": volcano_objects.Plugin,
    "VolcanoTopologyPolicy": volcano_objects.TopologyPolicy,
    "VolcanoTierMode": volcano_objects.TierMode,
    "VolcanoIteration": volcano_objects.Iteration,
    "ConditionStatus": kubernetes.ConditionStatus,
    "SelectorOperator": kubernetes.SelectorOperator,
}

ENUMERATIONS: Final[dict[str, tuple[str, ...]]] = {name: get_args(literal) for name, literal in _LITERALS.items()}
"""Values of every named enumeration, with case, in the order of their declaration."""
