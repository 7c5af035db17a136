"""What is known of a rule without its constraint: read off the rule and its checks."""

from gpuvet.language import ir
from gpuvet.language.catalogue import LoadedRule
from gpuvet.language.needs import needs, part_of
from gpuvet.language.printers.cel import no_export
from gpuvet.values.rule import RuleInfo


def rule_info(rule: LoadedRule, module: str) -> RuleInfo:
    """The rule without its constraint."""
    text = rule.text
    parts = [part for check in rule.checks for expr in _expressions(check) for part in ir.walk(expr)]
    finds = sorted({_sought(part) for part in parts if isinstance(part, ir.Find | ir.FindAll)} | set(_effective_kinds(parts)))
    platform = (text.platform.name, text.platform.versions, text.platform.unnamed) if text.platform else None
    reason = _no_export(rule, parts)
    return RuleInfo(
        id=text.id,
        name=text.name,
        vocabulary=VOCABULARIES.get(text.family, "own"),
        severity=text.severity,
        consequence=text.consequence,
        kind=text.kind,
        on=text.on,
        sees=text.sees,
        keys=text.trigger.keys,
        kinds=text.trigger.kinds,
        names=text.trigger.names,
        images=text.trigger.images,
        why=" ".join(text.why.split()),
        implements=text.implements,
        sources=text.sources,
        supersedes=text.supersedes,
        platform=platform,
        parameters=text.parameters,
        finds=tuple(finds),
        exports={"cel": reason or no_export(rule.checks, text.on, text.parameters) or True, "rego": reason or True},
        function=f"{module}:{text.id}",
        needs=needs(text.on, rule.checks),
        reads=part_of(text.on, rule.checks)[0],
    )


VOCABULARIES = {
    "K8S": "kubernetes",
    "TF": "tensor-fusion",
    "KM": "koordinator-metax",
    "QG": "qgpu",
    "PL": "placement",
    "VJ": "volcano",
    "IN": "input",
}
"""Family letters -> vocabulary."""


def _sought(part: ir.Find | ir.FindAll) -> str:
    """The kind, or `Kind/name` where no other object of the kind matters."""
    name = part.name.value if isinstance(part, ir.Find) and isinstance(part.name, ir.Constant) else part.name
    return f"{part.kind}/{name}" if isinstance(name, str) and name else part.kind


def _effective_kinds(parts: list[ir.Expr]) -> list[str]:
    """Kinds that the effective configuration may come from."""
    effective = any(isinstance(part, ir.Effective | ir.Source) for part in parts)
    return ["GPUPool", "GPUResourceQuota", "WorkloadProfile"] if effective else []


NOT_LOWERED = frozenset(("inject-container",))
"""Effective fields that resolve/lowered.py cannot write down as an expression."""


def _no_export(rule: LoadedRule, parts: list[ir.Expr]) -> str | None:
    """Why the rule cannot be exported to a one-object engine, or None."""
    if rule.text.kind == "input":
        return "judges the text of a file, and engines see objects"
    if rule.text.sees == "text":
        return "judges who wrote a key, which only the text shows"
    for part in parts:
        match part:
            case ir.Find(kind) | ir.FindAll(kind):
                return f"needs another object ({kind})"
            case ir.Parsed():
                return "reads YAML or JSON inside a text"
            case ir.Python(_, _, reason):
                return reason
            case ir.Nearest() | ir.Text(op="repaired"):
                return "measures how near a word is to a known one"
            case ir.Get(ir.Root("template"), key) if key not in _OF_TEMPLATES:
                return "counts the Pods of a template, which every kind of workload says in its own way"
            case ir.Effective(field) | ir.Source(field) if field.removeprefix("stated-") in NOT_LOWERED:
                return f"the effective {field} joins the names of containers, which the rule language cannot"
    if any(_counts(check.at) for check in rule.checks):
        return "stands at the number of Pods, which every kind of workload says in its own way"
    return None


_SCHEDULER = ir.Constant("scheduler")
_OF_TEMPLATES = (ir.Constant("name"), ir.Constant("kind"), ir.Constant("validated"), _SCHEDULER)
"""What engines know of a Pod template besides its content."""


def _counts(at: ir.Expr) -> bool:
    """Whether a place may be the number of Pods."""
    match at:
        case ir.If(_, then, otherwise):
            return _counts(then) or _counts(otherwise)
        case ir.Get(ir.Root("template"), key):
            return key != _SCHEDULER
    return at == ir.Root("template")


def _expressions(check: ir.Check) -> list[ir.Expr]:
    return [check.when, check.at, *(of for _, of in check.each)]
