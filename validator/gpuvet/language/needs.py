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


def reads(on: str, checks: tuple[ir.Check, ...]) -> str:
    """`resources` or `placement` when the conditions look at nothing but that part of the container or Pod; else empty.

    Manifests repeat such parts word for word, so the engine remembers what rules made of them.
    """
    part = {"container": "resources", "pod": "placement"}.get(on, "")
    conditions = [expr for check in checks for expr in (check.when, *(of for _, of in check.each))]
    return part if part and conditions and all(_looks_at(part, expr) for expr in conditions) else ""


def _looks_at(part: str, expr: ir.Expr) -> bool:
    match expr:
        case ir.Root() | ir.Effective() | ir.Source() | ir.Find() | ir.FindAll() | ir.PodSum() | ir.Parsed():
            return False
        case ir.Get(ir.Root("self"), ir.Constant(value="resources")):
            return part == "resources"
        case ir.Get(ir.Get(ir.Root("self" | "pod"), ir.Constant(value="spec")), ir.Constant(value=str() as key)):
            return part == "placement" and key in _PLACEMENT
    return all(_looks_at(part, child) for child in ir.children(expr))


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
                return self.on == "pod" and name in self.drawn and self.containers(self.drawn[name])
        return False

    def containers(self, of: ir.Expr) -> bool:
        match of:
            case ir.Concat(parts):
                return all(self.containers(part) for part in parts)
            case ir.Quantified(op="filter", of=inner):
                return self.containers(inner)
            case ir.Get(ir.Get(ir.Root("self" | "pod"), ir.Constant(value="spec")), ir.Constant(value=str() as part)):
                return part in _CONTAINERS
        return False
