"""What a misspelt key and a malformed quantity were probably meant to be."""

from typing import Any

import pytest

from gpuvet.values.quantity import parse_quantity
from gpuvet.values.total import UNKNOWN, edit_distance, near_key, near_quantity

KEYS = ("tensor-fusion.ai/tflops-limit", "tensor-fusion.ai/tflops-request", "tensor-fusion.ai/qos", "tensor-fusion.ai/gpu-count")


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("", "ab", 2), ("qos", "qos", 0), ("qso", "qos", 1), ("tflop-limit", "tflops-limit", 1), ("kitten", "sitting", 3)],
)
def test_edit_distance(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == distance


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("tensor-fusion.ai/tflop-limit", "tensor-fusion.ai/tflops-limit"),
        ("tensor-fusion.ai/TFLOPS_limit", "tensor-fusion.ai/tflops-limit"),
        ("tensor-fusion.ai/gpuCount", "tensor-fusion.ai/gpu-count"),
        ("tensor-fusion.ai/qso", "tensor-fusion.ai/qos"),
        ("tensor-fusion.ai/cost", None),
        ("tensor-fusion.ai/foo", None),
        ("tensor-fusion.ai/team", None),
        ("x" * 500, None),
    ],
)
def test_near_key(key: str, meant: str | None) -> None:
    assert near_key(key, KEYS) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *(("4GiB", "4Gi"), ("4 gi", "4Gi"), ("4GB", "4G"), ("1,5Gi", "1.5Gi"), ("5K", "5k"), (" 8 ", "8")),
        *(("ten", None), ("4XB", None), ("", None)),
    ],
)
def test_near_quantity(text: str, meant: str | None) -> None:
    assert near_quantity(text) == meant
    assert meant is None or parse_quantity(meant) is not None


def test_what_is_no_text_is_near_nothing() -> None:
    junk: list[Any] = [None, 4, [], {}, UNKNOWN]
    for value in junk:
        assert near_quantity(value) is None
        assert near_key(value, KEYS) is None
