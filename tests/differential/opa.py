"""Real Open Policy Agent: built once from its Go module, kept in the user's cache folder, started as a server."""

import fcntl
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

VERSION = "v1.22.0"
MODULE = "github.com/open-policy-agent/opa"

_COUNTED = re.escape('http_request_duration_seconds_count{code="200",handler="v1/data",method="post"}')
BATCH = """package gpuvet_batch

results := [verdict |
	some object in input.objects
	verdict := data.gpuvet.verdict with input as object
]
"""
"""Judges many objects in one query."""


def cache_folder() -> Path:
    """Where gpuvet's tests keep what is expensive to make."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuvet"


def opa_binary() -> Path:
    """The program; builds it when it is not there yet (some minutes the first time)."""
    return go_tool(MODULE, VERSION, "opa")


def go_tool(module: str, version: str, name: str) -> Path:
    """A program from a Go module."""
    folder = cache_folder() / f"{name}-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        binary = folder / name
        if not binary.is_file():
            if shutil.which("go") is None:
                raise RuntimeError(f"building {name} needs Go (https://go.dev/dl)")
            subprocess.run(["go", "install", f"{module}@{version}"], env={**os.environ, "GOBIN": str(folder)}, check=True)
    return binary


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running(NamedTuple):
    """A server."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def wait_for_questions(self, count: int) -> None:
        """Until it has answered so many."""
        for _ in range(600):
            with urllib.request.urlopen(f"{self.url}/metrics", timeout=5) as answer:
                found = re.search(rf"^{_COUNTED} (\d+)", answer.read().decode(), re.MULTILINE)
            if found is not None and int(found[1]) >= count:
                return
            time.sleep(0.05)
        raise RuntimeError("nobody asks")


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    """A running OPA."""
    port = _free_port()
    process = subprocess.Popen(
        [str(opa_binary()), "run", "--server", f"--addr=127.0.0.1:{port}", "--log-level=error", "--skip-version-check", *arguments]
    )
    try:
        for _ in range(200):
            if process.poll() is not None:
                raise RuntimeError(f"opa ended with {process.returncode}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("opa does not answer")
        yield Running(port, process.pid)
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def server(*arguments: str) -> Iterator[int]:
    """A running OPA; its port."""
    with running(*arguments) as opa:
        yield opa.port


class Opa:
    """Asks a server through OPA-python-client."""

    def __init__(self, port: int) -> None:
        from opa_client.opa import OpaClient

        self.client = OpaClient(host="127.0.0.1", port=port, timeout=600, retries=0)
        self.client.update_policy_from_string(BATCH, "gpuvet_batch", rego_compat=False)

    def judge(self, objects: list[Any]) -> list[set[tuple[str, tuple[Any, ...]]]]:
        """Rule and path of every finding of each object."""
        answer = self.client.query_rule({"objects": objects}, "gpuvet_batch", "results")
        results = answer.get("result")
        assert results is not None, "OPA's answer has no result: a rule of the batch is undefined"
        assert len(results) == len(objects), f"OPA judged {len(results)} of {len(objects)} objects"
        return [{(item["rule"], tuple(item["at"])) for item in result} for result in results]
