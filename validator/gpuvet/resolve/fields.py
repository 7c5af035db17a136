"""Which source wins each field of a Pod's configuration. The order of sources per dialect and field is data in rules/facts/."""

from collections.abc import Callable
from typing import Any, NamedTuple

from gpuvet.values.total import Place

Find = Callable[..., Any]
"""(kind, name, namespace) -> value of the object, None when known absent, UNKNOWN."""


class Candidate(NamedTuple):
    """A value that a source offers."""

    value: Any
    source: str
    place: Place | None


class Resolved(NamedTuple):
    """The value that counts, where it comes from, and what it keeps from counting. A `default` has no place."""

    value: Any
    source: str
    place: Place | None
    shadowed: tuple[Candidate, ...] = ()


def resolve(pod: dict[str, Any], template: dict[str, Any], find: Find, platforms: dict[str, str]) -> dict[str, Resolved]:
    """Field -> what counts. Fields without any value are left out."""
    from gpuvet.resolve.tensor_fusion import resolve_tensor_fusion

    return resolve_tensor_fusion(pod, template, find, platforms)
