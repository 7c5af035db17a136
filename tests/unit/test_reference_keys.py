"""The models hold everything that the references' tables list, and nothing that is unaccounted for."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuvet.generate.keys import declared_keys
from gpuvet.models.catalogue import ENUMERATIONS, RESOURCES, SHAPES
from gpuvet.models.koordinator_platform import FEATURE_GATES
from gpuvet.models.members import members, removals

LISTED: dict[str, Any] = yaml.safe_load((Path(__file__).parent.parent / "fixtures" / "reference-keys.yaml").read_text(encoding="utf-8"))
KEYS = {key.name + "*" * key.family: key for key in declared_keys().values()}
MODELS = {**RESOURCES, **SHAPES}


def words(lines: list[str]) -> list[str]:
    return [word for line in lines for word in line.split()]


def section_keys(section: str) -> list[str]:
    prefix = section.partition("(prefix ")[2].rstrip(")")
    return [prefix + word for word in words(LISTED["keys"][section])]


@pytest.mark.parametrize("section", LISTED["keys"])
def test_every_listed_key_is_in_the_models(section: str) -> None:
    assert [name for name in section_keys(section) if name not in KEYS] == []


def test_every_key_of_the_models_is_listed() -> None:
    listed = {name for section in LISTED["keys"] for name in section_keys(section)}
    beyond = {name for lines in LISTED["beyond"].values() for name in words(lines)}
    assert sorted(set(KEYS) - listed - beyond) == []
    assert sorted(beyond - set(KEYS)) == []
    assert sorted(beyond & listed) == []


@pytest.mark.parametrize("entry", LISTED["fields"])
def test_every_listed_field_is_in_the_models(entry: str) -> None:
    known = dict(members(MODELS[entry.split()[0]]))
    assert [path for path in words(LISTED["fields"][entry]) if path not in known] == []


def test_every_kind_and_shape_is_listed() -> None:
    assert sorted(entry.split()[0] for entry in LISTED["fields"]) == sorted(MODELS)


@pytest.mark.parametrize("entry", LISTED["removed"])
def test_every_removed_name_is_known(entry: str) -> None:
    known = dict(removals(MODELS[entry.split()[0]]))
    assert [path for path in words(LISTED["removed"][entry]) if path not in known] == []


def test_every_enumeration_holds_the_listed_values() -> None:
    listed = {entry.split()[0]: words(lines) for entry, lines in LISTED["values"].items()}
    for name, values in listed.items():
        assert sorted(ENUMERATIONS[name]) == sorted(values), name
    assert sorted(set(ENUMERATIONS) - set(listed)) == []


def test_feature_gates() -> None:
    assert sorted(gate.name for gate in FEATURE_GATES) == sorted(words([line for lines in LISTED["gates"].values() for line in lines]))


def test_every_key_and_field_is_described() -> None:
    for key in KEYS.values():
        assert key.description.endswith("."), key.name
        assert key.source, key.name
        assert key.type != "quantity" or key.unit, key.name
    for name, model in MODELS.items():
        for path, member in members(model):
            if not path.endswith(("[]", "*")):
                assert member.description.endswith("."), (name, path)
