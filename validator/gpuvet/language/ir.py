"""The narrow waist of the rule language: constraint kinds lower to these few operators, printers know only them.

Every operator is total. What is absent, malformed or out of range is the value *absent*; a comparison with it is false; nothing
raises. `null` is absent, as in the Kubernetes API. There are four types of number-like values: integers, quantities (exact, in
nanos), versions; they are compared only with their own type (`type_of`).
"""

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any
from typing import Literal as Choice


class Expr:
    """Any expression. What is asked of it again and again is worked out once."""

    __slots__ = ("_children", "_free", "_hash")
    _children: "list[Expr]"
    _free: frozenset[str]
    _hash: int


@dataclass(frozen=True, slots=True)
class Constant(Expr):
    """A JSON value written in the rule. Lists and maps are kept as tuples of (hashable) parts by `constant`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Amount(Expr):
    """A quantity written in the rule, in nanos."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Root(Expr):
    """Where a path starts: `self` (the subject), `pod` (metadata and spec of the Pod template), `object`, `template`."""

    name: Choice["self", "pod", "object", "template"]


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A variable bound by `each` or by a quantifier."""

    name: str


@dataclass(frozen=True, slots=True)
class KeyOf(Expr):
    """The key (or index) under which the variable's value stands in what it was drawn from."""

    name: str


@dataclass(frozen=True, slots=True)
class Get(Expr):
    """A member of a map, or an item of a list; absent when there is none."""

    base: Expr
    key: Expr


@dataclass(frozen=True, slots=True)
class Effective(Expr):
    """A field of the Pod's effective configuration (resolve/)."""

    field: str


@dataclass(frozen=True, slots=True)
class Source(Expr):
    """The name of the source that won an effective field: `annotation`, `profile`, `quota`, `default` ...; absent without value."""

    field: str


@dataclass(frozen=True, slots=True)
class Find(Expr):
    """Another object: absent when known not to exist, unknown when the run cannot tell. `namespace` may be absent."""

    kind: str
    name: Expr
    namespace: Expr


@dataclass(frozen=True, slots=True)
class FindAll(Expr):
    """All known objects of a kind, or those of one name in any namespace, as a list; unknown when the run knows none of the kind
    and it is not declared complete."""

    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Param(Expr):
    """A parameter of the rule, set by the bundle or the configuration."""

    name: str


@dataclass(frozen=True, slots=True)
class Fact(Expr):
    """A dated table of rules/facts/."""

    name: str


@dataclass(frozen=True, slots=True)
class Present(Expr):
    """Whether there is a value."""

    of: Expr


@dataclass(frozen=True, slots=True)
class IsType(Expr):
    """Whether the value has a JSON type: text, number, integer, bool, map, list."""

    of: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Equal(Expr):
    """JSON equality; absent equals only absent."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Member(Expr):
    """Whether a value stands in a list, or a text is a key of a map."""

    item: Expr
    of: Expr


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """Order of two integers, two quantities or two versions; false when either is absent."""

    op: Choice["<", "<=", ">", ">="]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Matches(Expr):
    """Whether the whole text matches a regular expression of the RE2 subset; false for what is no text."""

    of: Expr
    pattern: Expr


@dataclass(frozen=True, slots=True)
class Not(Expr):
    """The opposite."""

    of: Expr


@dataclass(frozen=True, slots=True)
class And(Expr):
    """All of them."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Expr):
    """Any of them."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class If(Expr):
    """One of two values."""

    test: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class QuantityOf(Expr):
    """Text or number as a quantity; absent when malformed."""

    of: Expr


@dataclass(frozen=True, slots=True)
class IntegerOf(Expr):
    """Text of decimal digits with an optional sign, or a JSON integer, or a whole quantity, within int64; else absent."""

    of: Expr


@dataclass(frozen=True, slots=True)
class VersionOf(Expr):
    """Text as a version; absent when malformed."""

    of: Expr


@dataclass(frozen=True, slots=True)
class Arithmetic(Expr):
    """Integers: + - * / % (floored, absent when divided by zero). Quantities: + -. Absent when either side is."""

    op: Choice["+", "-", "*", "/", "%"]
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Fold(Expr):
    """Sum, largest or smallest of a list of numbers; absent items do not count; the sum of none is zero, the others absent."""

    op: Choice["sum", "max", "min"]
    of: Expr


@dataclass(frozen=True, slots=True)
class PodSum(Expr):
    """What the scheduler counts for a resource key over the whole Pod, as a quantity (k8s component-helpers PodRequests).

    With a `body`, each regular container, bound to `var`, asks for that instead: what a mutating webhook makes of it.
    """

    key: Expr
    var: str = ""
    body: Expr | None = None


@dataclass(frozen=True, slots=True)
class Quantified(Expr):
    """exists, all, filter or map over the items of a list or the entries of a map; `var` is bound to the value."""

    op: Choice["exists", "all", "filter", "map"]
    var: str
    of: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class First(Expr):
    """A list of the first item of a list; empty when there is none."""

    of: Expr


@dataclass(frozen=True, slots=True)
class Concat(Expr):
    """Several lists (or maps' values) after each other."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Flatten(Expr):
    """The items of the lists (or maps) of a list, each in its own place."""

    of: Expr


@dataclass(frozen=True, slots=True)
class Size(Expr):
    """Characters of a text, items of a list or entries of a map; zero for anything else."""

    of: Expr


@dataclass(frozen=True, slots=True)
class Text(Expr):
    """split (by a text: a list), trim, lower, startsWith, endsWith, contains; absent or false for what is no text.

    repaired (for messages and fixes only): the nearest legal whole quantity; absent when none is near.
    append: two texts or whole numbers as one text.
    """

    op: str
    of: Expr
    argument: Expr | None = None


@dataclass(frozen=True, slots=True)
class Nearest(Expr):
    """The member of a list that a text was probably meant to be, for messages and fixes; absent when none is near."""

    of: Expr
    among: Expr


@dataclass(frozen=True, slots=True)
class Parsed(Expr):
    """The value of JSON or YAML inside a text; absent when it does not parse. Offline only."""

    of: Expr
    format: Choice["json", "yaml"]


@dataclass(frozen=True, slots=True)
class Defined(Expr):
    """A definition of the rule file that is worth working out once for all rules: what a VAP calls a variable."""

    name: str
    of: Expr


@dataclass(frozen=True, slots=True)
class Python(Expr):
    """A finding list computed by code that no small expression can replace (graph search, text of the file). Offline only."""

    function: str
    arguments: tuple[Expr, ...]
    reason: str
    placed: bool = False
    """The function takes the place of its first argument before it, and returns places and values."""


Template = tuple[str | Expr, ...]
"""Text with holes."""


@dataclass(frozen=True, slots=True)
class EditPlan:
    """`set` a scalar, `rename` a key, or `quote` a scalar at the place of `at`."""

    op: Choice["set", "rename", "quote"]
    at: Expr
    value: Expr = Constant(None)


@dataclass(frozen=True, slots=True)
class FixPlan:
    """What a fix will say and change."""

    title: Template
    safe: bool = False
    edits: tuple[EditPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One way to break a rule: for each binding, when `when` holds, a finding stands at `at`."""

    when: Expr
    at: Expr
    message: Template
    each: tuple[tuple[str, Expr], ...] = ()
    expected: Template | None = None
    actual: Expr | None = None
    related: tuple[tuple[Expr, Template], ...] = ()
    fix: FixPlan | None = None
    on_key: bool = field(default=False)
    """Point at the key instead of its value."""


ABSENT = Constant(None)


@cache
def _slots(kind: type[Expr]) -> tuple[str, ...]:
    return tuple(slot.name for slot in fields(kind))  # type: ignore[arg-type]


def members(expr: Expr) -> list[Any]:
    """Everything directly inside, in order: expressions and other values; tuples are opened."""
    found: list[Any] = []
    for name in _slots(type(expr)):  # type: ignore[arg-type]
        value = getattr(expr, name)
        if type(value) is tuple:
            found.extend(value)
        else:
            found.append(value)
    return found


def children(expr: Expr) -> list[Expr]:
    """The expressions directly inside."""
    try:
        return expr._children
    except AttributeError:
        object.__setattr__(expr, "_children", [part for part in members(expr) if isinstance(part, Expr)])
        return expr._children


def walk(expr: Expr) -> list[Expr]:
    """The expression and everything inside it."""
    found, left = [], [expr]
    while left:
        each = left.pop()
        found.append(each)
        left.extend(reversed(children(each)))
    return found


def free(expr: Expr) -> frozenset[str]:
    """Variables that the expression does not bind itself."""
    try:
        return expr._free
    except AttributeError:
        object.__setattr__(expr, "_free", _free_of(expr))
        return expr._free


def _free_of(expr: Expr) -> frozenset[str]:
    match expr:
        case Name(name) | KeyOf(name):
            return frozenset((name,))
        case Quantified(_, var, of, body):
            return free(of) | (free(body) - {var})
        case PodSum(key, var, Expr() as body):
            return free(key) | (free(body) - {var})
    return frozenset().union(*(free(child) for child in children(expr)))


def _hash_once(kind: type[Expr]) -> None:
    """Expressions are deep, and sets of them are what printers work with."""
    work_out = kind.__hash__

    def hashed(self: Expr) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", work_out(self))
            return self._hash

    kind.__hash__ = hashed  # type: ignore[method-assign, assignment]


for _kind in Expr.__subclasses__():
    _hash_once(_kind)


def parts(expr: Expr) -> list[Expr]:
    """The expression and everything inside it that is written out where it stands: not what definitions hold."""
    found, left = [], [expr]
    while left:
        each = left.pop()
        found.append(each)
        if not isinstance(each, Defined):
            left.extend(reversed(children(each)))
    return found


def placed_by(expr: Expr) -> Expr | None:
    """What an expression is worked out from, where findings about it point to; None when it stands in no place of that kind."""
    match expr:
        case (
            Defined(_, of)
            | QuantityOf(of)
            | IntegerOf(of)
            | VersionOf(of)
            | Present(of)
            | Text(_, of)
            | Parsed(of)
            | Nearest(of)
            | First(of)
            | Size(of)
            | Flatten(of)
            | Fold(_, of)
            | Arithmetic(_, of)
            | Quantified(_, _, of)
        ):
            return of
        case Concat(parts) if parts:
            return parts[0]
    return None


def type_of(expr: Expr) -> str:
    """`quantity`, `integer`, `version`, `bool`, `list` or `any`."""
    match expr:
        case Amount() | QuantityOf() | PodSum():
            return "quantity"
        case IntegerOf() | Size():
            return "integer"
        case VersionOf():
            return "version"
        case Constant(value=bool()):
            return "bool"
        case Constant(value=int()):
            return "integer"
        case Present() | IsType() | Equal() | Member() | Compare() | Matches() | Not() | And() | Or():
            return "bool"
        case Quantified(op="exists" | "all"):
            return "bool"
        case Quantified(op="map", body=body):
            return type_of(body)
        case Quantified(of=of) | Fold(of=of) | First(of=of) | Defined(of=of):
            return type_of(of)
        case Arithmetic(left=left):
            return type_of(left)
        case If(then=then, otherwise=otherwise):
            types = {type_of(value) for value in (then, otherwise) if value != ABSENT}
            return types.pop() if len(types) == 1 else "any"
        case Text(op="startsWith" | "endsWith" | "contains"):
            return "bool"
        case Flatten(of=of):
            return type_of(of)
        case Concat(parts=parts) if parts:
            return type_of(parts[0])
    return "any"
