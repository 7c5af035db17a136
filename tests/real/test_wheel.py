"""The built wheel, installed in a clean environment and used from another folder, does what the checkout does."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

GOOD = """\
apiVersion: v1
kind: Pod
metadata: {name: good}
spec:
  containers:
    - name: main
      image: registry.example.com/cuda:1
      resources:
        requests: {tke.cloud.tencent.com/qgpu-core: 50, tke.cloud.tencent.com/qgpu-memory: 10}
        limits: {tke.cloud.tencent.com/qgpu-core: 50, tke.cloud.tencent.com/qgpu-memory: 10}
"""
BAD = GOOD.replace("qgpu-core: 50", "qgpu-core: 7")


def run(*command: str | Path, cwd: Path, expected: int = 0) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "GPUVET"))}
    done = subprocess.run([str(each) for each in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == expected, f"{command} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    # Without --wheel the wheel is built from the sdist, so both are tested.
    run(sys.executable, "-m", "build", "--outdir", dist, checkout, cwd=dist)
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def gpuvet(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    yield folder / "bin" / "gpuvet"
    shutil.rmtree(folder)


def test_check_a_good_and_a_bad_manifest(gpuvet: Path, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)
    run(gpuvet, "check", "good.yaml", cwd=tmp_path)
    report = json.loads(run(gpuvet, "check", "--format", "json", "bad.yaml", cwd=tmp_path, expected=1))
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert {finding["file"] for finding in errors} == {"bad.yaml"}
    assert {finding["rule"][:2] for finding in errors} == {"QG"}


def test_rules_travel(gpuvet: Path, checkout: Path, tmp_path: Path) -> None:
    installed = json.loads(run(gpuvet, "rules", "--format", "json", cwd=tmp_path))
    here = json.loads(run(sys.executable, "-m", "gpuvet", "rules", "--format", "json", cwd=checkout))
    assert installed == here
    assert installed


def test_data_folders_travel(gpuvet: Path, checkout: Path) -> None:
    (data,) = (gpuvet.parent.parent / "lib").glob("python*/site-packages/gpuvet/_data")
    for folder in ("rules", "schemas", "policies"):
        expected = {path.relative_to(checkout) for path in (checkout / folder).rglob("*") if path.is_file()}
        assert {path.relative_to(data) for path in (data / folder).rglob("*") if path.is_file()} == expected


def test_version(gpuvet: Path, tmp_path: Path) -> None:
    from gpuvet import __version__

    assert __version__ in run(gpuvet, "--version", cwd=tmp_path)


def test_installed_package_is_typed(gpuvet: Path) -> None:
    assert list((gpuvet.parent.parent / "lib").glob("python*/site-packages/gpuvet/py.typed"))
