"""Prints checks as Rego over the hand-written `data.gpuvet.lib` (policies/rego/lib.rego).

A printed rule adds to the partial set `found`: for each subject that shows one of its keys, each binding, and each condition that
holds, unless the violation rests on what is not known. Every expression has a value: nothing in a rule body is ever undefined.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gpuvet.language import ir
from gpuvet.language.printers.python import _authored, _compared, _is_table, _loops, _parts, hoist
from gpuvet.values.total import UNKNOWN, equal

_TEXT = {
    "split": "parts_of",
    "trim": "trimmed",
    "lower": "lowered",
    "startsWith": "starts",
    "endsWith": "ends",
    "contains": "holds",
    "append": "append",
}
_ARITHMETIC = {"+": "add", "-": "sub", "*": "times", "/": "floored", "%": "mod"}
_FOLD = {"sum": "total", "max": "largest", "min": "smallest"}
_TAKEN = frozenset(
    """
    as contains default else every false if import in input data not null package set some true with lib facts s found here words
    rules deny warn inform abs all any ceil concat count endswith floor format_int indexof lower max min print product replace
    round sort split sprintf startswith substring sum to_number trim trim_left trim_right union upper walk object array json
    regex numbers time net strings bits units io http crypto graph uuid semver base64 hex yaml opa rand glob graphql rego trace
    intersection
    """.split()  # noqa: SIM905
)
"""Words that mean something else in Rego."""

Lower = Callable[[str], Any]
"""Effective field -> its lowered form (resolve/lowered.py): value, source and place."""


class Printed(NamedTuple):
    """A rule, and the functions that it needs besides: (name, source)."""

    text: str
    functions: dict[str, str]


def print_rule(name: str, title: str, checks: tuple[ir.Check, ...], subject: str, trigger: list[str], kinds: tuple[str, ...],
               parameters: Mapping[str, Any], lower: Lower) -> Printed:  # fmt: skip
    """The Rego of one rule. `trigger`: tokens of which the subject must show one."""
    functions: dict[str, str] = {}
    bodies = []
    for check in checks:
        printer = Printer(parameters, lower, functions)
        lines = [f"some s in lib.{subject}_subjects", *_guards(trigger, kinds), *printer.check(check)]
        lines = _used([*lines, f"here := {printer.at}", f"words := {printer.message}"], "here words")
        head = f"found contains lib.finding(s, {quoted(name)}, here, words) if {{"
        bodies.append("\n".join([head, *(f"\t{line}" for line in lines), "}"]))
    return Printed(f"# {name}: {title}\n" + "\n\n".join(bodies) + "\n", functions)


def _guards(trigger: list[str], kinds: tuple[str, ...]) -> list[str]:
    guards = []
    if len(trigger) == 1:
        guards.append(f"{quoted(trigger[0])} in s.tokens")
    else:
        guards.append("s.tokens & {" + ", ".join(quoted(token) for token in trigger) + "} != set()")
    if len(kinds) == 1:
        guards.append(f"s.kind == {quoted(kinds[0])}")
    elif kinds:
        guards.append("s.kind in {" + ", ".join(quoted(kind) for kind in kinds) + "}")
    return guards


_ASSIGNED = re.compile(r"([A-Za-z_]\w*) := ")
_DRAWN = re.compile(r"some ([A-Za-z_]\w*), ([A-Za-z_]\w*) in ")


def _used(lines: list[str], head: str) -> list[str]:
    """The lines without names that nothing reads: OPA's strict mode refuses them."""
    kept: list[str] = []
    rest = head
    for line in reversed(lines):
        assigned = _ASSIGNED.match(line)
        if assigned and not _reads(rest, assigned[1]):
            continue
        kept.append(_drawn(line, rest))
        rest += "\n" + kept[-1]
    return kept[::-1]


def _drawn(line: str, rest: str) -> str:
    """`some x_key, x in ...` without the names that nothing reads behind it."""
    drawn = _DRAWN.match(line)
    if drawn is None:
        return line
    key, value = drawn[1] if _reads(rest, drawn[1]) else "", drawn[2] if _reads(rest, drawn[2]) else "_"
    return f"some {key + ', ' if key else ''}{value} in " + line[drawn.end() :]


def _reads(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\"]){name}(?!\w)", text) is not None


def quoted(value: Any) -> str:
    """A JSON value as Rego writes it."""
    if value is UNKNOWN:
        return "lib.unknown"
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return {key: _plain(part) for key, part in value.items()} if isinstance(value, dict) else value


_DIGESTS: dict[int, tuple[ir.Expr, str]] = {}
"""By the identity of an expression, which is kept: to hash or print a deep one again and again takes seconds."""


def named(name: str, expr: ir.Expr) -> str:
    """The name of a function that holds the expression."""
    return f"{re.sub(r'[^A-Za-z0-9]', '_', name)}_{_digest(expr)}"


def _digest(expr: ir.Expr) -> str:
    known = _DIGESTS.get(id(expr))
    if known is None:
        parts = [_digest(part) if isinstance(part, ir.Expr) else repr(part) for part in ir.members(expr)]
        text = "\0".join((type(expr).__name__, *parts))
        known = _DIGESTS[id(expr)] = (expr, hashlib.blake2b(text.encode(), digest_size=4).hexdigest())
    return known[1]


class _Place(NamedTuple):
    """A place as Rego: an array whose first items are written out, or any code that yields an array."""

    code: str
    literal: tuple[str, ...] | None = None

    @staticmethod
    def of(*items: str) -> "_Place":
        return _Place("[" + ", ".join(items) + "]", items)

    def below(self, keys: list[str]) -> "_Place":
        if self.literal is not None:
            return _Place.of(*self.literal, *keys)
        return _Place(f"array.concat({self.code}, [{', '.join(keys)}])")


class _Bound(NamedTuple):
    """What is known of a variable: how its key and its place are written."""

    key: str
    place: _Place


class Printer:
    """Prints one check."""

    def __init__(self, parameters: Mapping[str, Any], lower: Lower, functions: dict[str, str]) -> None:
        self.parameters = parameters
        self.lower = lower
        self.functions = functions
        self.bound: dict[str, _Bound] = {}
        self.named: dict[ir.Expr, str] = {}
        self.at = ""
        self.message = ""

    # ---- a check ----

    def check(self, check: ir.Check) -> Iterator[str]:
        """The lines of the body; afterwards `at` and `message` are set."""
        check = ir.Check(when=check.when, at=check.at, message=check.message, each=check.each)
        plan = hoist(check)
        bound: set[str] = set()
        tests = _parts(check.when)
        for var, of in (*check.each, ("", None)):
            for test in [test for test in tests if ir.free(test) <= bound]:
                tests.remove(test)
                if test != ir.Constant(True):
                    yield from self.definitions(plan, [test])
                    yield from self.statements(test)
            if of is not None:
                yield from self.definitions(plan, [of])
                yield self.loop(var, of)
                bound.add(var)
        yield from self.definitions(plan, [check.at, *(part for part in check.message if isinstance(part, ir.Expr))])
        self.at = self.place(check.at).code
        self.message = self.template(check.message)
        because = self.because(check.when, True)
        if because != "[]":
            yield f"not lib.undecided(s, {because})"

    def definitions(self, plan: list[tuple[ir.Expr, str]], users: list[ir.Expr]) -> Iterator[str]:
        """Assigns what is used more than once, where it is first needed."""
        needed = {part for user in users for part in ir.parts(user)}
        for expr, name in plan:
            # A loop inside may have a variable of the same name.
            if expr not in self.named and expr in needed and ir.free(expr) <= self.bound.keys():
                code = self.value(expr)
                self.named[expr] = word(name)
                yield f"{word(name)} := {code}"

    def loop(self, var: str, of: ir.Expr) -> str:
        """`some` that binds a variable, its key and its place."""
        name = word(var)
        if not _collected(of):
            self.bound[var] = _Bound(f"{name}_key", self.place(of).below([f"{name}_key"]))
            return f"some {name}_key, {name} in lib.items({self.value(of)})"
        located = self.located(of)
        self.bound[var] = _Bound(f"lib.last({name}_at)", _Place(f"{name}_at"))
        return f"some [{name}_at, {name}] in {located}"

    def statements(self, expr: ir.Expr) -> list[str]:
        """Body lines that hold when the expression is true."""
        if expr in self.named:
            return [self.truth(expr)]
        if (known := self.known(expr)) is not None:
            return [] if known else ["false"]
        match expr:
            case ir.And(parts):
                return [line for part in parts for line in self.statements(part)]
            case ir.Not(of) if not isinstance(of, ir.Constant):
                match of:
                    case ir.Equal(left, right) if of not in self.named:
                        return [self.compared(left, right, "!=")]
                    case ir.Present(inner) if of not in self.named:
                        return [self.compared(inner, ir.ABSENT, "==")]
                    case ir.Quantified(op="exists" | "all") if of not in self.named:
                        return [f"{self.hits(of)} {'==' if of.op == 'exists' else '!='} []"]
                return [f"{self.truth(of)} == false"] if self.plain(of) else [f"lib.no({self.truth(of)})"]
            case ir.Present(of):
                return [self.compared(of, ir.ABSENT, "!=")]
            case ir.Equal(left, right):
                return [self.compared(left, right, "==")]
            case ir.Quantified(op="exists"):
                return [f"{self.hits(expr)} != []"]
            case ir.Quantified(op="all"):
                return [f"{self.hits(expr)} == []"]
            case ir.Member(item, ir.Constant() as of) if self.plain(item):
                return [f"{self.value(item)} in {self.value(of)}"]
        return [self.truth(expr)]

    def hits(self, expr: ir.Quantified) -> str:
        """What makes an `exists` true, or an `all` false."""
        return self.comprehension("true", expr.var, expr.of, expr.body if expr.op == "exists" else ir.Not(expr.body))

    def comprehension(self, head: str | ir.Expr, var: str, of: ir.Expr, test: ir.Expr | None, whole: bool = False) -> str:
        """`[head | some var in of; test]`; with `whole`, items are [place, head] and the place of `head` is worked out too."""
        before = dict(self.bound)
        loop = self.loop(var, of)
        tests = [] if test is None else self.statements(test)
        if isinstance(head, ir.Expr):
            place = self.bound[var].place if isinstance(head, ir.Constant) else self.place(head)
            head = f"[{place.code}, {self.value(head)}]" if whole else self.value(head)
        self.bound = before
        return self.written(head, loop, tests, var, of)

    def written(self, head: str, loop: str, tests: list[str], var: str, of: ir.Expr) -> str:
        rest = "; ".join([head, *tests])
        name = word(var)
        if loop.startswith("some [") and not _reads(rest, f"{name}_at"):
            loop = f"some {name} in {self.sequence(of)}"
        loop = _drawn(loop, rest)
        if loop.startswith(f"some {name} in ") and not _reads(rest, name):
            loop = "some _ in " + loop.removeprefix(f"some {name} in ")
        elif loop.startswith("some [") and not _reads(rest, name):
            loop = loop.replace(f"some [{name}_at, {name}]", f"some [{name}_at, _]", 1)
        return f"[{head} | {'; '.join([loop, *tests])}]"

    # ---- values ----

    def known(self, expr: ir.Expr) -> bool | None:
        """Whether a test of the bundle's own parameters holds: OPA refuses to compare texts with null."""
        match expr:
            case ir.Not(of):
                known = self.known(of)
                return None if known is None else not known
            case ir.Present(of):
                value = self.constant(of)
                return None if value is _UNSETTLED else value is not None
            case ir.Equal(left, right):
                values = (self.constant(left), self.constant(right))
                return None if _UNSETTLED in values else equal(*values)
        return None

    def constant(self, expr: ir.Expr) -> Any:
        match expr:
            case ir.Constant(value=value):
                return value
            case ir.Param(name):
                return self.parameters[name]
        return _UNSETTLED

    def truth(self, expr: ir.Expr) -> str:
        """A value that is true or false."""
        return self.value(expr) if _is_bool(expr) else f"lib.truth({self.value(expr)})"

    def plain(self, *exprs: ir.Expr) -> bool:
        """Whether values can stand beside an operator: none is written with one itself, since `opa fmt` takes parentheses away, and
        of none OPA may know the type, since it refuses to compare what never can be equal."""
        infix = ir.Present | ir.Equal | ir.Quantified
        typed = ir.Effective | ir.Source | ir.Defined | ir.If
        return not any(isinstance(expr, typed) or (expr not in self.named and isinstance(expr, infix) and _is_bool(expr)) for expr in exprs)

    def compared(self, left: ir.Expr, right: ir.Expr, op: str) -> str:
        if self.plain(left, right):
            return f"{self.value(left)} {op} {self.value(right)}"
        return f"lib.{'same' if op == '==' else 'differ'}({self.value(left)}, {self.value(right)})"

    def value(self, expr: ir.Expr) -> str:
        """The value, which is never undefined."""
        if expr in self.named:
            return self.named[expr]
        if (known := self.known(expr)) is not None:
            return quoted(known)
        v = self.value
        match expr:
            case ir.Constant(value=value):
                return quoted(value)
            case ir.Amount(nanos):
                return str(nanos)
            case ir.Root("self"):
                return "s.value"
            case ir.Root(name):
                return f"s.{name}"
            case ir.Name(name):
                return word(name)
            case ir.KeyOf(name):
                return self.bound[name].key
            case ir.Get():
                keys: list[str] = []
                base: ir.Expr = expr
                while isinstance(base, ir.Get) and base not in self.named:
                    keys.append(v(base.key))
                    base = base.base
                return f"lib.{_getter(expr)}({v(base)}, [{', '.join(reversed(keys))}])"
            case ir.Effective(field):
                return v(self.lower(field).value)
            case ir.Source(field):
                return self.apart(f"source_of_{field}", self.lower(field).source)
            case ir.Param(name):
                return quoted(self.parameters[name])
            case ir.Fact(name):
                return f"data.gpuvet.tables.facts[{quoted(name)}]"
            case ir.Present(of):
                return self.compared(of, ir.ABSENT, "!=")
            case ir.IsType(of, name):
                return f"lib.is_type({v(of)}, {quoted(name)})"
            case ir.Equal(left, right):
                return self.compared(left, right, "==")
            case ir.Member(item, of):
                return f"lib.member({v(item)}, {v(of)})"
            case ir.Compare(op, left, right):
                one, other = (left, right) if op in ("<", "<=") else (right, left)
                return f"lib.{'below' if op in ('<', '>') else 'up_to'}({v(one)}, {v(other)})"
            case ir.Matches(of, ir.Constant(value=str() as pattern)):
                return f"lib.matches({v(of)}, {quoted(f'^(?:{pattern})$')})"
            case ir.Matches(of, ir.Param(name)):
                return v(ir.Matches(of, ir.Constant(self.parameters[name])))
            case ir.Matches(of, pattern):
                return f"lib.matches({v(of)}, lib.whole_pattern({v(pattern)}))"
            case ir.Not(of):
                return f"lib.no({self.truth(of)})"
            case ir.And(parts):
                return f"lib.all_true([{', '.join(self.truth(part) for part in parts)}])"
            case ir.Or(parts):
                return f"lib.some_true([{', '.join(self.truth(part) for part in parts)}])"
            case ir.If(ir.Present(test), then, otherwise) if test == then:
                return f"lib.either({v(then)}, {v(otherwise)})"
            case ir.If(test, then, otherwise):
                return f"lib.pick({self.truth(test)}, {v(then)}, {v(otherwise)})"
            case ir.QuantityOf(of):
                return f"lib.quantity({v(of)})"
            case ir.IntegerOf(of):
                return f"lib.{'whole' if ir.type_of(of) == 'quantity' else 'integer'}({v(of)})"
            case ir.VersionOf(of):
                return f"lib.version({v(of)})"
            case ir.Arithmetic(op, left, right):
                return f"lib.{_ARITHMETIC[op]}({v(left)}, {v(right)})"
            case ir.Fold(op, of):
                return f"lib.{_FOLD[op]}({self.sequence(of)})"
            case ir.PodSum(key, _, None):
                return f"lib.pod_sum(s.pod, {v(key)})"
            case ir.PodSum(key, var, ir.Expr() as body):
                containers = ir.Get(ir.Get(ir.Root("pod"), ir.Constant("spec")), ir.Constant("containers"))
                return f"lib.pod_total(s.pod, {v(key)}, {v(ir.Quantified('map', var, containers, body))})"
            case ir.Quantified(op="exists"):
                return f"{self.hits(expr)} != []"
            case ir.Quantified(op="all"):
                return f"{self.hits(expr)} == []"
            case ir.Quantified(op="filter", var=var, of=of, body=body):
                return self.comprehension(ir.Name(var), var, of, body)
            case ir.Quantified(op="map", var=var, of=of, body=body):
                return self.comprehension(body, var, of, None)
            case ir.Concat(parts):
                return f"lib.flatten([{', '.join(self.sequence(part) for part in parts)}])"
            case ir.Flatten(of):
                return f"lib.flatten({self.sequence(of)})"
            case ir.First(of):
                return f"array.slice({self.array(of)}, 0, 1)"
            case ir.Size(of):
                return f"lib.size({v(of)})"
            case ir.Text(op, of, argument) if op in _TEXT:
                return f"lib.{_TEXT[op]}({v(of)}{'' if argument is None else ', ' + v(argument)})"
            case ir.Defined():
                return self.apart(expr.name, expr.of)
            case ir.Nearest() | ir.Text() | ir.Python() | ir.Parsed() | ir.Find() | ir.FindAll():
                return "null"  # in words only: info.exports says so of a rule whose condition needs it
        raise AssertionError(expr)

    def apart(self, name: str, expr: ir.Expr) -> str:
        """A call of a function that holds the expression."""
        name = named(name, expr)
        if name not in self.functions:
            self.functions[name] = ""
            code = Printer(self.parameters, self.lower, self.functions).value(expr)
            self.functions[name] = _function(name, code)
        return f"{name}(s)"

    def sequence(self, expr: ir.Expr) -> str:
        """Something to draw from."""
        match expr:
            case ir.Quantified(op="filter" | "map") | ir.Concat() | ir.Flatten() | ir.First() | ir.Text(op="split"):
                return self.value(expr)
        return f"lib.items({self.value(expr)})"

    def array(self, expr: ir.Expr) -> str:
        code = self.sequence(expr)
        return f"[item_ | some item_ in {code}]" if code.startswith("lib.items(") else code

    # ---- places ----

    def place(self, expr: ir.Expr) -> _Place:
        """Where a value stands, or would stand."""
        match expr:
            case ir.Root(name):
                return _Place.of(quoted(name))
            case ir.Name(name) | ir.KeyOf(name):
                return self.bound[name].place
            case ir.Get(ir.Quantified(op="filter" | "map") | ir.Concat() | ir.Flatten() as listed, key):
                return _Place(f"lib.place_of({self.located(listed)}, {self.value(key)})")
            case ir.Get():
                keys: list[str] = []
                base: ir.Expr = expr
                while isinstance(base, ir.Get) and not isinstance(base.base, ir.Quantified | ir.Concat | ir.Flatten):
                    keys.append(self.value(base.key))
                    base = base.base
                return self.place(base).below(keys[::-1])
            case ir.Effective(field) | ir.Source(field):
                place = self.lower(field).place
                name = named(f"place_of_{field}", place)
                if name not in self.functions:
                    self.functions[name] = ""
                    code = Printer(self.parameters, self.lower, self.functions).place(place).code
                    self.functions[name] = _function(name, code)
                return _Place(f"{name}(s)")
            case ir.If(test, then, otherwise):
                return _Place(f"lib.pick({self.truth(test)}, {self.place(then).code}, {self.place(otherwise).code})")
        of = ir.placed_by(expr)
        return self.place(of) if of is not None else _Place.of('"self"')

    def located(self, expr: ir.Expr) -> str:
        """An array of [place, value]."""
        match expr:
            case ir.Quantified(op="filter", var=var, of=of, body=body):
                return self.comprehension(ir.Name(var), var, of, body, True)
            case ir.Quantified(op="map", var=var, of=of, body=body):
                return self.comprehension(body, var, of, None, True)
            case ir.Concat(parts):
                return f"lib.join([{', '.join(self.located(part) for part in parts)}])"
            case ir.If(test, then, otherwise):
                return f"lib.pick({self.truth(test)}, {self.located(then)}, {self.located(otherwise)})"
            case ir.Flatten(of):
                return f"[pair_ | some [list_at_, list_] in {self.located(of)}; some pair_ in lib.located(list_at_, list_)]"
            case ir.First(of):
                return f"array.slice({self.located(of)}, 0, 1)"
            case ir.Text(op="split"):
                return f"[[{self.place(expr).code}, part_] | some part_ in {self.value(expr)}]"
        return f"lib.located({self.place(expr).code}, {self.value(expr)})"

    # ---- what a violation rests on ----

    def because(self, expr: ir.Expr, truth: bool) -> str:
        """An array of the values that decide why `expr` is `truth`."""
        match expr:
            case ir.Defined():
                return self.because_of(expr, truth)
            case ir.Not(of):
                return self.because(of, not truth)
            case ir.And(parts) if truth:
                return self.all_of([self.because(part, truth) for part in parts])
            case ir.Or(parts) if not truth:
                return self.all_of([self.because(part, truth) for part in parts])
            case ir.And(parts) | ir.Or(parts):
                tests = [self.truth(part) if truth else f"lib.no({self.truth(part)})" for part in parts]
                reasons = [self.because(part, truth) for part in parts]
                if len(set(reasons)) == 1:
                    return reasons[0]
                listed = ", ".join(f"lib.pick({test}, {why}, null)" for why, test in zip(reasons, tests, strict=True))
                return f"lib.reason(s, [{listed}])"
            case ir.Quantified(op="exists" | "all", var=var, of=of, body=body) if _is_table(of) and not _loops(body):
                return self.all_of(sorted({self.rest_on(part) for part in _compared(body, var)}))
            case ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body):
                witness = None if (op == "exists") != truth else (body if truth else ir.Not(body))
                inner = self.each_of(var, of, witness, lambda: self.because(body, truth))
                missing = ["[null]"] if (op == "exists") != truth and _authored(of) else []
                return self.all_of([self.rest_on(of), inner, *missing])
            case ir.If(test, then, otherwise):
                return f"lib.pick({self.truth(test)}, {self.because(then, truth)}, {self.because(otherwise, truth)})"
        return self.rest_on(expr)

    def because_of(self, expr: ir.Defined, truth: bool) -> str:
        name = f"{named(expr.name, expr.of)}_{'true' if truth else 'false'}_because"
        if name not in self.functions:
            self.functions[name] = ""
            code = Printer(self.parameters, self.lower, self.functions).because(expr.of, truth)
            self.functions[name] = _function(name, code)
        return f"{name}(s)"

    def rest_on(self, expr: ir.Expr) -> str:
        """An array of the values that `expr` is computed from."""
        match expr:
            case ir.Constant() | ir.Amount() | ir.Param() | ir.Fact() | ir.KeyOf() | ir.Root():
                return "[]"
            case ir.Get() | ir.Name() | ir.Effective() | ir.Source():
                return f"[{self.value(expr)}]"
            case ir.If(test, then, otherwise):
                return self.choice(test, self.rest_on(then), self.all_of([self.rest_on(test), self.rest_on(otherwise)]))
            case ir.Quantified(_, var, of, body):
                return self.all_of([self.rest_on(of), self.each_of(var, of, None, lambda: self.rest_on(body))])
            case ir.Concat(parts):
                return self.rest_on(parts[-1]) if parts else "[]"
            case ir.PodSum(key):
                return f"lib.pod_reads(s.pod, {self.value(key)})"
            case ir.Defined():
                return self.because_of(expr, True)
        return self.all_of([self.rest_on(child) for child in ir.children(expr)])

    def choice(self, test: ir.Expr, then: str, otherwise: str) -> str:
        return then if then == otherwise else f"lib.pick({self.truth(test)}, {then}, {otherwise})"

    def each_of(self, var: str, of: ir.Expr, witness: ir.Expr | None, reasons: Callable[[], str]) -> str:
        before = dict(self.bound)
        loop = self.loop(var, of)
        inner = reasons()
        tests = [] if witness is None else self.statements(witness)
        self.bound = before
        if inner == "[]":
            return "[]"
        reason = f"{word(var)}_because"
        return self.written(reason, loop, [*tests, f"some {reason} in {inner}"], var, of)

    @staticmethod
    def all_of(lists: list[str]) -> str:
        lists = list(dict.fromkeys(code for code in lists if code != "[]"))
        if not lists:
            return "[]"
        if len(lists) == 1:
            return lists[0]
        if all(_SINGLE.fullmatch(code) for code in lists):
            return "[" + ", ".join(code[1:-1] for code in lists) + "]"
        return f"lib.join([{', '.join(lists)}])"

    # ---- words ----

    def template(self, template: ir.Template) -> str:
        """The text of a message."""
        if all(isinstance(part, str) for part in template):
            return quoted("".join(map(str, template)))
        parts = [quoted(part) if isinstance(part, str) else self.shown(part) for part in template]
        return f'concat("", [{", ".join(parts)}])'

    def shown(self, expr: ir.Expr) -> str:
        """What a hole shows."""
        match expr:
            case ir.Constant(value=str() as words):
                return quoted(words)
            case ir.If(test, then, otherwise) if expr not in self.named:
                return f"lib.pick({self.truth(test)}, {self.shown(then)}, {self.shown(otherwise)})"
        if any(isinstance(part, _UNSAYABLE) or (isinstance(part, ir.Text) and part.op == "repaired") for part in ir.walk(expr)):
            return quoted("…")
        show = {"quantity": "amount", "version": "dotted"}.get(ir.type_of(expr), "text")
        return f"lib.{show}({self.value(expr)})"


_UNSAYABLE = ir.Nearest | ir.Python | ir.Parsed | ir.Find | ir.FindAll
"""What a message may hold of which Rego knows nothing."""
_UNSETTLED = object()
_SINGLE = re.compile(r"\[[^\[\]|]*(\[[^\[\]|]*\][^\[\]|]*)*\]")


def _function(name: str, code: str) -> str:
    argument = "s" if _reads(code, "s") or "s." in code or "(s" in code else "_"
    return f"{name}({argument}) := {code}\n"


def word(name: str) -> str:
    """A name that means nothing else in Rego."""
    return f"{name}_" if name in _TAKEN else name


def _getter(expr: ir.Expr) -> str:
    """`get` where every key is known."""
    while isinstance(expr, ir.Get):
        if not isinstance(expr.key, ir.Constant | ir.KeyOf):
            return "get_by"
        expr = expr.base
    return "get"


def _collected(expr: ir.Expr) -> bool:
    """Whether the items of an expression stand in places of their own."""
    match expr:
        case ir.Quantified(op="filter" | "map") | ir.Concat() | ir.If() | ir.Flatten() | ir.First() | ir.Text(op="split"):
            return True
    return False


def _is_bool(expr: ir.Expr) -> bool:
    """Whether an expression is always true or false."""
    match expr:
        case ir.Constant(value=bool()):
            return True
        case ir.Present() | ir.IsType() | ir.Equal() | ir.Member() | ir.Compare() | ir.Matches() | ir.Not() | ir.And() | ir.Or():
            return True
        case ir.Quantified(op="exists" | "all") | ir.Text(op="startsWith" | "endsWith" | "contains"):
            return True
        case ir.If(_, then, otherwise):
            return _is_bool(then) and _is_bool(otherwise)
        case ir.Defined(_, of):
            return _is_bool(of)
    return False
