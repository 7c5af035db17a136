"""Rules that the printers have never seen: a user's own file, judged by Python, by real OPA and by a real API server."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from cluster.build import components
from differential.opa import Opa, server
from differential.python import Reference, ordered
from differential.vap import policed
from gpuvet.generate.policies import render_rego
from gpuvet.generate.vap import policies
from gpuvet.settings.config import load_settings
from gpuvet.values.path import path_text

pytestmark = pytest.mark.real

RULES = r"""
family: OWN
rules:
  - id: OWN001
    name: cards-per-container
    severity: error
    consequence: advice
    on: container
    trigger: {keys: [acme.io/cards]}
    parameters: {most: 4}
    bounds: {value: "limit('acme.io/cards')", of: integer, maximum: 4}
    why: No node has more cards.
  - id: OWN002
    name: cards-over-the-pod
    severity: error
    consequence: advice
    on: pod
    trigger: {keys: [acme.io/cards]}
    let: {total: "podSum('acme.io/cards')"}
    forbidden:
      that: int(total) % 2 == 1 && int(total) > 1 && !(annotation('acme.io/odd') in ['yes', 'true'])
      at: pod.metadata.annotations['acme.io/odd']
    why: Cards come in pairs.
  - id: OWN003
    name: team
    severity: warning
    consequence: advice
    on: pod
    trigger: {keys: [acme.io/team]}
    each: {part: "split(label('acme.io/team'), '.')"}
    forbidden: {that: "!matches(part, '[a-z]{2,8}') || size(part) == 3 && startsWith(lower(part), 'x')", at: "label('acme.io/team')"}
    why: Teams are named like that.
  - id: OWN004
    name: memory-of-all
    severity: warning
    consequence: advice
    on: pod
    trigger: {keys: [acme.io/memory]}
    each: {c: "containers().filter(c, quantity(limit(c, 'acme.io/memory')) > 2)"}
    forbidden:
      that: containers().exists(d, d.name != c.name && quantity(limit(d, 'acme.io/memory')) >= quantity(limit(c, 'acme.io/memory')))
      at: limit(c, 'acme.io/memory')
    why: One container leads.
"""


def objects() -> list[dict[str, Any]]:
    """Pods and owners of them that an API server takes."""
    found = []
    cards = [None, "0", "1", "2", "4", "5", "1k", "9223372036854775807"]
    for number, (one, other, team) in enumerate(itertools.product(cards, cards, (None, "ab.cd", "xyz", "Team", "a"))):
        memory = {"acme.io/memory": str(number % 5)}
        listed = []
        for name, amount in (("a", one), ("b", other)):
            limits = {**({"acme.io/cards": amount} if amount else {}), **(memory if name == "a" or number % 2 else {"acme.io/memory": "3"})}
            listed.append({"name": name, "image": "i", "resources": {"limits": limits}})
        annotations = {"acme.io/odd": ("yes", "no", "true")[number % 3]} if number % 4 else {}
        metadata = {"annotations": annotations, "labels": {"x": "y", **({"acme.io/team": team} if team else {})}}
        spec: dict[str, Any] = {"containers": listed}
        if number % 3 == 0:
            spec["initContainers"] = [{**listed[0], "name": "i", **({"restartPolicy": "Always"} if number % 2 else {})}]
        if number % 2:
            found.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", **metadata}, "spec": spec})
        else:
            template = {"selector": {"matchLabels": {"x": "y"}}, "template": {"metadata": metadata, "spec": spec}}
            found.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": template})
    return found


def test_a_rule_of_the_user_is_the_same_everywhere(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(RULES, "utf-8")
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"ruleFiles": ["own.yaml"], "rules": {"*": "off", "OWN*": "on"}}), "utf-8")
    settings = load_settings(config)
    reference = Reference(settings, "cel")
    assert len(reference.rules.rules) == 4
    folder = tmp_path / "rego"
    folder.mkdir()
    for name, text in render_rego(settings).items():
        if not name.endswith("_test.rego"):
            (folder / name).write_text(text, "utf-8")
    with policed(components(), tmp_path) as api, server(*map(str, sorted(folder.glob("*.rego")))) as port:
        api.install(policies(settings))
        opa = Opa(port)
        seen = api.judge(objects())
        spoke: set[str] = set()
        for one in seen:
            assert not one.refused, one.refused
            assert not one.errors, one.errors
            value = ordered(one.value)
            ours = reference.findings(value)
            assert opa.judge([value])[0] == ours
            assert one.found == {(rule, path_text(path, value)) for rule, path in ours}, json.dumps(value, indent=1)
            spoke |= {rule for rule, _ in ours}
    assert spoke == {"OWN001", "OWN002", "OWN003", "OWN004"}
