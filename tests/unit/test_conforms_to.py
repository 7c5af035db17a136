"""`conforms_to`: a JSON Schema of the user's own judges a part of an object, each violation at its exact place."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuvet.cli.main import main
from gpuvet.language.catalogue import load_rules
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.errors import ConfigError
from gpuvet.values.finding import Finding

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["model", "replicas"],
    "additionalProperties": False,
    "properties": {
        "model": {"type": "string", "minLength": 1},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 8},
        "precision": {"enum": ["fp16", "bf16", "fp8"]},
        "cards": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["share"],
                "properties": {"share": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "memory": {"pattern": "^[0-9]+Gi$"}},
            },
        },
        "source": {
            "oneOf": [
                {"type": "string"},
                {"type": "object", "required": ["bucket"], "properties": {"bucket": {"type": "string"}, "depth": {"type": "integer"}}},
            ]
        },
    },
}
RULE = """\
rules:
  - id: ACME010
    name: trainer-shape
    severity: error
    consequence: rejected-by-operator
    on: object
    trigger: {kinds: [Trainer.acme.io]}
    conforms_to: {value: self.spec, schema: schemas/trainer.json}
    why: The operator of Trainer refuses what its schema does not describe.
"""
GOOD = """\
apiVersion: acme.io/v1
kind: Trainer
metadata: {name: a}
spec:
  model: llama
  replicas: 2
  precision: bf16
  cards:
    - share: 50
      memory: 8Gi
"""


@pytest.fixture
def judge(tmp_path: Path) -> Any:
    (tmp_path / "rules" / "schemas").mkdir(parents=True)
    (tmp_path / "rules" / "schemas" / "trainer.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    (tmp_path / "rules" / "own.yaml").write_text(RULE, encoding="utf-8")
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [rules/own.yaml]\n", encoding="utf-8")

    def run(text: str) -> list[Finding]:
        (tmp_path / "trainer.yaml").write_text(text, encoding="utf-8")
        result = scan(Scan([str(tmp_path / "trainer.yaml")], load_settings(tmp_path / ".gpuvet.yaml"), jobs=1))
        assert not result.crashed
        return [finding for finding in result.findings if finding.rule == "ACME010"]

    return run


def seen(finding: Finding) -> tuple[int, int, int, str, str | None]:
    span = finding.location.span
    return (span.line, span.column, span.end_column, finding.message, finding.expected)


def test_what_conforms_is_silent(judge: Any) -> None:
    assert judge(GOOD) == []
    assert judge("apiVersion: acme.io/v1\nkind: Trainer\nmetadata: {name: a}\n") == [], "an absent value is the business of other rules"
    assert judge(GOOD.replace("acme.io/v1", "other.io/v1").replace("llama", "1")) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("precision: bf16", "precision: fp4", (7, 14, 17, "precision is fp4, which is none of its values", "one of fp16, bf16, fp8")),
        ("replicas: 2", 'replicas: "2"', (6, 13, 16, "replicas has the wrong type", "integer")),
        ("replicas: 2", "replicas: 9", (6, 13, 14, "replicas is 9", "at most 8")),
        ("replicas: 2", "replicas: 0", (6, 13, 14, "replicas is 0", "at least 1")),
        ("  precision: bf16", "  precison: bf16", (7, 3, 11, "precison is no member that the schema knows", "precision, perhaps")),
        ("memory: 8Gi", "memory: 8GB", (10, 15, 18, "memory is 8GB", "a text that matches ^[0-9]+Gi$")),
        ("share: 50", "share: half", (9, 14, 18, "share fits none of the alternatives", "integer or null")),
        ("- share: 50\n      memory", "- memory", (9, 7, 18, "share is missing", "what the schema says")),
        ("precision: bf16", "source: {bucket: b, depth: x}", (7, 30, 31, "depth has the wrong type", "integer")),
        ("precision: bf16", "source: 5", (7, 11, 12, "source fits none of the alternatives", "string or object")),
    ],
)
def test_violation_stands_at_its_place(judge: Any, old: str, new: str, expected: tuple[int, int, int, str, str | None]) -> None:
    assert old in GOOD
    (finding,) = judge(GOOD.replace(old, new))
    line, column, end, message, said = seen(finding)
    assert (line, column, message, said) == (expected[0], expected[1], expected[3], expected[4])
    if "missing" not in message:
        assert end == expected[2]


def test_every_violation_is_told(judge: Any) -> None:
    found = judge("apiVersion: acme.io/v1\nkind: Trainer\nmetadata: {name: a}\nspec:\n  replicas: 99\n  cards: []\n  color: red\n")
    assert sorted((finding.location.span.line, finding.message) for finding in found) == [
        (4, "model is missing"),
        (5, "replicas is 99"),
        (6, "cards has 0"),
        (7, "color is no member that the schema knows"),
    ]


def test_placeholder_decides_nothing(judge: Any) -> None:
    assert judge(GOOD.replace("bf16", "'{{ .Values.precision }}'").replace("replicas: 2", "replicas: ${REPLICAS}")) == []


def test_absence_in_a_fragment_decides_nothing(judge: Any) -> None:
    patch = "apiVersion: acme.io/v1\nkind: Trainer\nspec:\n  replicas: 99\n"
    assert [finding.message for finding in judge(patch)] == ["replicas is 99"]


def test_schema_may_be_yaml_and_the_short_form_judges_the_subject(judge: Any, tmp_path: Path) -> None:
    schema = {"properties": {"spec": SCHEMA}}
    (tmp_path / "rules" / "schemas" / "trainer.yaml").write_text(yaml.safe_dump(schema), encoding="utf-8")
    short = RULE.replace("{value: self.spec, schema: schemas/trainer.json}", "schemas/trainer.yaml")
    (tmp_path / "rules" / "own.yaml").write_text(short, encoding="utf-8")
    (finding,) = judge(GOOD.replace("bf16", "fp4"))
    assert finding.path == ("spec", "precision")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "schema schemas/trainer.json cannot be read: No such file or directory"),
        ('{"type": "objekt"}', "is no JSON Schema: at type: 'objekt' is not valid under any of the given schemas"),
        ("[]", "a JSON Schema is a mapping"),
        ('{"a": ', "schema schemas/trainer.json:1:"),
        ('{"properties": {"a": {"$ref": "https://example.com/a.json"}}}', "$ref https://example.com/a.json leads out of the file"),
    ],
)
def test_wrong_schema_is_an_error_of_the_rule_file(tmp_path: Path, content: str | None, said: str) -> None:
    (tmp_path / "own.yaml").write_text(RULE, encoding="utf-8")
    if content is not None:
        (tmp_path / "schemas").mkdir()
        (tmp_path / "schemas" / "trainer.json").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load_rules(tmp_path / "own.yaml")
    assert str(error.value).startswith(f"{tmp_path / 'own.yaml'}:8: rule ACME010: ")
    assert said in str(error.value)


def test_the_documented_schema_works_as_shown(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    text = (checkout / "docs" / "writing-rules.md").read_text(encoding="utf-8").partition("## A schema of your own")[2]
    rule, schema, shown = re.findall(r"```(?:yaml|text)\n(.*?)```", text, re.DOTALL)
    assert rule == RULE.replace("trainer.json", "trainer.yaml")
    (tmp_path / "schemas").mkdir()
    for name, content in (("own.yaml", rule), ("schemas/trainer.yaml", schema), (".gpuvet.yaml", "ruleFiles: [own.yaml]\n")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "trainer.yaml").write_text(GOOD.partition("  cards:")[0].replace("bf16", "fp4"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "trainer.yaml"]) == 1
    assert shown in capsys.readouterr().out


def test_jsonschema_is_imported_only_by_rules_that_use_it(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    script = "import sys; from gpuvet.cli.main import main; main(['check', 'a.yaml']); print('jsonschema' in sys.modules)"
    for config, expected in (("", "False"), ("ruleFiles: [own.yaml]\n", "True")):
        (tmp_path / ".gpuvet.yaml").write_text(config, encoding="utf-8")
        (tmp_path / "own.yaml").write_text(RULE.replace("schemas/trainer.json", "trainer.json"), encoding="utf-8")
        (tmp_path / "trainer.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(checkout / "validator")}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.split()[-1] == expected
