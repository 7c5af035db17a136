"""The condition language of rules: a subset of CEL's syntax with our total semantics, parsed to the IR.

    has(annotation('tensor-fusion.ai/workload')) && annotation('tensor-fusion.ai/generate-workload') == 'true'
    containers().exists(c, quantity(asked(c, 'koordinator.sh/gpu-core')) > 100)

Operators: || && ! == != < <= > >= in + - * / % ?: . [] ().  Macros on lists and maps: exists, all, filter, map; over a map the
variable is the value and key(v) its key. The functions are in `FUNCTIONS` and documented in docs/writing-rules.md.
"""

import re
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from gpuvet.language import ir
from gpuvet.values import total
from gpuvet.values.errors import ConfigError
from gpuvet.values.quantity import NANOS, parse_quantity
from gpuvet.values.version import parse_version


class ExpressionError(ConfigError):
    """An expression is malformed; `column` is 1-based within its text."""

    def __init__(self, message: str, column: int, text: str = "") -> None:
        super().__init__(message)
        self.column = column
        self.text = text


class Macro(NamedTuple):
    """A definition with parameters: `core(c): asked(c, 'koordinator.sh/gpu-core')`. What is given is put in before anything is judged."""

    parameters: tuple[str, ...]
    text: str


class Scope(NamedTuple):
    """What names mean: the subject, definitions (`let`, those with parameters apart), and bound variables.

    A definition may be wrong as long as nothing uses it. Inside a macro `definitions` holds what was given too, and `outer` the
    variables of those who call it: they may not be bound again.
    """

    subject: str
    definitions: Mapping[str, "ir.Expr | ExpressionError"]
    variables: frozenset[str]
    macros: Mapping[str, Macro] = {}
    outer: frozenset[str] = frozenset()
    folder: FilePath = FilePath()
    """Where paths in the rule start: the folder of its file."""

    def bind(self, name: str) -> "Scope":
        """The scope in which `name` is a variable."""
        return self._replace(variables=self.variables | {name})

    def define(self, head: str, text: str) -> "Scope":
        """The scope with one more definition, `name` or `name(parameter, ...)`. Raises ExpressionError."""
        shape = _HEAD.fullmatch(head)
        if shape is None:
            raise ExpressionError(f"{head!r} is neither a name nor a name with parameters", 1)
        if shape[2] is None:
            return self._replace(definitions={**self.definitions, head: _shared(head, parse(text, self))})
        macro = Macro(tuple(part.strip() for part in shape[2].split(",")), text)
        return self._replace(macros={**self.macros, shape[1]: macro})


_HEAD = re.compile(r"([A-Za-z_]\w*)(?:\((\s*[A-Za-z_]\w*\s*(?:,\s*[A-Za-z_]\w*\s*)*)\))?", re.ASCII)


_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<op>\|\||&&|==|!=|<=|>=|[-+*/%!<>?:.,()\[\]]))"""
)
_MACROS = ("exists", "all", "filter", "map")


def parse(text: str, scope: Scope) -> ir.Expr:
    """Raises ExpressionError when the text is not an expression or means nothing in `scope`."""
    parser = _Parser(text, scope)
    expr = parser.ternary(scope)
    if parser.kind is not None:
        raise parser.error(f"unexpected {parser.word!r}")
    return expr


def parse_template(text: str, scope: Scope) -> ir.Template:
    """Text with expressions in braces: `request {annotation('k')} is above {limit}`. `{{` and `}}` are literal braces."""
    parts: list[str | ir.Expr] = []
    literal = ""
    position = 0
    while position < len(text):
        char = text[position]
        if char in "{}" and text[position : position + 2] == char * 2:
            literal += char
            position += 2
        elif char == "{":
            end = _closing(text, position)
            if literal:
                parts.append(literal)
                literal = ""
            parts.append(parse(text[position + 1 : end], scope))
            position = end + 1
        else:
            literal += char
            position += 1
    if literal:
        parts.append(literal)
    return tuple(parts)


def _closing(text: str, start: int) -> int:
    quote = ""
    for position in range(start + 1, len(text)):
        char = text[position]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "}":
            return position
    raise ExpressionError("a { has no closing }", start + 1)


class _Parser:
    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.position = 0
        self.kind: str | None = None
        self.word = ""
        self.start = 0
        self.before = 0
        """Where the word before stands, which was taken."""
        self.advance()

    def error(self, message: str, start: int | None = None) -> ExpressionError:
        column = (self.start if start is None else start) + 1
        return ExpressionError(f"{message} at column {column} of {self.text!r}", column, self.text)

    def advance(self) -> str:
        word = self.word
        self.before = self.start
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :]
            self.start = self.position + len(rest) - len(rest.lstrip())
            self.kind, self.word = None, ""
            if rest.strip():
                raise self.error(f"cannot read {rest.strip()[:10]!r}")
            return word
        self.position = match.end()
        self.kind = match.lastgroup
        self.word = match[self.kind or 0]
        self.start = match.start(self.kind or 0)
        return word

    def take(self, *words: str) -> str | None:
        if self.kind in ("op", "name") and self.word in words:
            return self.advance()
        return None

    def expect(self, word: str) -> None:
        if self.take(word) is None:
            raise self.error(f"expected {word!r}")

    def ternary(self, scope: Scope) -> ir.Expr:
        test = self.either(scope)
        start = self.start
        if self.take("?"):
            then = self.ternary(scope)
            self.expect(":")
            otherwise = self.ternary(scope)
            return self.checked(lambda: choose(test, then, otherwise), start)
        return test

    def either(self, scope: Scope) -> ir.Expr:
        parts = [self.both(scope)]
        while self.take("||"):
            parts.append(self.both(scope))
        return parts[0] if len(parts) == 1 else ir.Or(tuple(parts))

    def both(self, scope: Scope) -> ir.Expr:
        parts = [self.relation(scope)]
        while self.take("&&"):
            parts.append(self.relation(scope))
        return parts[0] if len(parts) == 1 else ir.And(tuple(parts))

    def relation(self, scope: Scope) -> ir.Expr:
        left = self.sum(scope)
        start = self.start
        op = self.take("==", "!=", "<", "<=", ">", ">=", "in")
        if op is None:
            return left
        right = self.sum(scope)
        if op == "in":
            return ir.Member(left, right)
        if op in ("==", "!="):
            equal = self.checked(lambda: same(left, right), start)
            return equal if op == "==" else ir.Not(equal)
        return self.checked(lambda: compare(op, left, right), start)

    def sum(self, scope: Scope) -> ir.Expr:
        left = self.product(scope)
        while op := self.take("+", "-"):
            start = self.before
            right = self.product(scope)
            left = self.checked(lambda: arithmetic(op, left, right), start)  # noqa: B023
        return left

    def product(self, scope: Scope) -> ir.Expr:
        left = self.unary(scope)
        while op := self.take("*", "/", "%"):
            start = self.before
            right = self.unary(scope)
            left = self.checked(lambda: arithmetic(op, left, right), start)  # noqa: B023
        return left

    def checked(self, build: Callable[[], ir.Expr], start: int) -> ir.Expr:
        try:
            return build()
        except ValueError as error:
            raise self.error(str(error), start) from None

    def unary(self, scope: Scope) -> ir.Expr:
        if self.take("!"):
            return ir.Not(self.unary(scope))
        if self.take("-"):
            if self.kind != "number":
                raise self.error("expected a number")
            return ir.Constant(-int(self.advance()))
        return self.postfix(scope)

    def postfix(self, scope: Scope) -> ir.Expr:
        expr = self.primary(scope)
        while True:
            if self.take("["):
                key = self.ternary(scope)
                self.expect("]")
                expr = ir.Get(expr, key)
            elif self.take("."):
                if self.kind != "name":
                    raise self.error("expected a name")
                name = self.advance()
                start = self.before
                if not self.take("("):
                    expr = ir.Get(expr, ir.Constant(name))
                elif name in _MACROS:
                    expr = self.macro(name, expr, scope)
                else:
                    expr = self.call(name, [expr, *self.arguments(scope)], scope, start)
            else:
                return expr

    def macro(self, name: str, of: ir.Expr, scope: Scope) -> ir.Expr:
        if self.kind != "name":
            raise self.error("expected a variable")
        start = self.start
        var = self.variable(scope)
        self.expect(",")
        if var in scope.variables:
            raise self.error(f"the variable {var!r} is bound already", start)
        body = self.ternary(scope.bind(var))
        self.expect(")")
        return ir.Quantified(name, var, of, body)  # type: ignore[arg-type]

    def variable(self, scope: Scope) -> str:
        if self.word in scope.outer:
            raise self.error(f"{self.word!r} is a variable already where this definition is used")
        if taken_by_printers(self.word):
            raise self.error(f"a variable cannot be called {self.word!r}")
        return self.advance()

    def pod_sum(self, scope: Scope, start: int) -> ir.Expr:
        if scope.subject not in ("pod", "container"):
            raise self.error(f"there is no podSum in a rule on: {scope.subject}", start)
        key = self.ternary(scope)
        if not self.take(","):
            self.expect(")")
            return ir.PodSum(key)
        if self.kind != "name":
            raise self.error("expected a variable")
        var = self.variable(scope)
        self.expect(",")
        body = self.ternary(scope.bind(var))
        self.expect(")")
        return ir.PodSum(key, var, _as_quantity(body))

    def expand(self, name: str, given: list[ir.Expr], scope: Scope, start: int) -> ir.Expr:
        macro = scope.macros[name]
        if len(given) != len(macro.parameters):
            raise self.error(f"{name} takes {len(macro.parameters)} arguments, not {len(given)}", start)
        inner = scope._replace(
            definitions={**scope.definitions, **dict(zip(macro.parameters, given, strict=True))},
            variables=frozenset(),
            macros={other: text for other, text in scope.macros.items() if other != name},
            outer=scope.outer | scope.variables,
        )
        return parse(macro.text, inner)

    def arguments(self, scope: Scope) -> list[ir.Expr]:
        found: list[ir.Expr] = []
        while not self.take(")"):
            if found:
                self.expect(",")
            found.append(self.ternary(scope))
        return found

    def call(self, name: str, arguments: list[ir.Expr], scope: Scope, start: int) -> ir.Expr:
        function = FUNCTIONS.get(name)
        if function is None:
            raise self.error(f"there is no function {name!r}", start)
        try:
            signature(function).bind(scope, *arguments)
        except TypeError:
            raise self.error(f"{name} does not take {len(arguments)} argument{'' if len(arguments) == 1 else 's'}", start) from None
        if name in _OF_PODS and scope.subject not in ("pod", "container"):
            raise self.error(f"there is no {name} in a rule on: {scope.subject}", start)
        try:
            return function(scope, *arguments)
        except ValueError as error:
            raise self.error(f"{name}: {error}", start) from None

    def primary(self, scope: Scope) -> ir.Expr:
        if self.take("("):
            expr = self.ternary(scope)
            self.expect(")")
            return expr
        if self.take("["):
            items: list[Any] = []
            while not self.take("]"):
                if items:
                    self.expect(",")
                item = self.ternary(scope)
                if not isinstance(item, ir.Constant):
                    raise self.error("a list holds constants only")
                items.append(item.value)
            return ir.Constant(tuple(items))
        if self.kind == "text":
            return ir.Constant(_unquote(self.advance()))
        if self.kind == "number":
            return ir.Constant(int(self.advance()))
        if self.kind == "name":
            name = self.advance()
            start = self.before
            if self.take("("):
                if name == "key":
                    return self.key_of(scope)
                if name == "podSum":
                    return self.pod_sum(scope, start)
                if name in scope.macros:
                    return self.expand(name, self.arguments(scope), scope, start)
                return self.call(name, self.arguments(scope), scope, start)
            return self.name(name, scope, start)
        raise self.error("expected a value" if self.kind else "the expression ends too early")

    def key_of(self, scope: Scope) -> ir.Expr:
        name = self.advance()
        start = self.before
        self.expect(")")
        given = scope.definitions.get(name)
        if name not in scope.variables and isinstance(given, ir.Name):
            return ir.KeyOf(given.name)
        if name not in scope.variables:
            raise self.error(f"key() takes a bound variable, and {name!r} is none", start)
        return ir.KeyOf(name)

    def name(self, name: str, scope: Scope, start: int) -> ir.Expr:
        if name in scope.variables:
            return ir.Name(name)
        if name in ("true", "false", "null"):
            return ir.Constant({"true": True, "false": False, "null": None}[name])
        if name in ("self", "pod", "object", "template"):
            if name in ("pod", "template") and scope.subject not in ("pod", "container"):
                raise self.error(f"there is no {name} in a rule on: {scope.subject}", start)
            return ir.Root(name)  # type: ignore[arg-type]
        if name in scope.definitions:
            definition = scope.definitions[name]
            if isinstance(definition, ExpressionError):
                raise self.error(f"the definition of {name!r} is wrong here: {definition}", start)
            return definition
        raise self.error(f"unknown name {name!r}", start)


def taken_by_printers(name: str) -> bool:
    """Whether a variable of this name would hide what printed rules use: `s`, `p`, `out`, the operators."""
    return name in ("s", "p", "out") or hasattr(total, name)


_LARGE = 30
"""Operators in a definition from which on it is worked out once for all rules."""


def _shared(name: str, expr: ir.Expr) -> ir.Expr:
    if ir.type_of(expr) not in ("bool", "integer", "quantity") or ir.free(expr) or len(ir.parts(expr)) <= _LARGE:
        return expr
    # Each rule has its own parameters, and must be seen to ask for other objects itself.
    own = any(isinstance(part, ir.Param | ir.Find | ir.FindAll | ir.Effective | ir.Source) for part in ir.walk(expr))
    return expr if own else ir.Defined(name, expr)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]) if m[1] in "nt'\"\\" else m[0], text[1:-1])


def unify(left: ir.Expr, right: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    """Lets an integer constant stand beside a quantity, and a text constant beside a quantity or version."""
    types = {ir.type_of(left), ir.type_of(right)}
    if "quantity" in types and "version" not in types:
        return _as_quantity(left), _as_quantity(right)
    if "version" in types and not types & {"quantity", "integer"}:
        return _as_version(left), _as_version(right)
    return left, right


_NUMBERS = ("quantity", "integer", "version")


def choose(test: ir.Expr, then: ir.Expr, otherwise: ir.Expr) -> ir.Expr:
    """One of two values. Raises ValueError when they are different sorts of numbers."""
    if ir.ABSENT in (then, otherwise):
        return ir.If(test, then, otherwise)
    then, otherwise = unify(then, otherwise)
    numbers = {ir.type_of(then), ir.type_of(otherwise)} & set(_NUMBERS)
    if len(numbers) > 1:
        raise ValueError(f"both values must be of one type, not {' and '.join(sorted(numbers))}")
    return ir.If(test, then, otherwise)


def same(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Equality. Raises ValueError when the two can never be equal."""
    left, right = unify(left, right)
    numbers = {ir.type_of(left), ir.type_of(right)} & set(_NUMBERS)
    if len(numbers) > 1:
        raise ValueError(f"{' and '.join(sorted(numbers))} are never equal")
    if numbers and any(isinstance(side, ir.Constant) and isinstance(side.value, str) for side in (left, right)):
        raise ValueError(f"a text is never equal to {numbers.pop()}")
    return ir.Equal(left, right)


def _as_quantity(expr: ir.Expr) -> ir.Expr:
    match expr:
        case ir.Constant(value=bool() | None):
            return expr
        case ir.Constant(value=int() as number):
            return ir.Amount(number * NANOS)
        case ir.Constant(value=str() as text):
            nanos = parse_quantity(text)
            if nanos is None:
                raise ValueError(f"{text!r} is not a quantity")
            return ir.Amount(nanos)
    return expr if ir.type_of(expr) == "quantity" else ir.QuantityOf(expr)


def _as_version(expr: ir.Expr) -> ir.Expr:
    if isinstance(expr, ir.Constant) and isinstance(expr.value, str) and parse_version(expr.value) is None:
        raise ValueError(f"{expr.value!r} is not a version")
    return expr if ir.type_of(expr) == "version" else ir.VersionOf(expr)


def compare(op: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Raises ValueError when the two sides cannot be ordered."""
    left, right = unify(left, right)
    types = {ir.type_of(left), ir.type_of(right)}
    if len(types) > 1 or not types & {"quantity", "integer", "version"}:
        raise ValueError(f"{op} compares quantity(), int() or version() of something, not {' and '.join(sorted(types))}")
    return ir.Compare(op, left, right)  # type: ignore[arg-type]


def arithmetic(op: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Raises ValueError when the operands are no numbers, or quantities that are to be multiplied."""
    left, right = unify(left, right)
    types = {ir.type_of(left), ir.type_of(right)}
    if types == {"integer"} or (types == {"quantity"} and op in "+-"):
        return ir.Arithmetic(op, left, right)  # type: ignore[arg-type]
    raise ValueError(f"{op} takes int() values" + (" or quantity() values" if op in "+-" else ""))


def _path(base: ir.Expr, *keys: str) -> ir.Expr:
    for key in keys:
        base = ir.Get(base, ir.Constant(key))
    return base


def _metadata(scope: Scope) -> ir.Expr:
    if scope.subject == "metadata":
        return ir.Root("self")
    return _path(ir.Root("pod" if scope.subject in ("pod", "container") else "self"), "metadata")


def _annotation(scope: Scope, key: ir.Expr) -> ir.Expr:
    return ir.Get(_path(_metadata(scope), "annotations"), key)


def _label(scope: Scope, key: ir.Expr) -> ir.Expr:
    return ir.Get(_path(_metadata(scope), "labels"), key)


def _resource(which: str, first: ir.Expr, second: ir.Expr | None) -> ir.Expr:
    container, key = (ir.Root("self"), first) if second is None else (first, second)
    return ir.Get(_path(container, "resources", which), key)


def _limit(scope: Scope, first: ir.Expr, second: ir.Expr | None = None) -> ir.Expr:
    return _resource("limits", first, second)


def _request(scope: Scope, first: ir.Expr, second: ir.Expr | None = None) -> ir.Expr:
    return _resource("requests", first, second)


def _asked(scope: Scope, first: ir.Expr, second: ir.Expr | None = None) -> ir.Expr:
    limit = _limit(scope, first, second)
    return ir.If(ir.Present(limit), limit, _request(scope, first, second))


def _containers(scope: Scope) -> ir.Expr:
    spec = _path(ir.Root("pod"), "spec")
    return ir.Concat((_path(spec, "initContainers"), _path(spec, "containers")))


def _text_constant(expr: ir.Expr) -> str:
    if not isinstance(expr, ir.Constant) or not isinstance(expr.value, str):
        raise ValueError("takes a text in quotes")
    return expr.value


def _find(scope: Scope, kind: ir.Expr, name: ir.Expr, namespace: ir.Expr = ir.ABSENT) -> ir.Expr:
    return ir.Find(_text_constant(kind), name, namespace)


def _matches(scope: Scope, of: ir.Expr, pattern: ir.Expr) -> ir.Expr:
    if isinstance(pattern, ir.Constant):
        check_pattern(_text_constant(pattern))
    return ir.Matches(of, pattern)


_NOT_RE2 = re.compile(r"\(\?(?:[=!>(]|<[=!]|P=)|\\[1-9]|(?<!\\)[*+?}]\+")


def check_pattern(pattern: str) -> None:
    """Raises ValueError when the text is no regular expression, or one that RE2 (CEL, Rego) does not know."""
    try:
        re.compile(pattern, re.ASCII)
    except re.error as error:
        raise ValueError(f"bad regular expression: {error}") from None
    bare = re.sub(r"\\\\|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern)
    found = _NOT_RE2.search(bare)
    if found is not None:
        raise ValueError(f"bad regular expression: RE2 has no {found[0]!r} (look-around, back-reference, possessive)")


def _integer(scope: Scope, of: ir.Expr) -> ir.Expr:
    return ir.IntegerOf(of)


def _is(type_name: str) -> Callable[..., ir.Expr]:
    return lambda scope, of: ir.IsType(of, type_name)


def _text(op: str) -> Callable[..., ir.Expr]:
    if op in ("trim", "lower", "repaired"):
        return lambda scope, of: ir.Text(op, of)
    return lambda scope, of, argument: ir.Text(op, of, argument)


FUNCTIONS: dict[str, Callable[..., ir.Expr]] = {
    "has": lambda scope, of: ir.Present(of),
    "annotation": _annotation,
    "label": _label,
    "limit": _limit,
    "request": _request,
    "asked": _asked,
    "containers": _containers,
    "effective": lambda scope, name: ir.Effective(_text_constant(name)),
    "source": lambda scope, name: ir.Source(_text_constant(name)),
    "find": _find,
    "findAll": lambda scope, kind, *name: ir.FindAll(_text_constant(kind), *map(_text_constant, name)),
    "param": lambda scope, name: ir.Param(_text_constant(name)),
    "fact": lambda scope, name: ir.Fact(_text_constant(name)),
    "quantity": lambda scope, of: _as_quantity(of),
    "isQuantity": lambda scope, of: ir.Present(of if ir.type_of(of) == "quantity" else ir.QuantityOf(of)),
    "int": _integer,
    "isInt": lambda scope, of: ir.Present(_integer(scope, of)),
    "version": lambda scope, of: _as_version(of),
    "isVersion": lambda scope, of: ir.Present(of if ir.type_of(of) == "version" else ir.VersionOf(of)),
    "isText": _is("text"),
    "isNumber": _is("number"),
    "isBool": _is("bool"),
    "isMap": _is("map"),
    "isList": _is("list"),
    "matches": _matches,
    "size": lambda scope, of: ir.Size(of),
    "sum": lambda scope, of: ir.Fold("sum", of),
    "max": lambda scope, of: ir.Fold("max", of),
    "min": lambda scope, of: ir.Fold("min", of),
    "concat": lambda scope, *parts: ir.Concat(parts),
    "flatten": lambda scope, of: ir.Flatten(of),
    "repaired": _text("repaired"),
    "split": _text("split"),
    "trim": _text("trim"),
    "lower": _text("lower"),
    "startsWith": _text("startsWith"),
    "endsWith": _text("endsWith"),
    "contains": _text("contains"),
    "append": _text("append"),
    "first": lambda scope, of: ir.First(of),
    "nearest": lambda scope, of, among: ir.Nearest(of, among),
    "nearQuantity": lambda scope, of: ir.Python("near_quantity", (of,), "guesses what a malformed quantity was meant to be"),
    "json": lambda scope, of: ir.Parsed(of, "json"),
    "yaml": lambda scope, of: ir.Parsed(of, "yaml"),
    "either": lambda scope, left, right: choose(ir.Present(left), left, right),
}
_OF_PODS = ("containers", "effective", "source")
