"""Where our CRDs differ from the vendors' own, and why: `schemas/crd/DIFFERENCES.md`.

A test compares the list with the vendors' CRDs, so that none is missing and none is stale.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gpuvet.generate.tree import tree_of
from gpuvet.models.structures import CustomResource


class Difference(NamedTuple):
    """One aspect of one field."""

    path: str
    aspect: str
    ours: str
    reason: str


def differences(model: type[CustomResource]) -> Iterator[Difference]:
    """Every aspect in which we say more than the vendor's CRD."""
    for path, node in tree_of(model).walk():
        member = node.member
        if path == "metadata" or path.startswith("metadata."):
            continue
        if member.needed:
            yield Difference(path, "required", "required", member.description)
        if member.narrower:
            taken = node.item or node
            yield Difference(path + ("[]" if node.item else ""), "values", ", ".join(taken.member.values), member.description)
        if not member.enforced:
            yield from _unenforced(path, node.member.type, member.values, member.description, bool(member.keys))
        for relation in node.relations:
            yield Difference(
                path, "validation", f"refused: {relation.message}", "the object itself shows it, and the vendor looks later or never"
            )
        if member.list_type:
            keys = f" by {', '.join(member.list_keys)}" if member.list_keys else ""
            yield Difference(path, "list type", member.list_type + keys, member.description)
        if member.max_items is not None:
            yield Difference(path, "bound", f"at most {member.max_items} items", "bounds the cost of the validations for the API server")
        if member.cost_length is not None:
            yield Difference(
                path, "bound", f"at most {member.cost_length} characters", "bounds the cost of the validations for the API server"
            )
        if member.open and node.properties:
            yield Difference(path, "unknown fields", "pass", "only what bears on workloads is described")


def _unenforced(path: str, type_: str, values: tuple[str, ...], description: str, keys: bool) -> Iterator[Difference]:
    if type_ in _FORMS:
        yield Difference(path, "form", *_FORMS[type_])
    elif values:
        yield Difference(path, "values", ", ".join(values), description)
    elif keys:
        yield Difference(path, "names", "the known ones only", description)


_FORMS = {
    "duration": ("a Go duration", "Go reads nothing else: the vendor's software refuses it, ignores it, or cannot decode the object"),
    "number-text": ("a decimal number in a text, within its bounds", "what cannot be parsed silently keeps its default"),
    "cron": ("a cron expression of five fields", "one that cannot be parsed stops cron scaling of the workload"),
}
"""Type -> what we demand, and why."""

GENERAL = """\
# How these CRDs differ from the vendors' own

These CRDs describe what the vendor's operator, webhook or scheduler accepts. They are meant for validators, tests and CI clusters;
gpuvet never installs them over the vendor's. Where they say more than the vendor's CRD, the vendor stores an object that its own
software then refuses, ignores or breaks on.

Everywhere:

- Defaults are described, not filled in: these CRDs judge what people wrote.
- Quantities take no fractional exponent (`1e1.5`), which Go clients cannot decode, and have at most 64 characters, so that the API
  server can bound the cost of comparing two. Decimal numbers in texts have at most 32.
- The members of Pod templates, affinities and claims are not described; unknown fields pass there.
- Labels of metadata that stands inside a `spec` are checked as the API server checks those of an object.
- `status` is described as far as it is known; where it is not, unknown fields pass.
"""


def render_differences(resources: dict[str, type[CustomResource]]) -> str:
    """The text of DIFFERENCES.md."""
    lines = [GENERAL]
    told: dict[str, list[Difference]] = {}
    for name, model in resources.items():
        group, _, kind = model.identity()
        rows = list(differences(model))
        for other, spec in told.items():
            rows = _as_told(rows, spec, other)
        told[name] = [row for row in rows if row.path == "spec" or row.path.startswith("spec.")]
        if rows:
            lines += [f"## {kind} ({group})", "", "| Field | Aspect | Here | Reason |", "|---|---|---|---|"]
            lines += [f"| `{row.path}` | {row.aspect} | {_cell(row.ours)} | {_cell(row.reason)} |" for row in rows]
            lines.append("")
    return "\n".join(lines)


def _as_told(rows: list[Difference], spec: list[Difference], other: str) -> list[Difference]:
    """The rows, those below a place that is what `spec` is elsewhere summed up in one."""
    if len(spec) < _FEW:
        return rows
    first = spec[0].path.removeprefix("spec")
    for place in [row.path.removesuffix(first) for row in rows if row.path.endswith(f"spec{first}")]:
        moved = [row._replace(path=place + row.path.removeprefix("spec")) for row in spec]
        if set(moved) <= set(rows):
            summed = Difference(place, "all of it", f"as `spec` of {other}", "the same type")
            at = rows.index(moved[0])
            return [*rows[:at], summed, *(row for row in rows[at:] if row not in moved)]
    return rows


_FEW = 5
"""Fewer rows are told again."""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
