"""An OPA of our own for a while: a local program that serves some modules on the loopback interface, and ends with its use."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath
from time import monotonic, sleep

from gpuvet.opa.connection import Access, Connection
from gpuvet.values.errors import EngineError, UsageError

_START = 60.0
"""Seconds to compile what it serves."""


@contextmanager
def local_opa(program: str, modules: Mapping[str, str], timeout: float) -> Iterator[Connection]:
    """Serves modules (file name -> Rego). Raises UsageError without the program, EngineError when it does not start."""
    found = shutil.which(program)
    if found is None:
        raise UsageError(
            f"there is no program {program!r}: install OPA (https://www.openpolicyagent.org), name it with --opa, or a server with --url"
        )
    with tempfile.TemporaryDirectory(prefix="gpuvet-opa-") as folder:
        for name, text in modules.items():
            FilePath(folder, name).write_text(text, "utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = FilePath(folder, "log")
        command = [found, "run", "--server", f"--addr=127.0.0.1:{port}", "--log-level=error", "--skip-version-check"]
        with log.open("wb") as stream:
            rego = sorted(str(path) for path in FilePath(folder).glob("*.rego"))
            process = subprocess.Popen([*command, *rego], stdout=stream, stderr=stream, stdin=subprocess.DEVNULL)  # noqa: S603
        try:
            connection = Connection(Access(f"http://127.0.0.1:{port}", timeout=timeout))
            _wait(process, port, log)
            yield connection
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: FilePath) -> None:
    end = monotonic() + _START
    while monotonic() < end:
        if process.poll() is not None:
            words = [line for line in log.read_text("utf-8", "replace").splitlines() if "rego" in line] or ["it says nothing"]
            raise EngineError(f"the local OPA does not start: {' '.join(words[0].split())[:300]}", "failed")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            sleep(0.05)
    raise EngineError(f"the local OPA did not start within {_START:g} seconds", "timeout")
