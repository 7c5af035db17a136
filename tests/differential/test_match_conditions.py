"""Match conditions of policies about custom resources, and what calls for a rule in a quota, judged by the API server's own code: an object
without a key of ours is passed over before a rule is looked at, whatever its types are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from differential.evaluate import Evaluator, speaks_of
from gpuvet.generate.vap import policies
from gpuvet.settings.config import load_settings

pytestmark = pytest.mark.real

RULES = ("KM060", "KM160", "PL105", "QG004", "QG036", "TF005")
LIMIT = 1_000_000
"""What the API server lets one expression cost."""


def chosen(folder: Path) -> list[dict[str, Any]]:
    config = folder / "config.yaml"
    config.write_text(json.dumps({"rules": {"*": "off", **dict.fromkeys(RULES, "on")}}), "utf-8")
    return [policy for policy, _ in policies(load_settings(config))]


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    with Evaluator(chosen(tmp_path_factory.mktemp("rules"))) as evaluator:
        yield evaluator


def job(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}


def template(containers: int = 1, **limits: Any) -> dict[str, Any]:
    one = {"image": "i", "env": [{"name": f"E{n}", "value": "v"} for n in range(20)], "resources": {"limits": {"cpu": 1, **limits}}}
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": f"c{n}", **one} for n in range(containers)]}}


def matched(evaluator: Evaluator, value: dict[str, Any]) -> list[str]:
    """Vocabularies and groups of the policies that look at their rules."""
    found = []
    for policy, answer in zip(evaluator.policies, evaluator._send(value), strict=True):
        if speaks_of(policy, value):
            assert not answer.get("error"), answer["error"]
            found += [policy["metadata"]["name"]] if answer["matches"] else []
    return found


def test_a_plain_job_is_passed_over(evaluator: Evaluator) -> None:
    plain = job(tasks=[{"name": "a", "template": template()}, {"name": "b", "template": template(8)}], volumes=[{"mountPath": "/x"}])
    plain["metadata"]["managedFields"] = [{"fieldsV1": {"f:metadata": {"f:labels": {"f:tensor-fusion.ai/enabled": {}}}}}]
    assert sum(speaks_of(policy, plain) for policy in evaluator.policies) >= 3
    assert matched(evaluator, plain) == []


@pytest.mark.parametrize(
    ("value", "vocabulary"),
    [
        (job(tasks=[{"template": template()}, {"template": template(**{"tke.cloud.tencent.com/qgpu-core": 7})}]), "qgpu"),
        (job(tasks=[{"template": {"metadata": {"env": {"tensor-fusion.ai/enabled": "true"}}}}]), "tensor-fusion"),
        (job(tasks=[{"template": {"spec": {"tolerations": [{"key": "tensor-fusion.ai/enabled"}]}}}]), "tensor-fusion"),
        ({**job(tasks=[]), "metadata": {"name": "x", "annotations": {"tensor-fusion.ai/enabled": "true"}}}, "tensor-fusion"),
    ],
)
def test_a_key_is_seen_where_it_stands(evaluator: Evaluator, value: dict[str, Any], vocabulary: str) -> None:
    assert matched(evaluator, value) == [f"gpuvet-{vocabulary}-custom-workloads-errors"]


@pytest.mark.parametrize("spec", ["x", 3, 1.5, True, None, [], [[{}]], {"tasks": "x"}, {"tasks": [None, 3, {"template": []}]}])
def test_no_type_makes_a_condition_fail(evaluator: Evaluator, spec: Any) -> None:
    assert matched(evaluator, {**job(), "spec": spec}) == []


def test_what_is_too_deep_to_be_seen_is_not_passed_over(evaluator: Evaluator) -> None:
    deep: dict[str, Any] = {}
    for _ in range(30):
        deep = {"x": deep}
    value = job(x=deep)
    assert len(matched(evaluator, value)) == sum(speaks_of(policy, value) for policy in evaluator.policies)


def test_a_condition_costs_a_part_of_what_it_may(evaluator: Evaluator) -> None:
    conditions = []
    for policy in evaluator.policies:
        if "custom-workloads" in policy["metadata"]["name"]:
            (condition,) = [one for one in policy["spec"]["matchConditions"] if one["name"] == "concerns-a-rule"]
            validation = {"expression": condition["expression"], "messageExpression": "''"}
            alone = {"matchConditions": [], "variables": [], "auditAnnotations": [], "validations": [validation]}
            conditions.append({**policy, "spec": {**policy["spec"], **alone}})
    with Evaluator(conditions) as alone:
        for value in (job(tasks=[{"template": template(64)}]), job(tasks=[{"template": template(1)}] * 64)):
            answers = alone._send(value)
            assert answers
            assert max(answer["cost"] for answer in answers) < LIMIT / 5


@pytest.mark.parametrize(
    ("amounts", "places"),
    [
        ({"max": 100}, set()),
        ({"cpu": 1, "key": "cpu"}, set()),
        ({"koordinator.sh/gpu": 1}, {"spec.min[koordinator.sh/gpu]"}),
        ({"requests.koordinator.sh/gpu": 1, "max": 1}, {"spec.min[requests.koordinator.sh/gpu]", "spec.min.max"}),
    ],
)
def test_a_quota_is_judged_where_a_key_calls_for_it(evaluator: Evaluator, amounts: dict[str, Any], places: set[str]) -> None:
    quota = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "x"}}
    found, errors = evaluator.judge({**quota, "spec": {"min": amounts, "max": {}}})
    assert not errors
    assert {place for rule, place in found if rule == "KM160"} == places
