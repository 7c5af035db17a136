"""A short differential test of one printer, for `mutate.py`: exit code 1 and a line about it when engine and Python differ."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from differential.objects import fixtures, mutants
from differential.python import Reference
from gpuvet.engine.context import EmptyContext
from gpuvet.generate.policies import exported, render_rego
from gpuvet.generate.vap import policies
from gpuvet.manifests.reader import read
from gpuvet.settings.config import Settings, load_settings
from gpuvet.values.path import path_text
from gpuvet.values.quantity import NANOS
from gpuvet.values.total import quantity

FIXTURES = Path(__file__).parent.parent / "fixtures"
EACH = int(os.environ.get("GPUVET_SHORT", "8"))


def main(engine: str, rules: list[str]) -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "config.yaml"
        config.write_text(json.dumps({"rules": {"*": "off", **dict.fromkeys(rules, "on")}}), "utf-8")
        settings = load_settings(config)
        by_rule: dict[str, list[dict[str, Any]]] = {}
        for rule, value in fixtures(FIXTURES):
            by_rule.setdefault(rule, []).append(value)
        objects = []
        for one in exported(settings, engine):
            bases = by_rule.get(one.bound.info.id, [])
            objects += [*bases, *(mutants(one.rule, bases, EACH) if bases else ())]
        return cel(settings, objects) if engine == "cel" else rego(settings, objects, folder)


def differ(value: Any, why: str) -> int:
    """Says so."""
    print(f"{json.dumps(value)[:60]} {why}"[:400].replace("\n", " "))
    return 1


def rego(settings: Settings, objects: list[dict[str, Any]], folder: Path) -> int:
    from differential.opa import Opa, server

    for name, text in render_rego(settings).items():
        if not name.endswith("_test.rego"):
            (folder / name).write_text(text, "utf-8")
    reference = Reference(settings)
    with server(*map(str, sorted(folder.glob("*.rego")))) as port:
        opa = Opa(port)
        for start in range(0, len(objects), 50):
            part = objects[start : start + 50]
            for value, theirs in zip(part, opa.judge(part), strict=True):
                ours = reference.findings(value)
                if ours != theirs:
                    return differ(value, f"only Python: {sorted(ours - theirs)} only OPA: {sorted(theirs - ours)}")
    return 0


def cel(settings: Settings, objects: list[dict[str, Any]]) -> int:
    from differential.evaluate import Evaluator, speaks_of

    reference = Reference(settings, "cel")
    told = {rule.info.id for rule in reference.rules.rules if rule.severity in ("error", "warning")}
    with Evaluator(policy for policy, _ in policies(settings)) as evaluator:
        for value in objects:
            metadata = value.get("metadata")
            if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not isinstance(value.get("kind"), str):
                continue
            asked = [policy for policy in evaluator.policies if speaks_of(policy, value)]
            text = json.dumps(value)
            # No API server vouches for the objects here: what CEL may leave unsaid or take for nothing is not what is tested.
            if not asked or any(mark in text for mark in ("{{", "${", "$(")) or odd(value):
                continue
            document = read(text.encode()).documents[0]
            verdicts = list(reference.judge.judge(document, "-", EmptyContext()))
            if any(verdict.fragment for verdict in verdicts) or value["kind"] in ("WorkloadProfile", "TensorFusionWorkload"):
                continue
            theirs, errors = evaluator.judge(value)
            if errors:
                return differ(value, errors[0][-200:])
            ours = {(one.rule, path_text(one.path, value)) for verdict in verdicts for one in verdict.findings if one.rule in told}
            covered = {rule for rule in told if any(rule.lower() in _own(policy) for policy in asked)}
            ours = {one for one in ours if one[0] in covered}
            if ours != theirs:
                return differ(value, f"only Python: {sorted(ours - theirs)} only CEL: {sorted(theirs - ours)}")
    return 0


def _own(policy: dict[str, Any]) -> str:
    return next(variable["expression"] for variable in policy["spec"]["variables"] if variable["name"] == "lines")


def odd(value: dict[str, Any]) -> bool:
    """Whether a built-in kind holds a list or a text where the API server would have refused it."""
    return any(not fits(key, item) for key, item in _members(value)) or any(
        not whole(amount)
        for key, item in _members(value)
        if key in ("limits", "requests") and isinstance(item, dict)
        for amount in item.values()
    )


def whole(amount: Any) -> bool:
    """Whether it is a whole quantity: the API server refuses others of extended resources."""
    nanos = quantity(amount)
    return amount is None or (nanos is not None and nanos % NANOS == 0)


def fits(key: str, item: Any) -> bool:
    """Whether a member of a built-in kind has the type that the API server demands."""
    if key in (
        "limits",
        "requests",
        "nodeSelector",
        "labels",
        "annotations",
        "resources",
        "metadata",
        "spec",
        "template",
        "affinity",
        "nodeAffinity",
    ):
        return item is None or isinstance(item, dict)
    if key in (
        "containers",
        "initContainers",
        "tolerations",
        "matchExpressions",
        "nodeSelectorTerms",
        "preferredDuringSchedulingIgnoredDuringExecution",
    ):
        return item is None or (isinstance(item, list) and all(isinstance(one, dict) for one in item))
    return True


def _members(value: Any) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, item
            yield from _members(item)
    elif isinstance(value, list):
        for item in value:
            yield from _members(item)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2].split(",")))
