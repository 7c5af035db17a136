"""Rule files of users: the one in the documentation works end to end, wrong ones give errors with their line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpuvet.cli.main import main
from gpuvet.language.users import load_own_rules
from gpuvet.values.errors import ConfigError

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: app
  labels:
    tensor-fusion.ai/enabled: "true"
  annotations:
    tensor-fusion.ai/tflops-request: "10"
spec:
  containers: [{name: main, image: a}]
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def documented(checkout: Path) -> str:
    text = (checkout / "docs" / "writing-rules.md").read_text(encoding="utf-8")
    (rules,) = (block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "ACME001" in block)
    return str(rules)


def write(rules: str, pod: str = POD) -> None:
    Path("gpu-rules.yaml").write_text(rules, encoding="utf-8")
    Path(".gpuvet.yaml").write_text("ruleFiles: [gpu-rules.yaml]\n", encoding="utf-8")
    Path("pod.yaml").write_text(pod, encoding="utf-8")


def test_the_documented_rule_works_end_to_end(documented: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(documented)
    main(["check", "--format", "json", "pod.yaml"])
    report = json.loads(capsys.readouterr().out)
    (finding,) = [found for found in report["findings"] if found["rule"] == "ACME001"]
    assert finding["message"] == "app asks for a vGPU and names no team"
    assert (finding["line"], finding["column"], finding["pathText"]) == (5, 3, "metadata.labels")
    assert (finding["name"], finding["severity"], finding["consequence"]) == ("gpu-pod-without-team", "warning", "advice")
    write(documented, POD.replace("  labels:\n", "  labels:\n    acme.io/team: vision\n"))
    main(["check", "--format", "json", "pod.yaml"])
    assert "ACME001" not in capsys.readouterr().out


def test_it_is_listed_and_explained(documented: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(documented)
    assert main(["rules", "--format", "json"]) == 0
    (rule,) = [each for each in json.loads(capsys.readouterr().out) if each["id"] == "ACME001"]
    assert (rule["vocabulary"], rule["kind"], rule["exports"]) == ("own", "requires", {"cel": True, "rego": True})
    assert main(["explain", "gpu-pod-without-team"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# ACME001")
    assert "The bill goes to the team that the label names." in page


def test_own_rules_speak_in_every_process(documented: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(documented)
    Path("more.yaml").write_text(POD.replace("name: app", "name: more"), encoding="utf-8")
    main(["check", "--format", "json", "-j", "2", "pod.yaml", "more.yaml"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["file"] for finding in found if finding["rule"] == "ACME001"] == ["more.yaml", "pod.yaml"]


def test_a_rule_that_fails_is_named_and_the_others_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuvet.compiled import screens_tensor_fusion

    def fails(*_: object) -> None:
        raise ZeroDivisionError("as if")

    for screen in [name for name in vars(screens_tensor_fusion) if name.partition("_")[0] == "TF015"]:
        monkeypatch.setattr(screens_tensor_fusion, screen, fails)
    Path("pod.yaml").write_text(POD.replace('"10"', "10GB"), encoding="utf-8")
    assert main(["check", "--format", "json", "pod.yaml"]) == 3
    found = {finding["rule"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert "TF015 failed on this object (ZeroDivisionError: as if)" in found["IN013"]["message"]
    assert "TF011" in found


def test_a_rule_that_fails_once_the_other_object_is_known_is_named_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuvet.compiled import screens_tensor_fusion

    def fails(subject: Any, *_: object) -> None:
        if isinstance(subject.find("WorkloadProfile", "p"), dict):
            raise ZeroDivisionError("as if")

    monkeypatch.setattr(screens_tensor_fusion, "TF015", fails)
    Path("pod.yaml").write_text(POD, encoding="utf-8")
    Path("profile.yaml").write_text("apiVersion: tensor-fusion.ai/v1\nkind: WorkloadProfile\nmetadata: {name: p}\n", encoding="utf-8")
    assert main(["check", "--format", "json", "pod.yaml", "profile.yaml"]) == 3
    assert [found["rule"] for found in json.loads(capsys.readouterr().out)["findings"] if found["rule"].startswith("IN")] == ["IN013"]


BASE = """\
family: ACM
let:
  team: label('acme.io/team')
  broken: self..x
rules:
  - id: ACM001
    name: a-rule
    severity: warning
    consequence: advice
    on: pod
    trigger: {keys: [acme.io/*]}
    %s
    why: Because it is so.
"""


def error(text: str) -> str:
    Path("r.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_own_rules([Path("r.yaml")])
    return str(caught.value)


@pytest.mark.parametrize(
    ("constraint", "line", "message"),
    [
        ("one_of: {values: [a]}", 12, "one_of.value: Field required"),
        ("one_of:\n      value: team\n      vals: [a]", 14, "one_of.vals: there is no such field; did you mean values?"),
        ("one_of: 5", 12, "one_of takes a mapping"),
        ("one_of: {value: team}", 12, "nothing is known of the values of 'acme.io/team'; give values"),
        ("forbid: team", 6, "a rule has exactly one constraint of acyclic, "),
        ("forbidden: 'true'\n    required: 'true'", 12, "a rule has exactly one constraint of "),
        ("forbidden: team.nope(", 12, "the expression ends too early at column 11"),
        ("forbidden: {that: 5}", 12, "forbidden.that: Input should be a valid string"),
        ("forbidden: 'true'\n    when: foo", 13, "unknown name 'foo' at column 1 of 'foo'"),
        ("forbidden: 'true'\n    message: 'x {foo}'", 13, "unknown name 'foo' at column 1 of 'foo'"),
        ("forbidden: 'true'\n    message: 'x {foo'", 6, "a { has no closing }"),
        ("forbidden: 'true'\n    expected: '{foo}'", 13, "unknown name 'foo'"),
        ("forbidden: 'true'\n    actual: foo", 13, "unknown name 'foo'"),
        ("forbidden: 'true'\n    related:\n      - {at: foo, message: m}", 14, "unknown name 'foo'"),
        ("forbidden: 'true'\n    fix: {title: t, edits: [{set: foo, value: '1'}]}", 13, "unknown name 'foo'"),
        ("forbidden: 'true'\n    fix: {title: t, edits: [{}]}", 6, "an edit is one of set, rename, quote"),
        ("forbidden: {that: 'true', at: d}", 12, "unknown name 'd'"),
        ("forbidden: broken", 12, "the definition of 'broken' is wrong here: expected a name at column 6"),
        ("let: {own: 'self..y'}\n    forbidden: 'true'", 12, "expected a name at column 6"),
        ("each: {'c) or (c': pod.spec.containers}\n    forbidden: 'true'", 12, "each: 'c) or (c' is not a name such as container"),
        ("each: {class: pod.spec.containers}\n    forbidden: 'true'", 12, "each: 'class' is not a name such as container"),
        ("each: {out: pod.spec.containers}\n    forbidden: 'true'", 12, "a variable cannot be called 'out'"),
        ("format: {value: team, pattern: '('}", 12, "bad regular expression: missing )"),
        ("format: {value: team, pattern: '(?<=a)b'}", 12, "bad regular expression: RE2 has no"),
        ("format: {value: team}", 12, "give either pattern or is: one of quantity, version, "),
        ("format: {value: team, is: nope}", 12, "give either pattern or is: one of quantity, version, "),
        ("bounds: {value: team, minimum: 1x}", 12, "'1x' is not a quantity"),
        ("bounds: {value: team, of: integer, minimum: 500m}", 12, "'500m' is not a integer"),
        ("granularity: {step: 5}", 12, "give either resource or value"),
        ("granularity: {value: team, step: x}", 12, "granularity.step: Input should be a valid integer"),
        ("known_fields: {of: self, crd: Nope, path: spec}", 12, "there is no CRD 'Nope' among "),
        ("forbidden: param('depth') == 'a'", 12, "there is no parameter 'depth'"),
        ("parameters: {depht: 5}\n    forbidden: param('depth') == 'a'", 13, "there is no parameter 'depth'; did you mean 'depht'?"),
        ("forbidden: has(fact('driver'))", 12, "there is no fact table 'driver'"),
        ("forbidden: effective('tflop-request') == '1'", 12, "there is no effective field 'tflop-request'; did you mean 'tflops-request'?"),
        ("parameters: []\n    forbidden: 'true'", 12, "parameters: Input should be a valid dictionary"),
        ("platform: {name: tensorFusion, versions: '>1,x'}\n    forbidden: 'true'", 12, "platform.versions: 'x' is not a version range"),
        ("platform: {name: tensorfusion, versions: '>1'}\n    forbidden: 'true'", 12, "platform.name: Input should be 'tensorFusion'"),
        ("forbidden: 'true'\n    extra: 1", 13, "extra: there is no such field"),
        ("forbidden: 'true'\n    mesage: x", 13, "mesage: there is no such field; did you mean message?"),
    ],
)
def test_error_in_a_constraint(constraint: str, line: int, message: str) -> None:
    found = error(BASE % constraint)
    assert found.startswith(f"r.yaml:{line}: rule ACM001: {message}"), found


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("id: ACM001", "id: acm1", "r.yaml:6: rule acm1: id: String should match pattern"),
        ("name: a-rule", "name: A rule", "r.yaml:7: rule ACM001: name: String should match pattern"),
        ("severity: warning", "severity: warn", "r.yaml:8: rule ACM001: severity: Input should be 'error', 'warning' or 'info'"),
        ("consequence: advice", "consequence: bad", "r.yaml:9: rule ACM001: consequence: Input should be"),
        ("on: pod", "on: node", "r.yaml:10: rule ACM001: on: Input should be 'metadata', 'pod', 'container' or 'object'"),
        ("    trigger: {keys: [acme.io/*]}\n", "", "r.yaml:11: rule ACM001: a rule needs a trigger: keys, kinds, names or images"),
        ("trigger: {keys: [acme.io/*]}", "trigger: {}", "r.yaml:11: rule ACM001: trigger: name at least one of keys, kinds, names, images"),
        ("trigger: {keys: [acme.io/*]}", "trigger: {key: [a]}", "r.yaml:11: rule ACM001: trigger.key: there is no such field"),
        ("    why: Because it is so.\n", "", "r.yaml:6: rule ACM001: why: Field required"),
        ("why: Because it is so.", "why: So.", "r.yaml:13: rule ACM001: why: String should have at least 10 characters"),
        ("family: ACM", "famly: ACM", "r.yaml:1: unknown key 'famly'; a rule file has family, title, let, rules"),
        ("rules:\n  - id", "rule:\n  - id", "r.yaml:1: a rule file is a mapping with a list of rules"),
    ],
)
def test_error_in_a_field(before: str, after: str, message: str) -> None:
    text = BASE % "forbidden: 'true'"
    assert before in text
    found = error(text.replace(before, after, 1))
    assert found.startswith(message), found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.yaml: holds 0 documents and should hold one"),
        ("rules: []\n---\nrules: []\n", "r.yaml: holds 2 documents and should hold one"),
        ("[]\n", "r.yaml:1: a rule file is a mapping with a list of rules"),
        ("rules: [5]\n", "r.yaml:1: rule ?: Input should be"),
        ("rules: [\n", "r.yaml:1:9: "),
        ("rules: []\nrules: []\n", "r.yaml:2:1: "),
        (BASE % "forbidden: 'true'" + (BASE % "forbidden: 'true'").partition("rules:\n")[2], "r.yaml:14: rule ACM001 stands at line 6 too"),
    ],
)
def test_error_in_a_file(text: str, message: str) -> None:
    found = error(text)
    assert found.startswith(message), found


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"^none\.yaml: cannot be read: No such file or directory$"):
        load_own_rules([Path("none.yaml")])


def test_the_command_says_it_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    write(BASE % "forbidden: nope")
    assert main(["check", "pod.yaml"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert re.fullmatch(r"gpuvet: .*gpu-rules\.yaml:12: rule ACM001: unknown name 'nope' at column 1 of 'nope'\n", out.err)
