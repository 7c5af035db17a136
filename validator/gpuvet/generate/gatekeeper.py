"""Writes `policies/gatekeeper/`: a ConstraintTemplate a vocabulary around the same Rego, constraints for errors and for warnings.

Gatekeeper judges each template by itself, takes libraries below the package `lib` only, and has the object in `input.review.object`.
"""

from collections.abc import Iterable

from gpuvet.engine.judge import kind_name
from gpuvet.generate.packages import packages_of
from gpuvet.generate.policies import HEADER, Exported, Printed, exported, render_rego
from gpuvet.language.printers import rego
from gpuvet.manifests.workloads import INDEX
from gpuvet.settings.config import Settings

_ENTRY = """\
package gpuvet

# What is going away, or has gone, passes.
passes if input.review.operation == "DELETE"

passes if is_string(input.review.object.metadata.deletionTimestamp)

violation contains {{"msg": item.msg, "details": details}} if {{
	not passes
	verdict := data.lib.gpuvet.verdict with input as input.review.object
	some item in verdict
	item.severity == input.parameters.severity
	not item.rule in others
	details := {{"rule": item.rule, "path": item.path, "at": item.at, "severity": item.severity}}
}}

# Rules of other templates: here only because one mistake is one finding.
others := {others}
"""
_TEMPLATE = """\
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: {name}
  annotations:
    metadata.gatekeeper.sh/title: {title}
    metadata.gatekeeper.sh/version: 1.0.0
    description: >-
      {count} rules of gpuvet. The parameter severity says which of them count. Needs Gatekeeper 3.19 or newer.
spec:
  crd:
    spec:
      names:
        kind: {kind}
      validation:
        openAPIV3Schema:
          type: object
          required: [severity]
          properties:
            severity:
              type: string
              enum: [error, warning, info]
  targets:
    - target: admission.k8s.gatekeeper.sh
      code:
        - engine: Rego
          source:
            version: v1
            rego: |
{entry}
            libs:
{libs}
"""
_CONSTRAINT = """\
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: {kind}
metadata:
  name: {name}
spec:
  enforcementAction: {action}
  match:
    kinds:
{kinds}
  parameters:
    severity: {severity}
"""
_TITLES = {
    "kubernetes": "Kubernetes",
    "tensor-fusion": "TensorFusion",
    "koordinator-metax": "KoordinatorMetaX",
    "qgpu": "QGPU",
    "placement": "Placement",
    "volcano": "Volcano",
    "own": "Own",
}
_GROUPS = {
    **dict.fromkeys(("ConfigMap", "Namespace", "Node", "ResourceQuota"), ""),
    **dict.fromkeys(("ClusterRole", "Role"), "rbac.authorization.k8s.io"),
}
"""API groups of kinds that rules name without one and that hold no Pods."""


def render_gatekeeper(settings: Settings, rules: list[Exported] | None = None, printed: Printed | None = None) -> dict[str, str]:
    """File name in policies/gatekeeper/ -> text. Raises ConfigError."""
    rules = exported(settings, "rego") if rules is None else rules
    printed = {} if printed is None else printed
    files = {}
    constraints: list[str] = []
    for vocabulary in dict.fromkeys(one.bound.info.vocabulary for one in rules):
        own = [one for one in rules if one.bound.info.vocabulary == vocabulary]
        ids = {one.bound.info.id for one in own}
        others = [one for one in rules if one not in own and ids.intersection(one.bound.info.supersedes)]
        files[f"template-{vocabulary}.yaml"] = _template(vocabulary, own, others, settings, printed)
        constraints += _constraints(vocabulary, own, settings)
    files["constraints.yaml"] = HEADER.format(source="rules/") + "".join(constraints)
    return files


def _kind(vocabulary: str) -> str:
    return f"Gpuvet{_TITLES.get(vocabulary, vocabulary.title().replace('-', ''))}"


def _template(vocabulary: str, own: list[Exported], others: list[Exported], settings: Settings, printed: Printed) -> str:
    silent = {one.bound.info.id for one in others}
    listed = "{" + ", ".join(rego.quoted(each) for each in sorted(silent)) + "}" if silent else "set()"
    libraries = [_moved(text) for text in packages_of(render_rego(settings, [*own, *others], printed)).values()]
    kind = _kind(vocabulary)
    return HEADER.format(source="rules/") + _TEMPLATE.format(
        name=kind.lower(),
        kind=kind,
        title=f"gpuvet, {vocabulary}",
        count=len(own),
        entry=_indented(_ENTRY.format(others=listed), 14),
        libs="\n".join(f"              - |\n{_indented(text, 16)}" for text in libraries),
    )


def _moved(text: str) -> str:
    """A library as Gatekeeper takes it. It finds references to other libraries in imports, but not inside of calls."""
    head, line, rest = text.partition("\n")
    rest = rest.replace("data.gpuvet.tables.facts[", "gpuvet_tables.facts[")
    if "gpuvet_tables" in rest:
        rest = f"\nimport data.gpuvet.tables as gpuvet_tables{rest}"
    return head.replace("package gpuvet", "package lib.gpuvet") + line + rest.replace("import data.gpuvet", "import data.lib.gpuvet")


def _indented(text: str, by: int) -> str:
    """As a block in YAML."""
    return "\n".join(" " * by + line if line else "" for line in text.rstrip("\n").split("\n"))


def _constraints(vocabulary: str, own: list[Exported], settings: Settings) -> Iterable[str]:
    severities = {one.bound.severity for one in own}
    for severity, action, word in (("error", "deny", "errors"), ("warning", "warn", "warnings")):
        if severity in severities:
            kinds = _kinds([one for one in own if one.bound.severity == severity], settings)
            name = f"gpuvet-{vocabulary}-{word}"
            yield _CONSTRAINT.format(kind=_kind(vocabulary), name=name, action=action, severity=severity, kinds=kinds)


def _kinds(rules: list[Exported], settings: Settings) -> str:
    """What the rules may be about: kinds that they name, else everything that holds Pods."""
    table = INDEX if settings.workloads is None else settings.workloads
    named = {kind_name(group, kind): (group, kind) for group, kind in table}
    wanted: set[tuple[str, str]] = set()
    for one in rules:
        for kind in one.bound.info.kinds or tuple(named):
            name, _, group = kind.partition(".")
            wanted.add(named.get(kind) or (group or _GROUPS.get(name, "*"), name))
    by_group: dict[str, list[str]] = {}
    for group, kind in sorted(wanted):
        by_group.setdefault(group, []).append(kind)
    return "\n".join(f'      - apiGroups: ["{group}"]\n        kinds: [{", ".join(kinds)}]' for group, kinds in by_group.items())
