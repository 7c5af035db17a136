"""A text and the places in it: character offsets become lines and columns of the file, however deep the text is embedded."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from gpuvet.values.span import Span

_LINE_BREAK: Final = re.compile("\r\n|\n|\r")


class Source:
    """A whole file as characters, without its byte order mark."""

    __slots__ = ("_line_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts: list[int] | None = None

    def place(self, index: int) -> tuple[int, int]:
        """1-based line and column (in characters) of the character at offset `index`."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        line = bisect_right(self._line_starts, index)
        return line, index - self._line_starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """The span from offset `start` up to, not including, offset `end`."""
        return Span(*self.place(start), *self.place(max(start, end)))


class Excerpt(Source):
    """A text that stands inside another: a document of a stream, or YAML inside a scalar.

    `locate` is called on first use and gives, for every offset in this text and for its end, the offset in `parent`.
    """

    __slots__ = ("_locate", "_offsets", "_parent")

    def __init__(self, text: str, parent: Source, locate: Callable[[], Sequence[int]]) -> None:
        super().__init__(text)
        self._parent = parent
        self._locate = locate
        self._offsets: Sequence[int] | None = None

    def place(self, index: int) -> tuple[int, int]:
        if self._offsets is None:
            self._offsets = self._locate()
        return self._parent.place(self._offsets[min(index, len(self._offsets) - 1)])


def part(source: Source, start: int, end: int) -> Source:
    """The stretch of `source` from offset `start` to `end`, with the places of the whole."""
    return Excerpt(source.text[start:end], source, lambda: range(start, end + 1))
