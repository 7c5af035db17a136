"""Which keys a rule cannot do without, read off its conditions: where they are not shown, it need not be asked."""

from gpuvet.language import ir

_NAMED = ("annotations", "labels")
_AMOUNTS = ("limits", "requests")
_CONTAINERS = ("containers", "initContainers")


def needs(on: str, checks: tuple[ir.Check, ...]) -> tuple[tuple[str, ...], ...]:
    """One set of keys for each check; nothing when a check can speak without any."""
    if on not in ("pod", "container", "metadata"):
        return ()
    found = []
    for check in checks:
        keys = _Reader(on, dict(check.each)).implied(check.when, True)
        if not keys:
            return ()
        found.append(tuple(sorted(keys)))
    return tuple(sorted(set(found)))


_PLACEMENT = ("affinity", "nodeSelector", "tolerations")
_SCHEDULING = ("overhead", "schedulerName")
_PARTS = {"container": ("resources",), "pod": ("placement", "amounts", "configuration", "named")}
_OWN = "tensor-fusion.ai/"
"""Domain of the annotations and labels of which an effective configuration is made."""


def part_of(on: str, checks: tuple[ir.Check, ...]) -> tuple[str, tuple[ir.Check, ...]]:
    """A part of the container or Pod, and what the conditions demand of it alone: where that does not hold, neither do they.

    `resources` of a container. Of a Pod: `placement` (affinity, node selector, tolerations), `amounts` (its containers' resources,
    overhead, scheduler), `configuration` (its own TensorFusion annotations and labels, and what is effective), `named` (all its
    annotations and labels). The kind of the object counts for nothing, since rules are selected by kind. Manifests repeat such parts
    word for word, so the engine remembers what rules made of them. Empty when no part decides anything.
    """
    best: tuple[float, str, tuple[ir.Check, ...]] = (_WORTH, "", ())
    for part in _PARTS.get(on, ()):
        weaker = [_weaker(part, check) for check in checks]
        worth = min((sum(len(ir.parts(expr)) for expr in conditions_of(check)) for check in weaker), default=0)
        if worth > best[0]:
            best = worth, part, tuple(weaker)
    return best[1], best[2]


_WORTH = 8
"""Expressions below which remembering costs more than working out."""


def conditions_of(check: ir.Check) -> list[ir.Expr]:
    """What decides whether a check has something to say."""
    return [check.when, *(of for _, of in check.each)]


def _weaker(part: str, check: ir.Check) -> ir.Check:
    """The check with only those of its conditions that look at nothing but the part."""
    drawn: dict[str, ir.Expr] = {}
    for var, of in check.each:
        if ir.free(of) <= drawn.keys() and _looks_at(part, drawn, of):
            drawn[var] = of
    kept = [test for test in conjuncts(check.when) if ir.free(test) <= drawn.keys() and _looks_at(part, drawn, test)]
    # A loop over what is always there, with no test behind it, decides nothing.
    when = kept[0] if len(kept) == 1 else ir.And(tuple(kept)) if kept else ir.Constant(True)
    return ir.Check(when=when, at=ir.ABSENT, message=(), each=tuple(drawn.items()))


def _looks_at(part: str, drawn: dict[str, ir.Expr], expr: ir.Expr) -> bool:
    looks = _Looks(part, drawn)
    return looks.of_containers(expr) if part == "amounts" and _containers(expr) else looks.at_part(expr)


def conjuncts(expr: ir.Expr) -> list[ir.Expr]:
    """The parts that must all hold."""
    if isinstance(expr, ir.And):
        return list(dict.fromkeys(each for part in expr.parts for each in conjuncts(part)))
    if isinstance(expr, ir.Not) and isinstance(expr.of, ir.Or):
        return list(dict.fromkeys(each for part in expr.of.parts for each in conjuncts(ir.Not(part))))
    if isinstance(expr, ir.Not) and isinstance(expr.of, ir.Not):
        return conjuncts(expr.of.of)
    return [] if expr == ir.Constant(True) else [expr]


class _Looks:
    """What the conditions of one check look at. `drawn` says what its variables are drawn from."""

    def __init__(self, part: str, drawn: dict[str, ir.Expr]) -> None:
        self.part = part
        self.drawn = drawn

    def at_part(self, expr: ir.Expr) -> bool:
        """Whether it looks at nothing but the part."""
        match expr:
            case ir.Get(ir.Root("object" | "template"), ir.Constant(value="kind")):
                return True
            case ir.Get(ir.Root("self"), ir.Constant(value="resources")) if self.part == "resources":
                return True
            case ir.Get(ir.Get(ir.Root("self" | "pod"), ir.Constant(value="spec")), ir.Constant(value=str() as key)):
                return key in (_PLACEMENT if self.part == "placement" else _SCHEDULING if self.part == "amounts" else ())
            case ir.Effective() | ir.Source() if self.part == "configuration":
                return True
            case ir.Get(
                ir.Get(ir.Get(ir.Root("self" | "pod"), ir.Constant(value="metadata")), ir.Constant(value="annotations" | "labels")),
                ir.Constant(value=str() as key),
            ) if self.part == "configuration":
                return key.startswith(_OWN)
            case ir.Get(ir.Get(ir.Root("self" | "pod"), ir.Constant(value="metadata")), ir.Constant(value="annotations" | "labels")):
                return self.part == "named"
            case ir.Get(ir.Root("template"), ir.Constant(value="scheduler")) if self.part == "amounts":
                return True
            case ir.PodSum(key, _, None) if self.part == "amounts":
                return self.at_part(key)
            case ir.PodSum(key, var, ir.Expr() as body) if self.part == "amounts":
                return self.at_part(key) and _Looks(self.part, {**self.drawn, var: _CONTAINER}).at_part(body)
            case ir.Root() | ir.Effective() | ir.Source() | ir.Find() | ir.FindAll() | ir.PodSum() | ir.Parsed():
                return False
            case ir.Get(ir.Name(name), ir.Constant(value="resources")) if self.is_container(name):
                return True
            case ir.Name(name) if self.is_container(name):
                return False
            case ir.Quantified(op, var, of, body) if self.part == "amounts" and _containers(of):
                # What a filter leaves are containers, too, of which only the resources may be looked at.
                inner = _Looks(self.part, {**self.drawn, var: of})
                return op != "map" and inner.at_part(body) and self.of_containers(of)
            case ir.Quantified(_, var, of, body):
                return self.at_part(of) and _Looks(self.part, {**self.drawn, var: of}).at_part(body)
            case ir.Concat() | ir.First() if self.part == "amounts" and _containers(expr):
                return self.of_containers(expr)
            case ir.Defined(_, of):
                return _Looks(self.part, {}).at_part(of)
        return all(self.at_part(child) for child in ir.children(expr))

    def of_containers(self, expr: ir.Expr) -> bool:
        """Whether a list of containers is drawn up by their resources alone."""
        match expr:
            case ir.Concat(parts):
                return all(self.of_containers(part) for part in parts)
            case ir.First(of):
                return self.of_containers(of)
            case ir.Quantified(_, var, of, body):
                return self.of_containers(of) and _Looks(self.part, {**self.drawn, var: of}).at_part(body)
        return True

    def is_container(self, name: str) -> bool:
        return self.part == "amounts" and name in self.drawn and _containers(self.drawn[name])


def _containers(of: ir.Expr) -> bool:
    """Whether a list holds containers of the Pod and nothing else."""
    match of:
        case ir.Concat(parts):
            return bool(parts) and all(_containers(part) for part in parts)
        case ir.Quantified(op="filter", of=inner) | ir.First(inner):
            return _containers(inner)
        case ir.Get(ir.Get(ir.Root("self" | "pod"), ir.Constant(value="spec")), ir.Constant(value=str() as part)):
            return part in _CONTAINERS
    return False


_CONTAINER = ir.Get(ir.Get(ir.Root("pod"), ir.Constant("spec")), ir.Constant("containers"))


class _Reader:
    """Reads the conditions of one check. `drawn` says what its variables are drawn from."""

    def __init__(self, on: str, drawn: dict[str, ir.Expr]) -> None:
        self.on = on
        self.drawn = drawn

    def implied(self, expr: ir.Expr, truth: bool) -> frozenset[str]:
        """Keys that are shown whenever the expression has this truth."""
        match expr:
            case ir.Not(of):
                return self.implied(of, not truth)
            case ir.And(parts) | ir.Or(parts):
                each = [self.implied(part, truth) for part in parts]
                return frozenset().union(*each) if isinstance(expr, ir.And) == truth else frozenset.intersection(*each)
            case ir.Quantified(op="exists", var=var, of=of, body=body) if truth:
                return _Reader(self.on, {**self.drawn, var: of}).implied(body, True)
            case ir.Quantified(op="all", var=var, of=of, body=body) if not truth:
                return _Reader(self.on, {**self.drawn, var: of}).implied(body, False)
        if not truth:
            return frozenset()
        match expr:
            case ir.Present(of) | ir.IsType(of) | ir.Matches(of):
                return self.keys(of)
            case ir.Text(op="startsWith" | "endsWith" | "contains", of=of):
                return self.keys(of)
            case ir.Equal(left, ir.Constant(value=value)) if value is not None:
                return self.keys(left)
            case ir.Member(item, ir.Constant(value=tuple() as listed)) if None not in listed:
                return self.keys(item)
            case ir.Compare(_, left, right):
                return self.keys(left) | self.keys(right)
        return frozenset()

    def keys(self, expr: ir.Expr) -> frozenset[str]:
        """Keys that are shown whenever the expression has a value."""
        match expr:
            case ir.Get(base, ir.Constant(value=str() as key)) if "/" in key and self.shows(base):
                return frozenset((key,))
            case ir.If(_, then, otherwise):
                return self.keys(then) & self.keys(otherwise)
            case ir.QuantityOf(of) | ir.IntegerOf(of) | ir.VersionOf(of) | ir.Text(op="trim" | "lower", of=of):
                return self.keys(of)
            case ir.Arithmetic(_, left, right):
                return self.keys(left) | self.keys(right)
            case ir.PodSum(ir.Constant(value=str() as key)) if "/" in key and self.on == "pod":
                return frozenset((key,))
        return frozenset()

    def shows(self, base: ir.Expr) -> bool:
        """Whether the subject shows the keys of this map."""
        match base:
            case ir.Get(ir.Root("self"), ir.Constant(value=str() as part)):
                return self.on == "metadata" and part in _NAMED
            case ir.Get(ir.Get(ir.Root("self" | "pod"), ir.Constant(value="metadata")), ir.Constant(value=str() as part)):
                return self.on == "pod" and part in _NAMED
            case ir.Get(ir.Get(holder, ir.Constant(value="resources")), ir.Constant(value=str() as part)):
                return part in _AMOUNTS and self.holds(holder)
        return False

    def holds(self, holder: ir.Expr) -> bool:
        """Whether it is the container, or one of the Pod's."""
        match holder:
            case ir.Root("self"):
                return self.on == "container"
            case ir.Name(name):
                return self.on == "pod" and name in self.drawn and _containers(self.drawn[name])
        return False
