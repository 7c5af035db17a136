"""Real OPA against the Python rules: the same rules at the same paths, for every fixture and for thousands of mutated objects."""

import copy
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from differential.objects import _at, _places, fixtures, mutants
from differential.opa import Opa, opa_binary, server
from differential.python import Reference
from gpuvet.generate.policies import exported, render_rego
from gpuvet.settings.config import Settings, load_settings

pytestmark = pytest.mark.real

FIXTURES = Path(__file__).parent.parent / "fixtures"
POLICIES = Path(__file__).parent.parent.parent / "policies" / "rego"
BATCH = 100
EACH = int(os.environ.get("GPUVET_DIFFERENTIAL", "32"))
"""Mutated objects for each rule."""
CONFIGURATIONS = {
    "default": {},
    "seed": {"platform": {"tensorFusion": "1.34.7"}},
    "current": {"platform": {"tensorFusion": "2.17.1", "koordinator": "1.7.0", "kubernetes": "1.33.0", "qgpu": "1.5.0"}},
    "company": {
        "usageKey": "example.com/usage",
        "productTaints": ["nvidia.com/gpu.product"],
        "gpuModels": ["H20", "A100"],
        "namespace": "ml",
    },
}


def settings_of(folder: Path, name: str) -> Settings:
    """The settings of a configuration, with every rule of the catalogue on that the platform leaves on."""
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(CONFIGURATIONS[name]), "utf-8")
    return load_settings(path)


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Settings, Opa, Reference]]:
    """Both engines for one configuration."""
    folder = tmp_path_factory.mktemp("rego")
    settings = settings_of(folder, request.param)
    for name, text in render_rego(settings).items():
        (folder / name).write_text(text, "utf-8")
    (folder / "lib_test.rego").unlink()
    with server(*map(str, sorted(folder.glob("*.rego")))) as port:
        yield request.param, settings, Opa(port), Reference(settings)


def agree(opa: Opa, reference: Reference, objects: list[dict[str, Any]]) -> Counter[str]:
    """How often each rule spoke. Fails with the smallest object on which the engines differ."""
    spoke: Counter[str] = Counter()
    for start in range(0, len(objects), BATCH):
        part = objects[start : start + BATCH]
        for value, theirs in zip(part, opa.judge(part), strict=True):
            ours = reference.findings(value)
            spoke.update(rule for rule, _ in ours)
            if ours != theirs:
                small = smallest(opa, reference, value)
                ours, theirs = reference.findings(small), opa.judge([small])[0]
                only = f"only Python: {sorted(ours - theirs)}\nonly OPA: {sorted(theirs - ours)}"
                pytest.fail(f"{only}\n{json.dumps(small, indent=1, ensure_ascii=False)}", pytrace=False)
    return spoke


def smallest(opa: Opa, reference: Reference, value: dict[str, Any]) -> dict[str, Any]:
    """The object without everything that the disagreement does not need."""
    again = True
    while again:
        again = False
        candidates = []
        for place in sorted(_places(value), key=len):
            smaller = copy.deepcopy(value)
            del _at(smaller, place[:-1])[place[-1]]
            candidates.append(smaller)
        for start in range(0, len(candidates), BATCH):
            part = candidates[start : start + BATCH]
            differ = [one for one, theirs in zip(part, opa.judge(part), strict=True) if reference.findings(one) != theirs]
            if differ:
                value, again = differ[0], True
                break
    return value


def test_fixtures_agree(engines: tuple[str, Settings, Opa, Reference]) -> None:
    name, settings, opa, reference = engines
    objects = [value for _, value in fixtures(FIXTURES)]
    assert len(objects) > 1000
    spoke = agree(opa, reference, objects)
    if name == "default":
        silent = [one.bound.info.id for one in exported(settings, "rego") if one.bound.info.id not in spoke]
        # Nothing of these stands in the fixtures' own configuration-free form.
        assert len(silent) < 0.1 * len(spoke), silent


def test_mutants_agree(engines: tuple[str, Settings, Opa, Reference]) -> None:
    name, settings, opa, reference = engines
    by_rule: dict[str, list[dict[str, Any]]] = {}
    for rule, value in fixtures(FIXTURES):
        by_rule.setdefault(rule, []).append(value)
    count = EACH if name == "default" else max(EACH // 8, 1)
    objects = []
    for one in exported(settings, "rego"):
        bases = by_rule.get(one.bound.info.id)
        assert bases, f"{one.bound.info.id} has no fixture"
        objects += mutants(one.rule, bases, count)
    spoke = agree(opa, reference, objects)
    assert sum(spoke.values()) > len(objects) // 10
    print(f"{name}: {len(objects)} objects, {sum(spoke.values())} findings of {len(spoke)} rules")


@pytest.mark.parametrize("command", [("check", "--strict"), ("fmt", "--fail", "--list"), ("test",)], ids=" ".join)
def test_opa_finds_nothing_to_complain_about(command: tuple[str, ...]) -> None:
    done = subprocess.run([opa_binary(), *command, str(POLICIES)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def test_files_as_they_are() -> None:
    """`opa eval` on a manifest gives the denial with its message, rule, path and severity."""
    manifest = FIXTURES / "QG" / "QG006" / "bad" / "350.yaml"
    command = [opa_binary(), "eval", "--format=json", "--input", str(manifest), "--data", str(POLICIES), "data.gpuvet.deny"]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    items = answer["result"][0]["expressions"][0]["value"]
    found = [item for item in items if item["rule"] == "QG006"]
    assert found
    assert found[0].keys() == {"msg", "rule", "path", "severity", "at"}
    assert found[0]["path"].endswith("[tke.cloud.tencent.com/qgpu-core]")
    assert found[0]["msg"].startswith("QG006 ")
