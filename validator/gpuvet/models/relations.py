"""What the members of one object must be to each other: said once for the models, in CEL for CRDs, and, where it can, in JSON Schema.

Paths are dotted member names from the object that the relation belongs to. A relation about members that are absent holds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

from gpuvet.models.scalars import Amount

Measure = Literal["quantity", "number", "integer"]
"""How two members are compared: as quantities (text or integer), as decimal numbers in texts, or as integers."""

QUANTITY_LENGTH: Final = 64
"""Longest quantity that CRDs take, so that the API server can bound the cost of comparing two."""

NUMBER_LENGTH: Final = 32
"""Longest decimal number in a text that CRDs take, for the same reason."""


@dataclass(frozen=True, kw_only=True)
class Relation:
    """One relation. `cel` and `holds` say the same; `schema` is its JSON Schema, or None where that language cannot say it."""

    cel: str
    message: str
    holds: Callable[[Any], bool]
    at: str = ""
    """The member that the message is about."""
    schema: dict[str, Any] | None = None


def value_at(model: Any, path: str) -> Any:
    """The value of a member, by the names that manifests use; None when it or what is above it is absent."""
    for name in path.split("."):
        if not isinstance(model, BaseModel):
            return None
        field = next((own for own, info in type(model).model_fields.items() if info.alias == name or own == name), None)
        if field is None:
            field = next(own for own in type(model).model_fields if _camel_case(own) == name)
        model = getattr(model, field)
    return model


def _camel_case(name: str) -> str:
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in rest)


def _lacks(*paths: str) -> list[str]:
    """CEL: a member is not there, or what is above it is not."""
    whole = [".".join(parts[: end + 1]) for path in paths for parts in [path.split(".")] for end in range(len(parts))]
    return [f"!has(self.{path})" for path in dict.fromkeys(whole)]


def _number(path: str, measure: Measure) -> str:
    match measure:
        case "quantity":
            return f"quantity(string(self.{path}))"
        case "number":
            return f"double(self.{path})"
    return f"self.{path}"


def ordered(lesser: str, greater: str, measure: Measure, *, zero_is_unset: bool = False, optional: bool = True, hint: str = "") -> Relation:
    """`lesser` is not above `greater`; with `zero_is_unset` a `greater` of zero is no bound."""

    def holds(model: Any) -> bool:
        low, high = value_at(model, lesser), value_at(model, greater)
        if low is None or high is None:
            return True
        if isinstance(low, Amount) and isinstance(high, Amount):
            return (zero_is_unset and high.nanos == 0) or low.nanos <= high.nanos
        return bool(low <= high)

    less, more = _number(lesser, measure), _number(greater, measure)
    parts = _lacks(lesser, greater) if optional else []
    if measure == "quantity":
        parts += [f"sign({more}) == 0"] if zero_is_unset else []
        parts += [f"{less}.compareTo({more}) <= 0"]
    else:
        parts += [f"{less} <= {more}"]
    unset = "; 0 means no bound" if zero_is_unset else ""
    message = f"{lesser} is above {greater}: {hint or f'lower {lesser} or raise {greater}'}{unset}"
    return Relation(cel=" || ".join(parts), message=message, holds=holds, at=lesser)


def not_both_positive(one: str, other: str, message: str) -> Relation:
    """Two quantities of which one must be absent or zero."""

    def holds(model: Any) -> bool:
        return any(amount is None or amount.nanos == 0 for amount in (value_at(model, one), value_at(model, other)))

    zero = [f"sign({_number(path, 'quantity')}) == 0" for path in (one, other)]
    return Relation(cel=" || ".join([*_lacks(one, other), *zero]), message=message, holds=holds, at=one)


def at_most(path: str, maximum: int, message: str) -> Relation:
    """A quantity is not above a number."""

    def holds(model: Any) -> bool:
        amount = value_at(model, path)
        return amount is None or amount.nanos <= maximum * 10**9

    bounded = f"{_number(path, 'quantity')}.compareTo(quantity('{maximum}')) <= 0"
    return Relation(cel=" || ".join([*_lacks(path), bounded]), message=message, holds=holds, at=path)


def at_most_one(one: str, other: str, message: str) -> Relation:
    """Two members of which one at most is there."""
    return Relation(
        cel=f"!has(self.{one}) || !has(self.{other})",
        message=message,
        holds=lambda model: value_at(model, one) is None or value_at(model, other) is None,
        schema={"not": {"required": [one, other]}},
    )


def exactly_one(one: str, other: str, message: str) -> Relation:
    """Two members of which exactly one is there."""
    return Relation(
        cel=f"has(self.{one}) != has(self.{other})",
        message=message,
        holds=lambda model: (value_at(model, one) is None) != (value_at(model, other) is None),
        schema={"oneOf": [{"required": [one]}, {"required": [other]}]},
    )


def unique(path: str, members: tuple[str, ...], message: str) -> Relation:
    """No two items of a list agree in all `members`; an item that lacks one of them agrees with none."""

    def holds(model: Any) -> bool:
        keys = [tuple(value_at(item, name) for name in members) for item in value_at(model, path) or ()]
        whole = [key for key in keys if None not in key]
        return len(set(whole)) == len(whole)

    there = " && ".join(f"has(b.{name})" for name in members)
    lacks = " || ".join(f"!has(a.{name})" for name in members)
    same = " && ".join(f"a.{name} == b.{name}" for name in members)
    differ = f"self.{path}.all(a, {lacks} || self.{path}.exists_one(b, {there} && {same}))"
    return Relation(cel=" || ".join([*_lacks(path), differ]), message=message, holds=holds, at=path)
