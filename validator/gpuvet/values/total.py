"""The operators of the rule language over plain JSON values. Every function is total: bad input gives None (absent) or False."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from gpuvet.values.quantity import NANOS, format_quantity, parse_quantity
from gpuvet.values.version import parse_version

Place = tuple[Any, ...]
"""A root name (`self`, `pod`, `object`, `template`, `effective`, `found`), then the path from there."""


class Unknown:
    """The type of `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
"""A value that the run cannot know, such as a field of a profile that is not among the inputs."""

_INT64 = 2**63
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)


def get(value: Any, *keys: Any) -> Any:
    """The value below, following keys of maps and indexes of lists."""
    for key in keys:
        kind = type(value)
        if kind is dict:
            value = value.get(key) if type(key) is str else UNKNOWN if key is UNKNOWN else None
        elif kind is list and type(key) is int and 0 <= key < len(value):
            value = value[key]
        else:
            # What a template engine will put in here may hold anything.
            return UNKNOWN if value is UNKNOWN or placeholder(value) else None
    return value


def items(value: Any) -> Iterable[Any]:
    """The items of a list or the values of a map."""
    kind = type(value)
    if kind is list or kind is tuple:
        return value  # type: ignore[no-any-return]
    return value.values() if kind is dict else ()


def pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """Key or index, and value."""
    kind = type(value)
    if kind is dict:
        return value.items()  # type: ignore[no-any-return]
    return enumerate(value) if kind is list or kind is tuple else ()


def located(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """Place and value of each item."""
    for key, item in pairs(value):
        yield (*place, key), item


def place_of(found: Iterable[tuple[Place, Any]], index: Any) -> Place:
    """Where the item of a list stands that was drawn from elsewhere; the subject itself when there is no such item."""
    places = [place for place, _ in found]
    return places[index] if type(index) is int and 0 <= index < len(places) else ("self",)


def placeholder(value: Any) -> bool:
    """Whether a text is still to be filled in by a template engine, so that its value is not known."""
    return type(value) is str and ("{{" in value or "${" in value or "$(" in value)


def equal(left: Any, right: Any) -> bool:
    """JSON equality: true is not 1, at any depth. A constant list is a tuple."""
    kind, other = type(left), type(right)
    if kind is list or kind is tuple:
        return (other is list or other is tuple) and len(left) == len(right) and all(map(equal, left, right))
    if kind is dict:
        return other is dict and left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return left == right and (kind is bool) == (other is bool)


def member(item: Any, of: Any) -> bool:
    """Whether an item stands in a list, or a key in a map."""
    kind = type(of)
    if kind is list or kind is tuple:
        return item in of if type(item) is str else any(equal(item, other) for other in of)
    return kind is dict and type(item) is str and item in of


def is_type(value: Any, name: str) -> bool:
    """Whether the value has the JSON type: text, number, integer, bool, map or list."""
    kind = type(value)
    return {
        "text": kind is str,
        "number": kind is int or kind is float,
        "integer": kind is int,
        "bool": kind is bool,
        "map": kind is dict,
        "list": kind is list,
    }[name]


class _Fitting(dict[str, bool]):
    """Text -> whether a pattern fits it; filled on demand. Manifests repeat their keys and values."""

    def __init__(self, pattern: str) -> None:
        self._fullmatch = re.compile(pattern, re.ASCII).fullmatch

    def __missing__(self, text: str) -> bool:
        fits = self._fullmatch(text) is not None
        if len(text) < 80:
            if len(self) >= 400:
                self.clear()
            self[text] = fits
        return fits


_fitting: dict[str, _Fitting] = {}


def matches(value: Any, pattern: Any) -> bool:
    """Whether the whole text matches; False for what is no text. Raises re.error for a bad pattern."""
    if type(value) is not str or type(pattern) is not str:
        return False
    fitting = _fitting.get(pattern)
    if fitting is None:
        fitting = _fitting[pattern] = _Fitting(pattern)
    return fitting[value]


@lru_cache(maxsize=4096)
def _quantity(text: str) -> int | None:
    return parse_quantity(text)


def quantity(value: Any) -> int | None:
    """Nanos of a quantity written as text or number."""
    kind = type(value)
    if kind is str:
        return _quantity(value) if len(value) < 100 else None
    if kind is int:
        return min(max(value, 1 - _INT64), _INT64 - 1) * NANOS  # type: ignore[no-any-return]
    return parse_quantity(repr(value)) if kind is float else None


def integer(value: Any) -> int | None:
    """An int64 written as decimal text or as a JSON integer."""
    kind = type(value)
    if kind is str:
        if _INTEGER.fullmatch(value) is None:
            return None
        value = int(value)
    elif kind is float and value.is_integer():
        value = int(value)
    elif kind is not int:
        return None
    return value if -_INT64 <= value < _INT64 else None


def whole(nanos: int | None) -> int | None:
    """A whole quantity as an int64."""
    if nanos is None or nanos % NANOS or not -_INT64 <= nanos // NANOS < _INT64:
        return None
    return nanos // NANOS


def version(value: Any) -> tuple[int, ...] | None:
    """The parts of a version written as text."""
    return parse_version(value) if type(value) is str else None


def lt(left: Any, right: Any) -> bool:
    """left < right, False when either is absent."""
    return left is not None and right is not None and left < right


def le(left: Any, right: Any) -> bool:
    """left <= right, False when either is absent."""
    return left is not None and right is not None and left <= right


def add(left: int | None, right: int | None) -> int | None:
    """The sum."""
    return None if left is None or right is None else left + right


def sub(left: int | None, right: int | None) -> int | None:
    """The difference."""
    return None if left is None or right is None else left - right


def mul(left: int | None, right: int | None) -> int | None:
    """The product of two int64; absent when it is none."""
    if left is None or right is None:
        return None
    product = left * right
    return product if -_INT64 <= product < _INT64 else None


def div(left: int | None, right: int | None) -> int | None:
    """The floored quotient."""
    return None if left is None or not right else left // right


def mod(left: int | None, right: int | None) -> int | None:
    """What the floored division leaves."""
    return None if left is None or not right else left % right


def total(values: Iterable[Any]) -> int:
    """The sum of the numbers that are there."""
    return sum(value for value in values if type(value) is int)


def largest(values: Iterable[Any]) -> Any:
    """The largest of the numbers (or versions) that are there."""
    return max(_numbers(values), default=None)


def smallest(values: Iterable[Any]) -> Any:
    """The smallest of the numbers (or versions) that are there."""
    return min(_numbers(values), default=None)


def _numbers(values: Iterable[Any]) -> list[Any]:
    """The numbers, else the versions: one type, so that they can be compared."""
    found = [value for value in values if type(value) is int or type(value) is tuple]
    return [value for value in found if type(value) is int] or found


def flatten(lists: Iterable[Any]) -> list[Any]:
    """The items of the lists, or the values of the maps."""
    return [item for inner in lists for item in items(inner)]


def size(value: Any) -> int:
    """Characters, items or entries; zero for anything else."""
    return len(value) if type(value) in (str, list, tuple, dict) else 0


def split(value: Any, separator: Any) -> list[str]:
    """The parts of a text; none of what is no text."""
    return value.split(separator) if type(value) is str and type(separator) is str and separator else []


def trim(value: Any) -> str | None:
    """The text without blanks around it."""
    return value.strip(" \t\n\r") if type(value) is str else None


def lower(value: Any) -> str | None:
    """The text with ASCII capitals made small."""
    if type(value) is not str:
        return None
    return value.lower() if value.isascii() else "".join(char.lower() if char.isascii() else char for char in value)


def starts(value: Any, prefix: Any) -> bool:
    """Whether a text starts so."""
    return type(value) is str and type(prefix) is str and value.startswith(prefix)


def ends(value: Any, suffix: Any) -> bool:
    """Whether a text ends so."""
    return type(value) is str and type(suffix) is str and value.endswith(suffix)


def contains(value: Any, part: Any) -> bool:
    """Whether a text holds another."""
    return type(value) is str and type(part) is str and part in value


def nearest(value: Any, among: Any) -> str | None:
    """The text of a list that was probably meant; a difference in letter case alone always counts as near."""
    if type(value) is not str:
        return None
    names = [name for name in (among if type(among) in (list, tuple, dict) else ()) if type(name) is str]
    folded = value.lower().replace("_", "-").strip()
    from difflib import get_close_matches

    small = {name.lower(): name for name in reversed(names)}
    close = [folded] if folded in small else get_close_matches(folded, list(small), n=1, cutoff=0.72)
    return small[close[0]] if close else None


_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*%?", re.ASCII)
_UNITS = {"k": "k", "kb": "k", "ki": "Ki", "kib": "Ki", "mb": "M", "mi": "Mi", "mib": "Mi", "gb": "G", "g": "G", "gi": "Gi", "gib": "Gi"}
_UNITS |= {"tb": "T", "t": "T", "ti": "Ti", "tib": "Ti", "": ""}


def repaired(value: Any) -> str | None:
    """The nearest legal whole quantity: `5 GB` gives 5G, `0.5` gives 1, `30%` gives 30; None for negative ones and what is none."""
    if type(value) is float or type(value) is int:
        value = str(value)
    if type(value) is not str:
        return None
    nanos = quantity(value)
    if nanos is None:
        shape = _NUMBER.fullmatch(value.strip())
        unit = shape and ({"M": "M", "m": "m"}.get(shape[2]) or _UNITS.get(shape[2].lower()))
        if shape is None or unit is None:
            return None
        value = shape[1].lstrip("+") + unit
        nanos = quantity(value)
    if nanos is None or nanos < 0:
        return None
    return str(value).strip() if nanos % NANOS == 0 else str(-(-nanos // NANOS))


def edit_distance(one: str, other: str) -> int:
    """How many letters must be put in, left out, replaced or swapped with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]


@lru_cache(maxsize=4096)
def _near_key(key: str, known: tuple[str, ...]) -> str | None:
    name = key.rpartition("/")[2].lower().replace("_", "-")
    best: tuple[int, str] | None = None
    for candidate in known:
        own = candidate.rpartition("/")[2]
        if abs(len(own) - len(name)) <= 2:
            distance = edit_distance(name, own)
            if distance <= 2 and distance * 3 <= len(own) and (best is None or distance < best[0]):
                best = (distance, candidate)
    return None if best is None else best[1]


def near_key(key: Any, known: Any) -> str | None:
    """The known key that differs from a key by at most two letters behind the domain."""
    return _near_key(key, tuple(known)) if type(key) is str and len(key) < 200 and type(known) in (list, tuple) else None


_SUFFIX = re.compile(r"([+-]?[0-9]*[.,]?[0-9]+) *([a-zA-Z]*)", re.ASCII)
_SUFFIXES = {unit.lower(): unit for unit in ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "k", "M", "G", "T", "P", "E")}


def near_quantity(value: Any) -> str | None:
    """The quantity that a malformed one was probably meant to be: `4GiB`, `4 gi` and `4 GIB` are 4Gi; None when none is plain."""
    shape = _SUFFIX.fullmatch(trim(value) or "")
    if shape is None:
        return None
    number, word = shape[1].replace(",", "."), shape[2].lower().removesuffix("b")
    unit = _SUFFIXES.get(word) if word else ""
    return None if unit is None or parse_quantity(number + unit) is None else number + unit


def say(*parts: Any) -> str:
    """Text with values in it, as a person would write them in YAML."""
    return "".join([part if type(part) is str else text(part) for part in parts])


def text(value: Any) -> str:
    """A value as a person would write it in YAML."""
    if type(value) is str:
        return value if value and value == value.strip() else _json(value)
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return ", ".join(text(item) for item in value)
        case dict():
            return _json(value)
        case _:
            return str(value)


def _json(value: Any) -> str:
    # Rare, and not worth its share of every start.
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def append(left: Any, right: Any) -> str | None:
    """Two texts or whole numbers as one text."""
    return f"{left}{right}" if type(left) in (str, int) and type(right) in (str, int) else None


def reason(subject: Any, reasons: list[list[Any] | None]) -> list[Any]:
    """Of several reasons each of which is enough (None: it does not hold), the first that is decided, else the first."""
    given = [values for values in reasons if values is not None]
    return next((values for values in given if not undecided(values, subject.fragment)), given[0] if given else [])


def undecided(values: list[Any], fragment: bool) -> bool:
    """Whether one of the values is not known or, in a fragment, not there."""
    for value in values:  # noqa: SIM110 - a generator costs as much as the work
        if value is UNKNOWN or (fragment if value is None else placeholder(value)):
            return True
    return False


def pod_sum(pod: Any, key: Any, regular: list[int | None] | None = None) -> int | None:
    """Nanos of a resource key over a Pod as the scheduler counts it, limits standing in for absent requests; None when no
    container names the key. Containers and restartable init containers (sidecars) and overhead add up; an ordinary init
    container counts with the sidecars before it, and the larger of both wins (k8s component-helpers PodRequests). `regular`: what
    the regular containers ask for, in place of what stands there."""
    spec = get(pod, "spec")
    seen = False
    running = 0
    starting = 0
    for container in items(get(spec, "initContainers")):
        nanos = _asked(container, key)
        seen = seen or nanos is not None
        if get(container, "restartPolicy") == "Always":
            running += nanos or 0
            starting = max(starting, running)
        else:
            starting = max(starting, running + (nanos or 0))
    for nanos in [_asked(container, key) for container in items(get(spec, "containers"))] if regular is None else regular:
        seen = seen or nanos is not None
        running += nanos or 0
    running += quantity(get(spec, "overhead", key)) or 0
    return max(running, starting) if seen else None


def _asked(container: Any, key: Any) -> int | None:
    request = get(container, "resources", "requests", key)
    return quantity(get(container, "resources", "limits", key) if request is None else request)


def pod_reads(pod: Any, key: Any) -> list[Any]:
    """The values that `pod_sum` read; one absent value when there is none. One that the API server refuses, malformed or a
    fraction of an extended resource, makes the sum unknown: to say so is for other rules."""
    spec = get(pod, "spec")
    parts = NANOS if type(key) is str and "/" in key and "kubernetes.io/" not in key else 1
    found = [
        value if placeholder(value) or ((nanos := quantity(value)) is not None and nanos % parts == 0) else UNKNOWN
        for name in ("initContainers", "containers")
        for container in items(get(spec, name))
        for which in ("limits", "requests")
        if (value := get(container, "resources", which, key)) is not None
    ]
    return found or [None]


def shown(nanos: Any) -> str:
    """A quantity for people."""
    return "nothing" if type(nanos) is not int else format_quantity(nanos)


def dotted(parts: Any) -> str:
    """A version for people."""
    return ".".join(str(part) for part in parts) if type(parts) is tuple else "nothing"
