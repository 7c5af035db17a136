"""`flatten`, `repaired` and `version_bounds` of the rule language, printed and run."""

from pathlib import Path
from typing import Any

import pytest

from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.total import flatten, quantity, repaired

RULE = """
family: ACME
title: Flatten keeps places
rules:
  - id: ACME001
    name: forbidden-value
    severity: error
    consequence: advice
    on: pod
    trigger: {keys: [acme.io/zone]}
    message: "{value}{value == 'moon' ? ' is far' : ''}{value == 'mars' ? ' is red' : ''}"
    each:
      value: "flatten(flatten(pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.map(
        t, t.matchExpressions)).filter(e, e.key == 'acme.io/zone').map(e, e['values']))"
    forbidden: {that: value == 'moon', at: value}
    why: Nobody lives there, so the Pod would wait.
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: far}
spec:
  containers: [{name: main, image: nginx}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - {key: acme.io/zone, operator: In, values: [earth]}
          - matchExpressions:
              - {key: acme.io/other, operator: In, values: [moon]}
              - key: acme.io/zone
                operator: In
                values:
                  - earth
                  - moon
"""


def test_flatten_keeps_the_place_of_every_item(tmp_path: Path) -> None:
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [rules.yml]\n")
    (tmp_path / "rules.yml").write_text(RULE)
    (tmp_path / "pod.yaml").write_text(POD)
    result = scan(Scan([str(tmp_path / "pod.yaml")], load_settings(tmp_path / ".gpuvet.yaml"), jobs=1))
    assert [(finding.rule, finding.location.span.line) for finding in result.findings] == [("ACME001", 18)]
    assert result.findings[0].message == "moon is far", "a rule's own words are shown as they are, blanks and all"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("5 GB", "5G"),
        ("64gb", "64G"),
        ("4GiB", "4Gi"),
        ("4K", "4k"),
        ("10%", "10"),
        ("0.5", "1"),
        ("500m", "1"),
        (2.5, "3"),
        ("1.5Gi", "1.5Gi"),
        ("0.1Gi", "107374183"),
        ("7", "7"),
        (" 7 ", "7"),
        ("+3GB", "3G"),
        ("many", None),
        ("-1", None),
        ("", None),
        (True, None),
        (None, None),
        ([5], None),
    ],
)
def test_repaired_is_the_nearest_legal_whole_quantity(given: Any, expected: str | None) -> None:
    assert repaired(given) == expected
    if expected is not None:
        nanos = quantity(expected)
        assert nanos is not None
        assert nanos >= 0
        assert nanos % 10**9 == 0


def test_flatten_takes_what_is_there() -> None:
    assert flatten([[1, 2], None, {"a": 3}, "text", []]) == [1, 2, 3]
