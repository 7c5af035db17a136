"""Kinds that judge one value: `one_of`, `format`, `bounds`, `granularity`."""

from collections.abc import Sequence
from typing import Literal

from pydantic import model_validator

from gpuvet.compiled.keys import KEYS
from gpuvet.language import ir
from gpuvet.language.expression import Scope, check_pattern, parse
from gpuvet.language.kinds.base import Kind, both, either, kind, label_of
from gpuvet.values.quantity import NANOS, parse_quantity

_NAME_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
FORMATS: dict[str, tuple[str, str]] = {
    "dns-subdomain": (rf"{_NAME_LABEL}(\.{_NAME_LABEL})*", "a DNS subdomain: lower-case letters, digits, '-' and '.'"),
    "dns-label": (_NAME_LABEL, "a DNS label: lower-case letters, digits and '-'"),
    "integer": (r"[+-]?[0-9]+", "a whole number in decimal digits"),
    "boolean": (r"true|false", "exactly 'true' or 'false'"),
    "duration": (r"[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[+-]?0", "a Go duration such as 300s, 5m or 1h30m"),
    "label-value": (r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", "a label value: at most 63 letters, digits, '-', '_' and '.'"),
    "rfc3339": (
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
        r"([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])",
        "an RFC 3339 time such as 2025-03-15T10:00:00Z",
    ),
    "driver-version": (r"[0-9]+\.[0-9]+(\.[0-9]+)?", "a driver version of two or three numbers such as 470.161.03"),
}
"""Named formats: regular expression (whole match) and what it is called."""


@kind("one_of")
class OneOf(Kind):
    """`value`, when present, is one of `values`; without `values`, of those that the key itself has in the models."""

    value: str
    values: list[str] | None = None
    values_of: str | None = None

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        value = parse(self.value, scope)
        legal = ir.Constant(tuple(self._legal(value)))
        near = ir.Nearest(value, legal)
        return (
            ir.Check(
                when=both(ir.Present(value), ir.Not(ir.Member(value, legal))),
                at=value,
                message=(f"{label_of(value)} is ", value, ", which is none of the values it can have"),
                expected=("one of ", legal),
                fix=ir.FixPlan((f"write {label_of(value)} as ", near), False, (ir.EditPlan("set", value, near),)),
            ),
        )

    def _legal(self, value: ir.Expr) -> Sequence[str]:
        if self.values is not None:
            return self.values
        name = self.values_of or label_of(value)
        if name not in KEYS or not KEYS[name].values:
            raise ValueError(f"nothing is known of the values of {name!r}; give values")
        return KEYS[name].values


@kind("format")
class Format(Kind):
    """`value`, when present, has a form: a named `is`, or a regular `pattern` (whole match) that `means` something."""

    value: str
    is_: str | None = None
    pattern: str | None = None
    means: str | None = None
    max_length: int | None = None
    model_config = Kind.model_config | {"populate_by_name": True, "alias_generator": lambda name: name.rstrip("_")}

    @model_validator(mode="after")
    def _one_form(self) -> "Format":
        named = self.is_ in FORMATS or self.is_ in ("quantity", "version")
        if (self.pattern is None) == (self.is_ is None) or (self.is_ is not None and not named):
            raise ValueError(f"give either pattern or is: one of quantity, version, {', '.join(FORMATS)}")
        if self.pattern is not None:
            check_pattern(self.pattern)
        return self

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        value = parse(self.value, scope)
        means = self.means or (FORMATS[self.is_][1] if self.is_ in FORMATS else f"a {self.is_}")
        test: ir.Expr
        if self.is_ == "quantity":
            test = ir.Present(ir.QuantityOf(value))
            means = self.means or "a quantity such as 10, 500m or 4Gi"
        elif self.is_ == "version":
            test = ir.Present(ir.VersionOf(value))
        else:
            test = ir.Matches(value, ir.Constant(self.pattern if self.is_ is None else FORMATS[self.is_][0]))
        wrong: ir.Expr = ir.Not(test)
        if self.max_length is not None:
            wrong = either(wrong, ir.Compare(">", ir.Size(value), ir.Constant(self.max_length)))
            means += f", at most {self.max_length} characters"
        return (
            ir.Check(
                when=both(ir.Present(value), wrong),
                at=value,
                message=(f"{label_of(value)} is ", value, ", which is not what it must be"),
                expected=(means,),
            ),
        )


@kind("bounds")
class Bounds(Kind):
    """`value`, when present and a number, lies between bounds (quantity text or whole number; expressions in `of: integer`)."""

    value: str
    of: Literal["quantity", "integer"] = "quantity"
    minimum: str | int | None = None
    above: str | int | None = None
    maximum: str | int | None = None
    below: str | int | None = None

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        value = parse(self.value, scope)
        number = value if ir.type_of(value) == self.of else ir.QuantityOf(value) if self.of == "quantity" else ir.IntegerOf(value)
        checks = []
        for bound, op, words in (
            (self.minimum, "<", "at least"),
            (self.above, "<=", "more than"),
            (self.maximum, ">", "at most"),
            (self.below, ">=", "less than"),
        ):
            if bound is not None:
                checks.append(
                    ir.Check(
                        when=ir.Compare(op, number, self._bound(bound)),  # type: ignore[arg-type]
                        at=value,
                        message=(f"{label_of(value)} is ", value, f", and must be {words} {bound}"),
                        expected=(f"{words} {bound}",),
                    )
                )
        return tuple(checks)

    def _bound(self, bound: str | int) -> ir.Expr:
        nanos = parse_quantity(str(bound))
        if nanos is None or (self.of == "integer" and nanos % NANOS):
            raise ValueError(f"{bound!r} is not a {self.of}")
        return ir.Amount(nanos) if self.of == "quantity" else ir.Constant(nanos // NANOS)


@kind("granularity")
class Granularity(Kind):
    """A resource of a container (limit, else request), or any `value`, comes in steps from `minimum` to `maximum`; beyond that it
    may be a multiple of `or_multiple_of`. Zero, negative and fractional values belong to other rules."""

    resource: str | None = None
    value: str | None = None
    minimum: int = 1
    step: int = 1
    maximum: int | None = None
    or_multiple_of: int | None = None

    @model_validator(mode="after")
    def _one_value(self) -> "Granularity":
        if (self.resource is None) == (self.value is None):
            raise ValueError("give either resource or value")
        return self

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        value = parse(self.value or f"asked('{self.resource}')", scope)
        number = ir.IntegerOf(ir.QuantityOf(value))
        name = self.resource or label_of(value)
        low, high, step = (ir.Constant(n) for n in (self.minimum, self.maximum or 0, self.step))
        zero = ir.Constant(0)
        wrong: list[ir.Expr] = [ir.Compare("<", number, low)]
        if self.step > 1:
            wrong.append(ir.Compare(">", ir.Arithmetic("%", number, step), zero))
        expected = f"{self.minimum} to {self.maximum} in steps of {self.step}" if self.maximum else f"{self.minimum} or more"
        if self.maximum is not None:
            wrong.append(ir.Compare(">", number, high))
        broken = either(*wrong)
        nearest: ir.Expr = ir.Arithmetic("*", ir.Arithmetic("/", ir.Arithmetic("+", number, ir.Constant(self.step - 1)), step), step)
        if self.or_multiple_of is not None:
            many = ir.Constant(self.or_multiple_of)
            rest = ir.Arithmetic("%", number, many)
            broken = both(broken, either(ir.Compare(">", rest, zero), ir.Compare("<", number, low)))
            expected += f", or a multiple of {self.or_multiple_of}"
            up = ir.Arithmetic("*", ir.Arithmetic("/", ir.Arithmetic("+", number, ir.Constant(self.or_multiple_of - 1)), many), many)
            nearest = ir.If(ir.Compare("<", number, many), nearest, up)
        return (
            ir.Check(
                when=both(ir.Compare(">", number, zero), broken),
                at=value,
                message=(f"{name} is ", value, ", which it cannot be"),
                expected=(expected,),
                fix=ir.FixPlan(("round up to ", nearest), False, (ir.EditPlan("set", value, nearest),)),
            ),
        )
