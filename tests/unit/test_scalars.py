"""Scalars that the oracle's table does not reach: what has no JSON form, and the caches."""

import math

import pytest

from gpuvet.manifests.scalars import PlainKeys, PlainValues, ScalarError, json_number, key_text, resolve_key, resolve_plain, resolve_tagged


@pytest.mark.parametrize("text", [".inf", "-.INF", "+.Inf", ".nan", ".NaN"])
def test_infinities_have_no_json_form(text: str) -> None:
    with pytest.raises(ScalarError, match="no JSON form"):
        resolve_plain(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1000.0, 1000), (-0.0, 0), (0.5, 0.5), (2.0**62, 4611686018427388000), (2.0**63, 2.0**63), (1e21, 1e21), (True, True), ("1.0", "1.0")],
)
def test_numbers_are_what_json_makes_of_them(value: object, expected: object) -> None:
    result = json_number(value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize("value", [None, 2**63, 2**64 - 1])
def test_keys_that_kubernetes_refuses(value: object) -> None:
    with pytest.raises(ScalarError):
        key_text(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, "1.5"),
        (1e6, "1e+06"),
        (100000.0, "100000"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (1e300, ".inf"),
        (-1e300, "-.inf"),
        (math.nan, ".nan"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
    ],
)
def test_float_keys_are_printed_as_float32(value: float, expected: str) -> None:
    assert key_text(value) == expected


@pytest.mark.parametrize(
    ("tag", "text"), [("int", "x"), ("int", "1.5"), ("bool", "1"), ("null", "x"), ("float", "x"), ("timestamp", "2001-02-30")]
)
def test_a_value_that_its_tag_does_not_fit(tag: str, text: str) -> None:
    with pytest.raises(ScalarError, match=f"!!{tag}"):
        resolve_tagged(f"tag:yaml.org,2002:{tag}", text)


def test_unknown_tags_leave_the_text() -> None:
    assert resolve_tagged("!foo", "12") == "12"
    assert resolve_key("!foo", "12") == "12"


def test_a_refused_scalar_keeps_its_text_and_is_counted() -> None:
    values = PlainValues()
    assert [values[text] for text in (".inf", "yes", ".inf", "3")] == [".inf", True, ".inf", 3]
    assert values.refused == 2
    keys = PlainKeys()
    assert [keys[text] for text in ("~", "yes", "1e3")] == ["~", "true", "1000"]
    assert keys.refused == 1


def test_the_cache_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuvet.manifests.scalars._CACHE_ENTRIES", 10)
    values = PlainValues()
    for number in range(100):
        assert values[f"{number}"] == number
    assert values["x" * 1000] == "x" * 1000
    assert len(values) <= 10
