"""Device resources: what API server and scheduler make of the requests and limits of a Pod's containers."""

from typing import Any, NamedTuple

from gpuvet.compiled.keys import KEYS
from gpuvet.resolve.fields import Resolved
from gpuvet.values.quantity import format_quantity
from gpuvet.values.total import UNKNOWN, get, items, placeholder, pod_reads, pod_sum, quantity

_RESOURCES = frozenset(key.name for key in KEYS.values() if "container-resource" in key.where)
DOMAINS = frozenset(name.partition("/")[0] for name in _RESOURCES) - {"kubernetes.io"}
"""Domains whose resources are devices, misspelt ones included."""


class ContainerRequests(NamedTuple):
    """What one container asks for. `name` is None when it has none."""

    name: str | None
    init: bool
    requests: dict[str, Resolved]


def is_device(key: Any) -> bool:
    """Whether a resource key asks for (a part of) a device."""
    return type(key) is str and (key in _RESOURCES or key.partition("/")[0] in DOMAINS)


def container_requests(pod: dict[str, Any]) -> list[ContainerRequests]:
    """The device requests of each container that has some, after defaulting: a limit stands in for an absent request."""
    found = []
    for part in ("initContainers", "containers"):
        for index, container in enumerate(items(get(pod, "spec", part))):
            requests = _requests(container, ("pod", "spec", part, index, "resources"))
            if requests:
                name = get(container, "name")
                found.append(ContainerRequests(name if type(name) is str else None, part == "initContainers", requests))
    return found


def _requests(container: Any, place: tuple[Any, ...]) -> dict[str, Resolved]:
    found: dict[str, Resolved] = {}
    for part, source in (("requests", "request"), ("limits", "limit")):
        values = get(container, "resources", part)
        for key in values if type(values) is dict else ():
            if is_device(key) and key not in found and values[key] is not None:
                found[key] = _resolved(values[key], source, (*place, part, key))
    return dict(sorted(found.items()))


def _resolved(value: Any, source: str, place: tuple[Any, ...]) -> Resolved:
    if placeholder(value):
        return Resolved(UNKNOWN, source, place, note=f"{value} is still to be filled in")
    if quantity(value) is None:
        return Resolved(UNKNOWN, source, place, note=f"{value!r} is not a quantity")
    return Resolved(value, source, place)


def pod_sums(pod: dict[str, Any]) -> dict[str, str | None]:
    """Resource -> what the scheduler counts for the whole Pod, as a quantity; None when a container's value is not known."""
    keys = sorted({key for container in container_requests(pod) for key in container.requests})
    return {key: _sum(pod, key) for key in keys}


def _sum(pod: dict[str, Any], key: str) -> str | None:
    nanos = pod_sum(pod, key)
    if nanos is None or any(quantity(value) is None for value in pod_reads(pod, key)):
        return None
    return format_quantity(nanos, binary=is_bytes(key))


def is_bytes(key: str) -> bool:
    """Whether the resource counts bytes, which read better with a binary suffix."""
    known = KEYS.get(key)
    return known is not None and known.unit == "bytes"
