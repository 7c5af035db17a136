"""What Rego says of an object, read: a text, or an item with `msg`, `path`, `severity`, `rule`."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuvet.values.finding import SEVERITIES, Severity
from gpuvet.values.path import Path, path_along, path_named

_SHARES: tuple[tuple[str, Severity], ...] = (("deny", "error"), ("violation", "error"), ("warn", "warning"), ("inform", "info"))
"""Names of sets -> the severity of what is in them; `deny_whatever` is one too, as conftest has it."""


class Said(NamedTuple):
    """One item."""

    message: str
    severity: Severity
    path: Path
    rule: str | None


class NotAnItemError(ValueError):
    """Something stands in a set that is no item; the text says what."""


def items_of(answer: Mapping[str, Any], value: Any) -> list[Said]:
    """The items in the sets of a package. `value` is the object that they are about. Raises NotAnItemError."""
    found = []
    for name in sorted(answer):
        for word, severity in _SHARES:
            if name == word or name.startswith(f"{word}_"):
                listed = answer[name]
                if not isinstance(listed, list):
                    raise NotAnItemError(f"{name} is no set of items")
                found += [item_of(item, severity, value) for item in listed]
    return found


def item_of(item: Any, severity: Severity, value: Any) -> Said:
    """One item; `severity` is that of its set. Raises NotAnItemError."""
    if isinstance(item, str):
        return Said(item, severity, (), None)
    if not isinstance(item, dict):
        raise NotAnItemError(f"an item is a text or has a msg, and not {_shown(item)}")
    message, given, rule = item.get("msg"), item.get("severity"), item.get("rule")
    if not isinstance(message, str) or not message:
        raise NotAnItemError(f"an item without msg: {_shown(item)}")
    if given is not None and given not in SEVERITIES:
        raise NotAnItemError(f"severity {_shown(given)} is none of {', '.join(SEVERITIES)}")
    if rule is not None and (not isinstance(rule, str) or not re.fullmatch(r"[\w./:-]{1,64}", rule)):
        raise NotAnItemError(f"rule {_shown(rule)} is no name of a rule")
    return Said(message, given or severity, path_of(item.get("at", item.get("path")), value), rule)


def path_of(given: Any, value: Any) -> Path:
    """The path that a list of keys, a text such as `spec.containers[main].resources` or a JSON pointer names in an object.

    It is followed as far as names of list items can be found; where nothing stands yet, it still leads there. Raises NotAnItemError.
    """
    if given is None:
        return ()
    if isinstance(given, list) and all(isinstance(key, str | int) and not isinstance(key, bool) for key in given):
        return path_along(given, value)
    if isinstance(given, str):
        return path_named(given, value)
    raise NotAnItemError(f"path {_shown(given)} is neither a text nor a list of keys")


def _shown(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 80 else words[:79] + "…"
