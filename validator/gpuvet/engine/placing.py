"""Makes a finding of a violation: texts, the author's line, the fix, what really happens for this kind of owner."""

from typing import Any, NamedTuple

from gpuvet.engine.context import Fact
from gpuvet.engine.edits import plan_edit
from gpuvet.engine.ruleset import BoundRule
from gpuvet.engine.spans import span_of
from gpuvet.engine.subject import ObjectScope, Subject
from gpuvet.manifests.document import Document
from gpuvet.values.finding import Consequence, Finding, Fix, Location, ObjectReference, Related, Severity
from gpuvet.values.path import Path, path_text
from gpuvet.values.rule import RuleInfo
from gpuvet.values.total import text

_SHOWN = 300
"""Characters of a value that are shown."""


def build_finding(
    rule: BoundRule, subject: Subject, violation: tuple[Any, ...], path: Path | None, fact: Fact | None, there: Path
) -> Finding:
    """`path` is the place in the subject's object; when None, the place is `there` in another object, `fact`."""
    place, on_key, message, expected, actual, related, fix, _ = violation
    scope = subject.scope
    if path is None and fact is not None:
        location, shown_path, root, reference = fact.locate(there), there, fact.value, object_reference(fact.value)
    else:
        shown_path, root, reference = path or (), scope.author, object_reference(scope.author)
        location = Location(scope.file, span_of(scope.document, (*scope.path, *shown_path), on_key))
    info = rule.info
    if scope.domains:
        message, expected = scope.domains.spoken(message), expected if expected is None else scope.domains.spoken(expected)
    shown = path_text(shown_path, root)
    actual_text = None if actual is None else _cut(text(actual))
    return Finding(
        rule=info.id,
        name=info.name,
        severity=rule.severity,
        consequence=_consequence(info.consequence, subject, place[0]),
        message=_cut(message, 1000),
        expected=None if expected is None else _cut(expected, 1000),
        actual=actual_text,
        location=location,
        path=shown_path,
        path_text=shown,
        object=reference,
        related=tuple([_related(subject, place, words) for place, words in related]) if scope.document.has_text else (),
        fix=None if fix is None else _fix(subject, fix),
    )


class Told(NamedTuple):
    """What an engine outside of gpuvet says: a rule, words, and a place in the object that it was asked about."""

    rule: str
    name: str
    severity: Severity
    consequence: Consequence
    message: str
    path: Path


def told_finding(told: Told, document: Document, at: Path, value: dict[str, Any], file: str) -> Finding:
    """About the object `value` that stands at `at` of the document."""
    return Finding(
        rule=told.rule,
        name=told.name,
        severity=told.severity,
        consequence=told.consequence,
        message=told.message,
        expected=None,
        actual=None,
        location=Location(file, span_of(document, (*at, *told.path))),
        path=told.path,
        path_text=path_text(told.path, value),
        object=object_reference(value),
        related=(),
        fix=None,
    )


def told_by_rule(rule: str, info: RuleInfo | None, severity: Severity, message: str, path: Path) -> Told:
    """What it says by one of our rules, or the user's; without `info`, by a rule that gpuvet does not know."""
    if info is None:
        return Told(rule, rule, severity, "forbidden-by-policy", message, path)
    return Told(rule, info.name, severity, info.consequence, message, path)


def _consequence(consequence: Consequence, subject: Subject, root: str) -> Consequence:
    if consequence == "rejected-by-api" and subject.view is not None and root != "object":
        if subject.view.validated == "none":
            return "pod-creation-fails"
        if subject.view.validated == "webhook":
            return "rejected-by-webhook"
    return consequence


def object_reference(value: dict[str, Any]) -> ObjectReference:
    """Who an object says it is."""
    metadata = value.get("metadata")
    metadata = metadata if type(metadata) is dict else {}
    name = _known(metadata.get("name")) or _known(metadata.get("generateName"))
    return ObjectReference(_known(value.get("apiVersion")), _known(value.get("kind")), _known(metadata.get("namespace")), name)


def _known(part: Any) -> str | None:
    return part if type(part) is str and part else None


def locate(subject: Subject, place: tuple[Any, ...], on_key: bool = False) -> Location:
    """Where a place stands in a file."""
    path, fact, there = subject.locate(place)
    if path is None and fact is not None:
        return fact.locate(there)
    scope: ObjectScope = subject.scope
    return Location(scope.file, span_of(scope.document, (*scope.path, *(path or ())), on_key))


def _related(subject: Subject, place: tuple[Any, ...], words: str) -> Related:
    return Related(locate(subject, place), _cut(subject.scope.domains.spoken(words)))


def _fix(subject: Subject, fix: tuple[str, bool, tuple[tuple[str, tuple[Any, ...], Any], ...]]) -> Fix | None:
    title, safe, plans = fix
    document, domains = subject.scope.document, subject.scope.domains
    edits = []
    for op, place, value in plans:
        if op != "quote" and value is None:
            return None
        if not document.has_text:
            continue
        path, _, _ = subject.locate(place)
        new = value
        if op == "rename" and type(value) is str:
            new = domains.author(value)
            if path and path[-1] not in (place[-1], domains.author(place[-1])):
                # What became a key stands there as a value.
                continue
        edit = None if path is None else plan_edit(document, (*subject.scope.path, *path), op, new)
        if edit is not None:
            edits.append(edit)
    return Fix(_cut(domains.spoken(title)), safe, tuple(edits))


def _cut(words: str, at: int = _SHOWN) -> str:
    return words if len(words) <= at else words[: at - 1] + "…"
