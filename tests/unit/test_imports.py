"""A check pays only for what it uses: nothing heavy is loaded unless a user's own rules or another command need it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("pydantic", "jsonschema", "kubernetes", "rich", "granian", "uvicorn", "http.server", "opa_client", "orjson", "cryptography")
_PROGRAM = """
import sys
from gpuvet.cli.main import main
code = main(sys.argv[1:])
print("|".join(["", str(code), *sys.modules]), file=sys.stderr)
"""


def loaded(*arguments: str) -> tuple[int, set[str]]:
    """Exit code of a command line, and the modules that it loaded."""
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "validator")},
    )
    _, code, *modules = run.stderr.splitlines()[-1].split("|")
    return int(code), set(modules)


@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize("config", [False, True])
def test_check_loads_nothing_heavy(format: str, config: bool, tmp_path: Path) -> None:
    (tmp_path / ".gpuvet.yaml").write_text("bundle: strict\nplatform: {tensorFusion: 2.17.1}\n", encoding="utf-8")
    options = ["--config", str(tmp_path / ".gpuvet.yaml")] if config else []
    code, modules = loaded("check", "--format", format, *options, str(ROOT / "examples"))
    assert code == 1
    assert modules & set(HEAVY) == set()


def test_own_rules_load_pydantic(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "rules:\n  - {id: ACME001, name: a, severity: info, consequence: advice, 'on': pod, trigger: {keys: [a.io/b]},"
        " forbidden: 'false', why: Only to be loaded.}\n",
        encoding="utf-8",
    )
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [own.yaml]\n", encoding="utf-8")
    _, modules = loaded("check", "--config", str(tmp_path / ".gpuvet.yaml"), str(ROOT / "examples" / "good"))
    assert "pydantic" in modules
    assert "jsonschema" not in modules


def test_a_suite_on_python_loads_no_client_of_another_engine() -> None:
    code, modules = loaded("policy", "test", str(ROOT / "examples" / "policy-test" / "gpuvet-suite.yaml"))
    assert code == 0
    assert modules & {"kubernetes", "opa_client", "urllib3"} == set()
