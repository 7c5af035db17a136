"""Loads rule files: `family`, `let` (definitions that all its rules may use), `rules`."""

from pathlib import Path as FilePath
from typing import Any, NamedTuple

from pydantic import ValidationError

from gpuvet.language import ir
from gpuvet.language.expression import ExpressionError
from gpuvet.language.kinds import KINDS
from gpuvet.language.rule import RuleText
from gpuvet.manifests.document import Document
from gpuvet.manifests.reader import read
from gpuvet.values.errors import ConfigError
from gpuvet.values.path import Path
from gpuvet.values.total import nearest


class LoadedRule(NamedTuple):
    """A rule, its checks, and where it stands."""

    text: RuleText
    checks: tuple[ir.Check, ...]
    file: str
    line: int


def load_rules(path: FilePath, shown_as: str | None = None) -> list[LoadedRule]:
    """All rules of one file. Raises ConfigError that names file, line and key."""
    name = shown_as or str(path)
    document = load_document(path, name)
    body = document.value
    if not isinstance(body, dict) or not isinstance(body.get("rules"), list):
        raise ConfigError(f"{name}:1: a rule file is a mapping with a list of rules")
    for key in body:
        if key not in ("family", "title", "let", "rules"):
            raise ConfigError(f"{name}:{line_of(document, (key,))}: unknown key {key!r}; a rule file has family, title, let, rules")
    definitions = body.get("let") or {}
    loaded: list[LoadedRule] = []
    for index, entry in enumerate(body["rules"]):
        loaded.append(_load_rule(document, entry, index, definitions, name, path.parent))
    seen: dict[str, int] = {}
    for rule in loaded:
        if rule.text.id in seen:
            raise ConfigError(f"{name}:{rule.line}: rule {rule.text.id} stands at line {seen[rule.text.id]} too; ids are never reused")
        seen[rule.text.id] = rule.line
    return loaded


def load_document(path: FilePath, name: str) -> Document:
    """The one document of a YAML file. Raises ConfigError."""
    try:
        reading = read(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from None
    problems = (*reading.problems, *(problem for document in reading.documents for problem in document.problems))
    if problems:
        raise ConfigError(f"{name}:{problems[0].span.line}:{problems[0].span.column}: {problems[0].message}")
    if len(reading.documents) != 1:
        raise ConfigError(f"{name}: holds {len(reading.documents)} documents and should hold one")
    return reading.documents[0]


def line_of(document: Document, path: Path) -> int:
    """The line of the nearest existing key or value."""
    while path:
        span = document.key_span(path) or document.value_span(path)
        if span is not None:
            return span.line
        path = path[:-1]
    return document.line


def _load_rule(document: Document, entry: Any, index: int, definitions: dict[str, str], name: str, folder: FilePath) -> LoadedRule:
    here: Path = ("rules", index)
    if isinstance(entry, dict) and "true" in entry:  # `on:` is a boolean to Kubernetes' YAML
        entry = {"on" if key == "true" else key: value for key, value in entry.items()}
    identity = entry.get("id", "?") if isinstance(entry, dict) else "?"
    try:
        rule = RuleText.model_validate(entry)
    except ValidationError as error:
        path, message = _first(error, entry)
        words = f"{'.'.join(map(str, path))}: {message}" if path else message
        path = path or _constraint(entry)
        if path[:1] == ("on",):
            path = ("true",)
        raise ConfigError(f"{name}:{line_of(document, (*here, *path))}: rule {identity}: {words}") from None
    try:
        checks = rule.lower(definitions, folder)
    except (ExpressionError, ValueError) as error:
        path = _where(entry, error.text) if isinstance(error, ExpressionError) else _constraint(entry)
        raise ConfigError(f"{name}:{line_of(document, (*here, *path))}: rule {identity}: {error}") from None
    return LoadedRule(rule, checks, name, line_of(document, here))


def _first(error: ValidationError, entry: Any) -> tuple[Path, str]:
    """The path in the rule and the words of the first thing that is wrong."""
    first = error.errors()[0]
    path: Path = tuple(part for part in first["loc"] if part != "constraint")
    fields = tuple(RuleText.model_fields)
    constraint = _constraint(entry)
    if constraint and path and path[0] not in RuleText.model_fields and path[0] not in entry:
        fields = tuple(field.alias or key for key, field in KINDS[str(constraint[0])].model_fields.items())
        path = (*constraint, *path)
    if first["type"] == "extra_forbidden":
        near = nearest(path[-1], fields) if len(path) == (2 if path[:1] == constraint else 1) else None
        return path, "there is no such field" + (f"; did you mean {near}?" if near else "")
    return path, str(first["msg"]).removeprefix("Value error, ")


def _constraint(entry: Any) -> Path:
    """The path of the first constraint."""
    return next(((key,) for key in entry if key in KINDS), ()) if isinstance(entry, dict) else ()


def _where(value: Any, text: str, path: Path = ()) -> Path:
    """The path of the first text that is the expression, or has it in braces; empty when it stands in a definition of the file."""
    if isinstance(value, str) and (value == text or f"{{{text}}}" in value):
        return path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found = _where(item, text, (*path, key))
        if found:
            return found
    return ()
