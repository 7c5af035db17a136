"""Printed rules run as their expressions read."""

from typing import Any

import pytest

from gpuvet.language import ir
from gpuvet.language.expression import ExpressionError, Scope, parse
from gpuvet.language.printers.python import print_module, print_rule
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
    exec(print_module([print_rule("X", "x", checks)]), namespace)
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


def test_an_item_drawn_from_a_filtered_list_keeps_its_own_place() -> None:
    rule = {**RULE, "forbidden": {"that": "true", "at": "self.items.filter(a, a.name == 'x')[0].name"}}
    checks = RuleText.model_validate(rule).lower({})
    place = violations(checks, {"items": [{"name": "y"}, {"name": "x"}]})[0][0]
    assert place == ("self", "items", 1, "name")
    assert violations(checks, {"items": []})[0][0] == ("self", "name")


def test_acyclic_stands_at_the_first_member() -> None:
    checks = RuleText.model_validate({**RULE, "acyclic": {"nodes": "self.tasks", "edges": "after"}}).lower({})
    tasks = [{"name": "a"}, {"name": "b", "after": ["c"]}, {"name": "c", "after": ["b"]}]
    place, _, message, *_ = violations(checks, {"tasks": tasks})[0]
    assert place == ("self", "tasks", 1, "after")
    assert message == "tasks wait for each other: b -> c -> b"


def test_what_is_said_or_rested_on_twice_is_written_once() -> None:
    many = "self.items.filter(a, a.parts.exists(b, b.deep.exists(c, c.name == 'x' && c.kind == 'y' && c.size == 'z')))"
    rule = {
        **RULE,
        "let": {"many": many},
        "forbidden": {"that": "self.on == true && (size(many) == 1 || size(many) == 2 || size(many) == 3)"},
        "message": "{many[0].name} and {self.items.filter(a, a.last == 1)} of {self.items.filter(a, a.last == 1)}",
    }
    checks = RuleText.model_validate(rule).lower({})
    code = print_rule("X", "x", checks)
    assert code.count("because_ for c_at, c in") == 1
    assert code.count("'last'") == 1
    item = {"name": "n", "last": 1, "parts": [{"deep": [{"name": "x", "kind": "y", "size": "z"}]}]}
    _, _, message, *_, because = violations(checks, {"on": True, "items": [item]})[0]
    assert message.startswith("n and ")
    assert {"x", "y", "z"} <= {value for value in because if isinstance(value, str)}
