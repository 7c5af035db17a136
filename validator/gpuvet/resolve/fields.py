"""Which source wins each field of a Pod's configuration. The order of sources per dialect and field is data in rules/facts/."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from gpuvet.values.total import Place

Find = Callable[..., Any]
"""(kind, name, namespace) -> value of the object, None when known absent, UNKNOWN."""


class Known(NamedTuple):
    """An object among the inputs, and the place its paths start from."""

    namespace: str | None
    value: dict[str, Any]
    place: Place


Objects = Callable[[str], tuple[list[Known], bool]]
"""kind -> the known objects of the kind, and whether there are no others."""


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
    shown: Any = None
    """What people are told where `value` is UNKNOWN: what the current dialect makes of the sources that are known."""
    note: str = ""
    """Why it is not certain."""


class Inputs(NamedTuple):
    """What a resolver may look at."""

    pod: dict[str, Any]
    template: dict[str, Any]
    namespace: str | None
    find: Find
    objects: Objects
    platforms: dict[str, str]


class Resolver(Protocol):
    """The effective configuration of one Pod template, field by field: a field that no rule asks for costs nothing."""

    remembered: dict[Any, Any]
    """What others worked out from it, by a key of theirs."""

    def field(self, name: str) -> Resolved | None:
        """What counts; None when no source has a value. The value is UNKNOWN when it hangs on what the run does not know."""

    def hangs_on(self, name: str) -> frozenset[str]:
        """The kinds of objects of which those that the run does not know may change the field."""

    def fields(self) -> tuple[str, ...]:
        """All names."""
