"""Definitions of rule files: with parameters, shared between rules; what a webhook makes of a Pod's sum; guards of printed rules."""

from pathlib import Path
from typing import Any

import pytest

from gpuvet.language.catalogue import load_rules
from gpuvet.language.expression import ExpressionError, Scope, parse
from gpuvet.language.users import load_own_rules
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.finding import Finding
from gpuvet.values.total import UNKNOWN, append, get, pod_reads, pod_sum

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  initContainers:
    - {name: i, image: x, resources: {limits: {acme.io/a: 7}}}
  containers:
    - {name: b, image: x, resources: {limits: {acme.io/a: 1}}}
    - {name: c, image: x, resources: {limits: {acme.io/a: 2, acme.io/b: 5}}}
"""


def run(tmp_path: Path, rules: str, manifest: str = POD) -> list[Finding]:
    (tmp_path / "rules.yaml").write_text(rules, "utf-8")
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [rules.yaml]\n", "utf-8")
    (tmp_path / "pod.yaml").write_text(manifest, "utf-8")
    result = scan(Scan([str(tmp_path / "pod.yaml")], load_settings(tmp_path / ".gpuvet.yaml"), jobs=1))
    assert not result.crashed
    return [finding for finding in result.findings if finding.rule.startswith("ACME")]


def rule(body: str, let: str = "{}") -> str:
    return f"""\
family: ACME
let: {let}
rules:
  - id: ACME001
    name: a
    severity: error
    consequence: advice
    on: pod
    trigger: {{keys: [acme.io/*]}}
    why: because it is a test
{body}"""


def test_definition_with_parameters(tmp_path: Path) -> None:
    body = """\
    each: {who: "containers().filter(c, above(c, 1))"}
    forbidden: {that: "above(who, 0)", at: "a(who)"}
    message: "{append('a', a(who))}"
"""
    found = run(tmp_path, rule(body, """{"a(c)": "asked(c, 'acme.io/a')", "above(c, n)": quantity(a(c)) > n}"""))
    assert [(finding.location.span.line, finding.message) for finding in found] == [(6, "a7"), (9, "a2")]


def test_first_and_its_place(tmp_path: Path) -> None:
    body = """\
    each: {who: "first(containers().filter(c, has(asked(c, 'acme.io/b'))))"}
    forbidden: {that: "true", at: "asked(who, 'acme.io/b')"}
"""
    assert [finding.location.span.line for finding in run(tmp_path, rule(body))] == [9]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("podSum('acme.io/a')", "7"),
        ("podSum('acme.io/a', c, 9)", "18"),
        ("podSum('acme.io/a', c, asked(c, 'acme.io/b'))", "7"),
        ("podSum('acme.io/b', c, has(asked(c, 'acme.io/b')) ? 3 : 1)", "4"),
        ("podSum('acme.io/none', c, null)", "nothing"),
    ],
)
def test_sum_as_a_webhook_leaves_it(tmp_path: Path, expression: str, expected: str) -> None:
    body = f"""\
    forbidden: "true"
    message: "{{{expression}}}"
"""
    assert [finding.message for finding in run(tmp_path, rule(body))] == [expected]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("twice(1, 2)", "takes 1 arguments, not 2"),
        ("containers().exists(c, bound(c))", "'c' is a variable already"),
        ("endless(1)", "there is no function 'endless'"),
    ],
)
def test_wrong_use_of_a_definition(expression: str, message: str) -> None:
    scope = Scope("pod", {}, frozenset())
    for head, text in {"twice(n)": "n + n", "bound(d)": "containers().exists(c, c == d)", "endless(n)": "endless(n)"}.items():
        scope = scope.define(head, text)
    with pytest.raises(ExpressionError, match=message):
        parse(expression, scope)


@pytest.mark.parametrize("head", ["a b", "a()", "a(1)", "a(b", ""])
def test_a_definition_has_a_plain_name(head: str) -> None:
    with pytest.raises(ExpressionError):
        Scope("pod", {}, frozenset()).define(head, "1")


LARGE = " + ".join(["int(podSum('acme.io/a'))"] * 12)


def test_a_large_definition_is_worked_out_once(tmp_path: Path) -> None:
    text = rule("    forbidden: total_of > 1\n    message: '{total_of}'\n", f'{{total_of: "{LARGE}"}}')
    assert [finding.message for finding in run(tmp_path, text)] == ["84"]
    function = load_own_rules([tmp_path / "rules.yaml"])[0][1]
    assert "total_of" in " ".join(function.__code__.co_names)


def test_a_placeholder_in_a_shared_definition_decides_nothing(tmp_path: Path) -> None:
    text = rule("    forbidden: total_of > 1\n", f'{{total_of: "{LARGE}"}}')
    assert run(tmp_path, text, POD.replace("acme.io/a: 7", "acme.io/a: '{{ .Values.a }}'")) == []


def test_tests_stand_outside_the_loops_they_do_not_need(tmp_path: Path) -> None:
    body = """\
    each: {c: containers()}
    when: "has(annotation('acme.io/x')) && has(asked(c, 'acme.io/a'))"
    forbidden: "true"
"""
    (tmp_path / "rules.yaml").write_text(rule(body), "utf-8")
    from gpuvet.language.printers.python import print_rule

    lines = print_rule("ACME001", "a", load_rules(tmp_path / "rules.yaml")[0].checks).split("\n")
    tests = [(i, line) for i, line in enumerate(lines) if line.strip().startswith("if")]
    place = {word: next(i for i, line in tests if word in line) for word in ("acme.io/x", "acme.io/a")}
    loop = next(i for i, line in enumerate(lines) if line.strip().startswith("for c_at"))
    assert place["acme.io/x"] < loop < place["acme.io/a"]


def boxes(*amounts: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"resources": {"limits": {} if amount is None else {"k": amount}}} for amount in amounts]}}


def test_what_a_sum_rests_on() -> None:
    assert pod_reads(boxes("1", "2"), "k") == ["1", "2"]
    assert pod_reads(boxes("1", None), "k") == ["1"]
    assert pod_reads(boxes(None), "k") == [None]
    assert pod_reads(boxes("1GB"), "k") == [UNKNOWN]
    assert pod_reads(boxes("500m"), "k") == ["500m"]
    extended = {"spec": {"containers": [{"resources": {"limits": {"acme.io/a": "500m"}}}]}}
    assert pod_reads(extended, "acme.io/a") == [UNKNOWN]
    assert pod_reads(boxes("{{ x }}"), "k") == ["{{ x }}"]
    assert pod_sum(boxes("1", "2"), "k", [None, None]) is None


def test_below_a_placeholder_nothing_is_known() -> None:
    assert get({"resources": "{{ toYaml .Values.resources }}"}, "resources", "limits") is UNKNOWN
    assert get({"resources": "none"}, "resources", "limits") is None


def test_append() -> None:
    assert append("16", "Gi") == append(16, "Gi") == "16Gi"
    assert append(None, "Gi") is None
    assert append(True, "Gi") is None
