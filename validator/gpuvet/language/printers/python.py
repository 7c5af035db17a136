"""Prints checks as plain Python functions over `gpuvet.values.total`.

A printed rule is `def RULE(s, p, out)`: `s` the subject, `p` its parameters, `out` takes one tuple per violation:
(place, on_key, message, expected, actual, related, fix, because). `because` lists the values on which the violation rests, so
that the engine can drop it when one of them is unknown, or absent in a fragment.
"""

import hashlib
import keyword
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

from gpuvet.language import ir
from gpuvet.values import conform, graph, total

_COMPARE = {"<": "lt({}, {})", "<=": "le({}, {})", ">": "lt({1}, {0})", ">=": "le({1}, {0})"}
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}
_TEXT = {"startsWith": "starts", "endsWith": "ends", **{op: op for op in ("split", "trim", "lower", "contains", "append", "repaired")}}
_FOLD = {"sum": "total", "max": "largest", "min": "smallest"}
_ROOT = {"self": "s.value", "pod": "s.pod", "object": "s.object", "template": "s.template"}


_RUNTIME = (conform, graph, total)
"""Modules whose public functions printed rules call."""
NAMES = {name: module.__name__ for module in _RUNTIME for name in vars(module) if not name.startswith("_")}


def print_module(functions: list[str], definitions: str = "") -> str:
    """Printed functions with just the imports that they need."""
    body = "\n\n".join([definitions, *functions] if definitions else functions)
    used = set(re.findall(r"[A-Za-z_]\w*(?=\()|\bUNKNOWN\b", body))
    lines = ["from typing import Any", ""]
    if "FACTS[" in body:
        lines.append("from gpuvet.compiled.facts import FACTS")
    for module in sorted({module.__name__ for module in _RUNTIME}):
        names = sorted(name for name in used if NAMES.get(name) == module)
        if names:
            lines.append(f"from {module} import (")
            lines += textwrap.wrap(", ".join(names) + ",", 120, initial_indent="    ", subsequent_indent="    ")
            lines.append(")")
    return "\n".join(lines) + "\n\n\n" + body


def print_definitions(rules: Iterable[tuple[ir.Check, ...]]) -> str:
    """The source of what several rules share: per definition a function that works it out, and one that says what that rests on."""
    roots = [root for checks in rules for check in checks for root in (*expressions(check), *_texts(check))]
    functions = []
    for defined in dict.fromkeys(part for root in roots for part in reversed(ir.walk(root)) if isinstance(part, ir.Defined)):
        name = function_of(defined)
        for suffix, arguments, returned in (("", "s: Any", None), ("_because", "s: Any, truth: bool", defined.of)):
            printer = Printer()
            plan = [] if returned else hoist(ir.Check(when=defined.of, at=ir.ABSENT, message=()))
            lines = list(printer.definitions(plan, None, "    "))
            if returned is None:
                lines.append(f"    return {printer.value(defined.of)}")
            else:
                code = f"{printer.because(returned, True)} if truth else {printer.because(returned, False)}"
                lines += [*(f"    {read} = {why}" for why, read in printer.reasons.items()), f"    return {code}"]
            start = [f"def {name}{suffix}({arguments}) -> Any:", f'    """{defined.name}"""']
            functions.append("\n".join([*start, *(f"    {root} = {source}" for root, source in printer.roots.items()), *lines, "", ""]))
    return "\n".join(functions)


def function_of(defined: ir.Defined) -> str:
    """The name of the function for a definition: definitions of the same name may differ by the subject of the rule."""
    return f"_{defined.name}_{hashlib.blake2b(repr(defined.of).encode(), digest_size=3).hexdigest()}"


def expressions(check: ir.Check) -> list[ir.Expr]:
    """All expressions of a check but those in its texts."""
    fix = check.fix.edits if check.fix is not None else ()
    found = [check.when, check.at, *(of for _, of in check.each), *(at for at, _ in check.related)]
    found += [expr for edit in fix for expr in (edit.at, edit.value)]
    return found if check.actual is None else [*found, check.actual]


def _texts(check: ir.Check) -> list[ir.Expr]:
    templates = [check.message, check.expected or (), *(words for _, words in check.related), *((check.fix.title,) if check.fix else ())]
    return [part for template in templates for part in template if isinstance(part, ir.Expr)]


def print_rule(name: str, title: str, checks: tuple[ir.Check, ...]) -> str:
    """The source of one function."""
    printer = Printer()
    body: list[str] = []
    for check in checks:
        body.extend(printer.check(check))
    roots = [f"    {root} = {source}" for root, source in printer.roots.items()]
    return "\n".join([f"def {name}(s: Any, p: Any, out: Any) -> None:", f'    """{title}"""', *roots, *body, ""])


class Printer:
    """Prints the parts of checks as Python."""

    def __init__(self) -> None:
        self.roots: dict[str, str] = {}
        self.hoisted: dict[ir.Expr, str] = {}
        self.bound: set[str] = set()
        self.reasons: dict[str, str] = {}
        """Long lists of read values, by their code: named, because several parts of a condition rest on the same ones."""

    def check(self, check: ir.Check) -> Iterator[str]:
        self.hoisted.clear()
        plan = hoist(check)
        indent = "    "
        bound: set[str] = set()
        tests = _parts(check.when)
        # Every operator is total, so that each test may stand as far out, and each definition as far in, as its variables allow.
        for var, of in (*check.each, ("", None)):
            for test in [test for test in tests if ir.free(test) <= bound]:
                tests.remove(test)
                if test != ir.Constant(True):
                    yield from self.definitions(plan, [test], indent, bound)
                    yield f"{indent}if {self.value(test)}:"
                    indent += "    "
            if of is not None:
                yield from self.definitions(plan, [of], indent, bound)
                yield f"{indent}for {var}_at, {var} in {self.located(of)}:"
                indent += "    "
                bound.add(var)
        yield from self.definitions(plan, None, indent)
        yield from self.definitions(hoist_spoken(check, plan), None, indent)
        self.bound = bound
        self.reasons.clear()
        parts = [
            self.place(check.at),
            repr(check.on_key),
            self.template(check.message),
            self.template(check.expected) if check.expected is not None else "None",
            self.value(check.actual if check.actual is not None else check.at),
            "[" + ", ".join(f"({self.place(at)}, {self.template(text)})" for at, text in check.related) + "]",
            self.fix(check.fix),
            self.because(check.when, True),
        ]
        for code, name in self.reasons.items():
            yield f"{indent}{name} = {code}"
        inner = indent + "    "
        yield f"{indent}out((\n" + "".join(f"{inner}{part},\n" for part in parts) + f"{indent}))"

    def definitions(
        self, plan: list[tuple[ir.Expr, str]], users: list[ir.Expr] | None, indent: str, bound: set[str] | None = None
    ) -> Iterator[str]:
        """Assigns what is used more than once, where it is first needed: before `users`, or all that is left. `bound`: the variables
        that are there already; a loop inside may have one of the same name."""
        needed = None if users is None else {part for user in users for part in ir.parts(user)}
        for expr, name in plan:
            if expr not in self.hoisted and (needed is None or expr in needed) and (bound is None or ir.free(expr) <= bound):
                code = self.value(expr)
                self.hoisted[expr] = name
                yield f"{indent}{name} = {code}"

    def fix(self, fix: ir.FixPlan | None) -> str:
        if fix is None:
            return "None"
        edits = "".join(f"({edit.op!r}, {self.place(edit.at)}, {self.value(edit.value)}), " for edit in fix.edits)
        return f"({self.template(fix.title)}, {fix.safe!r}, ({edits}))"

    def template(self, template: ir.Template) -> str:
        if all(isinstance(part, str) for part in template):
            return repr("".join(str(part) for part in template))
        return "say(" + ", ".join(repr(part) if isinstance(part, str) else self.shown(part) for part in template) + ")"

    def shown(self, expr: ir.Expr) -> str:
        """What a hole shows: values as people write them in YAML, but the rule's own words as they are."""
        match expr:
            case ir.Constant(value=str() as words):
                return repr(words)
            case ir.If(test, then, otherwise) if expr not in self.hoisted:
                return f"({self.shown(then)} if {self.value(test)} else {self.shown(otherwise)})"
        match ir.type_of(expr):
            case "quantity":
                return f"shown({self.value(expr)})"
            case "version":
                return f"dotted({self.value(expr)})"
            case "list" | "any" | "integer" | "bool":
                return f"text({self.value(expr)})"
        raise AssertionError(expr)

    def value(self, expr: ir.Expr) -> str:
        if expr in self.hoisted:
            return self.hoisted[expr]
        v = self.value
        match expr:
            case ir.Constant(value=value):
                return repr(list(value)) if isinstance(value, tuple) and not value else repr(value)
            case ir.Amount(nanos):
                return repr(nanos)
            case ir.Root(name):
                self.roots.setdefault(f"{name}_", _ROOT[name])
                return f"{name}_"
            case ir.Name(name):
                return name
            case ir.KeyOf(name):
                return f"{name}_at[-1]"
            case ir.Get():
                keys: list[str] = []
                base: ir.Expr = expr
                while isinstance(base, ir.Get) and base not in self.hoisted:
                    keys.append(v(base.key))
                    base = base.base
                return f"get({', '.join([v(base), *reversed(keys)])})"
            case ir.Effective(field):
                return f"s.effective({field!r})"
            case ir.Source(field):
                return f"s.source({field!r})"
            case ir.Find(kind, name, namespace):
                return f"s.find({kind!r}, {v(name)}, {v(namespace)})"
            case ir.FindAll(kind, name):
                return f"s.find_all({kind!r}, {name!r})" if name else f"s.find_all({kind!r})"
            case ir.Param(name):
                return f"p[{name!r}]"
            case ir.Fact(name):
                return f"FACTS[{name!r}]"
            case ir.Present(ir.Constant(value=value)):
                return repr(value is not None)
            case ir.Present(ir.Amount()):
                return "True"
            case ir.Present(of):
                return f"({v(of)} is not None)"
            case ir.IsType(of, name):
                return f"is_type({v(of)}, {name!r})"
            case ir.Equal(left, right):
                return f"equal({v(left)}, {v(right)})"
            case ir.Member(ir.KeyOf() as item, ir.Constant(value=tuple() as words)) if len(words) > 4 and set(map(type, words)) == {str}:
                return f"(type({v(item)}) is str and {v(item)} in {{{', '.join(map(repr, words))}}})"
            case ir.Member(item, of):
                return f"member({v(item)}, {v(of)})"
            case ir.Compare(op, left, right):
                return _COMPARE[op].format(v(left), v(right))
            case ir.Matches(of, pattern):
                return f"matches({v(of)}, {v(pattern)})"
            case ir.Not(of):
                return f"(not {v(of)})"
            case ir.And(parts):
                return "(" + " and ".join(v(part) for part in parts) + ")"
            case ir.Or(parts):
                return "(" + " or ".join(v(part) for part in parts) + ")"
            case ir.If(test, then, otherwise):
                return f"({v(then)} if {v(test)} else {v(otherwise)})"
            case ir.QuantityOf(of):
                return f"quantity({v(of)})"
            case ir.IntegerOf(of):
                return f"whole({v(of)})" if ir.type_of(of) == "quantity" else f"integer({v(of)})"
            case ir.VersionOf(of):
                return f"version({v(of)})"
            case ir.Arithmetic(op, left, right):
                return f"{_ARITHMETIC[op]}({v(left)}, {v(right)})"
            case ir.Fold(op, of):
                return f"{_FOLD[op]}({self.sequence(of)})"
            case ir.PodSum(key, _, None):
                return f"s.pod_sum({v(key)})"
            case ir.PodSum(key, var, ir.Expr() as body):
                asked = ir.Quantified("map", var, ir.Get(ir.Get(ir.Root("pod"), ir.Constant("spec")), ir.Constant("containers")), body)
                return f"pod_sum({v(ir.Root('pod'))}, {v(key)}, {v(asked)})"
            case ir.Quantified(op, var, of, body):
                inner = v(body)
                # Printed code alone tells whether a place is needed: an inner loop over a part of the variable needs it too.
                placed = re.search(rf"\b{var}_at\b", inner) is not None
                source = f"{var}_at, {var} in {self.located(of)}" if placed else f"{var} in {self.sequence(of)}"
                match op:
                    case "exists":
                        return f"any({inner} for {source})"
                    case "all":
                        return f"all({inner} for {source})"
                    case "filter":
                        return f"[{var} for {source} if {inner}]"
                    case "map":
                        return f"[{inner} for {source}]"
            case ir.Concat(parts):
                return "[" + ", ".join(f"*{self.sequence(part)}" for part in parts) + "]"
            case ir.Flatten(of):
                return f"flatten({self.sequence(of)})"
            case ir.First(of):
                return f"[*{self.sequence(of)}][:1]"
            case ir.Size(of):
                return f"size({v(of)})"
            case ir.Text(op, of, argument):
                return f"{_TEXT[op]}({v(of)}{'' if argument is None else ', ' + v(argument)})"
            case ir.Nearest(of, among):
                return f"nearest({v(of)}, {v(among)})"
            case ir.Parsed(of, format):
                return f"s.parsed({v(of)}, {format!r})"
            case ir.Defined():
                return f"s.once({function_of(expr)})"
            case ir.Python(function, (first, *_) as arguments, _, True):
                return f"{function}({self.place(first)}, {', '.join(v(argument) for argument in arguments)})"
            case ir.Python(function, arguments, _):
                return f"{function}({', '.join(v(argument) for argument in arguments)})"
        raise AssertionError(expr)

    def sequence(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Quantified(op="filter" | "map") | ir.Concat() | ir.Flatten() | ir.First() | ir.Text(op="split"):
                return self.value(expr)
            case _:
                return f"items({self.value(expr)})"

    def place(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Root(name):
                return f"({name!r},)"
            case ir.Name(name) | ir.KeyOf(name):
                return f"{name}_at"
            case ir.Get(ir.Quantified(op="filter" | "map") | ir.Concat() | ir.Flatten() as listed, key):
                return f"place_of({self.located(listed)}, {self.value(key)})"
            case ir.Get():
                keys: list[str] = []
                base: ir.Expr = expr
                while isinstance(base, ir.Get) and not isinstance(base.base, ir.Quantified | ir.Concat | ir.Flatten):
                    keys.append(self.value(base.key))
                    base = base.base
                return f"(*{self.place(base)}, {', '.join(reversed(keys))})"
            case ir.Effective(field) | ir.Source(field):
                return f"('effective', {field!r})"
            case ir.Find(kind, name, namespace):
                return f"('found', ({kind!r}, {self.value(name)}, {self.value(namespace)}))"
            case ir.If(test, then, otherwise):
                return f"({self.place(then)} if {self.value(test)} else {self.place(otherwise)})"
        of = ir.placed_by(expr)
        return self.place(of) if of is not None else "('self',)"

    def located(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Quantified(op="filter", var=var, of=of, body=body):
                return f"[({var}_at, {var}) for {var}_at, {var} in {self.located(of)} if {self.value(body)}]"
            case ir.Quantified(op="map", var=var, of=of, body=body):
                place = self.place(body) if not isinstance(body, ir.Constant) else f"{var}_at"
                return f"[({place}, {self.value(body)}) for {var}_at, {var} in {self.located(of)}]"
            case ir.Concat(parts):
                return "[" + ", ".join(f"*{self.located(part)}" for part in parts) + "]"
            case ir.If(test, then, otherwise):
                return f"({self.located(then)} if {self.value(test)} else {self.located(otherwise)})"
            case ir.Flatten(of):
                return f"[pair_ for list_at, list_ in {self.located(of)} for pair_ in located(list_at, list_)]"
            case ir.First(of):
                return f"[*{self.located(of)}][:1]"
            case ir.FindAll(kind, name):
                return f"s.located_all({kind!r}, {name!r})" if name else f"s.located_all({kind!r})"
            case ir.Text(op="split"):
                return f"[({self.place(expr)}, part) for part in {self.value(expr)}]"
            case ir.Python():
                return self.value(expr)
            case _:
                return f"located({self.place(expr)}, {self.value(expr)})"

    def because(self, expr: ir.Expr, truth: bool) -> str:
        """A list of the values that decide why `expr` is `truth`."""
        match expr:
            case ir.Defined():
                return f"{function_of(expr)}_because(s, {truth})"
            case ir.Not(of):
                return self.because(of, not truth)
            case ir.And(parts) if truth:
                return self.all_of([self.because(part, truth) for part in parts])
            case ir.Or(parts) if not truth:
                return self.all_of([self.because(part, truth) for part in parts])
            case ir.And(parts) | ir.Or(parts):
                tests = [self.value(part) if truth else f"not {self.value(part)}" for part in parts]
                reasons = [self.because(part, truth) for part in parts]
                if len(set(reasons)) == 1:
                    return reasons[0]
                listed = ", ".join(f"{why} if {test} else None" for why, test in zip(reasons, tests, strict=True))
                return f"reason(s, [{listed}])"
            case ir.Quantified(op="exists" | "all", var=var, of=of, body=body) if _is_table(of) and not _loops(body):
                # A table is known: the test rests on what its rows are compared with.
                return self.all_of(sorted({self.rest_on(part) for part in _compared(body, var)}))
            case ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body):
                witness = "" if (op == "exists") != truth else f" if {'' if truth else 'not '}{self.value(body)}"
                inner = self.each_of(f"{var}_at, {var} in {self.located(of)}{witness}", self.because(body, truth))
                # That nothing in the author's list is such rests on what is absent from it: a fragment may lack the item.
                missing = ["[None]"] if (op == "exists") != truth and _authored(of) else []
                return self.all_of([self.rest_on(of), inner, *missing])
            case ir.If(test, then, otherwise):
                return f"({self.because(then, truth)} if {self.value(test)} else {self.because(otherwise, truth)})"
        return self.rest_on(expr)

    def rest_on(self, expr: ir.Expr) -> str:
        """A list of the values that `expr` is computed from."""
        code = self._rest_on(expr)
        if len(code) < 200 or not ir.free(expr) <= self.bound:
            return code
        return self.reasons.setdefault(code, f"reads_{len(self.reasons) + 1}")

    def _rest_on(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Constant() | ir.Amount() | ir.Param() | ir.Fact() | ir.KeyOf() | ir.Root():
                return "[]"
            case ir.Get() | ir.Name() | ir.Effective() | ir.Source() | ir.Find() | ir.FindAll():
                return f"[{self.value(expr)}]"
            case ir.If(test, then, otherwise):
                return f"({self.rest_on(then)} if {self.value(test)} else {self.all_of([self.rest_on(test), self.rest_on(otherwise)])})"
            case ir.Quantified(_, var, of, body):
                inner = self.each_of(f"{var}_at, {var} in {self.located(of)}", self.rest_on(body))
                return self.all_of([self.rest_on(of), inner])
            case ir.Concat(parts):
                return self.rest_on(parts[-1]) if parts else "[]"
            case ir.PodSum(key):
                # What a webhook makes of a sum is made of what stands there.
                return f"pod_reads({self.value(ir.Root('pod'))}, {self.value(key)})"
            case ir.Parsed(of) | ir.Python(_, (of, *_)):
                return self.rest_on(of)
            case ir.Defined():
                return f"{function_of(expr)}_because(s, True)"
        return self.all_of([self.rest_on(child) for child in ir.children(expr)])

    @staticmethod
    def each_of(source: str, reasons: str) -> str:
        return "[]" if reasons == "[]" else f"[because_ for {source} for because_ in {reasons}]"

    @staticmethod
    def all_of(lists: list[str]) -> str:
        lists = [code for code in lists if code != "[]"]
        if not lists:
            return "[]"
        return lists[0] if len(lists) == 1 else "[" + ", ".join(f"*{code}" for code in lists) + "]"


def _is_table(expr: ir.Expr) -> bool:
    """Whether an expression is a constant or a part of a fact table."""
    return isinstance(expr, ir.Fact | ir.Constant) or (isinstance(expr, ir.Get) and _is_table(expr.base))


def _loops(expr: ir.Expr) -> bool:
    return any(isinstance(part, ir.Quantified) for part in ir.parts(expr))


def _compared(expr: ir.Expr, row: str) -> list[ir.Expr]:
    """What an expression reads besides a row of a table."""
    if isinstance(expr, ir.PodSum | ir.Defined) or (isinstance(expr, _READS) and row not in ir.free(expr)):
        return [expr]
    return [part for child in ir.children(expr) for part in _compared(child, row)]


_READS = ir.Get | ir.Name | ir.Effective | ir.Source | ir.Find | ir.FindAll


def _parts(test: ir.Expr) -> list[ir.Expr]:
    """What must hold, each by itself."""
    return [inner for part in test.parts for inner in _parts(part)] if isinstance(test, ir.And) else [test]


def _authored(expr: ir.Expr) -> bool:
    """Whether a list stands in the judged object itself, so that a fragment may show a part of it only."""
    match expr:
        case ir.Root():
            return True
        case ir.Get(base, _):
            return _authored(base)
        case ir.Concat(parts):
            return any(_authored(part) for part in parts)
        case ir.Quantified(op="filter" | "map", of=of):
            return _authored(of)
    return False


def hoist(check: ir.Check) -> list[tuple[ir.Expr, str]]:
    """Expressions that deserve a name because the condition and something else use them: (expression, name).

    Smaller ones come first, so that larger ones can use them.
    """
    tested = [check.when, *(of for _, of in check.each)]
    return _named(check, tested, [*tested, *_spoken(check)], [])


def hoist_spoken(check: ir.Check, plan: list[tuple[ir.Expr, str]]) -> list[tuple[ir.Expr, str]]:
    """Expressions that only the words of a finding use, but more than once. `plan` is what has a name already."""
    spoken = _spoken(check)
    return _named(check, spoken, spoken, plan)


def _spoken(check: ir.Check) -> list[ir.Expr]:
    """All expressions of a check but its condition."""
    templates = [check.message, check.expected or (), *(words for _, words in check.related)]
    spoken = [check.at, *(expr for expr, _ in check.related)]
    if check.fix is not None:
        templates.append(check.fix.title)
        spoken += [expr for edit in check.fix.edits for expr in (edit.at, edit.value)]
    spoken += [part for template in templates for part in template if isinstance(part, ir.Expr)]
    return [*spoken, check.actual if check.actual is not None else check.at]


def _named(check: ir.Check, roots: list[ir.Expr], everything: list[ir.Expr], plan: list[tuple[ir.Expr, str]]) -> list[tuple[ir.Expr, str]]:
    bound = {var for var, _ in check.each}
    chosen = {expr for expr, _ in plan}
    candidates = {part for root in roots for part in ir.parts(root) if not isinstance(part, _PLAIN) and ir.free(part) <= bound}
    candidates.difference_update(chosen)
    # Cheaper to count than `_occurrences`, and never less.
    written = Counter(part for root in everything for part in ir.parts(root))
    candidates = {part for part in candidates if written[part] > 1}
    inside = [(root, set(ir.parts(root))) for root in everything]
    fresh: list[ir.Expr] = []
    for expr in sorted(candidates, key=lambda expr: (-len(ir.parts(expr)), repr(expr))):
        if sum(_occurrences(root, expr, chosen) for root, parts in inside if expr in parts) > 1:
            chosen.add(expr)
            fresh.append(expr)
            inside.append((expr, set(ir.parts(expr))))
    taken = {*_RESERVED, *bound, *(f"{var}_at" for var in bound), *(name for _, name in plan)}
    roots = [check.when, *(of for _, of in check.each), *_spoken(check)]
    taken |= {part.var for root in roots for part in ir.walk(root) if isinstance(part, ir.Quantified | ir.PodSum)}
    named = []
    for expr in reversed(fresh):
        name = _name(expr)
        while name in taken:
            name += "_"
        taken.add(name)
        named.append((expr, name))
    return named


_PLAIN = ir.Constant | ir.Amount | ir.Root | ir.Name | ir.KeyOf | ir.Param | ir.Fact
_RESERVED = {
    *["s", "p", "out", "because_", "part", "any", "all", "FACTS", "self_", "pod_", "object_", "template_"],
    *keyword.kwlist,
    *NAMES,
}


def _occurrences(root: ir.Expr, sought: ir.Expr, named: set[ir.Expr]) -> int:
    """How often an expression is written inside another (not counting itself as its own definition)."""
    count = 0
    for child in () if isinstance(root, ir.Defined) else ir.children(root):
        if child == sought:
            count += 1
        elif child not in named:
            count += _occurrences(child, sought, named)
    return count + (root == sought and root not in named)


def _name(expr: ir.Expr) -> str:
    """A word for what the expression yields."""
    match expr:
        case ir.Get(base, ir.Constant(value=str() as key)):
            word = key.rpartition("/")[2]
            return re.sub(r"\W", "_", word) if re.match(r"[A-Za-z]", word) else _name(base)
        case ir.Get(base, ir.KeyOf()):
            return f"{_name(base)}_at_key"
        case ir.Get(base, _) | ir.Parsed(base) | ir.Text(_, base):
            return _name(base)
        case ir.Effective(field):
            return f"effective_{re.sub(r'[^A-Za-z0-9]', '_', field)}"
        case ir.Source(field):
            return f"source_of_{re.sub(r'[^A-Za-z0-9]', '_', field)}"
        case ir.QuantityOf(of):
            return f"{_name(of)}_nanos"
        case ir.IntegerOf(ir.QuantityOf(of)) | ir.IntegerOf(of):
            return f"{_name(of)}_number"
        case ir.VersionOf(of):
            return f"{_name(of)}_version"
        case ir.If(_, then):
            return _name(then)
        case ir.Name(name) | ir.KeyOf(name):
            return name
        case ir.PodSum(ir.Constant(value=str() as key)):
            return f"pod_{re.sub(r'[^A-Za-z0-9]', '_', key.rpartition('/')[2])}"
        case ir.Find(kind) | ir.FindAll(kind):
            return kind.lower()
        case ir.Present(of):
            return f"has_{_name(of)}"
        case ir.Defined(name):
            return name
    return "value"
