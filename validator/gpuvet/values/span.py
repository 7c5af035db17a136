"""Where a key or a value stands in a text: the unit every finding is placed with."""

from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of text. Lines and columns are 1-based; columns count characters, not bytes; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
