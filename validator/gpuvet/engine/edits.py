"""From "set this value" to the edit of the text that does it, in the author's own quotes."""

import re
from typing import Any

from gpuvet.engine.spans import value_at
from gpuvet.manifests.document import Document
from gpuvet.manifests.scalars import ScalarError, resolve_plain
from gpuvet.values.finding import Edit
from gpuvet.values.path import Path
from gpuvet.values.total import text

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./+-]*", re.ASCII)


def plan_edit(document: Document, path: Path, op: str, value: Any) -> Edit | None:
    """`set` the scalar at `path` to a value, `quote` it, or `rename` its key; None where no single-line text stands to be edited."""
    if op == "rename":
        span = document.key_span(path)
        return Edit(span, scalar_text(text(value), None, True)) if span is not None and span.line == span.end_line else None
    span, raw = document.value_span(path), document.raw_text(path)
    if span is None or raw is None or span.line != span.end_line:
        return None
    if op == "quote":
        return Edit(span, scalar_text(raw, "'", True))
    return Edit(span, scalar_text(value if isinstance(value, str) else text(value), raw, isinstance(value_at(document.value, path), str)))


def scalar_text(new: str, raw: str | None, wants_text: bool) -> str:
    """`new` as YAML, in the quotes that `raw` has; plain only if it then still reads as text where text is wanted."""
    quotes = (raw or "")[:1]
    if quotes == '"':
        import json

        return json.dumps(new, ensure_ascii=False)
    if quotes == "'" or (wants_text and not _reads_as_text(new)):
        return "'" + new.replace("'", "''") + "'"
    return new


def _reads_as_text(new: str) -> bool:
    try:
        return _PLAIN.fullmatch(new) is not None and isinstance(resolve_plain(new), str)
    except ScalarError:
        return False
