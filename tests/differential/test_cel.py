"""The printed policies on cel-cpp, which shares no line with the API server's cel-go, against the Python rules: every fixture."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from differential.cel import CelError, CelPolicy, Evaluation
from differential.evaluate import speaks_of
from differential.objects import fixtures
from differential.python import Reference
from differential.short import odd
from gpuvet.engine.context import EmptyContext
from gpuvet.generate.vap import policies
from gpuvet.manifests.reader import read
from gpuvet.settings.config import load_settings
from gpuvet.values.path import path_text

pytestmark = pytest.mark.real

FIXTURES = Path(__file__).parent.parent / "fixtures"
PARTIAL = ("WorkloadProfile", "TensorFusionWorkload")
TOO_DEEP = 60
"""Rules whose text, or what it reads, nests deeper than cel-cpp parses: 32."""


@pytest.fixture(scope="module")
def printed() -> list[CelPolicy]:
    return [CelPolicy(policy) for policy, _ in policies(load_settings(None))]


def test_fixtures_agree(printed: list[CelPolicy]) -> None:
    reference = Reference(load_settings(None), "cel")
    # A field that the API server drops is never seen by a policy, and some conditions do not look for it.
    warning = {
        rule.info.id for rule in reference.rules.rules if rule.severity in ("error", "warning") and rule.info.consequence != "field-dropped"
    }
    superseded = {other for rule in reference.rules.rules for other in rule.info.supersedes}
    spoke: Counter[str] = Counter()
    too_deep: set[str] = set()
    judged = 0
    failed: list[str] = []
    differing: list[str] = []
    for _, value in fixtures(FIXTURES):
        asked = [policy for policy in printed if can_be_asked(value) and speaks_of(policy.policy, value)]
        if not asked:
            continue
        text = json.dumps(value)
        verdicts = list(reference.judge.judge(read(text.encode()).documents[0], "-", EmptyContext()))
        # What CEL may leave unsaid, and what an API server would not have let through to a policy, as in short.py.
        if any(mark in text for mark in ("{{", "${", "$(")) or odd(value) or any(verdict.fragment for verdict in verdicts):
            continue
        theirs: set[tuple[str, str]] = set()
        deep: set[str] = set()
        try:
            for policy in asked:
                found, nested = policy.judge(value)
                theirs |= found
                deep |= nested
        except CelError as error:
            failed.append(f"{error} {text[:300]}")
            continue
        judged += 1
        listed = {rule for policy in asked for rule in policy.rules.values()}
        told = warning & listed - deep
        ours = {(one.rule, path_text(one.path, value)) for verdict in verdicts for one in verdict.findings if one.rule in told}
        # Which rule speaks for another is said behind the lists that are read here.
        more = {one for one in theirs - ours if one[0] in warning - superseded}
        if ours - theirs or more:
            differing.append(f"only Python: {sorted(ours - theirs)} only cel-cpp: {sorted(more)} {text}")
        spoke.update(rule for rule, _ in ours)
        too_deep |= deep
    print(f"{judged} objects, {sum(spoke.values())} findings of {len(spoke)} rules; too deep: {sorted(too_deep)}; failed: {failed}")
    assert not differing, min(differing, key=len)
    assert judged > 1000
    assert len(spoke) > 190
    assert len(too_deep) <= TOO_DEEP
    assert len(failed) <= 3, failed


def can_be_asked(value: dict[str, Any]) -> bool:
    known = isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str)
    return known and isinstance(value.get("metadata"), dict) and value["kind"] not in PARTIAL


@pytest.mark.parametrize("text", ["1 / 0 == 0", "object.nothing == 1", "'a' + 1 == 'b'", "quantity('4GiB') == quantity('4Gi')"])
def test_an_error_is_no_verdict(printed: list[CelPolicy], text: str) -> None:
    """The library returns errors as values, and truthy ones."""
    with pytest.raises(CelError):
        Evaluation(printed[0], {"apiVersion": "v1", "kind": "Pod"}).run(text)


def test_a_fault_is_noticed() -> None:
    """The test can fail: a rule about another key says something else."""
    pairs = policies(load_settings(None))
    policy = next(policy for policy, _ in pairs if policy["metadata"]["name"] == "gpuvet-qgpu-workloads-errors")
    resources = {"limits": {"tke.cloud.tencent.com/qgpu-core": "33", "tke.cloud.tencent.com/qgpu-memory": "4"}}
    container = {"name": "main", "image": "i", "resources": resources}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    assert "QG004" in {rule for rule, _ in CelPolicy(policy).judge(pod)[0]}
    variable = next(variable for variable in policy["spec"]["variables"] if variable["name"] == "qg004")
    variable["expression"] = variable["expression"].replace("qgpu-core", "qgpu-none")
    assert "QG004" not in {rule for rule, _ in CelPolicy(policy).judge(pod)[0]}
