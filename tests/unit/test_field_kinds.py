"""`unknown_fields` and `shadowed_by`: what their parameters must be, and how deep the first looks."""

import pytest
from pydantic import ValidationError

from gpuvet.compiled.keys import LEVELS, REMOVED
from gpuvet.language.expression import Scope
from gpuvet.language.kinds.fields import UnknownFields
from gpuvet.language.kinds.shadows import ShadowedBy

SCOPE = Scope("object", {}, frozenset())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"crd": "WorkloadProfil", "which": "near"}, "the models know no WorkloadProfil"),
        ({"crd": "WorkloadProfile", "which": "near", "until": ["1.45.0"]}, "until goes with which: removed"),
        ({"crd": "WorkloadProfile", "which": "all"}, "removed"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        UnknownFields.model_validate(parameters)


def test_every_level_below_spec_is_looked_at() -> None:
    checks = UnknownFields(crd="WorkloadProfile", which="other").lower(SCOPE)
    levels = [level for level in LEVELS["WorkloadProfile"] if level == "spec" or level.startswith("spec.")]
    assert len(checks) == len(levels) > 10
    assert any(len(check.each) == 2 for check in checks), "lists are looped over"


def test_each_removed_field_belongs_to_exactly_one_version() -> None:
    until = {field.until for field in REMOVED["WorkloadProfile"].values()}
    split = [UnknownFields(crd="WorkloadProfile", which="removed", until=[version]).lower(SCOPE) for version in until]
    whole = UnknownFields(crd="WorkloadProfile", which="removed").lower(SCOPE)
    assert sum(map(len, split)) == len(whole) == len(REMOVED["WorkloadProfile"])


def test_fields_of_other_rules_are_left_out() -> None:
    some = UnknownFields(crd="WorkloadProfile", which="removed", besides=("spec.autoScaling",)).lower(SCOPE)
    assert len(some) == len(REMOVED["WorkloadProfile"]) - 1


def test_a_shadowed_value_may_be_pointed_at() -> None:
    pair = {"winner": "self.a", "loser": "self.b"}
    winner, loser = (ShadowedBy.model_validate({"pairs": [pair], "at": at}).lower(SCOPE)[0] for at in ("winner", "loser"))
    assert (winner.at, winner.related[0][0]) == (loser.related[0][0], loser.at)
    assert winner.at != loser.at
