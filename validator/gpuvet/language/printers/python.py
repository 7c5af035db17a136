"""Prints checks as plain Python functions over `gpuvet.values.total`.

A printed rule is `def RULE(s, p, out)`: `s` the subject, `p` its parameters, `out` takes one tuple per violation:
(place, on_key, message, expected, actual, related, fix, because). `because` lists the values on which the violation rests, so
that the engine can drop it when one of them is unknown, or absent in a fragment.
"""

import keyword
import re
import textwrap
from collections.abc import Iterator

from gpuvet.language import ir
from gpuvet.values import total

_COMPARE = {"<": "lt({}, {})", "<=": "le({}, {})", ">": "lt({1}, {0})", ">=": "le({1}, {0})"}
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod"}
_TEXT = {"split": "split", "trim": "trim", "lower": "lower", "startsWith": "starts", "endsWith": "ends", "contains": "contains"}
_TEXT |= {"repaired": "repaired"}
_FOLD = {"sum": "total", "max": "largest", "min": "smallest"}
_ROOT = {"self": "s.value", "pod": "s.pod", "object": "s.object", "template": "s.template"}


_RUNTIME = (total,)
"""Modules whose public functions printed rules call."""
NAMES = {name: module.__name__ for module in _RUNTIME for name in vars(module) if not name.startswith("_")}


def print_module(functions: list[str]) -> str:
    """Printed functions with just the imports that they need."""
    body = "\n\n".join(functions)
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

    def check(self, check: ir.Check) -> Iterator[str]:
        self.hoisted.clear()
        plan = hoist(check)
        indent = "    "
        yield from self.definitions(plan, set(), indent)
        bound: set[str] = set()
        for var, of in check.each:
            yield f"{indent}for {var}_at, {var} in {self.located(of)}:"
            indent += "    "
            bound.add(var)
            yield from self.definitions(plan, bound, indent)
        yield f"{indent}if {self.value(check.when)}:"
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
        inner = indent + "        "
        yield f"{indent}    out((\n" + "".join(f"{inner}{part},\n" for part in parts) + f"{indent}    ))"

    def definitions(self, plan: list[tuple[ir.Expr, str, frozenset[str]]], bound: set[str], indent: str) -> Iterator[str]:
        """Assigns what is used more than once, as soon as its variables are bound."""
        for expr, name, needs in plan:
            if expr not in self.hoisted and needs <= bound:
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
            case ir.FindAll(kind):
                return f"s.find_all({kind!r})"
            case ir.Param(name):
                return f"p[{name!r}]"
            case ir.Fact(name):
                return f"FACTS[{name!r}]"
            case ir.Present(of):
                return f"({v(of)} is not None)"
            case ir.IsType(of, name):
                return f"is_type({v(of)}, {name!r})"
            case ir.Equal(left, right):
                return f"equal({v(left)}, {v(right)})"
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
            case ir.PodSum(key):
                self.value(ir.Root("pod"))
                return f"pod_sum(pod_, {v(key)})"
            case ir.Quantified(op, var, of, body):
                source = f"{var} in {self.sequence(of)}"
                if ir.KeyOf(var) in ir.walk(body):
                    source = f"{var}_at, {var} in {self.located(of)}"
                match op:
                    case "exists":
                        return f"any({v(body)} for {source})"
                    case "all":
                        return f"all({v(body)} for {source})"
                    case "filter":
                        return f"[{var} for {source} if {v(body)}]"
                    case "map":
                        return f"[{v(body)} for {source}]"
            case ir.Concat(parts):
                return "[" + ", ".join(f"*{self.sequence(part)}" for part in parts) + "]"
            case ir.Flatten(of):
                return f"flatten({self.sequence(of)})"
            case ir.Size(of):
                return f"size({v(of)})"
            case ir.Text(op, of, argument):
                return f"{_TEXT[op]}({v(of)}{'' if argument is None else ', ' + v(argument)})"
            case ir.Nearest(of, among):
                return f"nearest({v(of)}, {v(among)})"
            case ir.Parsed(of, format):
                return f"s.parsed({v(of)}, {format!r})"
            case ir.Python(function, arguments, _):
                return f"{function}({', '.join(v(argument) for argument in arguments)})"
        raise AssertionError(expr)

    def sequence(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Quantified(op="filter" | "map") | ir.Concat() | ir.Flatten() | ir.Text(op="split"):
                return self.value(expr)
            case _:
                return f"items({self.value(expr)})"

    def place(self, expr: ir.Expr) -> str:
        match expr:
            case ir.Root(name):
                return f"({name!r},)"
            case ir.Name(name) | ir.KeyOf(name):
                return f"{name}_at"
            case ir.Get():
                keys: list[str] = []
                base: ir.Expr = expr
                while isinstance(base, ir.Get):
                    keys.append(self.value(base.key))
                    base = base.base
                return f"(*{self.place(base)}, {', '.join(reversed(keys))})"
            case ir.Effective(field) | ir.Source(field):
                return f"('effective', {field!r})"
            case ir.Find(kind, name, namespace):
                return f"('found', ({kind!r}, {self.value(name)}, {self.value(namespace)}))"
            case ir.If(test, then, otherwise):
                return f"({self.place(then)} if {self.value(test)} else {self.place(otherwise)})"
            case (
                ir.QuantityOf(of)
                | ir.IntegerOf(of)
                | ir.VersionOf(of)
                | ir.Present(of)
                | ir.Text(_, of)
                | ir.Parsed(of)
                | ir.Nearest(of)
                | ir.Size(of)
                | ir.Flatten(of)
                | ir.Fold(_, of)
                | ir.Arithmetic(_, of)
                | ir.Quantified(_, _, of)
            ):
                return self.place(of)
            case ir.Concat(parts) if parts:
                return self.place(parts[0])
        return "('self',)"

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
            case ir.Text(op="split"):
                return f"[({self.place(expr)}, part) for part in {self.value(expr)}]"
            case ir.Python():
                return self.value(expr)
            case _:
                return f"located({self.place(expr)}, {self.value(expr)})"

    def because(self, expr: ir.Expr, truth: bool) -> str:
        """A list of the values that decide why `expr` is `truth`."""
        match expr:
            case ir.Not(of):
                return self.because(of, not truth)
            case ir.And(parts) if truth:
                return self.all_of([self.because(part, truth) for part in parts])
            case ir.Or(parts) if not truth:
                return self.all_of([self.because(part, truth) for part in parts])
            case ir.And(parts) | ir.Or(parts):
                code = self.because(parts[-1], truth)
                for part in reversed(parts[:-1]):
                    test = self.value(part) if truth else f"not {self.value(part)}"
                    why = self.because(part, truth)
                    code = code if why == code else f"({why} if {test} else {code})"
                return code
            case ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body):
                witness = "" if (op == "exists") != truth else f" if {'' if truth else 'not '}{self.value(body)}"
                why = self.because(body, truth)
                inner = f"[because_ for {var}_at, {var} in {self.located(of)}{witness} for because_ in {why}]"
                return self.all_of([self.rest_on(of), inner if why != "[]" else why])
            case ir.If(test, then, otherwise):
                return f"({self.because(then, truth)} if {self.value(test)} else {self.because(otherwise, truth)})"
        return self.rest_on(expr)

    def rest_on(self, expr: ir.Expr) -> str:
        """A list of the values that `expr` is computed from."""
        match expr:
            case ir.Constant() | ir.Amount() | ir.Param() | ir.Fact() | ir.KeyOf() | ir.Root():
                return "[]"
            case ir.Get() | ir.Name() | ir.Effective() | ir.Source() | ir.Find() | ir.FindAll():
                return f"[{self.value(expr)}]"
            case ir.If(test, then, otherwise):
                return f"({self.rest_on(then)} if {self.value(test)} else {self.all_of([self.rest_on(test), self.rest_on(otherwise)])})"
            case ir.Quantified(_, var, of, body):
                why = self.rest_on(body)
                inner = f"[because_ for {var}_at, {var} in {self.located(of)} for because_ in {why}]"
                return self.all_of([self.rest_on(of), inner if why != "[]" else why])
            case ir.Concat(parts):
                return self.rest_on(parts[-1]) if parts else "[]"
            case ir.PodSum(key):
                self.value(ir.Root("pod"))
                return f"pod_reads(pod_, {self.value(key)})"
            case ir.Parsed(of) | ir.Python(_, (of, *_)):
                return self.rest_on(of)
        return self.all_of([self.rest_on(child) for child in ir.children(expr)])

    @staticmethod
    def all_of(lists: list[str]) -> str:
        lists = [code for code in lists if code != "[]"]
        if not lists:
            return "[]"
        return lists[0] if len(lists) == 1 else "[" + ", ".join(f"*{code}" for code in lists) + "]"


def hoist(check: ir.Check) -> list[tuple[ir.Expr, str, frozenset[str]]]:
    """Expressions that deserve a name because the condition and something else use them: (expression, name, variables needed).

    Smaller ones come first, so that larger ones can use them.
    """
    tested = [check.when, *(of for _, of in check.each)]
    everything = [*tested, check.at, *(expr for expr, _ in check.related)]
    templates = [check.message, check.expected or (), *(words for _, words in check.related)]
    if check.fix is not None:
        templates.append(check.fix.title)
        everything += [expr for edit in check.fix.edits for expr in (edit.at, edit.value)]
    everything += [part for template in templates for part in template if isinstance(part, ir.Expr)]
    everything.append(check.actual if check.actual is not None else check.at)
    bound = {var for var, _ in check.each}
    candidates = {part for root in tested for part in ir.walk(root) if not isinstance(part, _PLAIN) and _free(part) <= bound}
    chosen: list[ir.Expr] = []
    for expr in sorted(candidates, key=lambda expr: (-len(ir.walk(expr)), repr(expr))):
        if sum(_occurrences(root, expr, chosen) for root in (*everything, *chosen)) > 1:
            chosen.append(expr)
    taken = {*_RESERVED, *bound, *(f"{var}_at" for var in bound)}
    taken |= {part.var for root in everything for part in ir.walk(root) if isinstance(part, ir.Quantified)}
    plan = []
    for expr in reversed(chosen):
        name = _name(expr)
        while name in taken:
            name += "_"
        taken.add(name)
        plan.append((expr, name, frozenset(_free(expr))))
    return plan


_PLAIN = ir.Constant | ir.Amount | ir.Root | ir.Name | ir.KeyOf | ir.Param | ir.Fact
_RESERVED = {*"s p out because_ part any all FACTS self_ pod_ object_ template_".split(), *keyword.kwlist, *NAMES}


def _occurrences(root: ir.Expr, sought: ir.Expr, named: list[ir.Expr]) -> int:
    """How often an expression is written inside another (not counting itself as its own definition)."""
    count = 0
    for child in ir.children(root):
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
    return "value"


def _free(expr: ir.Expr) -> set[str]:
    """Variables that the expression does not bind itself."""
    match expr:
        case ir.Name(name) | ir.KeyOf(name):
            return {name}
        case ir.Quantified(_, var, of, body):
            return _free(of) | (_free(body) - {var})
    return {name for child in ir.children(expr) for name in _free(child)}
