"""What a rule refers to by name besides the manifest: parameters, fact tables, effective fields. All of it must exist."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuvet.compiled.facts import FACTS
from gpuvet.language import ir
from gpuvet.manifests.reader import read
from gpuvet.values.data import data_folder
from gpuvet.values.rule import COMMON_PARAMETERS
from gpuvet.values.total import nearest

_PRECEDENCE = "tensor-fusion-precedence"


def check_references(check: ir.Check, parameters: Mapping[str, Any]) -> None:
    """Raises ValueError for a parameter, table or field that there is none of."""
    for part in _parts(check):
        match part:
            case ir.Param(name):
                _known("parameter", name, (*parameters, *COMMON_PARAMETERS))
            case ir.Fact(name) if name not in FACTS:
                _known("fact table", name, tuple(path.stem for path in _facts().glob("*.yaml")))
            case ir.Effective(name) | ir.Source(name) if (field := name.removeprefix("stated-")) not in FACTS[_PRECEDENCE]["fields"]:
                _known("effective field", field, _fields())


def _parts(check: ir.Check) -> Iterator[ir.Expr]:
    """Every expression of a check, with all that is inside."""
    roots: list[ir.Expr | None] = [check.when, check.at, check.actual, *(of for _, of in check.each), *(at for at, _ in check.related)]
    templates = [check.message, check.expected or (), *(words for _, words in check.related)]
    if check.fix is not None:
        templates.append(check.fix.title)
        roots += [each for edit in check.fix.edits for each in (edit.at, edit.value)]
    roots += [part for template in templates for part in template if isinstance(part, ir.Expr)]
    for root in roots:
        if root is not None:
            yield from ir.walk(root)


def _known(what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        near = nearest(name, known)
        raise ValueError(f"there is no {what} {name!r}" + (f"; did you mean {near!r}?" if near else ""))


def _facts() -> Any:
    return data_folder("rules") / "facts"


def _fields() -> tuple[str, ...]:
    """As the table itself has them: the compiled one may be older while it is renewed."""
    (document,) = read((_facts() / f"{_PRECEDENCE}.yaml").read_bytes()).documents
    return tuple(document.value["fields"])
