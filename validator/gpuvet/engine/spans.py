"""From a path to the author's place for it."""

from typing import Any

from gpuvet.manifests.document import Document
from gpuvet.manifests.reader import read_embedded
from gpuvet.values.path import Path, step
from gpuvet.values.span import Span


def span_of(document: Document, path: Path, on_key: bool = False) -> Span:
    """The author's place for a path: the scalar itself, the key of a map or list, or the nearest ancestor that exists."""
    whole = path
    while path:
        if path != whole and isinstance(value_at(document.value, path), str):
            inner = _embedded_span(document, path, whole[len(path) :], on_key)
            if inner is not None:
                return inner
        span = document.value_span(path)
        if span is not None:
            exact = path == whole
            key = document.key_span(path)
            if key is not None and (
                on_key or not exact or span.line != span.end_line or type(value_at(document.value, path)) in (dict, list)
            ):
                return key
            return span
        path = path[:-1]
    root = document.value_span(())
    if root is None:
        return Span(document.line, 1, document.line, 2)
    return Span(root.line, root.column, root.line, root.column + 1)


def _embedded_span(document: Document, path: Path, inner: Path, on_key: bool) -> Span | None:
    reading = read_embedded(document, path)
    return span_of(reading.documents[0], inner, on_key) if reading.documents else None


def value_at(value: Any, path: Path) -> Any:
    """The value a path leads to, or None."""
    for key in path:
        value = step(value, key)
        if value is None:
            return None
    return value
