"""The way to a value inside an object: a tuple of keys and indexes."""

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
