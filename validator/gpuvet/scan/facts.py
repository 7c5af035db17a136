"""What is kept of objects that rules look up: name, the parts that rules read, and where they stand."""

from collections.abc import Iterator
from typing import Any

from gpuvet.engine.context import Fact
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import objects
from gpuvet.values.path import Path
from gpuvet.values.span import Span

_PARTS = ("apiVersion", "kind", "metadata", "spec", "status", "data")


def facts_of(document: Document, file: str, kinds: frozenset[str]) -> list[Fact]:
    """The facts of every object of these kinds in a document."""
    found = []
    for path, value in objects(document.value):
        kind = value.get("kind")
        metadata = value.get("metadata")
        name = metadata.get("name") if type(metadata) is dict else None
        if type(kind) is not str or kind not in kinds or type(name) is not str:
            continue
        namespace = metadata.get("namespace") if type(metadata) is dict else None
        kept = {part: value[part] for part in _PARTS if part in value}
        spans = {inner: span for inner in _paths(kept, ()) if (span := _span(document, path, inner)) is not None}
        found.append(Fact(kind, namespace if type(namespace) is str and namespace else None, name, kept, file, spans))
    return found


def _span(document: Document, path: Path, inner: Path) -> Span | None:
    span = document.value_span((*path, *inner))
    if span is not None and span.line != span.end_line:
        span = document.key_span((*path, *inner)) or span
    return span


def _paths(value: Any, path: Path) -> Iterator[Path]:
    yield path
    if len(path) < 8:
        if type(value) is dict:
            for key, item in value.items():
                yield from _paths(item, (*path, key))
        elif type(value) is list and len(value) < 100:
            for index, item in enumerate(value):
                yield from _paths(item, (*path, index))
