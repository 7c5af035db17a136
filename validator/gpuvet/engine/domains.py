"""A vendor's domain as a company renamed it: rules see the vendor's keys, paths and texts name the author's.

The operator's domain is an environment variable; its CRD group and the topology keys keep the vendor's domain.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpuvet.values.path import Path

CANONICAL = {"tensorFusion": "tensor-fusion.ai"}
"""Vocabulary -> the vendor's own domain."""

_FIXED = frozenset(("require-gpu-topology", "gpu-topology-max-tier", "gpu-topology-source"))
_QUOTA = ("requests.", "limits.")


class Domains(dict[str, str]):
    """The vendor's domain -> the author's, for those that are renamed. Mostly none is."""

    __slots__ = ("_own", "_spoken")

    def __init__(self, renamed: Mapping[str, str]) -> None:
        super().__init__({CANONICAL[name]: own for name, own in renamed.items() if name in CANONICAL and own != CANONICAL[name]})
        self._own = {own: vendor for vendor, own in self.items()}
        self._spoken = {vendor: re.compile(rf"(?<![\w.-]){re.escape(vendor)}/(?!v[0-9]|{'|'.join(sorted(_FIXED))})") for vendor in self}

    def key(self, key: str) -> str:
        """The vendor's name of an author's key."""
        for prefix in _QUOTA:
            if key.startswith(prefix):
                return prefix + self.key(key[len(prefix) :])
        domain, slash, name = key.partition("/")
        vendor = self._own.get(domain) if slash else None
        return key if vendor is None or name in _FIXED else f"{vendor}/{name}"

    def author(self, key: str) -> str:
        """The author's name of a vendor's key."""
        for prefix in _QUOTA:
            if key.startswith(prefix):
                return prefix + self.author(key[len(prefix) :])
        domain, slash, name = key.partition("/")
        own = self.get(domain) if slash else None
        return key if own is None or name in _FIXED else f"{own}/{name}"

    def canonical(self, value: Any) -> Any:
        """The value with the vendor's keys; the same object where there is nothing to rename."""
        if type(value) is list:
            items = [self.canonical(item) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if type(value) is not dict:
            return value
        changed = False
        out: dict[str, Any] = {}
        for key, item in value.items():
            new_key = self.key(key)
            new = self.key(item) if key == "key" and type(item) is str else self.canonical(item)
            changed = changed or new_key != key or new is not item
            if new_key == key and key in out:
                continue  # the author's own domain is the one that is read
            out[new_key] = new
        return out if changed else value

    def path(self, path: Path, root: Any) -> Path:
        """The author's path in `root` for a path in its canonical form."""
        out: list[str | int] = []
        value = root
        for key in path:
            if type(value) is dict and type(key) is str:
                own = self.author(key)
                if own in value:
                    key = own
                value = value.get(key)
            elif type(value) is list and type(key) is int and 0 <= key < len(value):
                value = value[key]
            else:
                value = None
            out.append(key)
        return tuple(out)

    def spoken(self, text: str) -> str:
        """A text for people, in the author's domain."""
        for vendor, pattern in self._spoken.items():
            text = pattern.sub(f"{self[vendor]}/", text)
        return text


NO_DOMAINS = Domains({})
