"""A document whose text was let go: its value is at hand, its places are found by reading the file again."""

from typing import Any

from gpuvet.engine.context import reread
from gpuvet.manifests.document import Document
from gpuvet.manifests.places import Place
from gpuvet.manifests.source import Source
from gpuvet.values.path import Path
from gpuvet.values.span import Span


class LateDocument(Document):
    """Stands for a document of a file that can be read again. Nothing has a place when the file is gone meanwhile."""

    __slots__ = ("_file",)

    def __init__(self, value: Any, index: int, file: str) -> None:
        self.value = value
        self.index = index
        self.source = None
        self.problems = ()
        self._file = file

    @property
    def line(self) -> int:
        document = reread(self._file, self.index)
        return 1 if document is None else document.line

    def value_span(self, path: Path) -> Span | None:
        document = reread(self._file, self.index)
        return None if document is None else document.value_span(path)

    def key_span(self, path: Path) -> Span | None:
        document = reread(self._file, self.index)
        return None if document is None else document.key_span(path)

    def scalar_style(self, path: Path) -> str | None:
        document = reread(self._file, self.index)
        return None if document is None else document.scalar_style(path)

    def raw_text(self, path: Path) -> str | None:
        document = reread(self._file, self.index)
        return None if document is None else document.raw_text(path)

    def scalar_place(self, path: Path) -> tuple[Source, Place] | None:
        document = reread(self._file, self.index)
        return None if document is None else document.scalar_place(path)
