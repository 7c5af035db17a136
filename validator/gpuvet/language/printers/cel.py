"""Prints checks as Kubernetes CEL, for the variables of a ValidatingAdmissionPolicy.

A printed check is a list, nested as deep as its loops, of violations `{'r': rule, 'at': path, 'm': message}`; `m` holds texts, and each
value to be shown as a list of one. What several checks need is a variable of its own, worked out once: definitions, effective fields,
sums over the Pod. Where an object holds several Pod templates, such a variable is a list of one value a template.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gpuvet.compiled.facts import FACTS
from gpuvet.language import ir
from gpuvet.language.printers import cel_totals as total
from gpuvet.language.printers.cel_absence import missing
from gpuvet.language.printers.cel_totals import quoted
from gpuvet.language.printers.python import _parts, hoist
from gpuvet.values.quantity import format_quantity
from gpuvet.values.total import equal

Lower = Callable[[str], Any]
"""Effective field -> its lowered form (resolve/lowered.py): value, source and place."""

_TAKEN = frozenset(
    """
    as break const continue else false for function if import in let loop namespace null package return true var void while
    all exists exists_one filter map has type int uint double bool string bytes list duration timestamp dyn size matches object oldObject
    request params authorizer variables namespaceObject optional quantity ip cidr url sets math strings self s c
    """.split()  # noqa: SIM905
)
"""Words that mean something else in CEL, or to what is printed here."""


class Unprintable(Exception):
    """CEL cannot say this; the message says why."""


class Scope(NamedTuple):
    """How the parts of a subject are called in CEL."""

    subject: str
    """pod, container, metadata or object."""
    pod: str = ""
    """What stands before the name of a part of the Pod template: `variables.` of the only one, `s.` of one of several; else empty."""
    value: str = ""
    """The subject itself, where it is not the Pod: the object, its metadata, a container."""
    place: str = "''"
    """Where such a subject stands: a text."""
    several: bool = False
    """The object may hold several Pod templates."""
    fragment: str = "false"
    """Whether what is missing may stand elsewhere."""
    typed: bool = False
    """The API server has made sure that what holds others is a map or a list as it should be."""

    def part(self, name: str) -> str:
        """A part of the Pod template."""
        if not self.pod:
            raise Unprintable("no Pod here")
        if self.several and name in ("sums", "overhead", "templated", "odd_amounts"):
            return f"variables.{name}[s.number]"
        return f"{self.pod}{name}"


class Code(NamedTuple):
    """CEL text and what is known of it."""

    text: str
    type: str = "dyn"
    """dyn, bool, int, string, list, map, null."""
    atom: bool = False
    """Short and cheap enough to be written several times."""

    @property
    def dyn(self) -> str:
        """The text as a value of any type."""
        return self.text if self.type in ("dyn", "null") else f"dyn({self.text})"


class Shared:
    """What the checks of one policy have in common."""

    def __init__(self, checks: Iterable[ir.Check] = ()) -> None:
        self.variables: dict[str, str] = {}
        """By name, in an order in which each reads only earlier ones."""
        self.types: dict[str, str] = {}
        self.keys: list[str] = []
        """Resources whose amounts are worked out for every container."""
        self.counts: Counter[ir.Expr] = Counter()
        """How often an expression without variables is written."""
        for check in checks:
            for root in (
                check.when,
                check.at,
                *(of for _, of in check.each),
                *(part for part in check.message if isinstance(part, ir.Expr)),
            ):
                self.note(root)

    def note(self, root: ir.Expr) -> None:
        """Counts what an expression is made of; the inside of what is there already is written once."""
        closed = not ir.free(root) and not isinstance(root, _PLAIN)
        if closed:
            self.counts[root] += 1
            if self.counts[root] > 1:
                return
        for child in () if isinstance(root, ir.Defined) else ir.children(root):
            self.note(child)

    def key(self, name: str) -> int:
        """The number of a resource."""
        if name not in self.keys:
            self.keys.append(name)
        return self.keys.index(name)


class Sequence(NamedTuple):
    """What can be looped over: a CEL list, and how an item's value, key and place are written, given the loop variable."""

    text: str
    value: Callable[[str], str] = lambda name: name
    key: Callable[[str], str] | None = None
    place: Callable[[str], str] | None = None
    container: bool = False
    """The items are containers of the Pod, worked out before."""
    keys: bool = False
    """The loop variable is a key of a map, which hands them out in any order."""

    @property
    def first(self) -> str:
        """A list of the first item, or none: of a map the one with the smallest key."""
        head = "(t.all(x, type(x) == string) ? t.min() : t[0])" if self.keys else "t[0]"
        return f"[{self.text}].map(t, size(t) > 0 ? [{head}] : [])[0]"


class _Bound(NamedTuple):
    """What is known of a variable of the rule language."""

    value: str
    key: str
    place: str
    container: str = ""
    """The CEL variable that holds a container."""


class Printed(NamedTuple):
    """One check: a nested list of violations and how deep it is."""

    text: str
    depth: int


class Printer:
    """Prints one check for one sort of subject."""

    def __init__(self, scope: Scope, parameters: Mapping[str, Any], lower: Lower, shared: Shared) -> None:
        self.scope = scope
        self.parameters = parameters
        self.lower = lower
        self.shared = shared
        self.bound: dict[str, _Bound] = {}
        self.named: dict[ir.Expr, Code] = {}
        self.count = 0
        self.top: ir.Expr | None = None
        """What a variable is printed for."""

    # ---- a check ----

    def check(self, rule: str, check: ir.Check) -> Printed:
        """The violations of a check on the subject of the scope."""
        check = ir.Check(when=check.when, at=check.at, message=check.message, each=check.each)
        self.bound, self.named = {}, {}
        plan = [(expr, name) for expr, name in hoist(check) if not self.is_shared(expr)]
        steps: list[tuple[str, Any]] = []
        known: set[ir.Expr] = set()
        bound: set[str] = set()

        def define(users: list[ir.Expr]) -> None:
            needed = {part for user in users for part in ir.parts(user)}
            for expr, name in plan:
                # A loop inside may have a variable of the same name.
                if expr not in known and expr in needed and ir.free(expr) <= bound:
                    known.add(expr)
                    steps.append(("let", (expr, name)))

        tests = _parts(check.when)
        for var, of in (*check.each, ("", None)):
            for test in [test for test in tests if ir.free(test) <= bound]:
                tests.remove(test)
                define([test])
                steps.append(("test", test))
            if of is not None:
                define([of])
                steps.append(("loop", (var, of)))
                bound.add(var)
        define([check.at, *(part for part in check.message if isinstance(part, ir.Expr))])
        return Printed(self._steps(rule, check, steps), sum(_nested(of) for _, of in check.each) + 1)

    def _steps(self, rule: str, check: ir.Check, steps: list[tuple[str, Any]]) -> str:
        if not steps:
            template = ", 't': dyn(s.template_name)" if self.scope.several else ""
            record = f"[{{'r': dyn('{rule}'), 'at': dyn({self.place(check.at)}), 'm': dyn({self.template(check.message)}){template}}}]"
            open_ = self.open(check)
            return record if open_ == "false" else f"({open_} ? [] : {record})"
        (sort, what), rest = steps[0], steps[1:]
        match sort:
            case "let":
                expr, name = what
                code = self.value(expr)
                if code.atom:
                    self.named[expr] = code
                    return self._steps(rule, check, rest)
                fresh = self.fresh(name)
                plain = code.type in ("bool", "int", "string")
                self.named[expr] = Code(fresh, code.type if plain else "dyn", True)
                inner = self._steps(rule, check, rest)
                # What it was named for may be a variable of the policy.
                return f"[{code.text if plain else code.dyn}].map({fresh}, {inner})[0]" if fresh in inner else inner
            case "test":
                test = self.test(what)
                inner = self._steps(rule, check, rest)
                return inner if test == "true" else f"({test} ? {inner} : [])"
        var, of = what
        levels = self.levels(of, True)
        return self.loops(levels, var, lambda: self._steps(rule, check, rest), "map")

    def fresh(self, name: str) -> str:
        """A CEL variable."""
        self.count += 1
        word = re.sub(r"\W", "_", name)
        return f"{word}{self.count}"

    # ---- loops ----

    def loops(self, levels: "Levels", var: str, body: Callable[[], str], macro: str) -> str:
        """A macro over every level of what is drawn from; the innermost binds the rule's variable."""
        before = self.bound.get(var)
        found = levels.open(self, lambda sequence: self._loop(sequence, var, body, macro), macro)
        if before is None:
            self.bound.pop(var, None)
        else:
            self.bound[var] = before
        return found

    def _inner(self, sequence: Sequence, var: str, body: Callable[[], str], macro: str) -> str:
        """A macro over one level, after which the variable means what it meant before."""
        before = self.bound.get(var)
        found = self._loop(sequence, var, body, macro)
        if before is None:
            del self.bound[var]
        else:
            self.bound[var] = before
        return found

    def _loop(self, sequence: Sequence, var: str, body: Callable[[], str], macro: str) -> str:
        name = self.fresh(var)
        key = sequence.key(name) if sequence.key else "null"
        place = sequence.place(name) if sequence.place else "''"
        value = sequence.value(name)
        self.bound[var] = _Bound(value, key, place, name if sequence.container else "")
        hidden = {expr: code for expr, code in self.named.items() if var in ir.free(expr)}
        for expr in hidden:
            del self.named[expr]
        text = f"{sequence.text}.{macro}({name}, {body()})"
        self.named.update(hidden)
        return text

    def levels(self, of: ir.Expr, placed: bool) -> "Levels":
        """What an expression can be drawn from; `placed`: keys and places of the items are asked for."""
        match of:
            case ir.Flatten(inner):
                return Levels(self.levels(inner, placed), placed)
        return Levels(self.sequence(of, placed), placed)

    def sequence(self, of: ir.Expr, placed: bool) -> Sequence:
        """Something to loop over."""
        if of in self.named:
            return self._drawn(self.named[of], self.place(of) if placed else "''", placed)
        if not placed and of is not self.top and self.is_shared(of) and self.clean(of) is None and self.containers(of) is None:
            code = self.apart("v", of)
            return Sequence(code.text) if code.type == "list" else self._drawn(code, "''", False)
        if (listed := self.containers(of)) is not None:
            return Sequence(listed, lambda n: f"{n}.v", lambda n: f"{n}.n", lambda n: f"{n}.at", True)
        match of:
            case ir.Quantified(op="filter", var=var, of=inner, body=body):
                source = self.sequence(inner, placed or _keyed(body, var))
                return source._replace(text=self._inner(source, var, lambda: self.test(body), "filter"))
            case ir.Quantified(op="map", var=var, of=inner, body=body):
                source = self.sequence(inner, placed or _keyed(body, var))
                if placed:
                    made = self._inner(
                        source, var, lambda: f"{{'v': {self.value(body).dyn}, 'at': dyn({self._place_of_made(body, var)})}}", "map"
                    )
                    return Sequence(made, lambda n: f"{n}.v", None, lambda n: f"{n}.at")
                made = self._inner(source, var, lambda: self.value(body).dyn, "map")
                return Sequence(made, keys=source.keys and _is_key(body, var))
            case ir.Concat(parts):
                sources = [self.sequence(part, placed) for part in parts]
                if placed:
                    texts = [self._as_records(source) for source in sources]
                    return Sequence(" + ".join(texts).join("()"), lambda n: f"{n}.v", lambda n: f"{n}.k", lambda n: f"{n}.at")
                return Sequence("(" + " + ".join(self._as_values(source) for source in sources) + ")")
            case ir.First(inner):
                source = self.sequence(inner, placed)
                source = source._replace(keys=source.keys or _hands_out_keys(inner))
                return source._replace(text=source.first)
            case ir.Text(op="split"):
                return Sequence(f"dyn({self.value(of).text})", lambda n: n, lambda _: "null", lambda _: self.place(of))
            case ir.If(test, then, otherwise):
                one, other = self.sequence(then, placed), self.sequence(otherwise, placed)
                if placed:
                    text = f"({self.test(test)} ? {self._as_records(one)} : {self._as_records(other)})"
                    return Sequence(text, lambda n: f"{n}.v", lambda n: f"{n}.k", lambda n: f"{n}.at")
                return Sequence(f"({self.test(test)} ? {self._as_values(one)} : {self._as_values(other)})")
            case ir.Flatten():
                raise Unprintable("lists of lists that have to be made one")
        if (table := self._table(of)) is not None:
            text = total.literal(table)
            if isinstance(table, Mapping):
                shared = self.fact(of, f"dyn({text})")
                return Sequence(shared, lambda n: f"{shared}[{n}]", lambda n: n, lambda _: "''")
            return Sequence(self.fact(of, f"dyn({text})"), place=lambda _: "''")
        if (clean := self.clean(of)) is not None:
            place = self.place(of) if placed else "''"
            return Sequence(clean, lambda n: f"{clean}[{n}]", lambda n: n, lambda n: f"{place} + {total.key_word(n)}", keys=True)
        a_list = isinstance(of, ir.Get) and isinstance(of.key, ir.Constant) and of.key.value in _LISTS
        return self._drawn(self.value(of), self.place(of) if placed else "''", placed, a_list)

    def _place_of_made(self, body: ir.Expr, var: str) -> str:
        return self.bound[var].place if isinstance(body, ir.Constant) else self.place(body)

    def _as_records(self, source: Sequence) -> str:
        key = source.key or (lambda _: "null")
        place = source.place or (lambda _: "''")
        name = self.fresh("x")
        return f"{source.text}.map({name}, {{'v': dyn({source.value(name)}), 'k': dyn({key(name)}), 'at': dyn({place(name)})}})"

    def _as_values(self, source: Sequence) -> str:
        name = self.fresh("x")
        value = source.value(name)
        return source.text if value == name else f"{source.text}.map({name}, {value})"

    def _drawn(self, code: Code, place: str, placed: bool, listed: bool = False) -> Sequence:
        """From a value of which nothing is known; `listed`: it is a list, or nothing."""
        if listed and self.scope.typed and not placed and code.text.endswith(_OR_NONE):
            return Sequence(f"{code.text.removesuffix(_OR_NONE)}.orValue([])")
        if code.text == "null":
            return Sequence("[]", place=lambda _: "''", key=lambda _: "null")
        if not code.atom:
            if not placed:
                name = self.fresh("t")
                return Sequence(f"[{code.text}].map({name}, {total.items(name)})[0]")
            name = self.fresh("t")
            # The value has to be at hand for each key: it travels with it.
            record = f"{{'k': dyn(k), 'v': {name}[k], 'at': dyn({_below(place, name, 'k')})}}"
            made = f"[{code.dyn}].map({name}, {total.keys(name)}.map(k, {record}))[0]"
            return Sequence(made, lambda n: f"{n}.v", lambda n: f"{n}.k", lambda n: f"{n}.at")
        if not placed:
            return Sequence(total.items(code.text))
        return Sequence(
            total.keys(code.text),
            lambda n: f"{code.text}[{n}]",
            lambda n: n,
            lambda n: _below(place, code.text, n),
            keys=True,
        )

    def containers(self, of: ir.Expr) -> str | None:
        """The list of container records that an expression is, if it is one."""
        match of:
            case ir.Get(ir.Get(ir.Root(name), ir.Constant(value="spec")), ir.Constant(value="containers" | "initContainers" as which)):
                if name == "pod" or (name == "self" and self.scope.subject == "pod"):
                    return self.scope.part("regular" if which == "containers" else "starting")
            case ir.Concat(parts) if parts:
                texts = [self.containers(part) for part in parts]
                if all(text is not None for text in texts):
                    return f"({' + '.join(map(str, texts))})"
        return None

    # ---- maps that are known to be maps ----

    def clean(self, expr: ir.Expr) -> str | None:
        """The name of a map that was made sure to be one, empty where something else stands."""
        match expr:
            case ir.Root("self") if self.scope.subject in ("container", "metadata", "object"):
                return self.scope.value
            case ir.Root("object"):
                return "variables.object"
            case ir.Root("pod" | "self"):
                return None
            case ir.Get(base, ir.Constant(value=str() as key)):
                return self._clean_member(base, key)
        return None

    def _clean_member(self, base: ir.Expr, key: str) -> str | None:
        scope = self.scope
        pod = isinstance(base, ir.Root) and (base.name == "pod" or (base.name == "self" and scope.subject == "pod"))
        if pod and key in ("metadata", "spec"):
            return scope.part(key)
        match base:
            case ir.Root("self") if scope.subject == "metadata" and key in ("annotations", "labels"):
                return scope.part(key) if scope.pod else f"variables.own_{key}"
            case ir.Root("object") | ir.Root("self") if key == "metadata" and self.clean(base) == "variables.object":
                return "variables.own_metadata"
            case ir.Get(inner, ir.Constant(value="metadata")) if key in ("annotations", "labels"):
                if self.clean(base) == "variables.own_metadata":
                    return f"variables.own_{key}"
                if self._is_pod(inner):
                    return scope.part(key)
            case ir.Get(inner, ir.Constant(value="spec")) if key == "nodeSelector" and self._is_pod(inner):
                return scope.part("selector")
            case ir.Get(ir.Root("self"), ir.Constant(value="resources")) if scope.subject == "container" and key in ("limits", "requests"):
                return f"c.{key}"
            case ir.Get(ir.Name(name), ir.Constant(value="resources")) if key in ("limits", "requests"):
                held = self.bound.get(name)
                return f"{held.container}.{key}" if held and held.container else None
        return None

    def _is_pod(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Root) and (expr.name == "pod" or (expr.name == "self" and self.scope.subject == "pod"))

    # ---- tests ----

    def test(self, expr: ir.Expr) -> str:
        """A CEL bool."""
        code = self.value(expr)
        if code.type == "bool":
            return code.text
        if code.type == "null":
            return "false"
        return self.let(code, lambda v: f"!({v} == null || {v} == false || {v} == 0 || {v} == '' || {v} == [] || {v} == {{}})", "bool").text

    def let(self, code: Code, use: Callable[[str], str], type_: str = "dyn") -> Code:
        """What `use` makes of a value that it writes several times."""
        if code.atom:
            return Code(use(code.dyn), type_)
        name = self.fresh("t")
        if type_ == "bool":
            return Code(f"[{code.dyn}].exists({name}, {use(name)})", type_)
        return Code(f"[{code.dyn}].map({name}, {use(name)})[0]", type_)

    def let2(self, left: Code, right: Code, use: Callable[[str, str], str], type_: str = "dyn") -> Code:
        """The same of two."""
        if left.atom:
            return self.let(right, lambda r: use(left.dyn, r), type_)
        return self.let(left, lambda v: self.let(right, lambda r: use(v, r), type_).text, type_)

    def constant(self, expr: ir.Expr) -> Any:
        """The value of a constant or a parameter, else `_UNSETTLED`."""
        match expr:
            case ir.Constant(value=value):
                return value
            case ir.Param(name):
                return self.parameters[name]
        return _UNSETTLED

    def known(self, expr: ir.Expr) -> bool | None:
        """Whether a test of constants holds."""
        match expr:
            case ir.Not(of):
                known = self.known(of)
                return None if known is None else not known
            case ir.Present(ir.Amount()):
                return True
            case ir.Present(of):
                value = self.constant(of)
                return None if value is _UNSETTLED else value is not None
            case ir.Equal(left, right):
                values = (self.constant(left), self.constant(right))
                return None if _UNSETTLED in values else equal(*values)
        return None

    # ---- values ----

    def is_shared(self, expr: ir.Expr) -> bool:
        """Whether an expression deserves a variable of the policy."""
        if self.shared.counts[expr] < 2 or isinstance(expr, _CHEAP):
            return False
        return self.scope.subject in ("pod", "object") or not any(part == _SELF for part in ir.walk(expr))

    def value(self, expr: ir.Expr) -> Code:
        """The value; it never errors."""
        if expr in self.named:
            return self.named[expr]
        if expr is not self.top and self.is_shared(expr) and self.known(expr) is None and self.containers(expr) is None:
            return self.apart("v", expr)
        if (known := self.known(expr)) is not None:
            return _bool("true" if known else "false")
        if (constant := self.constant(expr)) is not _UNSETTLED:
            return _literal(constant)
        match expr:
            case ir.Amount(nanos):
                units, rest = total.amount(nanos)
                return Code(f"[{units}, {rest}]", "list", True)
            case ir.Root():
                clean = self.clean(expr)
                if clean is None:
                    raise Unprintable("the whole Pod as a value")
                return Code(clean, "dyn", True)
            case ir.Name(name):
                return Code(self.bound[name].value, "dyn", True)
            case ir.KeyOf(name):
                return Code(self.bound[name].key, "dyn", True)
            case ir.Get():
                return self.get(expr)
            case ir.Effective(field):
                return self.value(self.lower(field).value)
            case ir.Source(field):
                return self.apart(f"source_of_{field}", self.lower(field).source)
            case ir.Fact():
                return Code(self.fact(expr, total.literal(self._table(expr))), "dyn", True)
            case ir.Present(of):
                return self.present(of)
            case ir.IsType(of, name):
                return self.let(self.value(of), lambda v: total.is_type(v, name), "bool")
            case ir.Equal(left, right):
                return self.equal(left, right)
            case ir.Member(item, of):
                return self.member(item, of)
            case ir.Compare(op, left, right):
                return self.compare(op, left, right)
            case ir.Matches(of, pattern):
                return self.matches(of, pattern)
            case ir.Not(of):
                return _bool(f"!{_closed(self.test(of))}")
            case ir.And(parts):
                return _bool("(" + " && ".join(self.test(part) for part in parts) + ")" if parts else "true")
            case ir.Or(parts):
                return _bool("(" + " || ".join(self.test(part) for part in parts) + ")" if parts else "false")
            case ir.If(ir.Present(test), then, otherwise) if test == then:
                one, other = self.value(then), self.value(otherwise)
                if one.type != "dyn":
                    return other if one.type == "null" else one
                return self.let(one, lambda v: f"({v} != null ? {v} : {other.text})")
            case ir.If(test, then, otherwise):
                one, other = self.value(then), self.value(otherwise)
                if one.type == other.type and one.type != "list":
                    return Code(f"({self.test(test)} ? {one.text} : {other.text})", one.type)
                return Code(f"({self.test(test)} ? {one.dyn} : {other.dyn})")
            case ir.QuantityOf(of):
                return self.quantity(of)
            case ir.IntegerOf(ir.QuantityOf() | ir.PodSum() as of):
                return self.let(self.value(of), total.whole)
            case ir.IntegerOf(of) if self.value(of).type == "int":
                return self.value(of)
            case ir.IntegerOf(of):
                return self.let(self.value(of), total.whole if ir.type_of(of) == "quantity" else total.integer)
            case ir.VersionOf(of):
                settled = self.constant(of)
                if settled is not _UNSETTLED:
                    return _literal(total.version_key(settled) if isinstance(settled, str) else None)
                return self.let(self.value(of), total.version)
            case ir.Arithmetic(op, left, right):
                return self.arithmetic(op, left, right, ir.type_of(expr))
            case ir.Fold(op, of):
                return self.fold(op, of)
            case ir.PodSum():
                return self.pod_sum(expr)
            case ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body):
                return _bool(self.loops(self.levels(of, _keyed(body, var)), var, lambda: self.test(body), op))
            case ir.Quantified() | ir.Concat() | ir.First():
                return Code(self._as_values(self.sequence(expr, False)), "list")
            case ir.Size(ir.Flatten(of)):
                name = self.fresh("l")
                inner = self._as_values(self.sequence(of, False))
                return Code(f"{inner}.map({name}, {total.size(name)}).sum()", "int")
            case ir.Size(ir.Quantified(op="filter" | "map") | ir.Concat() | ir.First() as of):
                return Code(f"size({self.sequence(of, False).text})", "int")
            case ir.Size(of):
                return self.let(self.value(of), total.size, "int")
            case ir.Text():
                return self.text(expr)
            case ir.Defined():
                return self.apart(expr.name, expr.of)
            case ir.Flatten():
                raise Unprintable("lists of lists that have to be made one")
        raise Unprintable(f"{type(expr).__name__} in a condition")

    def present(self, of: ir.Expr) -> Code:
        """Whether there is a value."""
        code = self.value(of)
        if code.type not in ("dyn", "null"):
            return _bool("true")
        return _bool(f"({code.text} != null)")

    def equal(self, left: ir.Expr, right: ir.Expr) -> Code:
        """JSON equality."""
        one, other = self.value(left), self.value(right)
        if one.type == other.type and one.type != "list":
            return _bool(f"({one.text} == {other.text})")
        if one.type == "dyn" or other.type == "dyn":
            return _bool(f"({one.text} == {other.text})")
        return _bool(f"({one.dyn} == {other.dyn})")

    def member(self, item: ir.Expr, of: ir.Expr) -> Code:
        """Whether an item stands in a list, or a text is a key of a map."""
        listed = self.constant(of)
        code = self.value(item)
        if isinstance(listed, tuple | list):
            if not listed:
                return _bool("false")
            return _bool(f"({code.dyn} in {total.literal(list(listed))})")
        if (clean := self.clean(of)) is not None:
            return self.let(code, lambda v: f"(type({v}) == string && {v} in {clean})", "bool")
        match of:
            case ir.Quantified(op="filter" | "map") | ir.Concat() | ir.First() | ir.Text(op="split"):
                return _bool(f"({code.dyn} in {self._as_values(self.sequence(of, False))})")
            case ir.Flatten(inner):
                name = self.fresh("l")
                return self.let(
                    code, lambda v: f"{self._as_values(self.sequence(inner, False))}.exists({name}, {v} in {total.items(name)})", "bool"
                )
        return self.let2(
            code, self.value(of), lambda v, m: f"((type({m}) == list || type({m}) == map && type({v}) == string) && {v} in {m})", "bool"
        )

    def compare(self, op: str, left: ir.Expr, right: ir.Expr) -> Code:
        """Order of two numbers of one type."""
        one, other = self.value(left), self.value(right)
        if "null" in (one.type, other.type):
            return _bool("false")
        quantities = "quantity" in (ir.type_of(left), ir.type_of(right))

        def tested(a: str, b: str) -> str:
            there = [f"{text} != null" for text, code in ((a, one), (b, other)) if code.type == "dyn"]
            return "(" + " && ".join([*there, total.quantities(op, a, b) if quantities else f"{a} {op} {b}"]) + ")"

        if one.atom and other.atom:
            return _bool(tested(one.text, other.text))
        if one.atom:
            return self.let(other, lambda b: tested(one.text, b), "bool")
        if other.atom:
            return self.let(one, lambda a: tested(a, other.text), "bool")
        return self.let2(one, other, tested, "bool")

    def matches(self, of: ir.Expr, pattern: ir.Expr) -> Code:
        """Whether a whole text matches."""
        if isinstance(pattern, ir.Get | ir.Fact):
            settled = self._table(pattern)
        else:
            settled = self.constant(pattern)
        if settled is _UNSETTLED or (settled is None and not isinstance(pattern, ir.Constant | ir.Param)):
            return self.let2(
                self.value(of),
                self.value(pattern),
                lambda v, p: f"(type({v}) == string && type({p}) == string && {v}.matches('^(?:' + {p} + ')$'))",
                "bool",
            )
        if not isinstance(settled, str):
            return _bool("false")
        whole = quoted(f"^(?:{settled})$")
        return self.let(self.value(of), lambda v: f"(type({v}) == string && {v}.matches({whole}))", "bool")

    def quantity(self, of: ir.Expr) -> Code:
        """The amount of a value."""
        match of:
            case ir.Get(ir.Get(_, ir.Constant(value="limits" | "requests" as part)) as base, ir.Constant(value=str() as key)):
                clean = self.clean(base)
                if clean is not None and clean.endswith(f".{part}"):
                    holder = clean.removesuffix(f".{part}")
                    return Code(f"{holder}.{part}_of[{self.shared.key(key)}]", "dyn", True)
            case ir.If(ir.Present(test), then, otherwise) if test == then:
                # What stands there may be malformed, and is then what counts.
                one, other = self.quantity(then), self.quantity(otherwise)
                return Code(f"({self.test(ir.Present(test))} ? {one.dyn} : {other.dyn})")
            case ir.If(test, then, otherwise):
                return self.value(ir.If(test, ir.QuantityOf(then), ir.QuantityOf(otherwise)))
        settled = self.constant(of)
        if settled is not _UNSETTLED:
            from gpuvet.values.total import quantity

            nanos = quantity(settled)
            return _literal(None) if nanos is None else self.value(ir.Amount(nanos))
        return self.let(self.value(of), total.quantity)

    def arithmetic(self, op: str, left: ir.Expr, right: ir.Expr, sort: str) -> Code:
        """Integers: + - * / %. Quantities: + -."""
        one, other = self.value(left), self.value(right)

        def worked_out(a: str, b: str) -> str:
            absent = [f"{text} == null" for text, code in ((a, one), (b, other)) if code.type == "dyn"]
            if sort == "quantity":
                sign = "" if op == "+" else "-1 * "
                found = "dyn(" + total.added(f"[{a}[0], {sign}{b}[0]]", f"[{a}[1], {sign}{b}[1]]") + ")"
            elif op in "+-":
                found = f"dyn({total.limited(op, a, b)})"
            else:
                found = total.product(a, b) if op == "*" else total.floored(op, a, b)
            return f"({' || '.join(absent)} ? null : {found})" if absent else found

        return self.let2(one, other, worked_out)

    def fold(self, op: str, of: ir.Expr) -> Code:
        """Sum, largest or smallest of a list of whole numbers."""
        if ir.type_of(of) == "quantity":
            raise Unprintable("a sum of quantities that are not those of containers")
        if isinstance(of, ir.Quantified) and isinstance(of.of, ir.Flatten) and op == "sum" and of.op == "map":
            inner, body, var = of.of.of, of.body, of.var
            lists = self.loops(self.levels(ir.Flatten(inner), _keyed(body, var)), var, lambda: self.value(body).dyn, "map")
            a, b = self.fresh("l"), self.fresh("x")
            return Code(
                f"{lists}.map({a}, {a}.filter({b}, type({b}) == int).map({b}, {_countable(b)}).sum()).sum()",
                "int",
            )
        listed = self._as_values(self.sequence(of, False))
        name = self.fresh("x")
        numbers = f"{listed}.filter({name}, type({name}) == int)"
        if op == "sum":
            return Code(f"{numbers}.map({name}, {_countable(name)}).sum()", "int")
        kept = f"{listed}.filter({name}, {name} != null)" if ir.type_of(of) == "version" else numbers
        return self.let(Code(f"{kept}", "list"), lambda v: f"(size({v}) == 0 ? null : dyn({v}.{op}()))")

    def pod_sum(self, expr: ir.PodSum) -> Code:
        """What the scheduler counts over the Pod."""
        scope = self.scope
        match expr:
            case ir.PodSum(ir.Constant(value=str() as key), _, None):
                number = self.shared.key(key)
                return Code(f"{scope.part('sums')}[{number}]", "dyn", True)
            case ir.PodSum(ir.Constant(value=str() as key), var, ir.Expr() as body):
                number = self.shared.key(key)
                name = self.variable("sum", expr)
                if name not in self.shared.variables:
                    self.shared.variables[name] = ""
                    inner = Printer(self.scope_of_pods(), self.parameters, self.lower, self.shared)
                    made = inner._as_values(inner.sequence(ir.Quantified("map", var, _CONTAINERS, body), False))
                    starting = f"{inner.scope.part('starting')}.map(c, [c.asked[{number}], c.sidecar])"
                    self.keep(name, total_of_pod(starting, made, f"{inner.scope.part('overhead')}[{number}]"))
                return self.access(name)
            case ir.PodSum(key, _, None):
                code = self.value(key)
                asked = "[c.requests[?{k}].orValue(dyn(null))].map(r, r == null ? c.limits[?{k}].orValue(dyn(null)) : r)"

                def summed(k: str) -> str:
                    one = f"{asked.format(k=k)}.map(r, {total.quantity('r')})[0]"
                    starting = f"{scope.part('starting')}.map(c, [{one}, c.sidecar])"
                    regular = f"{scope.part('regular')}.map(c, {one})"
                    over = f"[{scope.part('spec')}.?overhead.orValue(dyn(null))].map(r, type(r) == map ? r[?{k}].orValue(dyn(null)) : null)"
                    return total_of_pod(starting, regular, f"{over}.map(r, {total.quantity('r')})[0]")

                return self.let(code, summed)
        raise Unprintable("a sum over the Pod of a resource that is not named")

    def text(self, expr: ir.Text) -> Code:
        """What can be asked of a text, or made of it."""
        op, of, argument = expr.op, expr.of, expr.argument
        one = self.value(of)
        if op == "trim":
            return self.let(one, total.trim)
        if op == "lower":
            return self.let(one, lambda v: f"(type({v}) == string ? dyn({v}.lowerAscii()) : null)")
        if argument is None:
            raise Unprintable(f"{op} of a text")
        other = self.value(argument)
        settled = self.constant(argument)
        if op == "append":
            return self.let2(one, other, total.append)
        if op == "split":
            if not isinstance(settled, str) or not settled:
                raise Unprintable("a text cut at what is not known")
            return Code(self.let(one, lambda v: f"(type({v}) == string ? {v}.split({quoted(settled)}) : [])", "list").text, "list")
        if isinstance(settled, str):
            return self.let(one, lambda v: f"(type({v}) == string && {v}.{op}({quoted(settled)}))", "bool")
        return self.let2(one, other, lambda v, a: f"(type({v}) == string && type({a}) == string && {v}.{op}({a}))", "bool")

    def get(self, expr: ir.Get) -> Code:
        """A member of a map, or an item of a list."""
        if (table := self._table(expr)) is not _UNSETTLED and table is not None:
            return Code(self.fact(expr, total.literal(table)), "dyn", True) if isinstance(table, dict | list | tuple) else _literal(table)
        base, key = expr.base, expr.key
        if isinstance(base, ir.Root) and base.name == "template":
            return self.of_template(key)
        if self._is_pod(base):
            part = self._clean_member(base, str(self.constant(key)))
            return Code(part, "dyn", True) if part else _literal(None)
        if (clean := self.clean(base)) is not None and base not in self.named:
            return self._of_map(clean, key)
        match base:
            case ir.Quantified(op="filter" | "map") | ir.Concat() | ir.First() | ir.Text(op="split"):
                drawn = isinstance(base, ir.Quantified) and base.op == "filter" and not isinstance(base.of, ir.Quantified)
                source = self.sequence(base, drawn)
                source = source._replace(keys=source.keys or _hands_out_keys(base))
                settled = self.constant(key)
                if settled == 0:
                    return Code(f"{self._as_values(source._replace(text=source.first))}[?0].orValue(dyn(null))")
                listed = self._as_values(source)
                if isinstance(settled, int):
                    return Code(f"{listed}[?{settled}].orValue(dyn(null))")
                return self.let2(
                    Code(listed, "list"),
                    self.value(key),
                    lambda m, k: f"(type({k}) == int && {k} >= 0 ? {m}[?{k}].orValue(dyn(null)) : null)",
                )
        one = self.value(base)
        if one.type == "null":
            return _literal(None)
        settled = self.constant(key)
        # What is drawn from the metadata, say, may be a list: `managedFields` beside the labels.
        if isinstance(settled, str) and self.scope.typed and not isinstance(base, ir.Name):
            return Code(f"{one.text.removesuffix(_OR_NONE) if not one.atom else one.text}{_step(settled)}{_OR_NONE}")
        if isinstance(settled, str):
            if not one.atom and one.text.endswith(_OR_NONE):
                name = self.fresh("t")
                opened = one.text.removesuffix(_OR_NONE)
                return Code(f"{opened}.optFlatMap({name}, type({name}) == map ? {name}{_step(settled)} : optional.none()){_OR_NONE}")
            return self.let(one, lambda m: f"(type({m}) == map ? {m}{_step(settled)}{_OR_NONE} : null)")
        if isinstance(settled, int) and not isinstance(settled, bool):
            return self.let(one, lambda m: f"(type({m}) == list ? {m}[?{settled}].orValue(dyn(null)) : null)")
        return self.let2(
            one,
            self.value(key),
            lambda m, k: (
                f"(type({m}) == map ? (type({k}) == string ? {m}[?{k}].orValue(dyn(null)) : {k} == b'' ? {total.UNKNOWN_TEXT} : null) : "
                f"type({m}) == list ? (type({k}) == int && {k} >= 0 ? {m}[?{k}].orValue(dyn(null)) : null) : null)"
            ),
        )

    def _of_map(self, clean: str, key: ir.Expr) -> Code:
        settled = self.constant(key)
        if isinstance(settled, str):
            return Code(f"{clean}{_step(settled)}{_OR_NONE}")
        return self.let(
            self.value(key),
            lambda k: f"(type({k}) == string ? {clean}[?{k}].orValue(dyn(null)) : {k} == b'' ? {total.UNKNOWN_TEXT} : null)",
        )

    def of_template(self, key: ir.Expr) -> Code:
        """What is known of a Pod template besides its content."""
        name = self.constant(key)
        if not self.scope.pod:
            return _literal(None)
        match name:
            case "kind":
                return Code("variables.kind", "string", True)
            case "name" | "validated" | "scheduler":
                return Code(self.scope.part(f"template_{name}"), "dyn", True)
        raise Unprintable(f"the {name} of a Pod template")

    def _table(self, expr: ir.Expr) -> Any:
        """The constant table, or part of one, that an expression is; `_UNSETTLED` or None when it is none."""
        match expr:
            case ir.Fact(name):
                return FACTS[name]
            case ir.Constant(value=tuple() | dict() as value):
                return list(value) if isinstance(value, tuple) else value
            case ir.Param(name) if isinstance(self.parameters[name], tuple | list | dict):
                return self.parameters[name]
            case ir.Get(base, key):
                table = self._table(base)
                settled = self.constant(key)
                if isinstance(table, dict) and isinstance(settled, str):
                    return table.get(settled)
        return None

    def fact(self, expr: ir.Expr, text: str) -> str:
        """A table, as a variable unless it is short."""
        if len(text) < 60:
            return text
        name = f"table_{_digest_text(text)}"
        self.shared.variables.setdefault(name, text if text.startswith("dyn(") else f"dyn({text})")
        return f"variables.{name}"

    # ---- variables ----

    def scope_of_pods(self) -> Scope:
        """The scope in which a variable about the Pod template is printed."""
        return self.scope._replace(subject="pod", value="") if self.scope.pod else self.scope

    def apart(self, name: str, expr: ir.Expr) -> Code:
        """A variable that holds the expression."""
        variable = self.variable(name, expr)
        about_self = self.scope.subject not in ("pod", "object") and any(part == _SELF for part in ir.walk(expr))
        if about_self:
            return self.value(expr)
        if variable not in self.shared.variables:
            inner = Printer(self.scope_of_pods(), self.parameters, self.lower, self.shared)
            inner.top = expr
            code = inner.value(expr)
            self.shared.types[variable] = code.type if code.type != "null" else "dyn"
            self.keep(variable, code.dyn if code.type == "null" else code.text)
        return self.access(variable)

    def variable(self, name: str, expr: ir.Expr) -> str:
        """The name of a variable that holds something about the expression."""
        return named(name, expr) + ("_each" if self.scope.pod and self.scope.several else "")

    def keep(self, name: str, text: str) -> None:
        """Takes a variable up, behind those that it reads."""
        self.shared.variables.pop(name, None)
        several = self.scope.pod and self.scope.several
        self.shared.variables[name] = f"variables.pods.map(s, {text})" if several else text

    def access(self, name: str) -> Code:
        """How a variable is read."""
        text = f"variables.{name}[s.number]" if self.scope.pod and self.scope.several else f"variables.{name}"
        return Code(text, self.shared.types.get(name, "dyn"), True)

    # ---- places ----

    def place(self, expr: ir.Expr) -> str:
        """The path at which a value stands, or would stand, as a CEL text."""
        segments = self._segments(expr)
        return " + ".join(segments) if segments else "''"

    def _segments(self, expr: ir.Expr) -> list[str]:
        scope = self.scope
        match expr:
            case ir.Root("self") if scope.subject != "pod":
                return [scope.place]
            case ir.Root("object"):
                return ["''"]
            case ir.Root("self" | "pod"):
                return [scope.part("spec_at")]
            case ir.Root("template"):
                return [scope.part("scheduler_at")] if scope.pod else ["''"]
            case ir.Name(name) | ir.KeyOf(name):
                return [self.bound[name].place]
            case ir.Get(ir.Root("template"), _):
                return [scope.part("scheduler_at")] if scope.pod else ["''"]
            case ir.Get(base, ir.Constant(value="metadata")) if self._is_pod(base):
                return [scope.part("metadata_at")]
            case ir.Get(base, ir.Constant(value="spec")) if self._is_pod(base):
                return [scope.part("spec_at")]
            case ir.Get(base, key) if self._is_pod(base):
                return [scope.part("spec_at")]
            case ir.Get(ir.Quantified(op="filter" | "map") | ir.Concat() | ir.Flatten() as listed, key):
                return [self._place_in(listed, key)]
            case ir.Get(base, key):
                return self._member_segments(base, key)
            case ir.Effective(field) | ir.Source(field):
                return [self._effective_place(field)]
            case ir.If(test, then, otherwise):
                one, other = self.place(then), self.place(otherwise)
                return [one] if one == other else [f"({self.test(test)} ? {one} : {other})"]
        of = ir.placed_by(expr)
        return self._segments(of if of is not None else ir.Root("self"))

    def _member_segments(self, base: ir.Expr, key: ir.Expr) -> list[str]:
        before = self._segments(base)
        settled = self.constant(key)
        if isinstance(settled, str):
            word = total.key_text(settled)
            if before == ["''"]:
                return [quoted(word.removeprefix("."))]
            if re.fullmatch(r"'[^'\\]*'", before[-1]) and quoted(word).startswith("'"):
                return [*before[:-1], quoted(before[-1][1:-1] + word)]
            return [*before, quoted(word)]
        if isinstance(settled, int) and not isinstance(settled, bool):
            item = self.value(ir.Get(base, key))
            return [*before, self.let(item, lambda v: total.item_word(v, str(settled)), "string").text]
        code = self.value(key)
        word = self.let2(
            code,
            self.value(ir.Get(base, key)),
            lambda k, v: f"(type({k}) == string ? {total.key_word(k)} : {total.item_word(v, f'(type({k}) == int ? {k} : 0)')})",
            "string",
        ).text
        return [word] if before == ["''"] else [*before, word]

    def _place_in(self, listed: ir.Expr, key: ir.Expr) -> str:
        """Where an item stands that was drawn from elsewhere."""
        settled = self.constant(key)
        if not isinstance(settled, int) or isinstance(listed, ir.Flatten):
            raise Unprintable("the place of an item that is not the first")
        found = self.sequence(listed, True)
        name = self.fresh("x")
        assert found.place is not None
        text = found.first if settled == 0 else found.text
        return f"{text}.map({name}, {found.place(name)})[?{settled}].orValue({self.place(ir.Root('self'))})"

    def _effective_place(self, field: str) -> str:
        place = self.lower(field).place
        name = self.variable(f"place_of_{field}", place)
        if name not in self.shared.variables:
            self.keep(name, Printer(self.scope_of_pods(), self.parameters, self.lower, self.shared).place(place))
        return self.access(name).text

    # ---- what a violation rests on ----

    def open(self, check: ir.Check) -> str:
        """Whether a violation may rest on what is not known, or, in a fragment, not there.

        Coarser than `because` of the other printers, which would make policies several times as long: where a template engine still has
        something to fill in, or a fragment lacks something, CEL may leave unsaid what the others say. It never says more.
        """
        tests = []
        if self.scope.subject == "object":
            found = self.reads(check.when)
        else:
            tests += [self.scope.part("templated") if self.scope.pod else "variables.own_templated"]
            found = self.undecided(check.when, True)
        if self.scope.pod:
            summed = {part.key for part in ir.walk(check.when) if isinstance(part, ir.PodSum)}
            named_ = sorted(str(key.value) for key in summed if isinstance(key, ir.Constant))
            odd = self.scope.part("odd_amounts")
            tests += [f"{odd}[{self.shared.key(key)}]" for key in named_]
            if len(named_) < len(summed):
                tests.append(f"true in {odd}")
        if self.scope.fragment != "false" and _rests_on_absence(check.when, True):
            tests += self.absent(check.when)
        return Open(found.values, (*tests, *found.tests)).text(self)

    def absent(self, when: ir.Expr) -> list[str]:
        """Tests that, in a fragment, something is missing on which the violation rests."""
        values = missing(when)
        if values is None:
            return [self.scope.fragment]
        try:
            codes = [self.value(each) for each in sorted(values, key=_digest)]
        except Unprintable:
            return [self.scope.fragment]
        if any(code.type == "null" for code in codes):
            return [self.scope.fragment]
        texts = dict.fromkeys(code.text for code in codes if code.type == "dyn")
        tests = " || ".join(f"{text} == null" for text in texts)
        return [f"{self.scope.fragment} && ({tests})"] if tests else []

    def undecided(self, expr: ir.Expr, truth: bool) -> "Open":
        """Whether `expr` is `truth` because of effective fields that are not known."""
        match expr:
            case ir.Defined():
                return self._undecided_of(expr, truth)
            case ir.Not(of):
                return self.undecided(of, not truth)
            case ir.And(parts) if truth:
                return Open.any(self.undecided(part, truth) for part in parts)
            case ir.Or(parts) if not truth:
                return Open.any(self.undecided(part, truth) for part in parts)
            case ir.And(parts) | ir.Or(parts):
                reasons = [self.undecided(part, truth) for part in parts]
                if len(set(reasons)) == 1:
                    return reasons[0]
                tests = [self.test(part) if truth else f"!{_closed(self.test(part))}" for part in parts]
                texts = [why.text(self) for why in reasons]
                # Each reason that holds is enough: one that is decided decides.
                decided = [test if why == "false" else f"{test} && !{_closed(why)}" for test, why in zip(tests, texts, strict=True)]
                return Open((), (f"!({' || '.join(decided)})",))
            case ir.Quantified(op="exists" | "all") if not _effective(expr):
                return _DECIDED
            case ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body):
                witness = None if (op == "exists") != truth else (body if truth else ir.Not(body))
                return Open.any([self.rest_on(of), self._each(var, of, witness, lambda: self.undecided(body, truth))])
            case ir.If(test, then, otherwise):
                return self._either(test, self.undecided(then, truth), self.undecided(otherwise, truth))
        return self.rest_on(expr)

    def _either(self, test: ir.Expr, then: "Open", otherwise: "Open") -> "Open":
        if then == otherwise:
            return then
        return Open((), (f"({self.test(test)} ? {then.text(self)} : {otherwise.text(self)})",))

    def _undecided_of(self, expr: ir.Defined, truth: bool) -> "Open":
        if not _effective(expr):
            return _DECIDED
        name = self.variable(f"{expr.name}_{'true' if truth else 'false'}_open", expr.of)
        if name not in self.shared.variables:
            inner = Printer(self.scope_of_pods(), self.parameters, self.lower, self.shared)
            self.shared.types[name] = "bool"
            self.keep(name, inner.undecided(expr.of, truth).text(inner))
        return Open((), (self.access(name).text,))

    def rest_on(self, expr: ir.Expr) -> "Open":
        """Whether one of the effective fields that `expr` is computed from is not known."""
        match expr:
            case ir.Effective() | ir.Source():
                code = self.value(expr)
                return Open((code.dyn,), ()) if code.type in ("dyn", "string") else _DECIDED
            case _ if not _effective(expr):
                return _DECIDED
            case ir.If(test, then, otherwise):
                return self._either(test, self.rest_on(then), Open.any([self.rest_on(test), self.rest_on(otherwise)]))
            case ir.Quantified(_, var, of, body):
                return Open.any([self.rest_on(of), self._each(var, of, None, lambda: self.rest_on(body))])
            case ir.Concat(parts):
                return self.rest_on(parts[-1]) if parts else _DECIDED
            case ir.Defined():
                return self._undecided_of(expr, True)
        return Open.any(self.rest_on(child) for child in ir.children(expr))

    def reads(self, expr: ir.Expr) -> "Open":
        """Whether one of the values that `expr` is computed from is still to be filled in."""
        match expr:
            case ir.Get() | ir.Name():
                if self._table(expr) is not None or (isinstance(expr, ir.Get) and self.clean(expr) is not None):
                    return _DECIDED
                code = self.value(expr)
                return Open((code.dyn,), ()) if code.type in ("dyn", "string") else _DECIDED
            case ir.Quantified(_, var, of, body):
                return Open.any([self.reads(of), self._each(var, of, None, lambda: self.reads(body))])
            case ir.Defined(_, of):
                name = self.variable(f"{expr.name}_open", of)
                if name not in self.shared.variables:
                    inner = Printer(self.scope_of_pods(), self.parameters, self.lower, self.shared)
                    self.shared.types[name] = "bool"
                    self.keep(name, inner.reads(of).text(inner))
                return Open((), (self.access(name).text,))
        return Open.any(self.reads(child) for child in ir.children(expr))

    def _each(self, var: str, of: ir.Expr, witness: ir.Expr | None, reasons: Callable[[], "Open"]) -> "Open":
        always = False

        def body() -> str:
            nonlocal always
            inner = reasons().text(self)
            always = inner == "false"
            if always or witness is None:
                return inner
            return f"({self.test(witness)} && {inner})"

        text = self.loops(self.levels(of, _keyed(witness or ir.ABSENT, var)), var, body, "exists")
        return _DECIDED if always else Open((), (text,))

    # ---- words ----

    def template(self, template: ir.Template) -> str:
        """The parts of a message."""
        return "[" + ", ".join(f"dyn({quoted(part)})" if isinstance(part, str) else self.shown(part) for part in template) + "]"

    def shown(self, expr: ir.Expr) -> str:
        """What a hole shows."""
        match expr:
            case ir.Constant(value=str() as words):
                return f"dyn({quoted(words)})"
            case ir.If(test, then, otherwise) if expr not in self.named:
                return f"({self.test(test)} ? {self.shown(then)} : {self.shown(otherwise)})"
            case ir.QuantityOf(of) | ir.VersionOf(of):
                return self.shown(of)
            case ir.Amount(nanos):
                return f"dyn('{format_quantity(nanos)}')"
        if any(isinstance(part, _UNSAYABLE) or (isinstance(part, ir.Text) and part.op == "repaired") for part in ir.walk(expr)):
            return "dyn('…')"
        try:
            code = self.value(expr)
        except Unprintable:
            return "dyn('…')"
        if ir.type_of(expr) == "quantity":
            said = self.let(code, lambda q: f"({q} == null ? 'nothing' : string({q}[0]) + ({q}[1] == 0 ? '' : '+'))", "string")
            return f"dyn({said.text})"
        return f"dyn([{code.dyn}])"


class Levels:
    """Loops inside each other: what is drawn from, and, for a list of lists, the lists in it."""

    def __init__(self, of: "Sequence | Levels", placed: bool) -> None:
        self.of = of
        self.placed = placed

    def open(self, printer: Printer, body: Callable[[Sequence], str], macro: str) -> str:
        """The text of the loops around `body`."""
        if isinstance(self.of, Sequence):
            return body(self.of)

        def inner(sequence: Sequence) -> str:
            name = printer.fresh("l")
            place = sequence.place(name) if sequence.place and self.placed else "''"
            drawn = printer._drawn(Code(sequence.value(name), "dyn", True), place, self.placed)
            return f"{sequence.text}.{macro}({name}, {body(drawn)})"

        return self.of.open(printer, inner, macro)

    def depth(self) -> int:
        """How many loops there are."""
        return 1 if isinstance(self.of, Sequence) else 1 + self.of.depth()


class Open(NamedTuple):
    """Whether something is not known: values of which none may be, and tests of which none may hold."""

    values: tuple[str, ...]
    tests: tuple[str, ...]

    @staticmethod
    def any(parts: Any) -> "Open":
        """One of several."""
        listed = list(parts)
        return Open(
            tuple(dict.fromkeys(value for part in listed for value in part.values)),
            tuple(dict.fromkeys(test for part in listed for test in part.tests if test != "false")),
        )

    def text(self, printer: Printer) -> str:
        """A CEL bool."""
        tests = [test for test in self.tests if test != "false"]
        if self.values:
            name = printer.fresh("x")
            tests.append(f"[{', '.join(self.values)}].exists({name}, {total.opaque(name)})")
        if not tests:
            return "false"
        return tests[0] if len(tests) == 1 else "(" + " || ".join(tests) + ")"


_PLAIN = ir.Constant | ir.Amount | ir.Root | ir.Name | ir.KeyOf | ir.Param | ir.Fact
_CHEAP = _PLAIN | ir.Defined | ir.Effective | ir.Source | ir.PodSum
_DECIDED = Open((), ())
_UNSETTLED: Any = object()
_OR_NONE = ".orValue(dyn(null))"
_LISTS = frozenset(
    """
    tolerations matchExpressions matchFields values nodeSelectorTerms preferredDuringSchedulingIgnoredDuringExecution env volumes
    imagePullSecrets volumeClaimTemplates ownerReferences taints rules
    """.split()  # noqa: SIM905
)
"""Fields that are lists wherever Kubernetes itself has them."""
_SELF = ir.Root("self")
_CONTAINERS = ir.Get(ir.Get(ir.Root("pod"), ir.Constant("spec")), ir.Constant("containers"))
_UNSAYABLE = ir.Nearest | ir.Python | ir.Parsed | ir.Find | ir.FindAll
"""What a message may hold of which CEL knows nothing."""


def no_export(checks: Iterable[ir.Check], on: str, parameters: Mapping[str, Any]) -> str | None:
    """Why a rule cannot be said in CEL, or None."""
    pod = "variables." if on in ("pod", "container") else ""
    scope = Scope(on, pod, {"container": "c.v", "metadata": "variables.own_metadata", "object": "variables.object"}.get(on, ""))
    try:
        for check in checks:
            Printer(scope, _Anything(parameters), lambda _: _NO_FIELD, Shared()).check("", check)
    except Unprintable as error:
        return f"CEL has no way to say it: {error}"
    return None


class _Anything(dict[str, Any]):
    """Parameters of which some are set by configurations only."""

    def __missing__(self, name: str) -> Any:
        return None


class _NoField(NamedTuple):
    value: ir.Expr
    source: ir.Expr
    place: ir.Expr


_NO_FIELD = _NoField(ir.ABSENT, ir.ABSENT, ir.Get(ir.Root("object"), ir.Constant("metadata")))


def _countable(number: str) -> str:
    """A number of which a thousand can be added up: nobody has more of anything, and a sum beyond int64 would be an error."""
    return f"{number} > 1000000000000000 ? 1000000000000000 : {number} < -1000000000000000 ? -1000000000000000 : int({number})"


def total_of_pod(starting: str, regular: str, overhead: str) -> str:
    """`[units, nanos]` of a resource over a Pod as the scheduler counts it. `starting`: a list of [amount, whether it is a sidecar] of the
    init containers; `regular`: amounts of the others; null when nobody asks."""
    running = f"a.filter(x, x[1] && x[0] != null).map(x, x[0]) + b.filter(x, x != null) + [{overhead}].filter(x, x != null)"
    peaks = f"{total.numbers('a')}.map(n, {total.numbers('a')}.filter(j, j <= n && a[j][0] != null && (j == n || a[j][1])).map(j, a[j][0]))"
    lists = f"(size(a) == 0 ? [{running}] : [{running}] + {peaks})"
    zero = "[[0, 0]]"
    sums = f"{lists}.map(l, l + {zero}).map(l, {total.added('l.map(x, int(x[0]))', 'l.map(x, int(x[1]))')})"
    most = f"[{sums}].map(l, l.filter(x, !l.exists(y, y[0] > x[0] || y[0] == x[0] && y[1] > x[1]))[0])[0]"
    asked = "(a.exists(x, x[0] != null) || b.exists(x, x != null))"
    return f"[{starting}].map(a, [{regular}].map(b, {asked} ? dyn({most}) : null)[0])[0]"


_EFFECTIVE: dict[int, tuple[ir.Expr, bool]] = {}


def _effective(expr: ir.Expr) -> bool:
    """Whether effective fields stand anywhere inside."""
    known = _EFFECTIVE.get(id(expr))
    if known is None:
        found = isinstance(expr, ir.Effective | ir.Source) or any(_effective(child) for child in ir.children(expr))
        known = _EFFECTIVE[id(expr)] = (expr, found)
    return known[1]


def _rests_on_absence(expr: ir.Expr, truth: bool) -> bool:
    """Whether `expr` may be `truth` because something is not there."""
    match expr:
        case ir.Constant():
            return False
        case ir.Not(of) | ir.Defined(_, of):
            return _rests_on_absence(of, truth != isinstance(expr, ir.Not))
        case ir.And(parts) | ir.Or(parts):
            return any(_rests_on_absence(part, truth) for part in parts)
        case ir.If(_, then, otherwise):
            return _rests_on_absence(then, truth) or _rests_on_absence(otherwise, truth)
        case ir.Quantified(op="exists", body=body) if truth:
            return _rests_on_absence(body, True)
        case ir.Quantified(op="all", body=body) if not truth:
            return _rests_on_absence(body, False)
        case ir.Equal(left, ir.Constant(value=value)) if value is not None and truth:
            return _has_choices(left)
        case ir.Present() | ir.Compare() | ir.Member() | ir.Matches() | ir.IsType() if truth:
            return _has_choices(expr)
        case ir.Text(op="startsWith" | "endsWith" | "contains") if truth:
            return _has_choices(expr)
    return True


def _has_choices(expr: ir.Expr) -> bool:
    return any(isinstance(part, ir.If | ir.Size | ir.Fold | ir.Quantified) for part in ir.walk(expr))


def _nested(of: ir.Expr) -> int:
    """How many loops it takes to draw from an expression."""
    return 1 + _nested(of.of) if isinstance(of, ir.Flatten) else 1


def named(name: str, expr: ir.Expr) -> str:
    """The name of a variable that holds the expression."""
    return f"{re.sub(r'[^A-Za-z0-9]', '_', name)}_{_digest(expr)}"


_DIGESTS: dict[int, tuple[ir.Expr, str]] = {}
"""By the identity of an expression, which is kept: to hash a deep one again and again takes seconds."""


def _digest(expr: ir.Expr) -> str:
    known = _DIGESTS.get(id(expr))
    if known is None:
        parts = [_digest(part) if isinstance(part, ir.Expr) else repr(part) for part in ir.members(expr)]
        known = _DIGESTS[id(expr)] = (expr, _digest_text("\0".join((type(expr).__name__, *parts))))
    return known[1]


def _digest_text(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _below(place: str, value: str, key: str) -> str:
    """The place of an item under its key or index."""
    word = f"(type({key}) == string ? {total.key_word(f'string({key})')} : {total.item_word(f'{value}[{key}]', key)})"
    return word if place == "''" else f"{place} + {word}"


def _step(key: str) -> str:
    """The optional member of a map."""
    return f".?{key}" if re.fullmatch(r"[a-zA-Z]\w*", key) and key not in _TAKEN else f"[?{quoted(key)}]"


def _literal(value: Any) -> Code:
    sort = {type(None): "null", bool: "bool", int: "int", str: "string"}.get(type(value), "dyn")
    text = total.literal(value)
    return Code(text if sort != "dyn" else text if text.startswith("dyn(") else f"dyn({text})", sort, len(text) < 60)


def _bool(text: str) -> Code:
    return Code(text, "bool", text in ("true", "false"))


def _closed(test: str) -> str:
    """A test that `!` may stand before."""
    return test if re.fullmatch(r"[\w.]+", test) else f"({test})"


def _is_key(body: ir.Expr, var: str) -> bool:
    """Whether a body is the key of its variable, or nothing."""
    if isinstance(body, ir.If):
        return _is_key(body.then, var) and _is_key(body.otherwise, var)
    return body in (ir.KeyOf(var), ir.ABSENT)


def _hands_out_keys(expr: ir.Expr) -> bool:
    """Whether an expression is a list of keys of a map, in any order."""
    match expr:
        case ir.Quantified(op="filter", of=of) | ir.First(of):
            return _hands_out_keys(of)
        case ir.Quantified(op="map", var=var, body=body):
            return _is_key(body, var)
    return False


def _keyed(body: ir.Expr, var: str) -> bool:
    """Whether the key or place of a variable is asked for."""
    return any(part == ir.KeyOf(var) for part in ir.walk(body))
