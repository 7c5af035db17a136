"""What leaves Python: which rules, with which reasons, and how they are written."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuvet.cli.main import main
from gpuvet.compiled.catalogue import RULES
from gpuvet.compiled.facts import FACTS
from gpuvet.generate.exports import ENGINES, needs_one_object, render_exports
from gpuvet.generate.gatekeeper import render_gatekeeper
from gpuvet.generate.policies import exported, render_rego
from gpuvet.language.info import NOT_LOWERED
from gpuvet.resolve.lowered import lower_field
from gpuvet.settings.config import load_settings

OWN = """\
family: OWN
rules:
  - id: OWN001
    name: too-many-cards
    severity: warning
    consequence: advice
    on: container
    trigger: {keys: [nvidia.com/gpu]}
    parameters: {most: 4, purpose: test}
    when: param('purpose') != null && param('purpose') == 'test'
    bounds: {value: "limit('nvidia.com/gpu')", of: integer, maximum: 4}
    why: We have no node with more than four cards.
"""


def test_a_reason_in_every_empty_cell() -> None:
    for info in RULES:
        assert info.exports.keys() == ENGINES.keys()
        for said in info.exports.values():
            assert said is True or (isinstance(said, str) and len(said) > 10), info.id


def test_most_rules_that_need_one_object_reach_opa() -> None:
    wanted = [info for info in RULES if needs_one_object(info)]
    assert sum(info.exports["rego"] is True for info in wanted) >= 0.85 * len(wanted)


def test_the_page_names_every_rule_once() -> None:
    page = render_exports(RULES)
    assert re.findall(r"^\| \[(\w+)\]", page, re.MULTILINE) == [info.id for info in RULES]


@pytest.mark.parametrize("version", ["", "1.34.7", "1.46.5", "2.17.1"])
def test_every_effective_field_is_lowered_but_those_that_are_named(version: str) -> None:
    for field in FACTS["tensor-fusion-precedence"]["fields"]:
        if field in NOT_LOWERED:
            with pytest.raises(KeyError):
                lower_field(field, {"tensorFusion": "2.17.1"})
        else:
            lower_field(field, {"tensorFusion": version} if version else {})


def test_severities_and_rules_are_those_of_the_bundle(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("rules: {'*': 'off', QG004: warning, QG006: 'on'}\n", "utf-8")
    files = render_rego(load_settings(config))
    assert 'rules["QG004"] := {"severity": "warning"' in files["qgpu.rego"]
    assert 'rules["QG006"] := {"severity": "error"' in files["qgpu.rego"]
    assert '"QG005"' not in files["qgpu.rego"]
    assert "tensor_fusion.rego" not in files


def test_a_rule_of_the_user_leaves_with_its_parameters_inlined(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN, "utf-8")
    config = tmp_path / "config.yaml"
    config.write_text("ruleFiles: [own.yaml]\nrules: {'*': 'off', OWN001: 'on'}\n", "utf-8")
    settings = load_settings(config)
    assert "OWN001" in {one.bound.info.id for one in exported(settings, "rego")}
    text = render_rego(settings)["own.rego"]
    assert "lib.below(4, " in text
    assert "purpose" not in text


def test_policies_are_written_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "rego")
    (tmp_path / "config.yaml").write_text("rules: {'*': 'off', QG*: 'on'}\n", "utf-8")
    arguments = ["generate", "policies", "--config", str(tmp_path / "config.yaml"), "--out", target]
    assert main(arguments) == 0
    assert {path.name for path in Path(target).iterdir()} >= {"lib.rego", "subjects.rego", "tables.rego", "verdict.rego", "qgpu.rego"}
    assert main([*arguments, "--check"]) == 0
    (Path(target) / "qgpu.rego").write_text("package gpuvet\n", "utf-8")
    assert main([*arguments, "--check"]) == 1
    assert "stale: rego/qgpu.rego" in capsys.readouterr().err


def test_gatekeeper_templates(tmp_path: Path) -> None:
    """One a vocabulary, each with what it takes to be silent where another rule has spoken."""
    config = tmp_path / "config.yaml"
    config.write_text("rules: {'*': 'off', PL079: 'on', QG003: 'on', QG023: 'on', K8S026: warning}\n", "utf-8")
    files = render_gatekeeper(load_settings(config))
    assert files.keys() == {"template-qgpu.yaml", "template-placement.yaml", "template-kubernetes.yaml", "constraints.yaml"}
    template = yaml.safe_load(files["template-kubernetes.yaml"])
    source = template["spec"]["targets"][0]["code"][0]["source"]
    assert source["version"] == "v1"
    assert 'others := {"PL079"}' in source["rego"]
    assert [text.split()[1] for text in source["libs"]] == ["lib.gpuvet.tables", "lib.gpuvet.lib", "lib.gpuvet"]
    assert "data.gpuvet" not in "".join(source["libs"])
    # Gatekeeper finds references to other libraries in imports only.
    assert all("data.lib" not in line or line.startswith("import ") for text in source["libs"] for line in text.splitlines())
    assert "others := set()" in files["template-qgpu.yaml"]
    constraints = [each for each in yaml.safe_load_all(files["constraints.yaml"]) if each]
    said = {each["metadata"]["name"]: (each["kind"], each["spec"]["enforcementAction"], each["spec"]["parameters"]) for each in constraints}
    assert said == {
        "gpuvet-kubernetes-warnings": ("GpuvetKubernetes", "warn", {"severity": "warning"}),
        "gpuvet-placement-errors": ("GpuvetPlacement", "deny", {"severity": "error"}),
        "gpuvet-qgpu-errors": ("GpuvetQGPU", "deny", {"severity": "error"}),
        "gpuvet-qgpu-warnings": ("GpuvetQGPU", "warn", {"severity": "warning"}),
    }
    assert {kind for each in constraints[0]["spec"]["match"]["kinds"] for kind in each["kinds"]} >= {"Pod", "Deployment", "CronJob"}


@pytest.mark.parametrize("arguments", [["policies", "--bundle", "strict"], ["compiled", "--out", "x"], ["--config", "x"]])
def test_options_that_do_not_go_together(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", *arguments]) == 2
    assert "go" in capsys.readouterr().err


def test_rules_lists_exports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--exports"]) == 0
    lines: dict[str, Any] = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "rego: yes" in lines["QG004"]
    assert "needs another object" in lines["TF041"]
