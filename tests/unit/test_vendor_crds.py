"""Our CRDs against the vendors' own: what differs is in schemas/crd/DIFFERENCES.md, and what is there differs."""

import json
from typing import Any

import pytest

from gpuvet.generate.crd import crd
from gpuvet.generate.differences import differences
from gpuvet.models.catalogue import RESOURCES
from gpuvet.models.relations import NUMBER_LENGTH
from gpuvet.models.structures import CustomResource
from schemas.skeleton import OPAQUE, TABLE, skeleton

VENDORS: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
KINDS = [model for model in RESOURCES.values() if f"{model.plural}.{model.identity()[0]}" in VENDORS]
LONGEST = ("maxItems", "maxLength", "maxProperties")
QUANTITY = "x-kubernetes-int-or-string"
BOUNDS = ("minimum", "maximum", "minLength", "minItems", "format")


def vendor(model: type[CustomResource]) -> dict[str, Any]:
    return VENDORS[f"{model.plural}.{model.identity()[0]}"]


def compared(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[set[tuple[str, str]], list[str]]:
    """(path, aspect) of what we say beyond the vendor, and what contradicts it."""
    more: set[tuple[str, str]] = set()
    wrong: list[str] = []
    open_ = [path for path, facts in ours.items() if facts.get("x-kubernetes-preserve-unknown-fields")]
    for path in theirs:
        below_open = any(path == each or path.startswith((f"{each}.", f"{each}[")) or each == "" for each in open_)
        if path not in ours and not below_open and not path.startswith("metadata") and not path.endswith(".*") and ".*" not in path:
            wrong.append(f"{path}: the vendor has it")
    for path, mine in ours.items():
        if path == "metadata" or path.endswith(".metadata.labels.*"):
            continue
        their = theirs.get(path)
        if their is None:
            parent = path.rpartition(".")[0]
            named = any(f"{path[:at]}.*" in theirs for at in range(len(path)) if path[at] == ".")
            if named:
                top = next(path[:at] for at in range(len(path)) if path[at] == "." and f"{path[:at]}.*" in theirs)
                more.add((top, "names"))
            else:
                wrong.append(f"{path}: only we have it (below {parent})")
            continue
        if not mine.get(QUANTITY) and mine.get("type") != their.get("type") and not their.get("x-kubernetes-preserve-unknown-fields"):
            wrong.append(f"{path}: type {mine.get('type')} against {their.get('type')}")
        if bool(mine.get(QUANTITY)) != bool(their.get(QUANTITY)):
            wrong.append(f"{path}: {QUANTITY}")
        reported = path == "status" or path.startswith("status.") or path == ""  # written by operators; metadata is always there
        lacking = set() if reported else set(their.get("required", ())) - set(mine.get("required", ()))
        wrong += [f"{path}.{name}: the vendor requires it" for name in lacking]
        for name in set(mine.get("required", ())) - set(their.get("required", ())):
            more.add((f"{path}.{name}".lstrip("."), "required"))
        if mine.get("enum") != their.get("enum") and (their.get("enum") is None or set(mine.get("enum", ())) < set(their["enum"])):
            more.add((path, "values"))
        elif set(mine.get("enum", ())) != set(their.get("enum", ())):
            wrong.append(f"{path}: enum {mine.get('enum')} against {their.get('enum')}")
        if not mine.get(QUANTITY) and mine.get("pattern") != their.get("pattern"):
            more.add((path, "form"))
        wrong += [
            f"{path}: {bound} {mine.get(bound)} against {their.get(bound)}"
            for bound in BOUNDS
            if mine.get(bound) != their.get(bound) and not (bound == "minLength" and mine.get("pattern"))
        ]
        if any(mine.get(bound) not in (their.get(bound), NUMBER_LENGTH) for bound in LONGEST) and not mine.get(QUANTITY):
            more.add((path, "bound"))
        if mine.get("x-kubernetes-list-type", "atomic") != their.get("x-kubernetes-list-type", "atomic"):
            more.add((path, "list type"))
        if mine.get("validations") and mine["validations"] != their.get("validations") and mine.get("type") != "string":
            more.add((path, "validation"))
        if their.get("validations") and not mine.get("validations"):
            wrong.append(f"{path}: the vendor validates {their['validations']}")
        described = any(each.startswith(f"{path}.") or path == "" for each in ours if each != path)
        if mine.get("x-kubernetes-preserve-unknown-fields") and not their.get("x-kubernetes-preserve-unknown-fields") and described:
            more.add((path, "unknown fields"))
    return more, wrong


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.__name__)
def test_every_difference_is_listed_and_none_is_made_up(model: type[CustomResource]) -> None:
    ours = skeleton(crd(model))
    more, wrong = compared(ours, vendor(model)["fields"])
    assert wrong == []
    listed = {(row.path, row.aspect) for row in differences(model)}
    opaque = {(path, aspect) for path, aspect in more if path.endswith(OPAQUE)}
    assert {row for row in more - opaque if row not in listed} == set()
    assert {row for row in listed if row not in more} == set()


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.__name__)
def test_names_and_scope_are_the_vendors(model: type[CustomResource]) -> None:
    entry = vendor(model)
    assert model.scope == entry["scope"]
    assert model.identity()[2] == entry["names"]["kind"]
    assert list(model.short_names) == entry["names"].get("shortNames", [])


def test_all_kinds_but_the_closed_one_are_compared() -> None:
    assert [name for name, model in RESOURCES.items() if model not in KINDS] == ["MachineSet"]
