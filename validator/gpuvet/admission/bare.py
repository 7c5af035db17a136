"""An object as the API server sent it: a value without a text."""

from typing import Any

from gpuvet.manifests.document import Document
from gpuvet.values.path import Path
from gpuvet.values.span import Span


class BareDocument(Document):
    """A document that has no places, only a value."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        self.value = value
        self.index = 0
        self.problems = ()

    @property
    def line(self) -> int:
        return 1

    def value_span(self, path: Path) -> Span | None:
        return None

    def key_span(self, path: Path) -> Span | None:
        return None

    def raw_text(self, path: Path) -> str | None:
        return None
