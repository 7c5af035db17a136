"""What every constraint kind is: a Pydantic model of its parameters that lowers to checks."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse, parse_template


class Kind(BaseModel):
    """A constraint kind. `name` is its key in a rule; `exports` says why it cannot leave Python, or is None."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: ClassVar[str]
    shorthand: ClassVar[str | None] = None
    """The field that a bare text or list fills: `forbidden: EXPR` is `forbidden: {that: EXPR}`."""

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        """The checks. Raises ExpressionError when an expression is malformed."""
        raise NotImplementedError


KINDS: dict[str, type[Kind]] = {}
K = TypeVar("K", bound=type[Kind])


def kind(name: str, shorthand: str | None = None) -> Callable[[K], K]:
    """Registers a constraint kind under its name in rules."""

    def register(cls: K) -> K:
        cls.name = name
        cls.shorthand = shorthand
        KINDS[name] = cls
        return cls

    return register


def template(text: str, scope: Scope) -> ir.Template:
    """The text with its holes parsed."""
    return parse_template(text, scope)


def either(*parts: ir.Expr) -> ir.Expr:
    """Any of the parts."""
    return parts[0] if len(parts) == 1 else ir.Or(parts)


def both(*parts: ir.Expr) -> ir.Expr:
    """All of the parts."""
    return parts[0] if len(parts) == 1 else ir.And(parts)


def absent(expr: ir.Expr) -> ir.Expr:
    """Whether there is no value."""
    return ir.Not(ir.Present(expr))


def label_of(expr: ir.Expr) -> str:
    """What people call the value at a path: its last key."""
    match expr:
        case ir.Get(_, ir.Constant(value=str() as key)):
            return key
        case ir.Get(base, ir.Constant(value=int())) | ir.Get(base, ir.KeyOf()):
            return label_of(base)
        case ir.Effective(field):
            return field
        case ir.Name(name):
            return name
        case ir.QuantityOf(of) | ir.IntegerOf(of) | ir.VersionOf(of) | ir.Text(_, of) | ir.If(_, of):
            return label_of(of)
    return "the value"


def constant(value: Any) -> ir.Constant:
    """A JSON value as a constant; lists become tuples so that expressions can be compared."""
    return ir.Constant(tuple(value) if isinstance(value, list) else value)


__all__ = ["KINDS", "Kind", "absent", "both", "constant", "either", "kind", "label_of", "parse", "template"]
