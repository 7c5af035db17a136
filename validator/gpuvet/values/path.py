"""The way to a value inside an object: a tuple of keys and indexes."""

import re
from collections.abc import Iterable
from typing import Any

Path = tuple[str | int, ...]
"""Keys (`str`) and list indexes (`int`) from the root of an object."""


def step(value: Any, key: str | int) -> Any:
    """The member of a mapping or list under `key`, or None when there is none."""
    if type(value) is dict:
        return value.get(key)
    if type(value) is list and type(key) is int and 0 <= key < len(value):
        return value[key]
    return None


def path_text(path: Path, root: Any) -> str:
    """The path as people write it; a list item that has a name is called by it: `spec.containers[main].resources`.

    `root` is the object the path starts from; it is used only to find the names of list items.
    """
    out: list[str] = []
    value = root
    for key in path:
        value = step(value, key)
        if isinstance(key, int):
            name = value.get("name") if isinstance(value, dict) else None
            out.append(f"[{name}]" if isinstance(name, str) and name else f"[{key}]")
        elif "." in key or "/" in key or "[" in key:
            out.append(f"[{key}]")
        else:
            out.append(f".{key}" if out else key)
    return "".join(out)


_STEP = re.compile(r"\[([^\]]*)\]|\.?([^.\[\]]+)")


def path_named(text: str, root: Any) -> Path:
    """The path that `path_text` wrote, or a JSON pointer: followed as far as names of list items are found in `root`."""
    if text.startswith("/"):
        return path_along([part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")], root)
    return path_along((match[1] if match[1] is not None else match[2] for match in _STEP.finditer(text.removeprefix("$"))), root)


def path_along(keys: Iterable[Any], root: Any) -> Path:
    """The path along keys, of which those of list items may be their names. Where nothing stands yet, it still leads there."""
    path: list[str | int] = []
    value = root
    for key in keys:
        if isinstance(value, list):
            key = _index(key, value)
            if key is None:
                break
        elif isinstance(value, dict):
            key = str(key)
        path.append(key)
        value = step(value, key)
    return tuple(path)


def _index(key: Any, listed: list[Any]) -> int | None:
    """The place of a list item that is named by its name or number."""
    for place, item in enumerate(listed):
        if isinstance(item, dict) and item.get("name") == key:
            return place
    if isinstance(key, int):
        return key if key >= 0 else None
    return int(key) if key.isascii() and key.isdigit() else None
