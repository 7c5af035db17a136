"""Circles are found wherever they are, told once, and in time that grows with the graph."""

from time import perf_counter
from typing import Any

import pytest

from gpuvet.values.graph import cycles


def found(**edges: str) -> dict[str, str]:
    return cycles([{"name": name, "after": {"name": others.split()}} for name, others in edges.items()], "name", ("after", "name"))


@pytest.mark.parametrize(
    ("edges", "circles"),
    [
        ({"a": "b", "b": "c", "c": ""}, {}),
        ({"a": "b c", "b": "d", "c": "d", "d": ""}, {}),
        ({"a": "a"}, {"a": "a -> a"}),
        ({"a": "", "c": "b", "b": "c"}, {"c": "c -> b -> c"}),
        ({"x": "b", "a": "b", "b": "c", "c": "a"}, {"a": "a -> b -> c -> a"}),
        ({"a": "b", "b": "a", "c": "d a", "d": "c"}, {"a": "a -> b -> a", "c": "c -> d -> c"}),
        ({"a": "nobody"}, {}),
    ],
)
def test_circles(edges: dict[str, str], circles: dict[str, str]) -> None:
    assert found(**edges) == circles


@pytest.mark.parametrize(
    "nodes", [None, "text", 3, [None], [{"name": 1}], [{"name": "a", "after": []}], [{"name": "a", "after": {"name": "a"}}], {"a": {}}]
)
def test_anything_else_has_no_circles(nodes: Any) -> None:
    assert cycles(nodes, "name", ("after", "name")) == {}


def test_a_long_chain_and_many_circles_take_little_time() -> None:
    many = 20_000
    chain = [{"name": str(n), "after": {"name": [str(n + 1)]}} for n in range(many)]
    pairs = [{"name": str(n), "after": {"name": [str(n ^ 1)]}} for n in range(many)]
    started = perf_counter()
    assert cycles(chain, "name", ("after", "name")) == {}
    assert len(cycles(pairs, "name", ("after", "name"))) == many // 2
    assert perf_counter() - started < 5
