"""Printed rules run as their expressions read."""

from typing import Any

import pytest

from gpuvet.language import ir
from gpuvet.language.expression import ExpressionError, Scope, parse
from gpuvet.language.printers.python import IMPORTS, print_rule
from gpuvet.language.rule import RuleText

RULE = {
    "id": "XX001",
    "name": "x",
    "severity": "error",
    "consequence": "advice",
    "on": "object",
    "trigger": {"kinds": ["X"]},
    "why": "It is only a test.",
}


class Subject:
    """As much of a subject as the printed code reads."""

    def __init__(self, value: Any) -> None:
        self.value = self.object = value


def violations(checks: tuple[ir.Check, ...], value: Any) -> list[Any]:
    namespace: dict[str, Any] = {}
    exec(IMPORTS + print_rule("X", "x", checks), namespace)
    found: list[Any] = []
    namespace["X"](Subject(value), {}, found.append)
    return found


def test_a_key_may_be_asked_for_inside_a_loop_inside_a_loop() -> None:
    that = "self.items.exists(a, a.parts.exists(b, key(b) == 'x' && b == 1))"
    checks = RuleText.model_validate({**RULE, "forbidden": {"that": that}}).lower({})
    assert len(violations(checks, {"items": [{"parts": {"x": 1}}]})) == 1
    assert violations(checks, {"items": [{"parts": {"y": 1}}]}) == []


@pytest.mark.parametrize("name", ["s", "p", "out", "get", "text"])
def test_a_variable_cannot_hide_what_printed_rules_use(name: str) -> None:
    with pytest.raises(ExpressionError, match="cannot be called"):
        parse(f"self.items.exists({name}, {name} == 1)", Scope("object", {}, frozenset()))
    with pytest.raises(ExpressionError, match="cannot be called"):
        RuleText.model_validate({**RULE, "each": {name: "self.items"}, "forbidden": f"{name} == 1"}).lower({})
