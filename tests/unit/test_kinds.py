"""Every kind of constraint, from a rule file to a finding: a good value, a bad one, none, and one still to be filled in."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gpuvet.language.kinds import KINDS
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.finding import Finding

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: app
  annotations:
    a.io/trigger: "1"
{annotations}
spec:
  containers:
    - name: main
      image: a
      resources:
{resources}
"""
RULE = """\
rules:
  - id: ACM001
    name: tried
    severity: warning
    consequence: advice
    on: {on}
    trigger: {{keys: [a.io/*, x.io/*]}}
    {constraint}
    why: It is tried here.
"""


def judge(folder: Path, constraint: str, on: str = "pod", annotations: str = "", resources: str = "", config: str = "") -> list[Finding]:
    (folder / "rules.yaml").write_text(RULE.format(constraint=constraint, on=on), encoding="utf-8")
    (folder / ".gpuvet.yaml").write_text(f"ruleFiles: [rules.yaml]\nrules: {{'*': off, 'ACM*': on}}\n{config}", encoding="utf-8")
    lines = "\n".join("    " + line for line in annotations.splitlines())
    asked = "\n".join("        " + line for line in (resources or "limits: {cpu: 1}").splitlines())
    (folder / "pod.yaml").write_text(POD.format(annotations=lines, resources=asked), encoding="utf-8")
    result = scan(Scan([str(folder / "pod.yaml")], load_settings(folder / ".gpuvet.yaml")))
    assert not result.crashed, result.findings
    assert not result.unread, result.findings
    return result.findings


class Case(NamedTuple):
    """A constraint on annotation a.io/x: values that are fine, and those that are not."""

    constraint: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    expected: str | None = None


X = "annotation('a.io/x')"
CASES = {
    "forbidden": Case(f'forbidden: {{that: "{X} == \'a\'", at: "{X}"}}', ("b",), ("a",)),
    "required": Case(f'required: {{that: "!has({X}) || {X} == \'a\'", at: "{X}"}}', ("a",), ("b",)),
    "one_of": Case(f'one_of: {{value: "{X}", values: [low, high]}}', ("low", "high"), ("LOW", "hihg", '""'), "one of low, high"),
    "one_of values_of": Case(f'one_of: {{value: "{X}", values_of: tensor-fusion.ai/qos}}', ("low", "critical"), ("none",)),
    "format pattern": Case(
        f'format: {{value: "{X}", pattern: "a+", means: some a, max_length: 3}}', ("a", "aaa"), ("b", "aaaa", "xa"), None
    ),
    "format quantity": Case(f'format: {{value: "{X}", is: quantity}}', ("'1'", "4Gi", "'.5'", "1e3", "'-1'"), ("4GB", "'1 Gi'", '""', "x")),
    "format version": Case(f'format: {{value: "{X}", is: version}}', ("'1.2'", "v1.2.3-rc1"), ("latest", "1.x")),
    "format integer": Case(f'format: {{value: "{X}", is: integer}}', ("'1'", "'-010'"), ("'1.0'", "1k", '" 1"')),
    "format boolean": Case(f'format: {{value: "{X}", is: boolean}}', ("'true'",), ("'True'", "'1'", "'yes'")),
    "format dns-subdomain": Case(f'format: {{value: "{X}", is: dns-subdomain}}', ("a.b-c", "a"), ("A", "-a", "a..b", "a_b")),
    "format dns-label": Case(f'format: {{value: "{X}", is: dns-label}}', ("a-b",), ("a.b", "a-")),
    "format label-value": Case(f'format: {{value: "{X}", is: label-value}}', ("A_b.c", '""', "a" * 63), ("a b", "-a", "a" * 64)),
    "format duration": Case(f'format: {{value: "{X}", is: duration}}', ("5m", "1h30m", "'0'", "1.5s", "-1s"), ("'300'", "1d", '" 5m"')),
    "format rfc3339": Case(
        f'format: {{value: "{X}", is: rfc3339}}',
        ("'2025-03-15T10:00:00Z'", "'2025-03-15T10:00:00.5+08:00'"),
        ("'20256-03-15T10:00:00Z'", "'2025-13-15T10:00:00Z'", "'2025-03-15'", "'2025-03-15T24:00:00Z'"),
    ),
    "format driver-version": Case(
        f'format: {{value: "{X}", is: driver-version}}', ("470.161.03", "'390.157'"), ("'470'", "v470.1", "470.1.2.3")
    ),
    "bounds": Case(f'bounds: {{value: "{X}", minimum: 1Mi, maximum: 4Gi}}', ("1Mi", "4Gi", "4096Mi", "x"), ("1Ki", "5Gi", "'-1'"), None),
    "bounds open": Case(f'bounds: {{value: "{X}", above: 0, below: 1}}', ("500m",), ("'0'", "'1'")),
    "bounds integer": Case(
        f'bounds: {{value: "{X}", of: integer, minimum: 1, maximum: 128}}', ("'1'", "'128'", "1k", "'1.5'"), ("'0'", "'129'", "'-1'")
    ),
    "granularity": Case(
        f'granularity: {{value: "{X}", minimum: 5, step: 5, maximum: 100, or_multiple_of: 100}}',
        ("'5'", "'95'", "'100'", "'300'", "'0'", "'-5'", "'2.5'", "x"),
        ("'1'", "'33'", "'105'", "'250'"),
        "5 to 100 in steps of 5, or a multiple of 100",
    ),
    "granularity without end": Case(f'granularity: {{value: "{X}", minimum: 2, step: 2}}', ("'2'", "'1000'"), ("'1'", "'3'"), "2 or more"),
    "ordered": Case(f'ordered: {{lesser: "{X}", greater: "quantity(\'10\')"}}', ("'10'", "9999m", "x"), ("'11'", "1k"), "at most 10"),
    "ordered integer": Case(f'ordered: {{lesser: "{X}", greater: "int(\'10\')", of: integer}}', ("'10'", "1k"), ("'11'",), "at most 10"),
    "ordered version": Case(f'ordered: {{lesser: "{X}", greater: "version(\'1.9\')", of: version}}', ("'1.9.0'",), ("'1.10'",)),
    "version_bounds above": Case(
        f'version_bounds: {{value: "{X}", table: qgpu-drivers, finds: above}}',
        ("470.161.03", "525.89.02", "x"),
        ("470.182.03", "525.105.17"),
    ),
    "version_bounds unlisted": Case(
        f'version_bounds: {{value: "{X}", table: qgpu-drivers, finds: unlisted}}', ("470.1.1",), ("460.32.03",)
    ),
    "version_bounds later": Case(
        f'version_bounds: {{value: "{X}", table: qgpu-drivers, finds: later}}', ("470.1.1", "460.1.1"), ("550.54.15",)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_good_values_pass(tmp_path: Path, name: str) -> None:
    for value in CASES[name].good:
        assert judge(tmp_path, CASES[name].constraint, annotations=f"a.io/x: {value}") == [], value


@pytest.mark.parametrize("name", CASES)
def test_bad_values_are_found_where_they_stand(tmp_path: Path, name: str) -> None:
    for value in CASES[name].bad:
        (finding,) = judge(tmp_path, CASES[name].constraint, annotations=f"a.io/x: {value}")
        assert (finding.location.span.line, finding.location.span.column) == (7, 13), value
        assert finding.path == ("metadata", "annotations", "a.io/x")
        if CASES[name].expected is not None:
            assert finding.expected == CASES[name].expected


@pytest.mark.parametrize("name", CASES)
def test_no_value_is_no_mistake(tmp_path: Path, name: str) -> None:
    assert judge(tmp_path, CASES[name].constraint) == []


@pytest.mark.parametrize("name", CASES)
def test_a_value_still_to_be_filled_in_is_no_mistake(tmp_path: Path, name: str) -> None:
    assert judge(tmp_path, CASES[name].constraint, annotations="a.io/x: '{{ .Values.x }}'") == []
    assert judge(tmp_path, CASES[name].constraint, annotations="a.io/x: ${X}") == []


def test_nearest_legal_value_and_fix(tmp_path: Path) -> None:
    (finding,) = judge(tmp_path, CASES["one_of"].constraint, annotations="a.io/x: hihg")
    assert finding.fix is not None
    assert (finding.fix.title, [edit.text for edit in finding.fix.edits]) == ("write a.io/x as high", ["high"])
    (finding,) = judge(tmp_path, CASES["granularity"].constraint, annotations="a.io/x: '33'")
    assert finding.fix is not None
    assert (finding.fix.title, [edit.text for edit in finding.fix.edits]) == ("round up to 35", ["'35'"])
    (finding,) = judge(tmp_path, CASES["granularity"].constraint, annotations="a.io/x: '250'")
    assert finding.fix is not None
    assert finding.fix.title == "round up to 300"


# Kinds that judge more than one value.


def test_requires(tmp_path: Path) -> None:
    constraint = "requires: {values: [\"annotation('a.io/x')\", \"label('a.io/y')\"], at: pod.metadata}"
    findings = judge(tmp_path, constraint, annotations="a.io/x: 1")
    assert [(finding.message, finding.location.span.line) for finding in findings] == [("a.io/y is missing", 3)]
    assert len(judge(tmp_path, constraint)) == 2
    assert judge(tmp_path, "requires: {values: [\"annotation('a.io/x')\"]}", annotations='a.io/x: ""') == []


def test_mutually_exclusive(tmp_path: Path) -> None:
    constraint = "mutually_exclusive: [\"annotation('a.io/x')\", \"annotation('a.io/y')\", \"annotation('a.io/z')\"]"
    assert judge(tmp_path, constraint, annotations="a.io/y: a") == []
    (finding,) = judge(tmp_path, constraint, annotations="a.io/x: a\na.io/z: b")
    assert (finding.location.span.line, finding.location.span.column) == (8, 5), "at the key of the later one"
    assert [(related.location.span.line, related.message) for related in finding.related] == [(7, "a.io/x is given here")]
    assert len(judge(tmp_path, constraint, annotations="a.io/x: a\na.io/y: b\na.io/z: c")) == 3


REQUESTS = "requests_equal_limits: {resources: 'x\\.io/.*'}"


@pytest.mark.parametrize(
    ("resources", "lines"),
    [
        ("limits: {x.io/a: 1}", []),
        ("requests: {x.io/a: 1}", []),
        ("requests: {x.io/a: 1, x.io/b: 1Ki}\nlimits: {x.io/a: '1', x.io/b: '1024'}", []),
        ("requests: {x.io/a: 1}\nlimits: {x.io/a: 2}", [13]),
        ("requests:\n  x.io/a: 1\n  x.io/b: 3\nlimits: {x.io/a: 2, x.io/b: 2}", [14, 15]),
        ("requests: {x.io/a: 1, y.io/a: 1}\nlimits: {x.io/a: 1, y.io/a: 2}", []),
        ("requests: {x.io/a: 1}\nlimits: {x.io/a: '${N}'}", []),
        ("requests: {x.io/a: one}\nlimits: {x.io/a: 2}", []),
    ],
)
def test_requests_equal_limits(tmp_path: Path, resources: str, lines: list[int]) -> None:
    findings = judge(tmp_path, REQUESTS, "container", resources=resources)
    assert [finding.location.span.line for finding in findings] == lines
    assert all(finding.fix is not None and finding.related for finding in findings)


@pytest.mark.parametrize(
    ("constraint", "key", "found"),
    [
        ("known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai}", "tensor-fusion.ai/qos", False),
        ("known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai}", "tensor-fusion.ai/qoss", True),
        ("known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai}", "other.ai/qoss", False),
        ("known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, also: '.*/my-.*'}", "tensor-fusion.ai/my-own", False),
        ("known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, near: true}", "tensor-fusion.ai/tflops-reqest", True),
        ("known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, near: true}", "tensor-fusion.ai/something-else", False),
        ("known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, near: false}", "tensor-fusion.ai/something-else", True),
        ("listed_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, owner: system}", "tensor-fusion.ai/gpu-ids", True),
        ("listed_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, owner: system}", "tensor-fusion.ai/qos", False),
        (
            "listed_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, owner: system, but: [tensor-fusion.ai/gpu-ids]}",
            "tensor-fusion.ai/gpu-ids",
            False,
        ),
        (
            "listed_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, owner: system, unless: \"entry == 'v'\"}",
            "tensor-fusion.ai/gpu-ids",
            False,
        ),
    ],
)
def test_keys(tmp_path: Path, constraint: str, key: str, found: bool) -> None:
    findings = judge(tmp_path, constraint, annotations=f"{key}: v")
    assert [(finding.location.span.line, finding.location.span.column) for finding in findings] == ([(7, 5)] if found else [])


def test_a_misspelt_key_is_renamed(tmp_path: Path) -> None:
    constraint = "known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, near: true}"
    (finding,) = judge(tmp_path, constraint, annotations="tensor-fusion.ai/tflops-reqest: '1'")
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["tensor-fusion.ai/tflops-request"]


@pytest.mark.parametrize(("version", "found"), [("1.34.7", False), ("1.35.0", True), ("2.17.1", True), (None, False)])
def test_read_by_version(tmp_path: Path, version: str | None, found: bool) -> None:
    constraint = "read_by_version: {of: pod.metadata.annotations, domain: tensor-fusion.ai, platform: tensorFusion}"
    config = f"platform: {{tensorFusion: '{version}'}}\n" if version else ""
    findings = judge(tmp_path, constraint, annotations="tensor-fusion.ai/generate-workload: 'true'", config=config)
    assert len(findings) == found


def test_known_fields(tmp_path: Path) -> None:
    rule = RULE.format(on="object", constraint="known_fields: {of: self.spec, crd: WorkloadProfile, path: spec}")
    (tmp_path / "rules.yaml").write_text(
        rule.replace("keys: [a.io/*, x.io/*]", "kinds: [WorkloadProfile.tensor-fusion.ai]"), encoding="utf-8"
    )
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [rules.yaml]\nrules: {'*': off, 'ACM*': on}\n", encoding="utf-8")
    profile = "apiVersion: tensor-fusion.ai/v1\nkind: WorkloadProfile\nmetadata: {name: a}\nspec:\n  gpuCount: 1\n  gpucount: 2\n"
    (tmp_path / "profile.yaml").write_text(profile, encoding="utf-8")
    (finding,) = scan(Scan([str(tmp_path / "profile.yaml")], load_settings(tmp_path / ".gpuvet.yaml"))).findings
    assert (finding.location.span.line, finding.location.span.column) == (6, 3)
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["gpuCount"]


def test_acyclic(tmp_path: Path) -> None:
    rule = RULE.format(on="object", constraint="acyclic: {nodes: self.spec.tasks, edges: dependsOn.name}")
    (tmp_path / "rules.yaml").write_text(rule.replace("keys: [a.io/*, x.io/*]", "kinds: [Flow]"), encoding="utf-8")
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [rules.yaml]\nrules: {'*': off, 'ACM*': on}\n", encoding="utf-8")

    def found(*edges: tuple[str, str]) -> list[str]:
        tasks = "".join(f"    - {{name: {name}, dependsOn: {{name: [{other}]}}}}\n" for name, other in edges)
        text = f"apiVersion: v1\nkind: Flow\nmetadata: {{name: a}}\nspec:\n  tasks:\n{tasks}"
        (tmp_path / "flow.yaml").write_text(text, encoding="utf-8")
        return [f.message for f in scan(Scan([str(tmp_path / "flow.yaml")], load_settings(tmp_path / ".gpuvet.yaml"))).findings]

    assert found(("a", "b"), ("b", "c"), ("c", "")) == []
    assert found(("a", "b"), ("b", "c"), ("c", "a")) == ["tasks wait for each other: a -> b -> c -> a"]
    assert found(("a", "a")) == ["tasks wait for each other: a -> a"]


_ELSEWHERE = {"input", "unknown_fields", "shadowed_by", "conforms_to"}
"""Those of the reader, and those in test_field_kinds.py and test_conforms_to.py."""


def test_every_kind_is_tried() -> None:
    import inspect
    import sys

    tried = inspect.getsource(sys.modules[__name__])
    missing = [name for name in KINDS if f"{name}: " not in tried and name not in _ELSEWHERE]
    assert missing == []


@pytest.mark.parametrize("value", [None, 5, "a", [], {}, [None], True])
def test_nothing_an_author_writes_makes_a_kind_fail(tmp_path: Path, value: Any) -> None:
    import json

    for case in CASES.values():
        judge(tmp_path, case.constraint, annotations=f"a.io/x: {json.dumps(value)}")
    for constraint in (REQUESTS, "known_keys: {of: self.resources, domain: x.io}"):
        judge(tmp_path, constraint, "container", resources=f"limits: {json.dumps(value)}\nrequests: {{x.io/a: {json.dumps(value)}}}")
