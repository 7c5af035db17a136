"""Prints what decides at speed whether a rule has anything to say: `def RULE(s, p) -> bool`.

Nearly all subjects are in order, so nearly all that a run does is to find that out. A screen answers just that, and what is said
(places, texts, fixes) is left to the rule's full function (`python.py`), which then runs for the few. Both must agree; a test
holds them together. Since expressions are total, a condition may be tested in any order: the cheap parts come first, and other
objects are asked for last.
"""

from collections.abc import Iterator

from gpuvet.language import ir
from gpuvet.language.needs import conditions_of, conjuncts, part_of
from gpuvet.language.printers.python import Printer, function_of, hoist

_POD = {("metadata", "annotations"): "annotations", ("metadata", "labels"): "labels", ("spec",): "spec"}
_SUBJECT = {
    **{("pod", root, *path): name for root in ("self", "pod") for path, name in _POD.items()},
    **{("container", "pod", *path): name for path, name in _POD.items()},
    ("container", "self", "resources", "limits"): "limits",
    ("container", "self", "resources", "requests"): "requests",
    ("metadata", "self", "annotations"): "annotations",
    ("metadata", "self", "labels"): "labels",
}
"""Sort of subject, root and keys -> the attribute under which the subject has that map at hand; empty where something else stands."""
_MAPS = ("object", "template")
"""Roots that are maps whatever a manifest says."""
_DEEP = 14
"""Loops in each other; Python takes 20 blocks."""


class _Unfit(Exception):
    """The rule needs its full function: code of its own draws up what it is about."""


def print_screens(rules: list[tuple[str, str, tuple[ir.Check, ...]]]) -> list[str]:
    """The source of a module's functions: definitions, then a screen for each rule (id, sort of subject, checks) that can have one."""
    screens = [(checks, print_screen(name, on, checks)) for name, on, checks in rules]
    for name, on, checks in rules:
        part, weaker = part_of(on, checks)
        if part:
            screens.append((weaker, print_screen(f"{name}_{part}", on, weaker)))
    conditions = [expr for checks, screen in screens if screen is not None for check in checks for expr in conditions_of(check)]
    defined = dict.fromkeys(part for expr in conditions for part in reversed(ir.walk(expr)) if isinstance(part, ir.Defined))
    return [*(_print_definition(each) for each in defined), *(screen for _, screen in screens if screen is not None)]


def _print_definition(defined: ir.Defined) -> str:
    printer = Printer()
    plan = hoist(ir.Check(when=defined.of, at=ir.ABSENT, message=()))
    lines = [*printer.definitions(plan, None, "    "), f"    return {printer.value(defined.of)}"]
    roots = [f"    {root} = {source}" for root, source in printer.roots.items()]
    return "\n".join([f"def {function_of(defined)}(s: Any) -> Any:", *roots, *lines, ""])


def print_screen(name: str, on: str, checks: tuple[ir.Check, ...]) -> str | None:
    """The source of one function; None for a rule that is computed by code of its own."""
    printer = _Screen(name, on)
    try:
        body = [line for check in checks for line in printer.check(check)]
    except _Unfit:
        return None
    roots = [f"    {root} = {source}" for root, source in printer.roots.items()]
    return "\n".join([f"def {name}(s: Any, p: Any) -> bool:", *roots, *body, "    return False", ""])


class _Screen(Printer):
    def __init__(self, name: str, on: str) -> None:
        super().__init__()
        self.name = name
        self.on = on
        self.count = 0

    def check(self, check: ir.Check) -> Iterator[str]:
        self.hoisted.clear()
        yield from self.steps(conjuncts(check.when), list(check.each), frozenset(), "    ")

    def steps(self, tests: list[ir.Expr], loops: list[tuple[str, ir.Expr]], bound: frozenset[str], indent: str) -> Iterator[str]:
        """What is left to test, each step inside the one before."""
        if not tests and not loops:
            yield f"{indent}return True"
            return
        if len(indent) > 4 * _DEEP:
            raise _Unfit
        ready = sorted((test for test in tests if ir.free(test) <= bound), key=_cost)
        if ready and (not loops or _cost(ready[0]) < 20):
            test = ready[0]
            rest = [other for other in tests if other is not test]
            before = dict(self.hoisted)
            yield from self.name_parts(test, [*rest, *(of for _, of in loops)], bound, indent)
            yield from self.test(test, rest, loops, bound, indent)
            self.hoisted = before
            return
        var, of = loops[0]
        if len(loops) == 1 and isinstance(of, ir.FindAll) and tests and all(_of_run(test, var) for test in tests):
            # What is known says it for all subjects alike.
            self.count += 1
            plain = Printer().value(ir.Quantified("exists", var, of, ir.And(tuple(tests))))
            yield f"{indent}if s.once_for_all('{self.name}.{self.count}', ({of.kind!r},), lambda: {plain}):"
            yield f"{indent}    return True"
            return
        uses_key = any(ir.KeyOf(var) in ir.walk(expr) for expr in (*tests, *(other for _, other in loops[1:])))
        if isinstance(of, ir.Python):
            raise _Unfit
        before = dict(self.hoisted)
        # Code of ours may take long, and says the same for every item.
        for part in dict.fromkeys(part for test in tests for part in ir.parts(test) if isinstance(part, ir.Python)):
            if part not in self.hoisted and ir.free(part) <= bound:
                self.count += 1
                yield f"{indent}v{self.count} = {self.value(part)}"
                self.hoisted[part] = f"v{self.count}"
        yield f"{indent}for {self.target(var, uses_key)} in {self.drawn(of, uses_key)}:"
        yield from self.steps(tests, loops[1:], bound | {var}, indent + "    ")
        self.hoisted = before

    def test(
        self, test: ir.Expr, rest: list[ir.Expr], loops: list[tuple[str, ir.Expr]], bound: frozenset[str], indent: str
    ) -> Iterator[str]:
        match test:
            case ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body) if var not in bound and not _only_asks(test):
                yield from self.quantified(op == "exists", False, (var, of, body), rest, loops, bound, indent)
            case ir.Not(ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body) as of_all) if (
                var not in bound and not _only_asks(of_all)
            ):
                yield from self.quantified(op == "exists", True, (var, of, body), rest, loops, bound, indent)
            case _:
                yield f"{indent}if {self.value(test)}:"
                yield from self.steps(rest, loops, bound, indent + "    ")

    def quantified(
        self,
        exists: bool,
        negated: bool,
        parts: tuple[str, ir.Expr, ir.Expr],
        rest: list[ir.Expr],
        loops: list[tuple[str, ir.Expr]],
        bound: frozenset[str],
        indent: str,
    ) -> Iterator[str]:
        """A loop that ends with the first item that decides."""
        var, of, body = parts
        uses_key = ir.KeyOf(var) in ir.walk(body)
        name = None if uses_key else _name_sought(var, of, body, exists)
        if name is not None and isinstance(of, ir.FindAll):
            yield f"{indent}for {var} in s.find_named({of.kind!r}, {self.value(name)}):"
        else:
            yield f"{indent}for {self.target(var, uses_key)} in {self.drawn(of, uses_key)}:"
        inner = indent + "    "
        yield f"{inner}if {self.value(body) if exists else self.refuted(body)}:"
        if exists != negated:
            # exists, or not all: the first such item opens the way.
            yield from self.steps(rest, loops, bound, inner + "    ")
            yield f"{inner}    break"
        else:
            yield f"{inner}    break"
            yield f"{indent}else:"
            yield from self.steps(rest, loops, bound, inner)

    def name_parts(self, test: ir.Expr, later: list[ir.Expr], bound: frozenset[str], indent: str) -> Iterator[str]:
        """Gives a name to what a test needs more than once, or leaves to the tests behind it."""
        parts = dict.fromkeys(self.certain(test))
        chosen: list[ir.Expr] = []
        for part in sorted(parts, key=lambda part: (-len(ir.walk(part)), repr(part))):
            if part in self.hoisted or isinstance(part, _BOOLEAN) or not ir.free(part) <= bound:
                continue
            if sum(self.uses(root, part, chosen) for root in (test, *later, *chosen)) > 1:
                chosen.append(part)
        for part in reversed(chosen):
            code = self.value(part)
            self.count += 1
            self.hoisted[part] = f"v{self.count}"
            yield f"{indent}v{self.count} = {code}"

    def certain(self, expr: ir.Expr) -> list[ir.Expr]:
        """The parts of a test that are worked out whatever it says."""
        if self.is_leaf(expr) or isinstance(expr, ir.Defined):
            return [expr]
        match expr:
            case ir.And(parts) | ir.Or(parts):
                return self.certain(min(parts, key=_cost))
            case ir.If(test, _, _):
                return [expr, *self.certain(test)]
            case ir.Quantified(of=of):
                return [expr, *self.certain(of)]
        return [expr, *(part for child in ir.children(expr) for part in self.certain(child))]

    def uses(self, root: ir.Expr, sought: ir.Expr, named: list[ir.Expr]) -> int:
        """How often an expression is written inside another (not counting what is named by now)."""
        if root == sought:
            return 0 if root in named else 1
        if self.is_leaf(root) or isinstance(root, ir.Defined):
            return 0
        return sum(1 if child == sought else 0 if child in named else self.uses(child, sought, named) for child in ir.children(root))

    def is_leaf(self, expr: ir.Expr) -> bool:
        """Whether it is written as one name or as one look into a map at hand."""
        return expr in self.hoisted or (isinstance(expr, ir.Get) and self.from_subject(expr) is not None)

    def target(self, var: str, uses_key: bool) -> str:
        return f"{var}_key, {var}" if uses_key else var

    def drawn(self, of: ir.Expr, uses_key: bool) -> str:
        return self.pairs(of) if uses_key else self.sequence(of)

    def refuted(self, expr: ir.Expr) -> str:
        return self.value(expr.of) if isinstance(expr, ir.Not) else f"not {self.value(expr)}"

    def pairs(self, expr: ir.Expr) -> str:
        """Key and value of each item, as `located` of the full function has them at the end of its places."""
        match expr:
            case ir.Quantified(op="filter", var=var, of=of, body=body):
                return f"[({var}_key, {var}) for {var}_key, {var} in {self.pairs(of)} if {self.value(body)}]"
            case ir.Concat(parts):
                return "[" + ", ".join(f"*{self.pairs(part)}" for part in parts) + "]"
            case ir.If(test, then, otherwise):
                return f"({self.pairs(then)} if {self.value(test)} else {self.pairs(otherwise)})"
            case ir.Flatten(of):
                return f"[pair_ for list_ in {self.sequence(of)} for pair_ in pairs(list_)]"
            case ir.First(of):
                return f"[*{self.pairs(of)}][:1]"
            case ir.Get() | ir.Root() | ir.Constant() | ir.Name() | ir.Param() | ir.Fact() | ir.Parsed():
                return f"pairs({self.value(expr)})"
        raise _Unfit

    def from_subject(self, expr: ir.Get) -> str | None:
        """The code for a member of a map that the subject has at hand."""
        match expr:
            case ir.Get(base, ir.Constant(value=str() as key)):
                name = _SUBJECT.get((self.on, *(_path(base) or ())))
                if name is not None:
                    return f"{name}.get({key!r})"
        return None

    def below(self, base: ir.Expr, code: str, keys: list[str]) -> str:
        """The code for what stands below a value: a call less where it is, or most often is, a map."""
        if keys[0][0] in "'\"":
            if isinstance(base, ir.Root) and base.name in _MAPS:
                code, keys = f"{code}.get({keys[0]})", keys[1:]
            elif code.isidentifier() and len(keys) == 1:
                return f"({code}.get({keys[0]}) if type({code}) is dict else get({code}, {keys[0]}))"
        return f"get({', '.join([code, *keys])})" if keys else code

    def value(self, expr: ir.Expr) -> str:
        if expr in self.hoisted:
            return self.hoisted[expr]
        v = self.value
        match expr:
            case ir.KeyOf(name):
                return f"{name}_key"
            case ir.Get():
                keys: list[str] = []
                base: ir.Expr = expr
                while isinstance(base, ir.Get) and base not in self.hoisted:
                    short = self.from_subject(base)
                    if short is not None:
                        name = short.partition(".")[0]
                        self.roots.setdefault(name, f"s.{name}")
                        return f"get({', '.join([short, *reversed(keys)])})" if keys else short
                    keys.append(v(base.key))
                    base = base.base
                return self.below(base, v(base), keys[::-1])
            case ir.Fold() | ir.Quantified() if _only_asks(expr):
                self.count += 1
                kinds = tuple(sorted({part.kind for part in ir.walk(expr) if isinstance(part, ir.FindAll)}))
                plain = _Screen(self.name, self.on).general(expr)
                return f"s.once_for_all('{self.name}.{self.count}', {kinds!r}, lambda: {plain})"
            case ir.IsType(of, "text"):
                return f"(type({v(of)}) is str)"
            case ir.IsType(of, "map"):
                return f"(type({v(of)}) is dict)"
            case ir.IsType(of, "list"):
                return f"(type({v(of)}) is list)"
            case ir.IsType(of, "bool"):
                return f"(type({v(of)}) is bool)"
            case ir.Equal(left, ir.Constant(value=None)):
                return f"({v(left)} is None)"
            case ir.Equal(left, ir.Constant(value=str() as text)):
                return f"({v(left)} == {text!r})"
            case ir.Equal(left, ir.Constant(value=bool() as truth)):
                return f"({v(left)} is {truth!r})"
            case ir.Member(item, ir.Constant(value=tuple() as listed)) if listed and all(type(each) is str for each in listed):
                if len(listed) < 8:
                    return f"({v(item)} in {listed!r})"
                # Python makes the display a constant; what is looked up in it must be hashable.
                display = "{" + ", ".join(map(repr, listed)) + "}"
                if isinstance(item, ir.KeyOf):
                    return f"({v(item)} in {display})"
                return f"(type(m_ := {v(item)}) is str and m_ in {display})"
            case ir.And(parts):
                return "(" + " and ".join(v(part) for part in sorted(parts, key=_cost)) + ")"
            case ir.Or(parts):
                return "(" + " or ".join(v(part) for part in sorted(parts, key=_cost)) + ")"
            case ir.Quantified(op, var, of, body) if ir.KeyOf(var) in ir.walk(body):
                source = f"{var}_key, {var} in {self.pairs(of)}"
                match op:
                    case "exists":
                        return f"any({v(body)} for {source})"
                    case "all":
                        return f"all({v(body)} for {source})"
                    case "filter":
                        return f"[{var} for {source} if {v(body)}]"
                    case "map":
                        return f"[{v(body)} for {source}]"
        return super().value(expr)

    def general(self, expr: ir.Expr) -> str:
        """The plain code, not kept for the run."""
        return super().value(expr)


_BOOLEAN = (
    *(ir.Constant, ir.Amount, ir.Root, ir.Name, ir.KeyOf, ir.Param, ir.Fact, ir.Effective, ir.Source, ir.FindAll),
    *(ir.Present, ir.IsType, ir.Equal, ir.Member, ir.Not, ir.And, ir.Or),
)
"""What is not worth a name."""


def _of_run(expr: ir.Expr, var: str) -> bool:
    """Whether an expression is the same for all subjects, but for one variable."""
    own = (ir.Root, ir.Effective, ir.Source, ir.Find, ir.FindAll, ir.PodSum, ir.Python, ir.KeyOf, ir.Defined)
    return not any(isinstance(part, own) for part in ir.walk(expr)) and ir.free(expr) <= {var}


def _name_sought(var: str, of: ir.Expr, body: ir.Expr, exists: bool) -> ir.Expr | None:
    """The name of the only objects of a kind that decide: `exists` wants that name, or `all` holds for every other one."""
    if not isinstance(of, ir.FindAll) or of.name:
        return None
    parts = conjuncts(body if exists else ir.Not(body))
    for part in parts:
        match part:
            case ir.Equal(ir.Get(ir.Get(ir.Name(name), ir.Constant(value="metadata")), ir.Constant(value="name")), other):
                if name == var and var not in ir.free(other) and other != ir.ABSENT:
                    return other
    return None


def _only_asks(expr: ir.Expr) -> bool:
    """Whether it hangs on the known objects of a kind alone, so that it is the same for all subjects of a run."""
    parts = ir.walk(expr)
    own = (ir.Root, ir.Effective, ir.Source, ir.Find, ir.PodSum, ir.Parsed, ir.Python, ir.KeyOf, ir.Defined)
    return any(isinstance(part, ir.FindAll) for part in parts) and not any(isinstance(part, own) for part in parts) and not ir.free(expr)


def _path(expr: ir.Expr) -> tuple[str, ...] | None:
    """Root and keys, when all of them are written in the rule."""
    match expr:
        case ir.Root(name):
            return (name,)
        case ir.Get(base, ir.Constant(value=str() as key)):
            path = _path(base)
            return None if path is None else (*path, key)
    return None


_COSTS: dict[type[ir.Expr], float] = {
    **dict.fromkeys((ir.Constant, ir.Amount, ir.Root, ir.Name, ir.KeyOf), 0.0),
    **dict.fromkeys((ir.Present, ir.Not, ir.And, ir.Or, ir.If, ir.Param, ir.Fact), 0.2),
    ir.Get: 0.5,
    ir.Equal: 0.5,
    ir.IsType: 0.5,
    ir.Matches: 3,
    ir.QuantityOf: 3,
    ir.VersionOf: 5,
    ir.PodSum: 12,
    ir.Flatten: 3,
    ir.Effective: 60,
    ir.Source: 60,
    ir.Find: 40,
    ir.FindAll: 40,
    ir.Parsed: 200,
    ir.Nearest: 100,
}


def _cost(expr: ir.Expr) -> float:
    """A guess, in tenths of a microsecond or so."""
    inside = sum(_cost(child) for child in ir.children(expr))
    if isinstance(expr, ir.Defined):
        # Most often another rule has asked for it before.
        return 3 + inside / 4
    if isinstance(expr, ir.Quantified):
        inside += 4 + 2 * _cost(expr.body)
    return _COSTS.get(type(expr), 1.0) + inside
