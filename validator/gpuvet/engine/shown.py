"""What a subject shows: the keys, names and images that triggers speak of."""

from collections.abc import Set
from typing import Any

from gpuvet.values.total import get, items


def metadata_keys(metadata: Any) -> set[str]:
    """Keys of every map in the metadata, misspelt ones included."""
    keys: set[str] = set()
    if type(metadata) is dict:
        for value in metadata.values():
            if type(value) is dict:
                keys.update(value)
    return keys


_ORDINARY = frozenset(("cpu", "memory", "ephemeral-storage"))


def container_keys(container: Any) -> set[str]:
    """Resource keys but those of every container."""
    keys: set[str] = set()
    resources = container.get("resources") if type(container) is dict else None
    if type(resources) is dict:
        for value in resources.values():
            if type(value) is dict:
                keys.update(value)
        keys -= _ORDINARY
    return keys


def placement_keys(spec: Any) -> set[str]:
    """Keys of node selector, affinity, tolerations."""
    keys: set[str] = set()
    selector = spec.get("nodeSelector")
    if type(selector) is dict:
        keys.update(selector)
    for toleration in items(spec.get("tolerations")):
        key = get(toleration, "key")
        if type(key) is str:
            keys.add(key)
    affinity = spec.get("affinity")
    if affinity is not None:
        keys.update(named_keys(get(affinity, "nodeAffinity")))
    return keys


def named_keys(value: Any) -> set[str]:
    """The texts under `key` anywhere inside."""
    keys: set[str] = set()
    stack = [value]
    while stack:
        top = stack.pop()
        if type(top) is dict:
            key = top.get("key")
            if type(key) is str:
                keys.add(key)
            stack.extend(top.values())
        elif type(top) is list:
            stack.extend(top)
    return keys


def all_keys(value: Any, skip: Set[int]) -> set[str]:
    """Every key with a slash and every text under `key` anywhere inside, but not inside the objects whose id is in `skip`.

    `requests.` and `limits.` prefixes of quota keys are taken off.
    """
    keys: set[str] = set()
    stack = [value]
    while stack:
        top = stack.pop()
        if id(top) in skip:
            continue
        if type(top) is dict:
            for key, item in top.items():
                if "/" in key:
                    keys.add(key)
                    if key.startswith(("requests.", "limits.")):
                        keys.add(key.split(".", 1)[1])
                elif key == "key" and type(item) is str:
                    keys.add(item)
                if type(item) is dict or type(item) is list:
                    stack.append(item)
        elif type(top) is list:
            stack.extend(item for item in top if type(item) is dict or type(item) is list)
    return keys


def image_names(spec: Any) -> tuple[str, ...]:
    """The last path part of each container's image, without tag and digest."""
    names = []
    for container in items(get(spec, "containers")):
        image = get(container, "image")
        if type(image) is str:
            names.append(image.rpartition("/")[2].partition("@")[0].partition(":")[0])
    return tuple(names)
