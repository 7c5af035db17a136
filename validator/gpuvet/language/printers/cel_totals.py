"""The operators of the rule language as Kubernetes' CEL: text that is total over whatever stands in an object.

CEL has no functions of its own, so each operator is text with holes. Absent is `null`; what cannot be known is `b''`, which equals no JSON
value. A quantity is `[units, nanos]`, units rounded down and nanos from 0 to 999999999: exact, comparable, and free of two traps of the
Quantity type of the API server (`add` changes its operand when that is large, `isInteger` is false of 1Pi). A version is a text that sorts
as the version does. Only what Kubernetes 1.30 has is used. The reference is `gpuvet.values.total`; tests/differential holds both together.
"""

import json
import re
from typing import Any

from gpuvet.values.quantity import NANOS
from gpuvet.values.total import UNKNOWN
from gpuvet.values.version import parse_version

LONGEST = 1000
"""So many items of a list can be told from each other by number."""
DIGITS = "".join(f"{number:03d}," for number in range(LONGEST))
"""What `numbers` cuts its numbers from: Kubernetes 1.30 has no ranges."""

UNKNOWN_TEXT = "dyn(b'')"
PLACEHOLDER = r"'\\{\\{|[$][({]'"
_MOST, _LEAST = 9223372036854774784, -9223372036854774784
"""The doubles next to the ends of int64."""


def literal(value: Any) -> str:
    """A JSON value as CEL writes it; lists and maps of several types are of `dyn`."""
    if value is UNKNOWN:
        return UNKNOWN_TEXT
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int():
            return str(value) if -(2**63) <= value < 2**63 else f"{value}.0"
        case float():
            return repr(value)
        case dict():
            return "{" + ", ".join(f"{quoted(key)}: {_inside(item, value.values())}" for key, item in value.items()) + "}"
    return "[" + ", ".join(_inside(item, value) for item in value) + "]"


def _inside(item: Any, others: Any) -> str:
    same = {type(other) for other in others}
    return literal(item) if len(same) == 1 and same <= {str, bool, int} else f"dyn({literal(item)})"


def quoted(text: str) -> str:
    """A text."""
    return f"'{text}'" if text.isprintable() and not re.search(r"['\\]", text) else json.dumps(text, ensure_ascii=False)


def numbers(listed: str) -> str:
    """The indexes of a list."""
    return (
        f"variables.digits.substring(0, (size({listed}) < {LONGEST} ? size({listed}) : {LONGEST}) * 4)"
        ".split(',').filter(i, i != '').map(i, int(i))"
    )


def opaque(value: str) -> str:
    """Whether a value is not known: it says so itself, or it is a text that a template engine is still to fill in."""
    return f"({value} == b'' || type({value}) == string && {value}.matches({PLACEHOLDER}))"


def items(value: str) -> str:
    """What can be drawn from, as a list of values."""
    return f"(type({value}) == list ? {value} : type({value}) == map ? {value}.map(k, {value}[k]) : [])"


def keys(value: str) -> str:
    """The keys or indexes of what can be drawn from."""
    return f"(type({value}) == map ? {value}.map(k, dyn(k)) : type({value}) == list ? {numbers(value)} : [])"


def is_type(value: str, name: str) -> str:
    """Whether a value has a JSON type."""
    match name:
        case "text":
            return f"(type({value}) == string)"
        case "number":
            return f"(type({value}) == int || type({value}) == double)"
        case "integer":
            return f"(type({value}) == int || type({value}) == double && {value} == double(int({_bounded(value)})))"
    return f"(type({value}) == {name})"


def _bounded(value: str) -> str:
    return f"{value} > 9.2e18 || {value} < -9.2e18 ? 0.0 : {value}"


def integer(value: str) -> str:
    """An int64 written as decimal text or as a number."""
    text = (
        f"{value}.matches('^[+-]?[0-9]{{1,20}}$') && ({value}.matches('^[+-]?0*[0-9]{{1,18}}$') || "
        f"[{value}.find('[1-9][0-9]*$')].exists(d, size(d) == 19 && d <= ({value}.startsWith('-') ? "
        f"'9223372036854775808' : '9223372036854775807'))) ? dyn(int({value})) : null"
    )
    fits = f"{value} < 9223372036854775807.0 && {value} >= -9223372036854775808.0"
    whole = f"{fits} && double(int({value})) == {value} ? dyn(int({value})) : null"
    return f"(type({value}) == string ? ({text}) : type({value}) == int ? {value} : type({value}) == double ? ({whole}) : null)"


def quantity(value: str) -> str:
    """`[units, nanos]` of a quantity written as text or number."""
    fast = f"type({value}) == string && {value}.matches('^[0-9]{{1,18}}$') ? dyn([int({value}), 0])"
    text = f"type({value}) == string && size({value}) < 100 && !{value}.matches('[^ -~]') ? {value}.trim() : "
    text += f"type({value}) == int || type({value}) == double ? string({value}) : '!'"
    high = f"[quantity(q).asApproximateFloat()].map(f, f >= {_MOST}.0 ? {_MOST} : f <= {_LEAST}.0 ? {_LEAST} : int(f))[0]"
    low = "[quantity(q).sub(h).asApproximateFloat()].map(f, int(f) - (f < 0.0 ? 1 : 0))[0]"
    rest = f"int(quantity(q).sub(h).sub(l).asApproximateFloat() * {NANOS}.0 + 0.5)"
    exact = f"[{high}].map(h, [{low}].map(l, [{rest}].map(n, [h + (l + n / {NANOS}), n % {NANOS}])[0])[0])[0]"
    most = "9223372036854775807"
    capped = f"quantity(q).isGreaterThan(quantity('{most}')) ? '{most}' : quantity(q).isLessThan(quantity('-{most}')) ? '-{most}' : q"
    return f"({fast} : [{text}].filter(q, isQuantity(q)).map(q, {capped}).map(q, dyn({exact}))[?0].orValue(dyn(null)))"


def amount(nanos: int) -> tuple[int, int]:
    """`[units, nanos]` of nanos."""
    return nanos // NANOS, nanos % NANOS


def whole(value: str) -> str:
    """A whole quantity as an int64."""
    return f"({value} != null && {value}[1] == 0 ? {value}[0] : null)"


def quantities(op: str, left: str, right: str) -> str:
    """Order of two quantities that are there."""
    one, other = _units_nanos(left), _units_nanos(right)
    return f"({one[0]} {op[0]} {other[0]} || {one[0]} == {other[0]} && {one[1]} {op} {other[1]})"


def _units_nanos(value: str) -> tuple[str, str]:
    written = re.fullmatch(r"\[(-?[0-9]+), ([0-9]+)\]", value)
    return (written[1], written[2]) if written else (f"{value}[0]", f"{value}[1]")


def added(units: str, nanos: str, count: str = "") -> str:
    """`[units, nanos]` of lists of units and nanos (text of lists of ints): beyond int64 what is larger, or smaller, than anything."""
    high, low = f"{units}.map(u, u / {NANOS}).sum()", f"{units}.map(u, u % {NANOS}).sum()"
    carried = f"[[{high}, {low} + {nanos}.sum() / {NANOS}, {nanos}.sum() % {NANOS}]]"
    level = f".map(a, a[2] < 0 ? [a[0], a[1] - 1, a[2] + {NANOS}] : a).map(a, [a[0] + a[1] / {NANOS}, a[1] % {NANOS}, a[2]])"
    edge = f".map(a, a[1] < 0 ? [a[0] - 1, a[1] + {NANOS}, a[2]] : a)"
    end = (
        ".map(a, a[0] > 9223372036 || a[0] == 9223372036 && a[1] > 854775807 ? [9223372036854775807, 999999999] : "
        f"a[0] < -9223372036 ? [-9223372036854775808, 1] : [a[0] * {NANOS} + a[1], a[2]])[0]"
    )
    return f"{carried}{level}{edge}{end}"


def version(text: str) -> str:
    """A version as a text that sorts as versions do; null for what is none."""
    shape = r"'^v?[0-9]+([.][0-9]+)*([-+][0-9A-Za-z.+-]*)?$'"
    told = f"{text}.find('[0-9][0-9.]*').find('^[0-9.]*[1-9][0-9]*')"
    parts = "split('.').map(p, p.find('[1-9][0-9]*')).map(p, string(100 + size(p)) + p).join('')"
    return f"(type({text}) == string && size({text}) <= 100 && {text}.matches({shape}) ? dyn({told}.{parts}) : null)"


def version_key(text: str) -> str | None:
    """What `version` makes of a text that is known."""
    parts = parse_version(text)
    if parts is None:
        return None
    return "".join(f"{100 + len(str(part))}{part}" if part else "100" for part in parts)


def trim(value: str) -> str:
    """A text without blanks around it."""
    return f"(type({value}) == string ? dyn({value}.find('[^ \\\\t\\\\n\\\\r]((?s:.*)[^ \\\\t\\\\n\\\\r])?')) : null)"


def size(value: str) -> str:
    """Characters, items or entries."""
    return f"(type({value}) == string || type({value}) == list || type({value}) == map ? size({value}) : 0)"


def append(left: str, right: str) -> str:
    """Two texts or whole numbers as one text."""
    sayable = " && ".join(f"(type({value}) == string || type({value}) == int)" for value in (left, right))
    return f"({sayable} ? dyn(string({left}) + string({right})) : null)"


def limited(op: str, left: str, right: str) -> str:
    """+ or - of two int64; the nearest int64 where there is none."""
    exact = f"double({left}) {op} double({right})"
    return f"({exact} > 9.2e18 ? 9223372036854775807 : {exact} < -9.2e18 ? -9223372036854775808 : {left} {op} {right})"


def product(left: str, right: str) -> str:
    """The product of two int64; null when it is none. `9.2e18` and not 2^63: the difference is 0.03 % of what nobody asks for."""
    exact = f"double({left}) * double({right})"
    return f"({exact} > 9.2e18 || {exact} < -9.2e18 ? null : dyn({left} * {right}))"


def floored(op: str, left: str, right: str) -> str:
    """Floored / or % of two int64."""
    rest = f"{left} % {right} != 0 && ({left} % {right} < 0) != ({right} < 0)"
    found = f"{left} / {right} - ({rest} ? 1 : 0)" if op == "/" else f"{left} % {right} + ({rest} ? {right} : 0)"
    return f"({right} == 0 || {right} == -1 && {left} < -9223372036854775807 ? null : dyn({found}))"


def item_word(value: str, index: str) -> str:
    """How a path calls the item of a list."""
    named = f"type({value}) == map && type({value}[?'name'].orValue(dyn(null))) == string && {value}['name'] != ''"
    return f"'[' + ({named} ? {value}['name'] : string({index})) + ']'"


def key_word(key: str) -> str:
    """How a path calls the member of a map."""
    return f"({key}.matches('[./[]') ? '[' + {key} + ']' : '.' + {key})"


def key_text(key: Any) -> str:
    """The same of a key that is known."""
    return f"[{key}]" if not isinstance(key, str) or re.search(r"[./\[]", key) else f".{key}"
