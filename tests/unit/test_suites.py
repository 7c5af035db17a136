"""`gpuvet policy test`: what passes, what fails, and what is wrong with a suite."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fake_opa import FakeOpa
from gpuvet.cli.main import main
from gpuvet.generate.own import suite_schema

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "policy-test" / "gpuvet-suite.yaml"
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  containers:
    - name: main
      image: i
      resources:
        limits:
          tke.cloud.tencent.com/qgpu-core: "33" # expect: QG004
          tke.cloud.tencent.com/qgpu-memory: "4"
"""


def run(folder: Path, suite: Any, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """The exit code, and the report or the error."""
    file = folder / "suite.yaml"
    file.write_text(suite if isinstance(suite, str) else yaml.safe_dump(suite))
    code = main(["policy", "test", str(file), "--format", "json", *arguments])
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


def one(folder: Path, test: dict[str, Any], capsys: pytest.CaptureFixture[str], **suite: Any) -> tuple[int, Any]:
    code, report = run(folder, {"tests": [{"name": "t", **test}], **suite}, capsys)
    return code, report["tests"][0] if isinstance(report, dict) else report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


def test_the_example_passes_and_fits_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema.validate(yaml.safe_load(EXAMPLE.read_text()), suite_schema())
    assert main(["policy", "test", str(EXAMPLE)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "4 tests on python: 4 passed"


def test_a_comment_is_an_expectation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, test = one(folder, {"files": ["pod.yaml"], "rules": ["QG004"]}, capsys)
    assert (code, test["outcome"], test["expected"]) == (0, "passed", 1)


def test_the_line_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pod.yaml").write_text(POD.replace(" # expect: QG004", ""))
    wanted = {"rule": "QG004", "line": 10}
    code, test = one(folder, {"files": ["pod.yaml"], "rules": ["QG004"], "expect": [wanted]}, capsys)
    assert (code, test["outcome"]) == (1, "failed")
    assert test["missing"] == [{**wanted, "file": str(folder / "pod.yaml"), "severity": None}]
    assert [(each["rule"], each["line"]) for each in test["unexpected"]] == [("QG004", 11)]
    assert one(folder, {"files": ["pod.yaml"], "rules": ["QG004"], "expect": [{"rule": "QG004"}]}, capsys)[0] == 0


def test_the_severity_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.yaml").write_text("rules: {QG004: warning}\n")
    for severity, code in (("warning", 0), ("error", 1)):
        test = {"files": ["pod.yaml"], "rules": ["QG004"], "expect": [{"rule": "QG004", "severity": severity}]}
        assert one(folder, test, capsys, config="config.yaml")[0] == code


def test_what_was_not_expected_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "pod.yaml").write_text(POD.replace(" # expect: QG004", ""))
    code, test = one(folder, {"files": ["pod.yaml"]}, capsys)
    assert (code, test["missing"]) == (1, [])
    assert {each["rule"] for each in test["unexpected"]} == {"QG004"}


def test_infos_count_only_when_they_are_expected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "examples" / "good" / "tensor-fusion-app.yaml").read_text()
    assert one(folder, {"manifest": text}, capsys)[0] == 0
    code, test = one(folder, {"manifest": text, "expect": [{"rule": "TF501", "severity": "info"}]}, capsys)
    assert (code, test["expected"]) == (0, 1)


def test_files_are_judged_together_or_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("app", "profile"):
        (folder / f"{name}.yaml").write_text((ROOT / "examples" / "broken" / f"tensor-fusion-{name}.yaml").read_text())
    test = {"files": ["app.yaml", "profile.yaml"], "rules": ["TF013"], "expect": [{"rule": "TF013", "file": "app.yaml", "line": 20}]}
    assert one(folder, test, capsys)[0] == 0
    assert one(folder, {**test, "apart": True}, capsys)[0] == 1


def test_a_finding_of_an_inline_manifest_is_shown_in_the_suite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = POD.replace(" # expect: QG004", "").replace("\n", "\n      ")
    (folder / "suite.yaml").write_text(f"tests:\n  - name: inline\n    rules: [QG004]\n    manifest: |\n      {text}\n")
    assert main(["policy", "test", str(folder / "suite.yaml")]) == 1
    out = capsys.readouterr().out
    line = next(number for number, text in enumerate((folder / "suite.yaml").read_text().splitlines(), 1) if "qgpu-core" in text)
    assert f"{folder}/suite.yaml:{line}: error QG004 (qgpu-core-granularity) was not expected: qgpu-core is 33" in out
    assert out.splitlines()[-1] == "1 test on python: 0 passed, 1 failed"


def test_own_rules_without_a_test_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules.yaml").write_text((EXAMPLE.parent / "gpuvet-rules.yaml").read_text())
    (folder / "config.yaml").write_text("ruleFiles: [rules.yaml]\n")
    code, report = run(folder, {"config": "config.yaml", "tests": [{"name": "t", "files": ["pod.yaml"], "rules": ["QG004"]}]}, capsys)
    assert (code, report["untested"]) == (0, ["ACME001", "ACME002"])


def test_text_that_cannot_be_parsed_is_a_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, test = one(folder, {"manifest": "a: [\n"}, capsys)
    assert code == 1
    assert test["unexpected"][0]["rule"] == "IN001"


# A suite that is wrong.


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        ("[]", "a suite is a mapping with tests"),
        ("tests: []", "suite.yaml:1:8: tests: Tuple should have at least 1 item"),
        ("test: []", "suite.yaml:1:1: unknown key of a suite 'test'; did you mean 'tests'?"),
        ("tests: [{name: a, file: [x]}]", "unknown key of a test 'file'; did you mean 'files'?"),
        ("tests: [{name: a, files: [pod.yaml], expect: [{rul: X}]}]", "unknown key of an expectation 'rul'; did you mean 'rule'?"),
        ("tests: [{name: a}]", "a test has either files or a manifest"),
        ("tests: [{name: a, files: [pod.yaml], manifest: x}]", "a test has either files or a manifest"),
        ("tests: [{name: a, files: [nothing.yaml]}]", "suite.yaml:1:27: no file is called 'nothing.yaml' in "),
        ("tests: [{name: a, files: ['*.txt']}]", "no file is called '*.txt'"),
        ("tests: [{name: a, files: [pod.yaml]}, {name: a, files: [pod.yaml]}]", "two tests are called 'a'"),
        ("tests: [{name: a, files: [pod.yaml], expect: [{rule: QG004x}]}]", "there is no rule 'QG004x'; did you mean QG004?"),
        ("tests: [{name: a, files: [pod.yaml], rules: [XX*]}]", "there is no rule 'XX*'"),
        ("tests: [{name: a, files: [pod.yaml], expect: [{rule: QG004, file: b.yaml}]}]", "'b.yaml' is none of the files of the test"),
        ("tests: [{name: a, files: [pod.yaml, other.yaml], expect: [{rule: QG004}]}]", "say in which of the 2 files"),
        ("tests: [{name: a, files: [pod.yaml], expect: [{rule: QG004, line: 0}]}]", "line: Input should be greater than or equal to 1"),
        ("tests: [{name: a, manifest: '# expect: QG4'}]", "the comment expects 'QG4', and there is no such rule"),
        ("config: nowhere.yaml\ntests: [{name: a, files: [pod.yaml]}]", "nowhere.yaml: cannot be read"),
        ("packages: [a]\ntests: [{name: a, files: [pod.yaml]}]", "name Rego files under `rego`, or a server with --url"),
    ],
)
def test_a_wrong_suite_says_where(folder: Path, capsys: pytest.CaptureFixture[str], suite: str, words: str) -> None:
    (folder / "other.yaml").write_text("a: b\n")
    code, error = run(folder, suite + "\n", capsys)
    assert code == 2
    assert words in error
    assert error.count("\n") == 1


# Other engines.


def verdict(severity: str = "error") -> list[dict[str, Any]]:
    at = ["spec", "containers", 0, "resources", "limits", "tke.cloud.tencent.com/qgpu-core"]
    return [{"rule": "QG004", "msg": "m", "severity": severity, "path": "p", "at": at}]


def test_by_a_server(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeOpa() as opa:
        opa.data["gpuvet/rules"] = lambda _: {"QG004": {}}
        opa.data["gpuvet/verdict"] = lambda _: verdict()
        tests = [
            {"name": "same", "files": ["pod.yaml"]},
            {"name": "unseen", "files": ["pod.yaml"], "expect": [{"rule": "TF013"}]},
            {"name": "elsewhere", "files": ["pod.yaml"], "engines": ["python"]},
        ]
        code, report = run(folder, {"tests": tests}, capsys, "--engine", "opa", "--url", opa.url)
        assert (code, report["engine"]) == (0, "opa")
        assert [test["outcome"] for test in report["tests"]] == ["passed", "passed", "skipped"]
        assert [each["rule"] for each in report["tests"][1]["leftOut"]] == ["TF013"]
        opa.data["gpuvet/verdict"] = lambda _: []
        assert run(folder, {"tests": tests}, capsys, "--engine", "opa", "--url", opa.url)[0] == 1
        opa.hook = lambda *_: (500, b"{}")
        assert run(folder, {"tests": tests}, capsys, "--engine", "opa", "--url", opa.url)[0] == 3


def test_own_packages_of_a_server(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeOpa() as opa:
        opa.data["company/gpu"] = lambda _: {"deny": [{"msg": "no team", "path": "metadata", "rule": "COMPANY001"}]}
        suite = {
            "packages": ["company.gpu"],
            "tests": [{"name": "t", "files": ["pod.yaml"], "rules": ["QG004"], "expect": [{"rule": "COMPANY001", "line": 3}]}],
        }
        assert run(folder, suite, capsys, "--url", opa.url)[0] == 0
        opa.hook = lambda *_: (500, b"{}")
        code, report = run(folder, suite, capsys, "--url", opa.url)
        assert (code, report["tests"][0]["outcome"]) == (3, "broken")
        assert "failed" in report["tests"][0]["because"]


def test_there_is_no_such_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = {"rego": ["own.rego"], "packages": ["company.gpu"], "tests": [{"name": "t", "files": ["pod.yaml"]}]}
    error = f"gpuvet: {folder}/suite.yaml: rego: own.rego: cannot be read: No such file or directory\n"
    assert run(folder, suite, capsys) == (2, error)
    (folder / "own.rego").write_text("package company.gpu\n")
    code, error = run(folder, suite, capsys, "--opa", "no-such-opa")
    assert code == 2
    assert "there is no program 'no-such-opa'" in error


def test_a_program_that_ends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "own.rego").write_text("package company.gpu\n")
    program = folder / "opa"
    program.write_text("#!/bin/sh\necho 'own.rego:1: rego_parse_error: no' >&2\nexit 1\n")
    program.chmod(0o755)
    suite = {"rego": ["own.rego"], "packages": ["company.gpu"], "tests": [{"name": "t", "files": ["pod.yaml"]}]}
    assert run(folder, suite, capsys, "--opa", str(program)) == (
        3,
        "gpuvet: the local OPA does not start: own.rego:1: rego_parse_error: no\n",
    )
