"""TensorFusion: annotation, WorkloadProfile, quota default, pool default (tensor-fusion.md 2.1, 2.6)."""

from typing import Any

from gpuvet.resolve.fields import Find, Resolved
from gpuvet.values.total import get


def resolve_tensor_fusion(pod: dict[str, Any], template: dict[str, Any], find: Find, platforms: dict[str, str]) -> dict[str, Resolved]:
    """Field -> what counts."""
    annotations = get(pod, "metadata", "annotations")
    profile_name = get(annotations, "tensor-fusion.ai/workload-profile")
    profile = find("WorkloadProfile", profile_name)
    found: dict[str, Resolved] = {}
    for field, path in (
        ("tflops-request", ("spec", "resources", "requests", "tflops")),
        ("tflops-limit", ("spec", "resources", "limits", "tflops")),
    ):
        value = get(annotations, f"tensor-fusion.ai/{field}")
        if value is not None:
            found[field] = Resolved(value, "annotation", ("pod", "metadata", "annotations", f"tensor-fusion.ai/{field}"))
            continue
        value = get(profile, *path)
        if value is not None:
            found[field] = Resolved(value, "profile", ("found", ("WorkloadProfile", profile_name, None), *path))
    return found
