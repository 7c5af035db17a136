"""The command line: exit codes, options, and the reports as contracts."""

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpuvet import __version__
from gpuvet.cli.main import main
from gpuvet.values.finding import CONSEQUENCES

GOLDEN = Path(__file__).parent / "golden"
GOOD = """\
apiVersion: v1
kind: Pod
metadata:
  name: good
spec:
  containers:
    - name: main
      image: a
      resources:
        requests: {tke.cloud.tencent.com/qgpu-core: 30, tke.cloud.tencent.com/qgpu-memory: 5}
        limits: {tke.cloud.tencent.com/qgpu-core: 30, tke.cloud.tencent.com/qgpu-memory: 5}
"""
ERROR = GOOD.replace("qgpu-core: 30", "qgpu-core: 33")
WARNING = GOOD.replace("spec:\n", "spec:\n  nodeSelector: {tke.cloud.tencent.com/qgpu-schedule-policy: fixed-shares}\n")
INFO = GOOD.replace("        requests: {tke.cloud.tencent.com/qgpu-core: 30, tke.cloud.tencent.com/qgpu-memory: 5}\n", "")
TORN = "kind: [Pod\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("good", GOOD), ("error", ERROR), ("warning", WARNING), ("info", INFO), ("torn", TORN)):
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main(["check", "--format", "json", *arguments])
    return json.loads(capsys.readouterr().out)


def rules_of(found: Any) -> list[str]:
    return [finding["rule"] for finding in found["findings"]]


# Exit codes.


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["good.yaml"], 0),
        (["warning.yaml"], 0),
        (["info.yaml"], 0),
        (["error.yaml"], 1),
        (["good.yaml", "error.yaml"], 1),
        (["--fail-on", "warning", "warning.yaml"], 1),
        (["--fail-on", "warning", "info.yaml"], 0),
        (["--fail-on", "info", "info.yaml"], 1),
        (["--fail-on", "info", "good.yaml"], 0),
        (["torn.yaml"], 2),
        (["error.yaml", "torn.yaml"], 2),
        (["missing.yaml"], 2),
        (["--config", "missing.yaml", "good.yaml"], 2),
        (["--bundle", "nope", "good.yaml"], 2),
        (["--output", "text", "good.yaml"], 2),
        (["--output", "nope=a", "good.yaml"], 2),
        (["--output", "json=/nowhere/at/all", "good.yaml"], 2),
        (["--bundle", "tensor-fusion", "error.yaml"], 0),
    ],
)
def test_exit_code(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *arguments]) == code
    capsys.readouterr()


def crash(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuvet.compiled import screens_qgpu

    def fails(*_: object) -> None:
        raise ZeroDivisionError("as if")

    for name in ("QG009", "QG009_resources"):
        monkeypatch.setattr(screens_qgpu, name, fails)


def test_no_full_verdict_beats_everything(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    crash(monkeypatch)
    assert main(["check", "good.yaml"]) == 3
    assert main(["check", "error.yaml", "torn.yaml"]) == 3
    out = capsys.readouterr().out
    assert "QG009 failed on this object (ZeroDivisionError: as if)" in out
    assert "QG004" in out, "the other rules ran"


@pytest.mark.parametrize("arguments", [["--nope"], ["check", "--fail-on", "bad"], ["check", "--format", "bad"], ["nope"], [], ["explain"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: gpuvet")


def test_paths_may_stand_anywhere(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["error.yaml", "--format", "json", "info.yaml"], ["--format", "json", "error.yaml", "info.yaml"]):
        main(["check", *arguments])
        assert json.loads(capsys.readouterr().out)["summary"]["files"] == 2
    with pytest.raises(SystemExit):
        main(["check", "error.yaml", "--fromat", "json"])
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: --fromat json\n")


def test_wrong_configuration_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".gpuvet.yaml").write_text("rules: {QG0004: off}\n", encoding="utf-8")
    assert main(["check", "good.yaml"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert re.fullmatch(r"gpuvet: \S*\.gpuvet\.yaml:1:9: there is no rule 'QG0004'; did you mean QG004\?\n", out.err)


def test_one_bad_file_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bytes.yaml").write_bytes(b"a: \xff\xfe\xff\n")
    found = report(capsys, "missing.yaml", "torn.yaml", "bytes.yaml", "error.yaml")
    assert [(finding["file"], finding["rule"]) for finding in found["findings"]] == [
        ("bytes.yaml", "IN002"),
        ("error.yaml", "QG004"),
        ("missing.yaml", "IN000"),
        ("torn.yaml", "IN001"),
    ]
    assert found["findings"][3]["line"] == 2 or found["findings"][3]["line"] == 1


# Help.


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert (caught.value.code, capsys.readouterr().out) == (0, f"gpuvet {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["check", "effective", "rules", "explain", "generate", "--version"]),
        (
            ["check"],
            [
                *(
                    "--format",
                    "--output",
                    "--fail-on",
                    "--config",
                    "--bundle",
                    "--stdin-filename",
                    "--jobs",
                    "kustomize build",
                    "helm template",
                ),
                *("exit codes:", "0  nothing", "1  findings", "2  wrong usage", "3  no full verdict"),
            ],
        ),
        (["effective"], ["--format", "--config", "--stdin-filename", "kustomize build", "exit codes:"]),
        (["rules"], ["--format", "--config"]),
        (["explain"], ["RULE", "--config"]),
        (["generate"], ["--check"]),
    ],
)
def test_help_teaches(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert [word for word in words if word not in out] == []


# Where it goes, and in which colour.


def test_several_reports_of_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--output", "json=a.json", "--output", "text=a.txt", "error.yaml"]) == 1
    out = capsys.readouterr().out
    assert json.loads(Path("a.json").read_text(encoding="utf-8"))["findings"][0]["rule"] == "QG004"
    assert Path("a.txt").read_text(encoding="utf-8") == out


def test_no_colour_where_nobody_sees_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "error.yaml"])
    assert "\x1b" not in capsys.readouterr().out


def pieces(terminal: int) -> Iterator[str]:
    """What arrives, until the other side hangs up."""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            yield piece.decode()


@pytest.mark.parametrize(
    ("environment", "colour"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]
)
def test_colour_on_a_terminal(environment: dict[str, str], colour: bool, checkout: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    command = [sys.executable, "-m", "gpuvet", "check", "--output", "text=a.txt", "error.yaml"]
    own = {"TERM": "xterm", "PYTHONPATH": str(checkout / "validator")}
    primary, secondary = pty.openpty()
    with subprocess.Popen(command, stdout=secondary, env={**kept, **own, **environment}) as process:
        os.close(secondary)
        out = "".join(pieces(primary))
        process.wait(60)
    os.close(primary)
    assert "QG004" in out
    assert ("\x1b[31m" in out) is colour
    assert "\x1b" not in Path("a.txt").read_text(encoding="utf-8")


def test_a_terminal_that_knows_few_letters(checkout: Path) -> None:
    Path("error.yaml").write_text(ERROR.replace("name: good", "name: good # 名"), encoding="utf-8")
    Path("error.yaml").write_text(ERROR.replace("    - name: main", "    - name: 名"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(checkout / "validator")}
    done = subprocess.run(
        [sys.executable, "-m", "gpuvet", "check", "error.yaml"], capture_output=True, env=environment, check=False, timeout=60
    )
    assert done.returncode == 1
    assert b"\\u540d" in done.stdout


@pytest.mark.parametrize(("arguments", "code"), [(["check", "many"], 1), (["check", "--format", "json", "many"], 1), (["rules"], 0)])
def test_a_reader_that_has_seen_enough(arguments: list[str], code: int, checkout: Path) -> None:
    Path("many").mkdir()
    for number in range(300):
        Path(f"many/{number}.yaml").write_text(ERROR, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(checkout / "validator")}
    command = [sys.executable, "-m", "gpuvet", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == code


# Standard input.


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ERROR.encode())))
    assert main(["check", "-"]) == 1
    assert "<stdin>:11:" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ERROR.encode())))
    found = report(capsys, "-", "--stdin-filename", "rendered.yaml", "good.yaml")
    assert [(finding["file"], finding["rule"]) for finding in found["findings"]] == [("rendered.yaml", "QG004")]
    assert found["summary"]["files"] == 2


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("# Source: chart/templates/pod.yaml\n", "chart/templates/pod.yaml"),
        ("", "<stdin>"),
    ],
)
def test_rendered_input_names_its_source(line: str, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"---\n{line}{ERROR}".encode())))
    assert {finding["file"] for finding in report(capsys, "-")["findings"]} == {file}


def test_nothing_at_all_is_fine(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["check", "-"]) == 0
    assert capsys.readouterr().out.startswith("nothing to report")


# The JSON report, against the contract that docs/json-report.md describes.

TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 1}
OPTIONAL = {"type": ["string", "null"]}


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


COUNT = {"type": "integer", "minimum": 0}
SUMMARY = record(
    **dict.fromkeys(("files", "documents", "checked", "skipped", "empty", "fragments", "templates", "notCovered"), COUNT),
    bySeverity=record(error=COUNT, warning=COUNT, info=COUNT),
)
OBJECT = record(apiVersion=OPTIONAL, kind=OPTIONAL, namespace=OPTIONAL, name=OPTIONAL)
EDIT = record(line=NUMBER, column=NUMBER, endLine=NUMBER, endColumn=NUMBER, text=TEXT)
FINDING = record(
    rule={"type": "string", "pattern": "^[A-Z][A-Z0-9]{1,5}[0-9]{3}$"},
    name={"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
    severity={"enum": ["error", "warning", "info"]},
    consequence={"enum": list(CONSEQUENCES)},
    message={"type": "string", "minLength": 1},
    expected=OPTIONAL,
    actual=OPTIONAL,
    file={"type": "string", "minLength": 1},
    line=NUMBER,
    column=NUMBER,
    endLine=NUMBER,
    endColumn=NUMBER,
    path={"type": "array", "items": {"type": ["string", "integer"]}},
    pathText=TEXT,
    object={"anyOf": [OBJECT, {"type": "null"}]},
    related={"type": "array", "items": record(file=TEXT, line=NUMBER, column=NUMBER, message=TEXT)},
    fix={"anyOf": [record(title=TEXT, safe={"type": "boolean"}, edits={"type": "array", "items": EDIT}), {"type": "null"}]},
    fingerprint={"type": "string", "pattern": "^[0-9a-f]{16}$"},
    url={"type": "string", "pattern": "^https://"},
)
CONTRACT = record(schemaVersion={"const": 1}, summary=SUMMARY, findings={"type": "array", "items": FINDING})


def test_the_json_report_keeps_its_contract(capsys: pytest.CaptureFixture[str], checkout: Path) -> None:
    fixtures = [str(checkout / "tests" / "fixtures" / family) for family in ("K8S", "QG")]
    found = report(capsys, str(checkout / "examples"), *fixtures, "torn.yaml", "missing.yaml")
    jsonschema.validate(found, CONTRACT)
    assert len(found["findings"]) > 100
    assert any(finding["fix"] and finding["fix"]["edits"] for finding in found["findings"])
    assert any(finding["related"] for finding in found["findings"])
    by_severity = dict.fromkeys(("error", "warning", "info"), 0)
    for finding in found["findings"]:
        by_severity[finding["severity"]] += 1
    assert found["summary"]["bySeverity"] == by_severity
    places = [(finding["file"], finding["line"], finding["column"]) for finding in found["findings"]]
    assert places == sorted(places)


def test_one_finding_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    (finding,) = report(capsys, "error.yaml")["findings"]
    assert finding["fingerprint"] != ""
    assert {name: value for name, value in finding.items() if name not in ("fingerprint", "message", "url")} == {
        "rule": "QG004",
        "name": "qgpu-core-granularity",
        "severity": "error",
        "consequence": "unsupported",
        "expected": finding["expected"],
        "actual": "33",
        "file": "error.yaml",
        "line": 11,
        "column": 51,
        "endLine": 11,
        "endColumn": 53,
        "path": ["spec", "containers", 0, "resources", "limits", "tke.cloud.tencent.com/qgpu-core"],
        "pathText": "spec.containers[main].resources.limits[tke.cloud.tencent.com/qgpu-core]",
        "object": {"apiVersion": "v1", "kind": "Pod", "namespace": None, "name": "good"},
        "related": [],
        "fix": finding["fix"],
    }
    assert finding["url"].endswith("/docs/rules/QG004.md")


def test_a_fingerprint_outlives_a_move(capsys: pytest.CaptureFixture[str]) -> None:
    (before,) = report(capsys, "error.yaml")["findings"]
    Path("error.yaml").write_text("# moved\n\n" + ERROR, encoding="utf-8")
    (after,) = report(capsys, "error.yaml")["findings"]
    assert (before["line"] + 2, before["fingerprint"]) == (after["line"], after["fingerprint"])
    Path("error.yaml").write_text(ERROR.replace("name: good", "name: other"), encoding="utf-8")
    (other,) = report(capsys, "error.yaml")["findings"]
    assert other["fingerprint"] != before["fingerprint"]


def test_the_summary_counts_what_was_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("error", "warning", "info", "torn"):
        Path(f"{name}.yaml").unlink()
    Path("plain.yaml").write_text("a: 1\n", encoding="utf-8")
    Path("empty.yaml").write_text("# nothing\n", encoding="utf-8")
    Path("patch.yaml").write_text(GOOD.replace("      image: a\n", ""), encoding="utf-8")
    Path("chart.yaml").write_text("{{ if .Values.a }}\nkind: Pod\n{{ end }}\ntke.cloud.tencent.com/qgpu-core: {{ .x }}\n", encoding="utf-8")
    unknown = GOOD.replace("apiVersion: v1", "apiVersion: example.com/v1").replace("kind: Pod", "kind: Trainer")
    Path("unknown.yaml").write_text(unknown, encoding="utf-8")
    found = report(capsys, ".")
    assert found["summary"] == {
        "files": 6,
        "documents": 3,
        "checked": 3,
        "skipped": 1,
        "empty": 1,
        "fragments": 1,
        "templates": 1,
        "notCovered": 1,
        "bySeverity": {"error": 0, "warning": 0, "info": 1},
    }
    assert rules_of(found) == ["IN012"]


def test_a_line_can_be_excused(capsys: pytest.CaptureFixture[str]) -> None:
    def found(comment: str) -> list[str]:
        excused = ERROR.replace(
            "limits: {tke.cloud.tencent.com/qgpu-core: 33, tke.cloud.tencent.com/qgpu-memory: 5}", "limits: \\"
        ).replace("limits: \\", "limits: {tke.cloud.tencent.com/qgpu-core: 33, tke.cloud.tencent.com/qgpu-memory: 5}" + comment)
        Path("error.yaml").write_text(excused, encoding="utf-8")
        return rules_of(report(capsys, "error.yaml"))

    assert found("") == ["QG004"]
    assert found("  # gpuvet: ignore") == []
    assert found("  # gpuvet: ignore[QG004]") == []
    assert found("  # gpuvet: ignore[QG001, QG004] until we know better") == []
    assert found("  # gpuvet: ignore[QG001]") == ["QG004"]


# The report for people, word for word. GPUVET_GOLDEN=write renews the files.


@pytest.mark.parametrize("name", ["qgpu-inference", "metax-node", "training-job"])
def test_text_report(name: str, checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    assert main(["check", f"examples/broken/{name}.yaml"]) == 1
    golden(f"{name}.txt", capsys.readouterr().out)


def test_text_report_of_nothing(checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    assert main(["check", "examples/good"]) == 0
    golden("good.txt", capsys.readouterr().out)


def test_effective_text(checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    assert main(["effective", "examples/good"]) == 0
    golden("effective.txt", capsys.readouterr().out)


def golden(name: str, text: str) -> None:
    file = GOLDEN / name
    if os.environ.get("GPUVET_GOLDEN") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_carets_stand_under_what_they_mean(capsys: pytest.CaptureFixture[str]) -> None:
    Path("error.yaml").write_text(ERROR.replace("        limits:", "        \tlimits:").replace("\t", ""), encoding="utf-8")
    main(["check", "error.yaml"])
    lines = capsys.readouterr().out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("11 | "))
    start = lines[place + 1].index("^")
    assert lines[place][start : start + lines[place + 1].count("^")] == "33"


# Listing and explaining.


def test_rules_json_keeps_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    texts = {"type": "array", "items": TEXT}
    vocabularies = ["kubernetes", "tensor-fusion", "koordinator-metax", "qgpu", "placement", "volcano", "input"]
    export = {"anyOf": [{"const": True}, TEXT]}
    contract = {
        "type": "array",
        "minItems": 5,
        "items": {
            "type": "object",
            "properties": {
                "id": FINDING["properties"]["rule"],
                "name": FINDING["properties"]["name"],
                "vocabulary": {"enum": vocabularies},
                "severity": FINDING["properties"]["severity"],
                "consequence": FINDING["properties"]["consequence"],
                "kind": TEXT,
                "implements": texts,
                "sources": texts,
                "exports": record(cel=export, rego=export),
            },
            "required": ["id", "name", "vocabulary", "severity", "consequence", "kind", "implements", "sources", "exports"],
        },
    }
    jsonschema.validate(listed, contract)
    ids = [rule["id"] for rule in listed]
    assert len(set(ids)) == len(ids)
    assert len({rule["name"] for rule in listed}) == len(listed), "a name leads to one rule"


def test_rules_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    assert re.search(r"^QG004 +error +qgpu-core-granularity +unsupported$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("rule", ["QG004", "qg004", "qgpu-core-granularity", " QG004 "])
def test_explain(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", rule]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# QG004")
    for words in ("qgpu-core-granularity", "unsupported", "qgpu/4", "seed 004", "qgpu-core: "):
        assert words in out, words


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("qgpu-core-granularty", "; did you mean qgpu-core-granularity?"),
        ("QG0004", "; did you mean QG004?"),
        ("zzz", "; `gpuvet rules` lists them"),
    ],
)
def test_explain_a_near_miss(rule: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", rule]) == 2
    assert capsys.readouterr().err == f"gpuvet: there is no rule {rule!r}{hint}\n"


def test_every_rule_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rules", "--format", "json"])
    for rule in json.loads(capsys.readouterr().out):
        assert main(["explain", rule["id"]]) == 0
    assert "None" not in re.findall(r"^.*None.*$", capsys.readouterr().out, re.MULTILINE)
