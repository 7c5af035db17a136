"""What can be said of an object without the table: which objects a List holds, and whether an unknown kind describes Pods."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from gpuvet.values.path import Path

_DEEPEST_LIST = 8
_MOST_NODES = 20_000
_DEEPEST_NODE = 64


def objects(value: Any, _path: Path = (), _depth: int = 0) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The objects of a document with their paths: the items of a `kind: List` (or `PodList` ...), lists within lists too; else itself.

    Items of a typed list may leave out `apiVersion` and `kind`, as the API server does; they are given those of the list.
    """
    if type(value) is not dict:
        return
    kind = value.get("kind")
    items = value.get("items")
    if type(kind) is not str or not kind.endswith("List") or type(items) is not list or _depth >= _DEEPEST_LIST or _named(value):
        yield _path, value
        return
    for i, item in enumerate(items):
        if type(item) is not dict:
            continue
        if kind != "List" and "kind" not in item:
            item = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from objects(item, (*_path, "items", i), _depth + 1)


def _named(value: dict[str, Any]) -> bool:
    """Whether it is an object of its own whose kind happens to end in `List`: those have a name, real lists have none."""
    metadata = value.get("metadata")
    return type(metadata) is dict and "name" in metadata


def pod_shape(obj: dict[str, Any]) -> Path | None:
    """Where an object describes a Pod, for kinds that the table does not know: the mapping whose `containers` are containers.

    Nearest to the root first. The work is bounded: beyond 20,000 nodes or 64 levels nothing is found.
    """
    queue: deque[tuple[Path, Any]] = deque([((), obj)])
    left = _MOST_NODES
    while queue and left > 0:
        left -= 1
        path, value = queue.popleft()
        if type(value) is dict:
            if _containers(value.get("containers")):
                return path
            if len(path) < _DEEPEST_NODE:
                nested = [(key, each) for key, each in value.items() if type(each) in (dict, list)]
                queue.extend(((*path, key), each) for key, each in nested if path or key != "status")
        elif len(path) < _DEEPEST_NODE:
            queue.extend(((*path, i), each) for i, each in enumerate(value) if type(each) in (dict, list))
    return None


def _containers(value: Any) -> bool:
    if type(value) is not list:
        return False
    for each in value:
        # A name alone is not enough: metrics and policies list container names too.
        if type(each) is dict and ("image" in each or "resources" in each or ("name" in each and not each.keys().isdisjoint(_PARTS))):
            return True
    return False


_PARTS = frozenset(("command", "args", "env", "envFrom", "ports", "volumeMounts", "securityContext"))
