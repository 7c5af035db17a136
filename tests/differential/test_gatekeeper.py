"""`policies/gatekeeper/` in the real Gatekeeper library: `gator verify` with a suite of fixtures, and `gator test` on every fixture."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from differential.objects import fixtures
from differential.opa import go_tool
from differential.python import Reference
from gpuvet.compiled.catalogue import RULES
from gpuvet.settings.config import load_settings

pytestmark = pytest.mark.real

ROOT = Path(__file__).parent.parent.parent
POLICIES = ROOT / "policies" / "gatekeeper"
VOCABULARIES = {info.id: info.vocabulary for info in RULES}
STEP = int(os.environ.get("GPUVET_GATEKEEPER", "3"))
"""Every so many fixtures; 1 for all of them, which takes some five minutes."""
ACTIONS = {"error": "deny", "warning": "warn"}
Said = set[tuple[str, str]]
"""(constraint, beginning of the message)"""


def gator(*arguments: str) -> subprocess.CompletedProcess[str]:
    binary = go_tool("github.com/open-policy-agent/gatekeeper/v3/cmd/gator", "v3.23.0", "gator")
    return subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference(load_settings(None))


def constraints() -> dict[str, dict[str, Any]]:
    listed = [each for each in yaml.safe_load_all((POLICIES / "constraints.yaml").read_text("utf-8")) if each]
    return {each["metadata"]["name"]: each for each in listed}


def wellformed(value: Any) -> bool:
    """What the API server would hand to Gatekeeper."""
    metadata = value.get("metadata")
    texts = (value.get("apiVersion"), value.get("kind"), metadata.get("name") if isinstance(metadata, dict) else None)
    if not all(isinstance(text, str) and text for text in texts) or value["kind"].endswith("List"):
        return False
    maps = [metadata.get(part) or {} for part in ("labels", "annotations")]
    return all(isinstance(part, dict) and all(isinstance(item, str) for item in part.values()) for part in maps)


def expected(value: Any, reference: Reference) -> Said:
    """What the constraints that are asked about this kind should say."""
    group, kind = value["apiVersion"].rpartition("/")[0], value["kind"]
    severities = {rule.info.id: rule.severity for rule in reference.rules.rules}
    found = set()
    for rule, _ in reference.findings(value):
        severity = severities[rule]
        name = f"gpuvet-{VOCABULARIES[rule]}-{severity}s"
        if severity in ACTIONS and any(
            kind in each["kinds"] and (group in each["apiGroups"] or "*" in each["apiGroups"])
            for each in constraints()[name]["spec"]["match"]["kinds"]
        ):
            found.add((name, rule))
    return found


@pytest.fixture(scope="module")
def cases(reference: Reference) -> list[tuple[str, Any]]:
    found = [(rule, value) for rule, value in fixtures(ROOT / "tests" / "fixtures") if wellformed(value)]
    assert len(found) > 900
    return found


def test_fixtures(cases: list[tuple[str, Any]], reference: Reference, tmp_path: Path) -> None:
    """The union of all templates says what the Python rules say, each at its own constraint."""
    listed: dict[str, Any] = {}
    for number, (_, value) in enumerate(cases[::STEP]):
        # Gatekeeper keeps objects by name, so that two of one name would be one.
        marked = {**value, "metadata": {**value["metadata"], "uid": str(number)}}
        listed[str(number)] = marked
        (tmp_path / f"{number:05}.json").write_text(json.dumps(marked), "utf-8")
    done = gator("test", f"--filename={POLICIES}", f"--filename={tmp_path}", "--output=json")
    assert done.returncode in (0, 1), done.stderr
    said: dict[str, Said] = {number: set() for number in listed}
    for result in json.loads(done.stdout):
        if "uid" in result["violatingObject"]["metadata"]:
            constraint = result["constraint"]["metadata"]["name"]
            assert result["enforcementAction"] == constraints()[constraint]["spec"]["enforcementAction"]
            said[result["violatingObject"]["metadata"]["uid"]].add((constraint, result["msg"].partition(" ")[0]))
    wrong = [(said[number], wanted, value) for number, value in listed.items() if said[number] != (wanted := expected(value, reference))]
    assert wrong == [], json.dumps([[sorted(ours - theirs), sorted(theirs - ours), value] for theirs, ours, value in wrong[:3]])
    assert len({rule for each in said.values() for _, rule in each}) > 200 / STEP


def suite(cases: list[tuple[str, Any]], reference: Reference, folder: Path) -> Iterator[dict[str, Any]]:
    """For every vocabulary: what its errors deny, and what they let pass. Few, for gator compiles the template anew for each case."""
    for name, constraint in constraints().items():
        if not name.endswith("-errors"):
            continue
        vocabulary = name.removeprefix("gpuvet-").rpartition("-")[0]
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(constraint), "utf-8")
        listed = []
        for wanted, count in ((True, 1), (False, 1)):
            for number, (rule, value) in enumerate(cases):
                said = {found for constraint_name, found in expected(value, reference) if constraint_name == name}
                if VOCABULARIES.get(rule) != vocabulary or bool(said) != wanted:
                    continue
                (folder / f"{number}.yaml").write_text(json.dumps(value), "utf-8")
                assertions: list[dict[str, Any]] = [{"violations": "yes", "message": f"^{re.escape(each)} "} for each in sorted(said)]
                listed.append({"name": f"{rule}-{number}", "object": f"{number}.yaml", "assertions": assertions or [{"violations": "no"}]})
                count -= 1
                if not count:
                    break
        assert len(listed) == 2, name
        yield {"name": name, "template": str(POLICIES / f"template-{vocabulary}.yaml"), "constraint": f"{name}.yaml", "cases": listed}


def test_a_suite_of_every_vocabulary(cases: list[tuple[str, Any]], reference: Reference, tmp_path: Path) -> None:
    for template in POLICIES.glob("template-*.yaml"):
        (tmp_path / template.name).write_bytes(template.read_bytes())
    tests = [{**test, "template": Path(test["template"]).name} for test in suite(cases, reference, tmp_path)]
    whole = {"apiVersion": "test.gatekeeper.sh/v1alpha1", "kind": "Suite", "metadata": {"name": "gpuvet"}, "tests": tests}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(whole), "utf-8")
    done = gator("verify", str(tmp_path / "suite.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(tests) == 6


def test_what_is_going_away_passes(tmp_path: Path) -> None:
    bad = yaml.safe_load((ROOT / "examples" / "broken" / "qgpu-inference.yaml").read_text("utf-8"))
    bad["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(bad), "utf-8")
    done = gator("test", f"--filename={POLICIES}", f"--filename={tmp_path}", "--output=json")
    assert json.loads(done.stdout or "null") in (None, [])
