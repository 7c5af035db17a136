"""Policies for the API server: what stands in them; tests/differential proves what they say."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuvet.cli.main import main
from gpuvet.compiled.catalogue import RULES
from gpuvet.generate.exports import needs_one_object
from gpuvet.generate.vap import render_vap
from gpuvet.generate.vap_walk import PASSED_OVER
from gpuvet.language.printers import cel_totals
from gpuvet.manifests.workload_table import TABLE
from gpuvet.settings.config import load_settings
from gpuvet.values.data import data_folder

OWN = """\
family: OWN
rules:
  - id: OWN001
    name: too-many-cards
    severity: warning
    consequence: advice
    on: container
    trigger: {keys: [nvidia.com/gpu]}
    parameters: {most: 4}
    when: param('most') != null
    bounds: {value: "limit('nvidia.com/gpu')", of: integer, maximum: 4}
    why: We have no node with more than four cards.
"""


@pytest.fixture(scope="module")
def written() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The committed policies with their bindings."""
    files = sorted((data_folder("policies") / "vap").glob("*.yaml"))
    return [tuple(yaml.load_all(path.read_text("utf-8"), yaml.CSafeLoader)) for path in files]


def test_most_rules_that_need_one_object_reach_the_api_server() -> None:
    wanted = [info for info in RULES if needs_one_object(info)]
    assert sum(info.exports["cel"] is True for info in wanted) >= 0.85 * len(wanted)


def test_errors_deny_and_warnings_warn(written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    actions = {"errors": ["Deny", "Audit"], "warnings": ["Warn", "Audit"]}
    for policy, binding in written:
        name = policy["metadata"]["name"]
        assert binding["spec"]["policyName"] == binding["metadata"]["name"] == name
        assert binding["spec"]["validationActions"] == actions[name.rpartition("-")[2]]
        assert policy["spec"]["failurePolicy"] == "Ignore"
        assert len(policy["spec"]["matchConditions"]) <= 64


def test_kinds_that_put_a_pod_together_are_judged(written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    wanted = {"workflows", "cronworkflows", "sparkapplications", "inferenceservices", "servingruntimes", "trainjobs"}
    for policy, _ in written:
        name = policy["metadata"]["name"]
        if name.startswith(("gpuvet-qgpu-custom", "gpuvet-tensor-fusion-custom", "gpuvet-placement-custom")):
            rules = policy["spec"]["matchConstraints"]["resourceRules"]
            assert wanted <= {resource for rule in rules for resource in rule["resources"]}, name


def test_every_variable_is_behind_those_that_it_reads(written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for policy, _ in written:
        known: set[str] = set()
        for variable in policy["spec"]["variables"]:
            assert set(re.findall(r"variables\.(\w+)", variable["expression"])) <= known, variable["name"]
            known.add(variable["name"])


def test_no_expression_depends_on_the_type_of_the_object(written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    typed = re.compile(r"(?<!dyn\()(?<!\bvariables\.)\b(?:object|oldObject|params|namespaceObject)\b")
    assert typed.search("dyn(object).spec == object.spec")
    expressions = [text for policy, _ in written for text in expressions_of(policy)]
    assert len(expressions) > 1000
    for text in expressions:
        assert not typed.search(_TEXT.sub("''", text)), text


_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def expressions_of(value: Any) -> Iterator[str]:
    """Every CEL expression of a policy."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            yield from expressions_of(item)
        elif str(key).lower().endswith("expression"):
            yield item


def test_policies_about_custom_resources_look_for_our_keys_first(written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    # All rules of Volcano speak of every Volcano Job.
    kept = [policy for policy, _ in written if re.search("(?<!volcano)-custom-workloads-", policy["metadata"]["name"])]
    assert len(kept) >= 10
    for policy in kept:
        denies = policy["metadata"]["name"].endswith("-errors")
        wanted = ["is-not-being-deleted", *(["is-not-made-by-a-controller"] if denies else []), "concerns-a-rule"]
        assert [one["name"] for one in policy["spec"]["matchConditions"]] == wanted


def test_nothing_that_conditions_pass_over_leads_to_a_pod_template() -> None:
    for row in TABLE:
        for slot in row.templates:
            places = [slot.at, slot.spec, slot.template, *slot.metadata, *map(str, (*slot.containers, *slot.init_containers))]
            places += [place for field, found in slot.fields if field in ("nodeSelector", "tolerations", "affinity") for place in found]
            assert not set(PASSED_OVER) & set(re.findall(r"\w+", " ".join(places))), row.kind


def test_policies_fit_into_the_store(written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for policy, _ in written:
        assert len(str(policy)) < 1_000_000, "etcd takes no object of more than 1.5 MiB"


def test_a_rule_of_the_user_leaves_with_its_parameters_inlined(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN, "utf-8")
    config = tmp_path / "config.yaml"
    config.write_text("bundle: strict\nruleFiles: [own.yaml]\nrules: {'*': 'off', OWN001: 'on'}\n", "utf-8")
    files = render_vap(load_settings(config))
    assert sorted(files) == ["own-custom-workloads-warnings.yaml", "own-workloads-warnings.yaml"]
    policy, binding = yaml.safe_load_all(files["own-workloads-warnings.yaml"])
    text = next(variable["expression"] for variable in policy["spec"]["variables"] if variable["name"] == "own001")
    assert "> 4" in text
    assert "param" not in text
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"]["validationActions"] == ["Warn", "Audit"]


def test_policies_are_written_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "vap")
    (tmp_path / "config.yaml").write_text("rules: {'*': 'off', QG004: 'on'}\n", "utf-8")
    arguments = ["generate", "policies", "--target", "vap", "--config", str(tmp_path / "config.yaml"), "--out", target]
    assert main(arguments) == 0
    assert {path.name for path in Path(target).iterdir()} == {"qgpu-workloads-errors.yaml", "qgpu-custom-workloads-errors.yaml"}
    assert main([*arguments, "--check"]) == 0
    (Path(target) / "qgpu-workloads-errors.yaml").write_text("", "utf-8")
    assert main([*arguments, "--check"]) == 1
    assert "stale: vap/qgpu-workloads-errors.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "text"), [("a", "'a'"), ("it's", '"it\'s"'), ("a\n", '"a\\n"'), ("ä", "'ä'")])
def test_texts_as_cel_writes_them(value: str, text: str) -> None:
    assert cel_totals.quoted(value) == text


@pytest.mark.parametrize(("text", "key"), [("1.2", "10111012"), ("1.2.0", "10111012"), ("0", "100"), ("10", "10210"), ("x", None)])
def test_versions_as_texts_that_sort(text: str, key: str | None) -> None:
    assert cel_totals.version_key(text) == key
    assert cel_totals.version_key("9.1") < cel_totals.version_key("10")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "vap", "--kubernetes", "1.29.4"], "policies need 1.30"),
        (["--target", "vap", "--kubernetes", "new"], "is not a version"),
        (["--target", "rego", "--kubernetes", "1.31"], "goes with --target vap"),
    ],
)
def test_versions_of_kubernetes_that_policies_are_not_written_for(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", "policies", "--out", str(tmp_path / "out"), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_newer_kubernetes_gets_the_same_policies(tmp_path: Path, written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    assert main(["generate", "policies", "--target", "vap", "--kubernetes", "v1.34.1", "--out", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").glob("*.yaml"))) == len(written)
