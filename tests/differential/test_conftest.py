"""Real conftest on the examples: files as they are, the same denials as Python's."""

import json
import subprocess
from pathlib import Path

import pytest

from differential.objects import plain
from differential.opa import go_tool
from differential.python import Reference
from gpuvet.manifests.reader import read
from gpuvet.settings.config import load_settings

pytestmark = pytest.mark.real

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*/*.yaml"))


def conftest(*arguments: str) -> subprocess.CompletedProcess[str]:
    binary = go_tool("github.com/open-policy-agent/conftest", "v0.71.0", "conftest")
    return subprocess.run([binary, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)


def test_examples() -> None:
    done = conftest("test", "--namespace=gpuvet", "--policy=policies/rego", "--output=json", *map(str, EXAMPLES))
    assert done.stderr == ""
    theirs = {
        (Path(result["filename"]), found["metadata"]["severity"], found["metadata"]["rule"], tuple(found["metadata"]["at"]))
        for result in json.loads(done.stdout)
        for sort in ("failures", "warnings")
        for found in result.get(sort) or ()
    }
    reference = Reference(load_settings(None))
    severities = {rule.info.id: rule.severity for rule in reference.rules.rules}
    ours = {
        (path, severities[rule], rule, at)
        for path in EXAMPLES
        for document in read(path.read_bytes()).documents
        for rule, at in reference.findings(plain(document.value))
        if severities[rule] != "info"
    }
    assert theirs == ours
    assert {path.parent.name for path, severity, _, _ in ours if severity == "error"} == {"broken"}
    assert done.returncode == 1


def test_its_own_opa_passes_the_tests_of_the_library() -> None:
    done = conftest("verify", "--policy=policies/rego")
    assert done.returncode == 0, done.stdout + done.stderr
