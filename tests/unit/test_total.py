"""The operators that rules are made of: total on whatever stands in a manifest."""

from typing import Any

import pytest

from gpuvet.values.total import UNKNOWN, get, member


@pytest.mark.parametrize("key", [[], {}, ["a"], 1.5, True, None])
def test_a_key_that_is_no_text_leads_nowhere_in_a_map(key: Any) -> None:
    assert get({"a": 1}, key) is None


def test_a_key_that_is_not_known_leads_to_what_is_not_known() -> None:
    assert get({"a": 1}, UNKNOWN) is UNKNOWN
    assert get(UNKNOWN, "a") is UNKNOWN


@pytest.mark.parametrize(("item", "inside"), [("a", True), ("b", False), (1, True), (True, False), ([], False), (None, False), (1.0, True)])
def test_membership_is_json_equality(item: Any, inside: bool) -> None:
    assert member(item, ("a", 1)) is inside
    assert member(item, ["a", 1]) is inside
