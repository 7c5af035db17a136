"""What a finding rests on: never on a value that is not known, nor, in a fragment, on one that is not there."""

from pathlib import Path

import pytest

from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings

RULE = """\
rules:
  - id: ACM001
    name: tried
    severity: warning
    consequence: advice
    on: pod
    trigger: {{keys: [a.io/*]}}
    forbidden:
      that: >-
        {condition}
      at: pod.metadata
    why: It is tried here.
"""
WHOLE = """\
apiVersion: v1
kind: Pod
metadata:
  name: app
  annotations: {{a.io/trigger: "1", {annotations}}}
spec:
  containers: [{containers}]
"""
CONTAINER = "{name: main, image: a, command: [run]}"


def finds(folder: Path, condition: str, annotations: str = "", containers: str = CONTAINER) -> bool:
    (folder / "rules.yaml").write_text(RULE.format(condition=condition), encoding="utf-8")
    (folder / ".gpuvet.yaml").write_text("ruleFiles: [rules.yaml]\n", encoding="utf-8")
    (folder / "pod.yaml").write_text(WHOLE.format(annotations=annotations, containers=containers), encoding="utf-8")
    result = scan(Scan([str(folder / "pod.yaml")], load_settings(folder / ".gpuvet.yaml")))
    assert not result.crashed
    return any(finding.rule == "ACM001" for finding in result.findings)


X = "annotation('a.io/x')"
Y = "annotation('a.io/y')"
HOLE = "'{{ .Values.x }}'"


@pytest.mark.parametrize(
    ("condition", "annotations", "expected"),
    [
        # A value that a template engine still has to fill in decides nothing ...
        (f"{X} == 'a'", "a.io/x: a", True),
        (f"{X} != 'a'", "a.io/x: b", True),
        (f"{X} != 'a'", f"a.io/x: {HOLE}", False),
        (f"!({X} == 'a')", f"a.io/x: {HOLE}", False),
        (f"{X} != 'a'", "a.io/x: ${X}", False),
        (f"{X} != 'a'", "a.io/x: $(X)", False),
        (f"{X} != 'a'", "a.io/x: $X", True),
        (f"!matches({X}, 'a+')", f"a.io/x: {HOLE}", False),
        (f"!({X} in ['a', 'b'])", f"a.io/x: {HOLE}", False),
        (f"!isQuantity({X})", f"a.io/x: {HOLE}", False),
        (f"size({X}) > 3", f"a.io/x: {HOLE}", False),
        (f"size(split({X}, ' ')) > 1", f"a.io/x: {HOLE}", False),
        (f"lower(trim({X})) != 'a'", f"a.io/x: {HOLE}", False),
        (f"startsWith({X}, '{{{{')", f"a.io/x: {HOLE}", False),
        (f"either({X}, 'z') != 'a'", f"a.io/x: {HOLE}", False),
        (f"({X} == 'a' ? 1 : 2) == 2", f"a.io/x: {HOLE}", False),
        (f"!has(json({X}))", f"a.io/x: {HOLE}", False),
        (f"has({X})", f"a.io/x: {HOLE}", False),
        # ... but it does not hold up what another value decides.
        (f"{X} != 'a' || {Y} == 'b'", f"a.io/x: {HOLE}, a.io/y: b", True),
        (f"{X} == 'a' || {Y} == 'b'", f"a.io/x: {HOLE}, a.io/y: b", True),
        (f"{Y} == 'b' || {X} != 'a'", f"a.io/x: {HOLE}, a.io/y: b", True),
        (f"{X} != 'a' || {Y} == 'b'", f"a.io/x: {HOLE}, a.io/y: c", False),
        (f"{X} != 'a' && {Y} == 'b'", f"a.io/x: {HOLE}, a.io/y: b", False),
        (f"!({X} == 'a' && {Y} == 'b')", f"a.io/x: {HOLE}, a.io/y: c", True),
        (f"!({X} == 'a' || {Y} == 'b')", f"a.io/x: {HOLE}, a.io/y: c", False),
        (f"({Y} == 'b' ? {Y} : {X}) == 'b'", f"a.io/x: {HOLE}, a.io/y: b", True),
        (f"['b'].exists(v, v == {Y}) || {X} == 'c'", f"a.io/x: {HOLE}, a.io/y: b", True),
        # What is not there can be said of a whole object.
        (f"!has({X})", "", True),
        (f"{X} != 'a'", "", True),
        (f"!has({X}) && {Y} == 'b'", "a.io/y: b", True),
    ],
)
def test_in_a_whole_object(tmp_path: Path, condition: str, annotations: str, expected: bool) -> None:
    assert finds(tmp_path, condition, annotations) is expected


FRAGMENT = "{name: main}"
"""Without an image: a patch."""


@pytest.mark.parametrize(
    ("condition", "annotations", "expected"),
    [
        (f"{X} == 'a'", "a.io/x: a", True),
        (f"!has({X})", "", False),
        (f"{X} != 'a'", "", False),
        (f"{X} != 'a'", "a.io/x: b", True),
        (f"!has({X}) && {Y} == 'b'", "a.io/y: b", False),
        (f"{Y} == 'b' || !has({X})", "a.io/y: b", True),
        (f"!has({X}) || {Y} == 'b'", "a.io/y: b", True),
        (f"!has({X}) || {Y} == 'b'", "a.io/y: c", False),
        (f"(!has({X}) || {Y} == 'b') && {Y} != 'c'", "a.io/y: b", True),
        (f"!({X} == 'a' && {Y} == 'b')", "a.io/y: c", True),
        ("pod.spec.containers.exists(c, c.name == 'main')", "", True),
        ("pod.spec.containers.exists(c, !has(c.command))", "", False),
        ("!pod.spec.containers.all(c, has(c.command))", "", False),
        (f"quantity({X}) < 5", "a.io/x: '1'", True),
        (f"!(quantity({X}) >= 5)", "", False),
        ("sum(containers().map(c, quantity(asked(c, 'x')))) < 5", "", False),
    ],
)
def test_in_a_fragment(tmp_path: Path, condition: str, annotations: str, expected: bool) -> None:
    assert finds(tmp_path, condition, annotations, FRAGMENT) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("has(find('WorkloadProfile', 'p'))", False),
        ("!has(find('WorkloadProfile', 'p'))", False),
        ("find('WorkloadProfile', 'p').spec.qos == 'low'", False),
        ("find('WorkloadProfile', 'p').spec.qos != 'low'", False),
        ("findAll('Node').exists(n, true)", False),
        ("!findAll('Node').exists(n, true)", False),
        ("size(findAll('Node')) == 0", False),
        ("annotation('a.io/trigger') == '1' || has(find('WorkloadProfile', 'p'))", True),
    ],
)
def test_other_objects_that_nobody_knows(tmp_path: Path, condition: str, expected: bool) -> None:
    assert finds(tmp_path, condition) is expected


def test_other_objects_that_are_known_not_to_exist(tmp_path: Path) -> None:
    finds(tmp_path, "!has(find('WorkloadProfile', 'p'))")
    config = "ruleFiles: [rules.yaml]\ncontext: {complete: [WorkloadProfile]}\n"
    (tmp_path / ".gpuvet.yaml").write_text(config, encoding="utf-8")
    result = scan(Scan([str(tmp_path / "pod.yaml")], load_settings(tmp_path / ".gpuvet.yaml")))
    assert [finding.rule for finding in result.findings] == ["ACM001"]
