"""Quantities against Kubernetes' own rules in decimal arithmetic, versions as an order, and operators that never fail."""

import inspect
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.values import total
from gpuvet.values.path import path_text, step
from gpuvet.values.quantity import NANOS, format_quantity, parse_quantity
from gpuvet.values.total import UNKNOWN
from gpuvet.values.version import in_range, parse_version

few = settings(max_examples=15)
"""For what is tried on each of many operators."""

EXACT = Context(prec=200, Emin=-10_000, Emax=10_000)
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
CAP = 2**63 - 1


def kubernetes(sign: str, number: str, suffix: str, exponent: int | None) -> int:
    """What resource.ParseQuantity does, in nanos: exact, then rounded away from zero at nano, then capped at 2^63-1."""
    value = Decimal(number if number.strip(".") else "0")
    if exponent is not None:
        value = EXACT.multiply(value, EXACT.power(Decimal(10), Decimal(exponent)))
    elif suffix in BINARY:
        value = EXACT.multiply(value, Decimal(1024 ** BINARY[suffix]))
    else:
        value = EXACT.multiply(value, EXACT.power(Decimal(10), Decimal(DECIMAL[suffix])))
    nanos = EXACT.multiply(value, Decimal(NANOS)).to_integral_value(rounding=ROUND_CEILING, context=EXACT)
    capped = min(int(nanos), CAP * NANOS)
    return -capped if sign == "-" else capped


NUMBERS = st.one_of(
    st.from_regex(r"[0-9]{1,22}", fullmatch=True),
    st.from_regex(r"[0-9]{1,12}\.[0-9]{0,14}", fullmatch=True),
    st.from_regex(r"\.[0-9]{1,14}", fullmatch=True),
)
SIGNS = st.sampled_from(["", "+", "-"])


@given(SIGNS, NUMBERS, st.sampled_from([*BINARY, *DECIMAL]))
def test_quantity_with_a_suffix(sign: str, number: str, suffix: str) -> None:
    assert parse_quantity(f"{sign}{number}{suffix}") == kubernetes(sign, number, suffix, None)


@given(SIGNS, NUMBERS, st.sampled_from("eE"), st.integers(-40, 40), st.booleans())
def test_quantity_with_an_exponent(sign: str, number: str, letter: str, exponent: int, plus: bool) -> None:
    written = f"+{exponent}" if plus and exponent >= 0 else str(exponent)
    assert parse_quantity(f"{sign}{number}{letter}{written}") == kubernetes(sign, number, "", exponent)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1", NANOS),
        ("100m", NANOS // 10),
        ("0.5", NANOS // 2),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("1.0000000001", NANOS + 1),
        ("100000Ei", CAP * NANOS),
        ("-100000Ei", -CAP * NANOS),
        ("1Ki", 1024 * NANOS),
        ("1e3", 1000 * NANOS),
        ("1E3", 1000 * NANOS),
        ("1E", 10**18 * NANOS),
        ("Gi", 0),
        (".", 0),
        ("m", 0),
        (" 5 ", 5 * NANOS),
        ("5.", 5 * NANOS),
        ("", None),
        ("4GB", None),
        ("4gi", None),
        ("4 Gi", None),
        ("4K", None),
        ("30%", None),
        ("1e", None),
        ("1e1.5", None),
        ("0x10", None),
        ("1_000", None),
        ("١", None),
        ("--1", None),
        ("1-", None),
        ("1\n", None),
    ],
)
def test_quantities_that_people_ask_about(text: str, nanos: int | None) -> None:
    assert parse_quantity(text) == nanos


@given(st.integers(-CAP, CAP), st.booleans())
def test_what_is_shown_is_read_back(number: int, binary: bool) -> None:
    assert parse_quantity(format_quantity(number * NANOS, binary)) == number * NANOS


@given(st.integers(-CAP * NANOS, CAP * NANOS))
def test_fractions_are_read_back_too(nanos: int) -> None:
    assert parse_quantity(format_quantity(nanos)) == nanos


@given(st.text())
def test_any_text_is_a_quantity_or_not(text: str) -> None:
    found = parse_quantity(text)
    assert found is None or -CAP * NANOS <= found <= CAP * NANOS


# Versions.

PARTS = st.lists(st.integers(0, 10**6), min_size=1, max_size=5)


@given(PARTS, st.sampled_from(["", "v"]), st.sampled_from(["", "-rc1", "+build.5", "-1.2"]), st.integers(0, 3))
def test_version_is_its_parts(parts: list[int], before: str, behind: str, zeros: int) -> None:
    written = before + ".".join(str(part).zfill(len(str(part)) + zeros) for part in parts) + behind
    read = parse_version(written)
    assert read is not None
    padded = (*read, *[0] * (len(parts) - len(read)))
    assert padded == tuple(parts)


@given(PARTS, PARTS)
def test_versions_are_ordered_part_by_part(one: list[int], other: list[int]) -> None:
    length = max(len(one), len(other))
    left, right = ([*parts, *[0] * (length - len(parts))] for parts in (one, other))
    read = [parse_version(".".join(map(str, parts))) for parts in (one, other)]
    assert read[0] is not None
    assert read[1] is not None
    assert (read[0] < read[1], read[0] == read[1]) == (left < right, left == right)
    written = ".".join(map(str, other))
    assert in_range(read[0], f"<{written}") == (left < right)
    assert in_range(read[0], f">={written}") == (left >= right)
    assert in_range(read[0], f" >= {written} , <= {written} ") == (left == right)


@given(st.text())
def test_any_text_is_a_version_or_not(text: str) -> None:
    parse_version(text)


@pytest.mark.parametrize("text", ["", "1.2", ">", ">=x", "=1", ">1;<2", "> =1"])
def test_a_range_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version range such as"):
        in_range((1,), text)


# Operators are total.

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.just(UNKNOWN),
    st.sampled_from(["a", "5", "1Gi"]),
)
JSON = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)), max_leaves=12
)
NUMBER = st.one_of(st.none(), st.integers(-(2**70), 2**70))
VERSION = st.one_of(st.none(), st.lists(st.integers(0, 99), min_size=1, max_size=3).map(tuple))
ON_NUMBERS = ("add", "sub", "mul", "div", "mod", "whole")
ORDER = ("lt", "le")
ANYTHING = (
    *("get", "items", "pairs", "placeholder", "equal", "member", "quantity", "integer", "version", "size", "split", "trim", "lower"),
    *("starts", "ends", "contains", "nearest", "say", "text", "shown", "dotted", "pod_sum", "pod_reads", "near_quantity", "repaired"),
    *("near_key", "append"),
)
ON_LISTS = ("total", "largest", "smallest", "flatten")
OTHER = {
    *("is_type", "located", "matches", "reason", "undecided"),  # below
    *("edit_distance",),  # of texts only
    *("place_of", "Unknown"),
}


def arity(name: str) -> int:
    wanted = [each for each in inspect.signature(getattr(total, name)).parameters.values() if each.default is each.empty]
    return len([each for each in wanted if each.kind is not each.VAR_POSITIONAL]) or 1


def test_every_operator_is_tried() -> None:
    public = {
        name for name, value in vars(total).items() if inspect.isfunction(value) and value.__module__ == total.__name__ and name[0] != "_"
    }
    assert public - {*ON_NUMBERS, *ORDER, *ANYTHING, *ON_LISTS, *OTHER} == set()


@pytest.mark.parametrize("name", ANYTHING)
@few
@given(data=st.data())
def test_an_operator_never_fails(name: str, data: st.DataObject) -> None:
    arguments = [data.draw(JSON) for _ in range(arity(name))]
    getattr(total, name)(*arguments)


@pytest.mark.parametrize("name", ON_LISTS)
@few
@given(values=st.lists(st.one_of(JSON, NUMBER, VERSION)))
def test_a_fold_never_fails(name: str, values: list[Any]) -> None:
    getattr(total, name)(values)


@pytest.mark.parametrize("name", ON_NUMBERS)
@few
@given(data=st.data())
def test_arithmetic_never_fails(name: str, data: st.DataObject) -> None:
    found = getattr(total, name)(*[data.draw(NUMBER) for _ in range(arity(name))])
    assert found is None or type(found) is int


@pytest.mark.parametrize("name", ORDER)
@few
@given(data=st.data())
def test_order_never_fails(name: str, data: st.DataObject) -> None:
    of = data.draw(st.sampled_from([NUMBER, VERSION]))
    left, right = data.draw(of), data.draw(of)
    found = getattr(total, name)(left, right)
    assert found is False or (left is not None and right is not None)


@given(JSON, st.sampled_from(["text", "number", "integer", "bool", "map", "list"]))
def test_types_never_fail(value: Any, name: str) -> None:
    assert total.is_type(value, name) in (True, False)


@given(JSON)
def test_matching_and_places_never_fail(value: Any) -> None:
    assert total.matches(value, "a*") in (True, False)
    assert [item for _, item in total.located(("self",), value)] == list(total.items(value))


@given(st.lists(JSON), st.booleans())
def test_a_reason_is_undecided_or_not(values: list[Any], fragment: bool) -> None:
    assert total.undecided(values, fragment) == any(
        value is UNKNOWN or (value is None and fragment) or (isinstance(value, str) and total.placeholder(value)) for value in values
    )


@given(JSON)
def test_equality_is_that_of_json(value: Any) -> None:
    import copy

    if "nan" not in repr(value):
        assert total.equal(value, value if value is UNKNOWN else copy.deepcopy(value)) or "UNKNOWN" in repr(value)
    assert not total.equal([value], [value, value])
    assert not total.equal({"a": [True]}, {"a": [1]})
    assert total.equal([1.0], (1,))


@given(JSON, st.lists(st.one_of(st.text(max_size=5), st.integers(-3, 5)), max_size=5))
def test_paths_never_fail(root: Any, path: list[str | int]) -> None:
    value = root
    for key in path:
        value = step(value, key)
    assert isinstance(path_text(tuple(path), root), str)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("spec", "containers", 0, "name"), "spec.containers[main].name"),
        (("spec", "containers", 1, "name"), "spec.containers[1].name"),
        (("spec", "containers", 9), "spec.containers[9]"),
        (("metadata", "annotations", "a.io/b"), "metadata.annotations[a.io/b]"),
        (("metadata", "annotations", "plain"), "metadata.annotations.plain"),
        (("a.b",), "[a.b]"),
        ((0,), "[0]"),
    ],
)
def test_path_text(path: tuple[str | int, ...], text: str) -> None:
    assert path_text(path, {"spec": {"containers": [{"name": "main"}, {"name": ""}]}}) == text
