"""The policies evaluated by the API server's own code in the CEL environment of an older Kubernetes, without a server: what an evaluation
costs, and that nothing newer is used. Built once from tests/cluster/evaluate, kept in the user's cache folder."""

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from cluster.build import HERE, cache_folder

OLDEST = "1.30"


def evaluator() -> Path:
    """The program."""
    source = (HERE / "evaluate" / "main.go").read_bytes()
    folder = cache_folder() / f"evaluate-{hashlib.sha256(source + (HERE / 'go.sum').read_bytes()).hexdigest()[:16]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "evaluate").is_file():
            if shutil.which("go") is None:
                raise RuntimeError("building the evaluator needs Go (https://go.dev/dl)")
            subprocess.run(["go", "build", "-trimpath", "-o", str(folder / "evaluate"), "./evaluate"], cwd=HERE, check=True)
    return folder / "evaluate"


class Evaluator:
    """Policies in the environment of one Kubernetes version. Raises RuntimeError when one does not compile there."""

    def __init__(self, policies: Iterable[dict[str, Any]], version: str = OLDEST) -> None:
        self.policies = list(policies)
        self._process = subprocess.Popen(
            [str(evaluator()), version], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._send(self.policies)
        self.dearest = 0
        """The cost of the dearest evaluation so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _send(self, value: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        try:
            self._process.stdin.write(json.dumps(value) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RuntimeError(self._process.stderr.read()[-2000:]) from None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(self._process.stderr.read()[-2000:])
        return json.loads(line)

    def judge(self, value: dict[str, Any]) -> tuple[frozenset[tuple[str, str]], list[str]]:
        """(rule, path) of every violation, and errors."""
        found: set[tuple[str, str]] = set()
        errors: list[str] = []
        for policy, answer in zip(self.policies, self._send(value), strict=True):
            if not speaks_of(policy, value):
                continue
            errors += [answer["error"]] if answer.get("error") else []
            if answer["matches"]:
                self.dearest = max(self.dearest, answer["cost"])
                errors += [one["error"] for one in answer["results"] if one.get("error")]
                said = answer["results"][-1].get("value") or ""
                found |= {(one.partition(" ")[0], one.partition(" ")[2]) for one in said.split("; ") if one}
        return frozenset(found), errors


def speaks_of(policy: dict[str, Any], value: dict[str, Any]) -> bool:
    """Whether the API server would ask the policy about an object of that kind."""
    group = str(value.get("apiVersion")).rpartition("/")[0]
    plural = re.sub(r"y$", "ie", str(value.get("kind")).lower()) + "s"
    return any(group in rule["apiGroups"] and plural in rule["resources"] for rule in policy["spec"]["matchConstraints"]["resourceRules"])
