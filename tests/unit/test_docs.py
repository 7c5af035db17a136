"""The documentation is true: commands run as shown, files load, links and names lead somewhere."""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml

from gpuvet.cli.main import main
from gpuvet.compiled.bundles import BUNDLES
from gpuvet.generate.own import suite_schema
from gpuvet.language.users import load_own_rules
from gpuvet.scan.rules import rule_set
from gpuvet.settings.config import load_settings
from gpuvet.settings.schema import FIELDS, OPA_FIELDS

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")])
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    language: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _FENCE.finditer(text):
            if match[1] in languages:
                yield Block(str(page.relative_to(ROOT)), match[1], match[2], text.count("\n", 0, match.start()) + 1)


def test_the_pages_are_there() -> None:
    names = {page.name for page in PAGES}
    assert names >= {
        *("getting-started.md", "configuration.md", "json-report.md", "gitops.md", "effective.md", "architecture.md", "writing-rules.md"),
        *("README.md", "CONTRIBUTING.md"),
    }


# Commands.


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, and a gpuvet, kustomize and helm on the PATH; the latter two print examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    tools = tmp_path / "bin"
    tools.mkdir()
    good = shlex.quote(str(tmp_path / "examples" / "good" / "qgpu-inference.yaml"))
    for name, script in (
        ("gpuvet", f'PYTHONPATH={shlex.quote(str(ROOT / "validator"))} exec {shlex.quote(sys.executable)} -m gpuvet "$@"'),
        ("python", f'PYTHONPATH={shlex.quote(str(ROOT / "validator"))} exec {shlex.quote(sys.executable)} "$@"'),
        ("kustomize", f'[ "$1" = build ] && cat {good}'),
        ("helm", f'[ "$1" = template ] && cat {good}'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steps(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Command, exit code and the lines that its output must hold in this order."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        code = re.search(r"# exits (\d)", command)
        yield command, int(code[1]) if code else 0, [line for line in shown if line != "..."]


@pytest.mark.parametrize("block", [block for block in blocks("console") if not block.page.startswith("CONTRIBUTING")], ids=str)
def test_commands_run_as_shown(block: Block, desk: Path) -> None:
    assert list(steps(block.text))
    for command, code, shown in steps(block.text):
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=120, cwd=desk)
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        lines = iter(done.stdout.splitlines())
        missing = [line for line in shown if line not in lines]
        assert missing == [], f"{command}\n{done.stdout}"


# Files.


def files() -> list[tuple[Block, str]]:
    """YAML blocks, with the file name that their first line, or the line above them, gives."""
    found = []
    for block in blocks("yaml"):
        above = (ROOT / block.page).read_text(encoding="utf-8").split("\n")[: block.line - 1]
        name = re.match(r"# ([\w./-]+\.ya?ml)$", block.text, re.MULTILINE) or re.search(r"`([\w./-]+\.ya?ml)`:\n*$", "\n".join(above))
        found.append((block, name[1] if name else ""))
    return found


FILES = [(block, name) for block, name in files() if yaml.safe_load(block.text) is not None]


def test_every_yaml_block_says_which_file_it_is() -> None:
    assert [str(block) for block, name in FILES if not name and not re.search(r"^rules:$", block.text, re.MULTILINE)] == []


@pytest.mark.parametrize(("block", "name"), FILES, ids=str)
def test_files_load(block: Block, name: str, desk: Path) -> None:
    for other, beside in FILES:
        if other.page == block.page and beside and beside != ".gpuvet.yaml":
            Path(beside).parent.mkdir(parents=True, exist_ok=True)
            Path(beside).write_text(other.text, encoding="utf-8")
    Path("file.yaml").write_text(block.text, encoding="utf-8")
    if name == ".gpuvet.yaml":
        rule_set(load_settings(Path("file.yaml")))
    elif name == "company.yaml":
        rule_set(load_settings(None, "./file.yaml"))
    elif name.endswith("-suite.yaml"):
        jsonschema.validate(yaml.safe_load(block.text), suite_schema())
    elif name in ("", "gpu-rules.yaml"):
        assert load_own_rules([Path("file.yaml")])
    elif "$schema" in (value := yaml.safe_load(block.text)):
        jsonschema.validators.validator_for(value).check_schema(value)
    else:
        assert list(commands_in(value)), "a pipeline runs gpuvet"


@pytest.mark.parametrize("block", list(blocks("json")), ids=str)
def test_json_is_json(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_our_own_urls_lead_to_files(page: Path) -> None:
    paths = re.findall(r"githubusercontent\.com/gpuvet/gpuvet/main/([\w./-]+\w)", page.read_text(encoding="utf-8"))
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def commands_in(value: Any) -> Iterator[str]:
    """Command lines that start gpuvet, in whatever pipeline; run, so that they are right."""
    if isinstance(value, dict):
        if value.get("id") == "gpuvet":
            run(f"gpuvet check {' '.join(value.get('args', []))} examples/good")
            yield "hook"
        for item in value.values():
            yield from commands_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from commands_in(item)
    elif isinstance(value, str) and re.search(r"(^|\| )gpuvet ", value):
        run(value)
        yield value


def run(command: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


# Tables.


def rows(page: str) -> list[list[str]]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")]


def test_configuration_names_every_field() -> None:
    listed = {row[0].strip("`"): row for row in rows("configuration.md") if len(row) == 3}
    assert listed == {name: [f"`{name}`", field.means, f"`{field.example}`"] for name, field in FIELDS.items()}


def test_the_opa_page_names_every_key() -> None:
    listed = {row[0].strip("`"): row for row in rows("opa.md") if row[0].strip("`") in OPA_FIELDS and len(row) == 3}
    assert listed == {name: [f"`{name}`", field.means, f"`{field.example}`"] for name, field in OPA_FIELDS.items()}


def test_configuration_names_every_bundle() -> None:
    listed = {row[0].strip("`"): row[1] for row in rows("configuration.md") if len(row) == 2}
    assert listed == {name: bundle["description"] for name, bundle in BUNDLES.items()}


def flat(value: Any, path: str = "") -> Iterator[str]:
    """The names of all fields: `findings[].object.kind`."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            yield f"{inner}[]" if isinstance(item, list) else inner
            yield from flat(item, inner)
    elif isinstance(value, list):
        for item in value:
            yield from flat(item, f"{path}[]")


def test_the_json_page_names_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--format", "json", str(ROOT / "examples"), str(ROOT / "tests" / "fixtures" / "QG")])
    given = {name for name in flat(json.loads(capsys.readouterr().out)) if not name.endswith("path[][]")}
    listed = {row[0].strip("`") for row in rows("json-report.md") if len(row) == 3}
    groups = {"summary", "summary.bySeverity"}
    assert {name.replace("path[]", "path") for name in given} - groups == listed


def test_the_effective_page_names_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    main(["effective", "--format", "json", str(ROOT / "examples" / "good")])
    report = json.loads(capsys.readouterr().out)
    text = (ROOT / "docs" / "effective.md").read_text(encoding="utf-8")
    setting = report["templates"][-2]["fields"]["qos"]
    gang = next(template["gang"] for template in report["templates"] if template["gang"])
    for name in (*report["templates"][0], *setting, *setting["source"], *gang, *report):
        assert re.search(rf"`{name}(\[\])?`", text), name


def test_the_json_page_names_every_field_of_rules(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rules", "--format", "json"])
    text = (ROOT / "docs" / "json-report.md").read_text(encoding="utf-8")
    for name in json.loads(capsys.readouterr().out)[0]:
        assert f"`{name}`" in text, name


def test_kinds_and_functions_are_documented() -> None:
    from gpuvet.language.expression import FUNCTIONS
    from gpuvet.language.kinds import KINDS

    text = (ROOT / "docs" / "writing-rules.md").read_text(encoding="utf-8")
    assert [name for name in KINDS if name != "input" and f"| `{name}` |" not in text] == []
    assert [name for name in FUNCTIONS if not re.search(rf"`[^`]*\b{name}\b", text)] == []


# Names and links.


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link.partition("#")[0]).exists()] == []


_OURS = re.compile(r"`((?:rules|policies|validator|tests|docs|examples|schemas|\.ci)/[\w./*-]*)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = [name for name in _OURS.findall(page.read_text(encoding="utf-8")) if "<" not in name]
    made = {name for _, name in FILES}
    assert [name for name in named if name not in made and not list(ROOT.glob(name.rstrip("/")))] == []


def options() -> set[str]:
    """Every option of every command and of its actions, and kubectl's own that the pages speak of."""
    from importlib import import_module

    from gpuvet.cli.main import COMMANDS

    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for name in COMMANDS:
        import_module(f"gpuvet.cli.{name}").register(commands)
    found = {"--version", "--help", "--server-side"}
    todo = [parser]
    while todo:
        for action in todo.pop()._actions:
            found |= set(action.option_strings)
            if isinstance(action.choices, dict):
                todo += action.choices.values()
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_options_that_are_named_exist(page: Path) -> None:
    named = set()
    for code in re.findall(r"`([^`\n]+)`|^\$ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        words = "".join(code)
        if words.startswith("--") or ("gpuvet" in words and not words.startswith(("docker ", "buildah ", "helm "))):
            named |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", words))
    assert named <= options()
