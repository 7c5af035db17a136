"""Findings about YAML and JSON inside a text stand on the line inside the text."""

import pytest

from gpuvet.engine.spans import span_of
from gpuvet.manifests.reader import read

BLOCK = """\
data:
  nodes: |
    - nodeName: a
      mode: sgpu
    - nodeName: b
      mode: "no"
  json: '{"gpu": {"scope": "PCIe"}}'
  plain: just words
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("data", "nodes", 1, "mode"), 6, 13),
        (("data", "nodes", 1), 5, 7),
        (("data", "json", "gpu", "scope"), 7, 28),
        (("data", "nodes"), 2, 3),
        (("data", "plain", "x"), 8, 10),
    ],
)
def test_place_inside_a_text(path: tuple[str | int, ...], line: int, column: int) -> None:
    span = span_of(read(BLOCK.encode()).documents[0], path)
    assert (span.line, span.column) == (line, column)
