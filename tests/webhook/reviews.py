"""AdmissionReviews as the API server sends them."""

import json
from typing import Any

KEY = "tensor-fusion.ai/"


def deployment(request: str = "10", limit: str = "10", **metadata: Any) -> dict[str, Any]:
    """A Deployment with a virtual GPU. A request above the limit is TF013, an error."""
    annotations = {
        f"{KEY}gpupool": "default-pool",
        f"{KEY}tflops-request": request,
        f"{KEY}tflops-limit": limit,
        f"{KEY}vram-request": "4Gi",
        f"{KEY}vram-limit": "4Gi",
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "inference", "namespace": "team-a"} | metadata,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "inference"}},
            "template": {
                "metadata": {"labels": {"app": "inference", f"{KEY}enabled": "true"}, "annotations": annotations},
                "spec": {"containers": [{"name": "main", "image": "registry.example.com/serve:1", "resources": {}}]},
            },
        },
    }


def quiet(core: str = "10", **metadata: Any) -> dict[str, Any]:
    """A Deployment with a slice of a qGPU card that no rule has a word for. A core of 7 is QG004, an error."""
    amounts = {"tke.cloud.tencent.com/qgpu-core": core, "tke.cloud.tencent.com/qgpu-memory": "5"}
    value = deployment(**metadata)
    value["spec"]["template"]["metadata"] = {"labels": {"app": "inference"}}
    value["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": amounts, "requests": amounts}
    return value


def pod(request: str = "10", limit: str = "10", **metadata: Any) -> dict[str, Any]:
    """The Pod of such a Deployment."""
    template = deployment(request, limit)["spec"]["template"]
    about = template["metadata"] | {"name": "inference-1", "namespace": "team-a"} | metadata
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": template["spec"]}


def review(value: Any, operation: str = "CREATE", old: Any = None, user: str = "jane", groups: Any = (), **request: Any) -> dict[str, Any]:
    """A review of `value`."""
    kind = value.get("kind") if isinstance(value, dict) else None
    metadata = value.get("metadata") if isinstance(value, dict) else None
    asked = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "apps", "version": "v1", "kind": kind},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "operation": operation,
        "namespace": metadata.get("namespace") if isinstance(metadata, dict) else None,
        "name": metadata.get("name") if isinstance(metadata, dict) else None,
        "userInfo": {"username": user, "groups": list(groups)},
        "object": value,
        "oldObject": old,
        "dryRun": False,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked | request}


def body(*arguments: Any, **more: Any) -> bytes:
    """The same as bytes."""
    return json.dumps(review(*arguments, **more)).encode()
