"""The hook that other repositories use, run by pre-commit itself on a scratch repository."""

import os
import re
import shutil
import subprocess
import sys
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


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment(folder)).stdout


def environment(home: Path) -> dict[str, str]:
    """Without what a surrounding git hook would leave in the environment, and with a pre-commit store of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT", "VIRTUAL_ENV"))}
    return {**kept, "PRE_COMMIT_HOME": str(home / ".pre-commit-home"), "NO_COLOR": "1"}


def commit_all(folder: Path) -> None:
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--no-verify", "--message", "test")


@pytest.fixture(scope="module")
def hooks(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds the checkout as it is now: tracked and new files, without what is ignored."""
    folder = tmp_path_factory.mktemp("hooks")
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=checkout, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (checkout / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, folder / name)
    git(folder, "init", "--quiet")
    commit_all(folder)
    return folder


def try_repo(hooks: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "gpuvet", "--all-files", "--verbose"]
    return subprocess.run(command, cwd=folder, env=environment(hooks.parent), capture_output=True, text=True, timeout=600)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("qgpu-core: 7\n")
    return tmp_path


def test_good_manifest_passes(hooks: Path, scratch: Path) -> None:
    commit_all(scratch)
    done = try_repo(hooks, scratch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_bad_manifest_fails_and_is_named(hooks: Path, scratch: Path) -> None:
    (scratch / "bad.yaml").write_text(BAD)
    commit_all(scratch)
    done = try_repo(hooks, scratch)
    assert done.returncode == 1, done.stdout + done.stderr
    # Request and limit are both wrong; which of the two lines is pointed at is the rule's affair.
    assert re.search(r"^bad\.yaml:(9|10):\d+: error QG", done.stdout, re.MULTILINE)
    assert "good.yaml:" not in done.stdout
