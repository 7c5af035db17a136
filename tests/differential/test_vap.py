"""The real API server with the generated policies against the Python rules: the same rules at the same paths, for every fixture and for
thousands of mutated objects. Python judges what the API server judges: the object as it was decoded and defaulted."""

import copy
import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.build import components
from differential.mixed import KINDS, mixed
from differential.objects import _at, _places, fixtures, mutants
from differential.python import Reference, ordered
from differential.vap import Policed, Seen, policed
from gpuvet.engine.context import EmptyContext
from gpuvet.generate.policies import exported
from gpuvet.generate.vap import groups, policies
from gpuvet.manifests.reader import read
from gpuvet.settings.config import Settings, load_settings
from gpuvet.values.path import path_text
from gpuvet.values.quantity import NANOS
from gpuvet.values.total import quantity

pytestmark = pytest.mark.real

FIXTURES = Path(__file__).parent.parent / "fixtures"
EACH = int(os.environ.get("GPUVET_DIFFERENTIAL_VAP", "4"))
"""Mutated objects for each rule."""
PLACEHOLDER = re.compile(r"\{\{|\$[{(]")
PARTIAL = frozenset(("TensorFusionWorkload", "TrainJob", "WorkloadProfile"))
"""Kinds whose Pod template is laid over another, so that what is missing means nothing."""
MIXED = int(os.environ.get("GPUVET_DIFFERENTIAL_MIXED", "1"))
"""Objects for the Pod of each fixture, of kinds that put a Pod together from several places."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Policed, "Verdicts"]]:
    settings = load_settings(None)
    with policed(components(), tmp_path_factory.mktemp("vap")) as server:
        seconds = server.install(policies(settings))
        print(f"enforced after {seconds:.0f} s")
        yield server, Verdicts(settings)


class Verdicts:
    """What Python says, of rules that warn or deny, about objects of kinds that the policies judge."""

    def __init__(self, settings: Settings) -> None:
        self.reference = Reference(settings, "cel")
        self.told = {rule.info.id for rule in self.reference.rules.rules if rule.severity in ("error", "warning")}
        self.inner = inner_keys()
        self.kinds = frozenset().union(*(group.kinds for group in groups(settings)))

    def covers(self, value: dict[str, Any]) -> bool:
        """Whether a policy may judge the object."""
        group = value["apiVersion"].rpartition("/")[0]
        kind = value["kind"]
        return bool({kind, f"{kind}.{group}"} & self.kinds)

    def of(self, value: dict[str, Any]) -> tuple[frozenset[tuple[str, str]], bool]:
        """(rule, path), and whether CEL may leave something unsaid: something is still to be filled in, or stands elsewhere."""
        text = json.dumps(value)
        document = read(text.encode()).documents[0]
        found = set()
        fragment = value["kind"] in PARTIAL
        for verdict in self.reference.judge.judge(document, "-", EmptyContext()):
            assert not verdict.crashes, (verdict.crashes, value)
            fragment = fragment or verdict.fragment
            found |= {(one.rule, one_line(path_text(one.path, value))) for one in verdict.findings if one.rule in self.told}
        return frozenset(found), fragment or PLACEHOLDER.search(text) is not None or odd_amounts(value)


def one_line(text: str) -> str:
    """As a policy says it: a message of two lines would be dropped."""
    return text.replace("\n", " ").replace("\t", " ")


def odd_amounts(value: Any) -> bool:
    """Whether an amount stands somewhere that is malformed, or no whole number: sums over such amounts are not known."""
    if isinstance(value, list):
        return any(map(odd_amounts, value))
    if not isinstance(value, dict):
        return False
    for key, item in value.items():
        if key in ("limits", "requests") and isinstance(item, dict):
            nanos = [quantity(amount) for amount in item.values() if amount is not None]
            if any(one is None or one % NANOS for one in nanos):
                return True
        if odd_amounts(item):
            return True
    return False


def bare(value: Any, inner: frozenset[str], key: str = "") -> bool:
    """Whether a text that is still to be filled in stands where a map or a list belongs: CEL takes it for nothing."""
    if isinstance(value, dict):
        return any(bare(item, inner, name) for name, item in value.items())
    if isinstance(value, list):
        return any(bare(item, inner, key) for item in value)
    return isinstance(value, str) and key in inner and PLACEHOLDER.search(value) is not None


def inner_keys() -> frozenset[str]:
    """Keys under which maps or lists stand in fixtures."""
    found: set[str] = set()

    def note(value: Any) -> None:
        for name, item in value.items() if isinstance(value, dict) else ():
            if isinstance(item, dict | list):
                found.add(name)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            note(item)

    for _, value in fixtures(FIXTURES):
        note(value)
    return frozenset(found)


def differs(verdicts: Verdicts, seen: Seen) -> str:
    """How Python's verdict differs; empty when it does not."""
    if seen.refused:
        return ""
    if seen.errors:
        return f"evaluation failed: {seen.errors[0][-400:]}"
    if not verdicts.covers(seen.value):
        return f"a verdict on a kind that is not covered: {sorted(seen.found)}" if seen.found else ""
    if bare(seen.value, verdicts.inner):
        return ""
    ours, loose = verdicts.of(ordered(seen.value))
    if ours == seen.found or ((loose or seen.cut) and seen.found <= ours):
        return ""
    return f"only Python: {sorted(ours - seen.found)}\nonly the API server: {sorted(seen.found - ours)}"


def named(value: dict[str, Any]) -> dict[str, Any]:
    """The object with a name, in a namespace that is there: without them nothing is ever judged."""
    value = copy.deepcopy(value)
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        metadata = value["metadata"] = {}
    metadata.setdefault("name", "x")
    metadata.pop("namespace", None)
    metadata.pop("resourceVersion", None)
    metadata.pop("uid", None)
    if value.get("apiVersion") == "apps/v1" and isinstance(value.get("spec"), dict):
        # Most fixtures leave out what only selects.
        template = value["spec"].get("template")
        if isinstance(template, dict):
            if not isinstance(template.get("metadata"), dict):
                template["metadata"] = {}
            labels = template["metadata"].setdefault("labels", {})
            if isinstance(labels, dict):
                labels["x"] = "y"
                value["spec"]["selector"] = {"matchLabels": {"x": "y"}}
    return value


def agree(engine: tuple[Policed, Verdicts], objects: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """How often each rule spoke, and what became of the objects. Fails with the smallest object on which the engines differ."""
    server, verdicts = engine
    spoke: Counter[str] = Counter()
    fates: Counter[str] = Counter()
    for start in range(0, len(objects), 400):
        part = objects[start : start + 400]
        for value, seen in zip(part, server.judge(part), strict=True):
            fates["refused by the API server" if seen.refused else "judged"] += 1
            spoke.update(rule for rule, _ in seen.found)
            why = differs(verdicts, seen)
            if why:
                small = smallest(server, verdicts, value)
                why = differs(verdicts, server.judge([small])[0])
                pytest.fail(f"{why}\n{json.dumps(small, indent=1, ensure_ascii=False)}", pytrace=False)
    return spoke, fates


def smallest(server: Policed, verdicts: Verdicts, value: dict[str, Any]) -> dict[str, Any]:
    """The object without everything that the disagreement does not need."""
    again = True
    while again:
        again = False
        candidates = []
        for place in sorted(_places(value), key=len):
            if place in (("apiVersion",), ("kind",), ("metadata",), ("metadata", "name")):
                continue
            smaller = copy.deepcopy(value)
            del _at(smaller, place[:-1])[place[-1]]
            candidates.append(smaller)
        for start in range(0, len(candidates), 100):
            part = candidates[start : start + 100]
            differ = [one for one, seen in zip(part, server.judge(part), strict=True) if differs(verdicts, seen)]
            if differ:
                value, again = differ[0], True
                break
    return value


def known(value: dict[str, Any]) -> bool:
    """Whether it can be sent at all."""
    return isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str)


def test_fixtures_agree(engine: tuple[Policed, Verdicts]) -> None:
    objects = [named(value) for _, value in fixtures(FIXTURES) if known(value)]
    assert len(objects) > 1000
    spoke, fates = agree(engine, objects)
    print(f"{dict(fates)}, {sum(spoke.values())} findings of {len(spoke)} rules")
    silent = sorted(engine[1].told - spoke.keys())
    # What the API server itself refuses or drops, and kinds that CEL does not judge.
    assert len(silent) < 0.25 * len(spoke), silent


def test_mutants_agree(engine: tuple[Policed, Verdicts]) -> None:
    by_rule: dict[str, list[dict[str, Any]]] = {}
    for rule, value in fixtures(FIXTURES):
        by_rule.setdefault(rule, []).append(value)
    objects: list[dict[str, Any]] = []
    for one in exported(load_settings(None), "cel"):
        objects += [named(value) for value in mutants(one.rule, by_rule[one.bound.info.id], EACH) if known(value)]
    spoke, fates = agree(engine, objects)
    assert fates["judged"] > len(objects) // 3
    print(f"{len(objects)} objects: {dict(fates)}, {sum(spoke.values())} findings of {len(spoke)} rules")


def test_kinds_that_put_a_pod_together_agree(engine: tuple[Policed, Verdicts]) -> None:
    chance = random.Random(6)
    objects = [one for _, value in fixtures(FIXTURES) for one in mixed(value, chance, MIXED)]
    assert {value["kind"] for value in objects} == {kind for _, kind, _ in KINDS}
    spoke, fates = agree(engine, [named(value) for value in objects])
    assert fates["judged"] > 0.9 * len(objects)
    print(f"{len(objects)} objects: {dict(fates)}, {sum(spoke.values())} findings of {len(spoke)} rules")
    assert len(spoke) > 100
