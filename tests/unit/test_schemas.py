"""schemas/: current, right by its own metaschemas, and in agreement with the models."""

import json
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from gpuvet.generate.compiled import write_files
from gpuvet.generate.jsonschema import key_schema, map_schema, node_schema
from gpuvet.generate.keys import declared_keys
from gpuvet.generate.patterns import integers
from gpuvet.generate.reference import render_reference
from gpuvet.generate.schemas import render_schemas, write_schemas
from gpuvet.generate.structural import problems
from gpuvet.generate.tree import tree_of
from gpuvet.models.base import KeyDeclaration, ModelError
from gpuvet.models.catalogue import KEY_SETS, RESOURCES, SHAPES
from schemas.instances import REASONS, TABLE, Instance, derived, pydantic_refuses, schema_refuses, written

FILES = render_schemas()
JSON = {name: json.loads(text) for name, text in FILES.items() if name.endswith(".json") and name != "catalog.json"}
KEYS = list(declared_keys().values())


def test_committed_schemas_are_current(checkout: Path) -> None:
    folder = checkout / "schemas"
    committed = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}
    stale = sorted(name for name in {*committed, *FILES} if committed.get(name) != FILES.get(name))
    assert not stale, "run `gpuvet generate schemas`"


def test_committed_reference_pages_are_current(checkout: Path) -> None:
    folder = checkout / "docs" / "reference"
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == render_reference(), "run `gpuvet generate docs`"


def test_generation_is_fast_and_always_the_same() -> None:
    start = time.process_time()
    assert render_schemas() == FILES
    assert time.process_time() - start < 5


def test_writing_elsewhere_and_looking_only(tmp_path: Path) -> None:
    assert len(write_files(tmp_path, FILES, "**/*", check=True)) == len(FILES)
    assert list(tmp_path.iterdir()) == []
    assert len(write_schemas(tmp_path, check=False)) == len(FILES)
    assert write_files(tmp_path, FILES, "**/*", check=True) == []
    (tmp_path / "crd" / "old.yaml").write_text("a: 1\n")
    (tmp_path / "catalog.json").write_text("{}")
    assert write_files(tmp_path, FILES, "**/*", check=True) == ["catalog.json", "crd/old.yaml"]
    write_files(tmp_path, FILES, "**/*", check=False)
    assert not (tmp_path / "crd" / "old.yaml").exists()


@pytest.mark.parametrize("name", JSON)
def test_every_json_schema_is_one(name: str) -> None:
    draft = jsonschema.Draft7Validator if name.startswith("editor/") else jsonschema.Draft202012Validator
    assert JSON[name]["$schema"] == draft.META_SCHEMA["$schema" if "$schema" not in draft.META_SCHEMA else "$id"]
    draft.check_schema(JSON[name])


@pytest.mark.parametrize("name", JSON)
def test_every_pattern_is_re2(name: str) -> None:
    def patterns(value: Any) -> list[str]:
        if isinstance(value, list):
            return [found for item in value for found in patterns(item)]
        if not isinstance(value, dict):
            return []
        own = [value["pattern"]] if isinstance(value.get("pattern"), str) else []
        return [*own, *value.get("patternProperties", ()), *(found for item in value.values() for found in patterns(item))]

    for pattern in patterns(JSON[name]):
        assert re.compile(pattern)
        assert not re.search(r"\(\?[=!<]|\\[1-9]", pattern), pattern


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".yaml")])
def test_crds_read_well(name: str) -> None:
    crd = yaml.safe_load(FILES[name])
    (version,) = crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    assert problems(schema) == []
    assert not re.search(r"\$(ref|defs)|^ *title:|: &|: \*|default: ", FILES[name], re.MULTILINE)

    def described(value: dict[str, Any], path: str) -> list[str]:
        named = path.rpartition(".")[0].endswith("plugins")  # the names of a map, which says what they are
        lacking = [] if value.get("description") or named or path in ("metadata", "") else [path]
        for child, below in value.get("properties", {}).items():
            lacking += described(below, f"{path}.{child}".lstrip("."))
        return lacking

    assert described(schema, "") == []


def test_references_between_editor_schemas_lead_somewhere() -> None:
    for name, text in FILES.items():
        for reference in re.findall(r'"\$ref": "([^"]+)"', text):
            file, _, path = reference.partition("#")
            target = JSON[f"editor/{file}" if file else name]
            for part in filter(None, path.split("/")):
                target = target[part]
            assert target


def test_command(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gpuvet.cli.main import main

    assert main(["generate", "schemas", "--check"]) == 0
    assert main(["generate", "schemas", "--out", str(tmp_path), "--check"]) == 1
    assert "stale: schemas/crd/tensor-fusion.ai_workloadprofiles.yaml" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main(["generate", "schemas", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "catalog.json").read_text(encoding="utf-8") == FILES["catalog.json"]
    assert main(["generate", "docs", "--out", str(tmp_path)]) == 2


def test_catalog_names_files_that_exist() -> None:
    catalog = json.loads(FILES["catalog.json"])
    for entry in catalog["schemas"]:
        assert entry["url"].partition("/main/schemas/")[2] in FILES
        assert entry["description"]
        assert entry["fileMatch"]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_examples_and_defaults_of_keys_fit_their_schemas(key: KeyDeclaration) -> None:
    schema = key_schema(key)
    for text in filter(None, (key.example, key.default)):
        jsonschema.validate(text, schema, cls=jsonschema.Draft202012Validator)
    for value in key.scalar.values if key.type != "words-list" else ():
        jsonschema.validate(value, schema, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", [*RESOURCES, *SHAPES])
def test_examples_and_defaults_of_members_fit_their_schemas(name: str) -> None:
    for path, node in tree_of({**RESOURCES, **SHAPES}[name]).walk():
        schema = node_schema(node)
        for value in (*schema.get("examples", ()), *([schema["default"]] if "default" in schema else ())):
            assert not list(jsonschema.Draft202012Validator(schema).iter_errors(value)), (path, value)


WORDS = [
    "",
    "a",
    "A b",
    "true",
    "True",
    "yes",
    "0",
    "1",
    "-1",
    "+1",
    "01",
    "5",
    "7",
    "30",
    "100",
    "128",
    "129",
    "200",
    "0.5",
    "1.",
    "10Gi",
    "4GB",
]
WORDS += [
    "500m",
    "1e3",
    "-0",
    "a,b",
    "a, b",
    "low",
    "critical",
    "fixed-share",
    "5m",
    "300",
    "1d",
    "0,1",
    "535.54.03",
    "535",
    "{}",
    "[]",
    "x" * 64,
]
NUMBERS = [0, 1, 5, 7, 30, 100, 150, 200, -1]
IMPRECISE = {
    "json": "schemas do not look into JSON texts; contentSchema is an annotation",
    "yaml": "as for JSON",
    "pod-template": "as for JSON",
    "names-list": "a name twice, or of another form",
    "integers-list": "an index twice",
}
"""Types of which a schema accepts more than the model, with the reason."""


@pytest.mark.parametrize("key_set", KEY_SETS, ids=lambda key_set: key_set.__name__)
def test_models_and_maps_agree_about_values(key_set: Any) -> None:
    for key in key_set.declarations():
        if key.family:
            continue
        validator = jsonschema.Draft202012Validator(map_schema("t", [key], {}))
        for value in (*WORDS, *(NUMBERS if key.scalar.bare else ())):
            try:
                key_set.from_mapping({key.name: value})
                model_takes = True
            except ModelError:
                model_takes = False
            schema_takes = validator.is_valid({key.name: value})
            bounded = key.scalar.above is not None or key.scalar.maximum is not None or key.scalar.step is not None
            if schema_takes and not model_takes:
                # Numbers in texts can only be compared where a pattern can spell all of them.
                assert key.type in IMPRECISE or key.type in ("quantity", "whole-quantity"), (key.name, value)
                if key.type in ("quantity", "whole-quantity"):
                    assert isinstance(value, str), (key.name, value)
                    assert bounded or key.type == "whole-quantity" or key.scalar.minimum is not None, (key.name, value)
            elif model_takes and not schema_takes:
                assert value == "-0", (key.name, value)


@pytest.mark.parametrize(
    ("lowest", "highest"), [(1, 128), (0, 255), (0, 0), (7, 7), (19, 1042), (5, 100), (2, None), (0, None), (37, None)]
)
def test_patterns_of_integers(lowest: int, highest: int | None) -> None:
    pattern = re.compile(integers(lowest, highest))
    wrong = [n for n in range(1500) if bool(pattern.fullmatch(str(n))) != (n >= lowest and (highest is None or n <= highest))]
    assert wrong == []


def verdict(instance: Instance) -> str | None:
    """What is wrong with the verdicts of model and JSON Schema, or None when they agree as expected."""
    for name, fields in (
        ("pydantic", pydantic_refuses(instance.kind, instance.document)),
        ("jsonschema", schema_refuses(instance.kind, instance.document)),
    ):
        if bool(fields) != ((instance.wrong is not None) != (name in instance.differs)):
            return f"{instance.name}: {name} refuses {fields}"
        if fields and instance.wrong and not any(f"{field}.".startswith(f"{instance.wrong}.") for field in fields):
            return f"{instance.name}: {name} refuses {fields}, not {instance.wrong}"
    return None


@pytest.mark.parametrize("kind", TABLE)
def test_written_instances(kind: str) -> None:
    assert [wrong for instance in written(kind) if (wrong := verdict(instance)) is not None] == []


@pytest.mark.parametrize("kind", [kind for kind in RESOURCES if kind != "TensorFusionWorkload"])  # its spec is WorkloadProfile's
def test_derived_instances(kind: str) -> None:
    instances = list(derived(kind))
    assert len(instances) >= 15
    assert [wrong for instance in instances if (wrong := verdict(instance)) is not None] == []
    assert {reason for instance in instances for reason in instance.differs.values()} <= set(REASONS)


def test_own_files_fit_their_schemas(checkout: Path) -> None:
    for folder, name in (("rules", "rules"), ("policies/bundles", "bundle")):
        validator = jsonschema.Draft202012Validator(JSON[f"jsonschema/gpuvet/{name}.json"])
        files = [path for path in (checkout / folder).glob("*.yaml") if path.name != "coverage.yaml"]
        assert files
        for path in files:
            assert [error.message for error in validator.iter_errors(_yaml12(path))] == [], path


def _yaml12(path: Path) -> Any:
    """Read as Kubernetes and editors do, where `on` is a text as a key of a rule."""
    from gpuvet.manifests.reader import read

    def fixed(value: Any) -> Any:
        if isinstance(value, dict):
            return {"on" if key == "true" else key: fixed(item) for key, item in value.items()}
        return [fixed(item) for item in value] if isinstance(value, list) else value

    return fixed(read(path.read_bytes()).documents[0].value)


CONFIGS = (
    "{}",
    "bundle: strict",
    "bundle: [strict]",
    "bundle:",
    "bundel: strict",
    "rules: {QG004: off}",
    "rules: {QG004: 'off', 'TF*': warning, KM032: {severity: info, parameters: {a: 1}}}",
    "rules: {QG004: fatal}",
    "rules: {QG004: {severty: info}}",
    "rules: {QG004: {parameters: [1]}}",
    "rules: [QG004]",
    "platform: {tensorFusion: 1.48.4, kubernetes: 1.30}",
    "platform: {tensorFusion: v1.48.4}",
    "platform: {tensorFusion: newest}",
    "platform: {tensorFusion: true}",
    "platform: {tensorfusion: 1.48.4}",
    "domains: {tensorFusion: gpu.example.com}",
    "domains: {tensorFusion: 5}",
    "domains: {koordinator: a.b}",
    "usageKey: a.io/node.usage",
    "usageKey: 5",
    "exclude: [a/, b/]",
    "exclude: a/",
    "exclude: [1]",
    "context: {paths: [a], complete: [WorkloadProfile]}",
    "context: {paths: a}",
    "context: {path: [a]}",
    "workloads: [{group: a.io, kind: A, templates: [{podTemplate: 'spec.workers[*].template', defaultReplicas: 1}]}]",
    "workloads: [{kind: A, templates: []}]",
    "workloads: [{templates: [{podSpec: spec}]}]",
    "workloads: [{kind: A, templates: [{podSpec: spec, podTemplate: spec}]}]",
    "workloads: [{kind: A, templates: [{podSpec: 'spec worker'}]}]",
    "workloads: [{kind: A, validated: maybe, templates: [{podSpec: spec}]}]",
    "workloads: [{kind: A, templates: [{podSpec: spec, defaultReplicas: -1}]}]",
    "workloads: {kind: A}",
    "namespace: team",
    "gpuModels: [NVIDIA-H20]",
)


@pytest.mark.parametrize("text", CONFIGS)
def test_configuration_is_judged_as_gpuvet_itself_does(tmp_path: Path, text: str) -> None:
    from gpuvet.manifests.reader import read
    from gpuvet.settings.config import load_settings
    from gpuvet.values.errors import ConfigError

    (tmp_path / ".gpuvet.yaml").write_text(text + "\n", encoding="utf-8")
    try:
        load_settings(tmp_path / ".gpuvet.yaml")
        taken = True
    except ConfigError:
        taken = False
    value = read(text.encode()).documents[0].value
    assert jsonschema.Draft202012Validator(JSON["jsonschema/gpuvet/config.json"]).is_valid(value) == taken


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("config", {"bundel": "strict"}, "bundel"),
        ("config", {"platform": {"tensorfusion": "1"}}, "tensorfusion"),
        ("config", {"exclude": "charts/"}, "charts/"),
        ("config", {"workloads": [{"kind": "A", "templates": []}]}, "[]"),
        ("config", {"rules": {"QG004": "fatal"}}, "fatal"),
        ("bundle", {"severity": {}}, "severity"),
        ("bundle", {"severities": {"QG004": "fatal"}}, "fatal"),
        ("rules", {"rules": [{"id": "A1"}]}, "A1"),
        ("rules", {"rule": []}, "rule"),
    ],
)
def test_wrong_own_files_are_refused(name: str, value: dict[str, Any], said: str) -> None:
    errors = list(jsonschema.Draft202012Validator(JSON[f"jsonschema/gpuvet/{name}.json"]).iter_errors(value))
    assert any(said in error.message for error in errors), errors


def test_reports_fit_their_schema(checkout: Path) -> None:
    from gpuvet.report.json import render_json
    from gpuvet.scan.run import Scan, scan
    from gpuvet.settings.config import load_settings

    report = json.loads(render_json(scan(Scan([str(checkout / "tests" / "fixtures" / "QG")], load_settings(None), jobs=1))))
    assert report["findings"]
    validator = jsonschema.Draft202012Validator(JSON["jsonschema/gpuvet/report.json"])
    validator.validate(report)
    finding = report["findings"][0]
    described = JSON["jsonschema/gpuvet/report.json"]["properties"]["findings"]["items"]
    assert set(finding) == set(described["properties"]) == set(described["required"])
    assert not validator.is_valid(report | {"findings": [finding | {"severity": "fatal"}]})
