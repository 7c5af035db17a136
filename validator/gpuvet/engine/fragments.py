"""Tells a finished manifest from a fragment: a kustomize patch or a snippet lacks a field that the API server requires."""

from typing import Any

from gpuvet.manifests.workloads import Template

_NEEDS_SELECTOR = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"))


def is_fragment(value: dict[str, Any], kind: str, views: list[Template]) -> bool:
    """Whether something the API server requires is not there."""
    metadata = value.get("metadata")
    if type(metadata) is not dict or not (metadata.get("name") or metadata.get("generateName")):
        return True
    if (
        kind in _NEEDS_SELECTOR
        and type(value.get("spec")) is dict
        and "selector" not in value["spec"]
        and value.get("apiVersion") == "apps/v1"
    ):
        return True
    return any(map(_open, views))


def _open(view: Template) -> bool:
    if view.validated == "none":
        return False
    containers = view.spec.get("containers")
    if type(containers) is not list or not containers:
        return True
    return any(map(_unfinished, containers))


def _unfinished(container: Any) -> bool:
    return type(container) is dict and not (container.get("name") and container.get("image"))
