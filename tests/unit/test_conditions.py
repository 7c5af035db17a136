"""Conditions on lists: places inside nested ones, and what a fragment cannot show."""

from pathlib import Path

import pytest

from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.finding import Finding
from gpuvet.values.version import in_range, parse_version

RULE = """family: ACME
rules:
  - id: ACME001
    name: some-rule
    severity: error
    consequence: advice
    on: pod
    trigger: {{keys: [acme.io/*]}}
    forbidden: "{condition}"
    message: "{message}"
    why: Only a test.
"""
POD = """apiVersion: v1
kind: Pod
metadata:
  name: demo
  annotations:
    acme.io/team: a
spec:
  containers:
    - name: main
      image: app
      resources:
        limits:
          nvidia.com/gpu: 1
    - name: logs
      image: logs
"""
FRAGMENT = POD.replace("      image: logs\n", "")


def findings(tmp_path: Path, condition: str, manifest: str, message: str = "found") -> list[str]:
    return [finding.rule for finding in judged(tmp_path, condition, manifest, message)]


def judged(tmp_path: Path, condition: str, manifest: str, message: str) -> list[Finding]:
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [rules.yaml]\n")
    (tmp_path / "rules.yaml").write_text(RULE.format(condition=condition, message=message))
    (tmp_path / "pod.yaml").write_text(manifest)
    settings = load_settings(tmp_path / ".gpuvet.yaml")
    return scan(Scan([str(tmp_path / "pod.yaml")], settings, jobs=1)).findings


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("pod.spec.containers.exists(c, c.resources.limits.exists(v, key(v) == 'nvidia.com/gpu'))", True),
        ("pod.spec.containers.exists(c, c.resources.limits.exists(v, key(v) == 'amd.com/gpu'))", False),
        ("size(pod.spec.containers.filter(c, c.resources.limits.exists(v, key(v) == 'nvidia.com/gpu'))) == 1", True),
    ],
)
def test_keys_inside_a_nested_list(tmp_path: Path, condition: str, found: bool) -> None:
    assert findings(tmp_path, condition, POD) == (["ACME001"] if found else [])


@pytest.mark.parametrize(
    "condition",
    [
        "!pod.spec.containers.exists(c, c.name == 'train')",
        "pod.spec.containers.all(c, c.name != 'train')",
        "!containers().exists(c, c.name == 'train')",
    ],
)
def test_a_fragment_does_not_show_that_an_item_is_missing(tmp_path: Path, condition: str) -> None:
    assert findings(tmp_path, condition, POD) == ["ACME001"]
    assert findings(tmp_path, condition, FRAGMENT) == []


@pytest.mark.parametrize(
    "condition",
    [
        "pod.spec.containers.exists(c, c.name == 'main')",
        "!split('a,b', ',').exists(part, part == 'c')",
        "!['a', 'b'].exists(part, part == annotation('acme.io/other'))",
    ],
)
def test_a_fragment_shows_what_is_there(tmp_path: Path, condition: str) -> None:
    wanted = [] if "other" in condition else ["ACME001"]
    assert findings(tmp_path, condition, FRAGMENT) == wanted


def test_alternative_version_ranges() -> None:
    text = "<1.54.7 || >=2.0.0, <2.6.0"
    inside = {"1.54.6": True, "1.54.7": False, "1.65.8": False, "2.0.0": True, "2.5.9": True, "2.6.0": False}
    assert {version: in_range(parse_version(version) or (), text) for version in inside} == inside
    with pytest.raises(ValueError, match="not a version range"):
        in_range((1, 0), "<2 || soon")


def test_words_of_the_author_are_shown_as_they_are(tmp_path: Path) -> None:
    message = "a{has(annotation('acme.io/other')) ? ' and more' : ''}{has(annotation('acme.io/team')) ? ' of ' : '-'}b"
    assert [finding.message for finding in judged(tmp_path, "true", POD, message)] == ["a of b"]
