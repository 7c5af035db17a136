"""docs/reference/: every key and field of a vocabulary, one table row each, from the same models as everything else."""

from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from gpuvet.generate.wording import PLATFORM_NAMES, deprecation_text, versions_text
from gpuvet.models.base import PLATFORM, KeyDeclaration, KeySet, Vocabulary
from gpuvet.models.catalogue import KEY_SETS, RESOURCES, SHAPES
from gpuvet.models.koordinator_platform import FEATURE_GATES
from gpuvet.models.members import members, removals
from gpuvet.models.scalars import Scalar, ValueType
from gpuvet.models.structures import CustomResource, Member

TITLES: dict[Vocabulary, tuple[str, str]] = {
    "tensor-fusion": ("TensorFusion", "vGPU annotations and labels of Pods, WorkloadProfile and the other kinds of `tensor-fusion.ai`."),
    "koordinator": ("Koordinator", "Resources, labels and annotations of shared devices, and the kinds that describe them."),
    "metax": ("MetaX sGPU", "Resources and annotations of MetaX cards under Koordinator, and the ConfigMap `metax-device-config`."),
    "qgpu": ("Tencent TKE qGPU", "Resources, node labels and annotations of qGPU, and the retired `elasticgpu.io` GPU."),
    "placement": ("Placement", "Node labels and taints that tell training from inference and one card from another."),
    "volcano": ("Volcano", "Jobs, and the labels and annotations of their Pods."),
    "native": ("Whole cards", "Resources of device plugins that stand for whole accelerators."),
    "foreign": ("Other products", "Keys of products that people mix with ours; none of them works together with the vocabularies above."),
}
"""Vocabulary -> title and a sentence."""

_MODULES: dict[str, Vocabulary] = {
    "tensor_fusion": "tensor-fusion",
    "koordinator": "koordinator",
    "volcano": "volcano",
    "qgpu": "qgpu",
    "metax": "metax",
}

TYPES: dict[ValueType, str] = {
    "text": "text",
    "boolean-text": "`'true'` or `'false'`, quoted",
    "integer-text": "integer, quoted",
    "number-text": "decimal number, quoted",
    "quantity": "quantity",
    "whole-quantity": "whole number",
    "name": "name",
    "names-list": "container names with commas",
    "integers-list": "integers with commas",
    "words-list": "words with commas",
    "label-value": "label value",
    "enum": "one of the values",
    "duration": "duration such as `5m`",
    "timestamp": "RFC 3339 time",
    "cron": "cron, five fields",
    "version": "version such as `535.54.03`",
    "json": "JSON text",
    "yaml": "YAML text",
    "pod-template": "Pod template as text",
    "string": "text",
    "integer": "integer",
    "boolean": "boolean",
    "object": "object",
    "list": "list",
    "map": "map",
    "any": "anything",
}
"""What a value is, for people."""


def render_reference() -> dict[str, str]:
    """File name in docs/reference/ -> text."""
    files = {f"{vocabulary}.md": _page(vocabulary) for vocabulary in TITLES}
    lines = [
        "# Reference",
        "",
        "Every key and field that gpuvet knows. These pages, the schemas in `schemas/` and the checks are made from the same models.",
        "A heading is the model's name in Python: `from gpuvet.models import ...`. In italics: the section of the project's notes on the",
        "vendor's documents and code that a fact was taken from.",
        "",
        *(f"- [{title}]({vocabulary}.md): {text}" for vocabulary, (title, text) in TITLES.items()),
        "",
    ]
    return files | {"README.md": "\n".join(lines)}


def _page(vocabulary: Vocabulary) -> str:
    title, text = TITLES[vocabulary]
    lines = [f"# {title}", "", text, ""]
    platform = PLATFORM_NAMES.get(PLATFORM[vocabulary], "")
    for key_set in KEY_SETS:
        if key_set._defaults.vocabulary == vocabulary:
            lines += _keys(key_set, platform)
    shapes: dict[str, type[BaseModel]] = {**RESOURCES, **SHAPES}
    for name, model in shapes.items():
        if _MODULES.get(next((each for each in _MODULES if model.__module__.rpartition(".")[2].startswith(each)), "")) == vocabulary:
            lines += _fields(name, model, platform)
    if vocabulary == "koordinator":
        lines += _gates()
    return "\n".join(lines)


def _keys(key_set: type[KeySet], platform: str) -> list[str]:
    words = _doc(key_set)
    lines = [f"## {key_set.__name__}", "", words, "", *_head("Key", "Value", "Stands as", "Meaning")]
    for key in key_set.declarations():
        name = f"`{key.name}*`" if key.family else f"`{key.name}`"
        lines.append(_row(name, _value(key.scalar), ", ".join(key.where), _meaning(key, platform)))
    return [*lines, ""]


def _meaning(key: KeyDeclaration, platform: str) -> str:
    parts = [
        key.description,
        f"In {key.unit}." if key.unit else "",
        f"Default `{key.default}`." if key.default else "",
        f"Example `{key.example}`." if key.example else "",
        versions_text(key.since, key.until, platform),
        f"Read in dialects {', '.join(key.dialects)}." if key.dialects and len(key.dialects) < 3 else "",
        "Written by the platform only." if key.owner == "system" else "",
        deprecation_text(key),
        f"<br>*{key.source}*" if key.source else "",
    ]
    return " ".join(filter(None, parts))


def _value(scalar: Scalar) -> str:
    if scalar.values and scalar.kind != "boolean-text":
        return ", ".join(f"`{value}`" for value in scalar.values)
    text = TYPES[scalar.kind]
    low, high = scalar.minimum, scalar.maximum
    if scalar.above is not None:
        text += f", above {scalar.above}"
    if low is not None and (low > 0 or high is not None):
        text += f", from {low}"
    if high is not None:
        text += f" to {high}" if low is not None else f", at most {high}"
    if scalar.step not in (None, 1):
        text += f" in steps of {scalar.step}"
    return text + (f", or a multiple of {scalar.or_multiple_of}" if scalar.or_multiple_of else "")


def _fields(name: str, model: type[BaseModel], platform: str) -> list[str]:
    lines = [f"## {name}", "", _doc(model), ""]
    if issubclass(model, CustomResource):
        group, version, kind = model.identity()
        schema = f"../../schemas/crd/{group}_{model.plural}.yaml"
        lines += [f"`{group}/{version}` `{kind}`, {model.scope.lower()}. [CRD]({schema})", ""]
    lines += _head("Field", "Value", "Meaning")
    for path, member in members(model):
        if path.partition(".")[0] not in ("apiVersion", "kind", "metadata") and not path.endswith(("[]", "*")):
            lines.append(_row(f"`{path}`", _member_value(member), _member_meaning(member, platform)))
    gone = list(removals(model))
    if gone:
        lines += ["", "Fields that people still write:", "", *_head("Field", "Instead", "Why")]
        lines += [_row(f"`{path}`", f"`{old.replaced_by}`" if old.replaced_by else "nothing", old.note) for path, old in gone]
    return [*lines, ""]


def _member_value(member: Member) -> str:
    if member.values:
        text = ", ".join(f"`{value}`" for value in member.values)
    else:
        text = TYPES[member.type]
        if member.minimum is not None:
            text += f", from {member.minimum}"
        if member.maximum is not None:
            text += f" to {member.maximum}" if member.minimum is not None else f", at most {member.maximum}"
    return f"{text}; required" if member.required or member.needed else text


def _member_meaning(member: Member, platform: str) -> str:
    parts = [
        member.description,
        f"In {member.unit}." if member.unit else "",
        f"Default `{member.default}`." if member.default else "",
        f"Example `{member.example}`." if member.example else "",
        versions_text(member.since, member.until, platform),
    ]
    return " ".join(filter(None, parts))


def _gates() -> list[str]:
    lines = [
        "## Feature gates",
        "",
        "Switches of Koordinator's components that bear on GPU Pods.",
        "",
        *_head("Gate", "Component", "Default", "Meaning"),
    ]
    for gate in FEATURE_GATES:
        meaning = " ".join(filter(None, (gate.description, versions_text(gate.since, "", "Koordinator"), f"<br>*{gate.source}*")))
        lines.append(_row(f"`{gate.name}`", gate.component, f"`{str(gate.default).lower()}`", meaning))
    return [*lines, ""]


def _doc(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _head(*columns: str) -> list[str]:
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(_cells(cells))} |"


def _cells(cells: Iterable[str]) -> Iterator[str]:
    for cell in cells:
        yield cell.replace("|", "\\|").replace("\n", " ")
