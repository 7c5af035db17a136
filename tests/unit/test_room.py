"""What the engine remembers is bounded, whatever manifests come along."""

import pytest

from gpuvet.compiled.catalogue import RULES
from gpuvet.engine import ruleset
from gpuvet.engine.ruleset import Alike, BoundRule, Room


def test_all_is_forgotten_when_the_room_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruleset, "_ROOM", 10_000)
    room = Room()
    parts = [Alike("resources", room), Alike("placement", room)]
    most = 0
    for number in range(1_000):
        parts[number % 2].remember(f"{number:0100}".encode(), ())
        most = max(most, sum(len(part.remembered) for part in parts))
    assert most == 25
    assert parts[1].remembered


def test_what_is_long_is_not_remembered() -> None:
    part = Alike("resources", Room())
    part.remember(b"x" * 5_000, ())
    assert not part.remembered


def test_a_rule_that_was_loaded_beforehand_keeps_its_screens() -> None:
    info = next(info for info in RULES if info.reads == "configuration")
    rule = BoundRule(info, "error", info.parameters)
    _ = rule.function
    assert rule.part_screen is not None
    assert rule.screen.__name__ == info.id
