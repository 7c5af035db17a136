"""An object as the API server sent it: a value without a text."""

from typing import Any

from gpuvet.manifests.document import Document
from gpuvet.values.path import Path
from gpuvet.values.span import Span


class BareDocument(Document):
    """A document that has only a value. Each path that is asked for is a line of its own: findings at one place are one finding."""

    has_text = False
    __slots__ = ("_lines",)

    def __init__(self, value: Any) -> None:
        self.value = value
        self.index = 0
        self.source = None
        self.problems = ()
        self._lines: dict[Path, Span] = {}

    @property
    def line(self) -> int:
        return 1

    def value_span(self, path: Path) -> Span | None:
        line = len(self._lines) + 1
        return self._lines.setdefault(path, Span(line, 1, line, 2))

    def key_span(self, path: Path) -> Span | None:
        return None

    def raw_text(self, path: Path) -> str | None:
        return None
