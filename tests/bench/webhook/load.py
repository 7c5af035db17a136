"""A client written in C (h2load of nghttp2), so that what is measured is the server."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PACKAGE = "nghttp2-client"


class Run(NamedTuple):
    """One run of the client."""

    rate: float
    """Answers a second."""
    median: float
    """Milliseconds until half of the answers were there."""
    tail: float
    """The same of 99 in 100."""


def client() -> str:
    """The path of h2load; installs its Debian package where that is possible. Raises SystemExit where it is not."""
    if shutil.which("h2load") is None and shutil.which("apt-get") is not None and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "--yes", "--quiet", PACKAGE], stdout=subprocess.DEVNULL, check=False)
    found = shutil.which("h2load")
    if found is None:
        raise SystemExit(f"h2load is not there, and without it nothing is measured: apt-get install {PACKAGE}")
    return found


def load(url: str, data: bytes, requests: int, connections: int, *options: str) -> Run:
    """So many requests by HTTP/2, each sent when the one before is answered. Raises RuntimeError when one fails."""
    with tempfile.TemporaryDirectory() as folder:
        log, sent = Path(folder) / "log", Path(folder) / "body"
        sent.write_bytes(data)
        command = [client(), f"--requests={requests}", f"--clients={connections}", f"--log-file={log}", f"--data={sent}"]
        start = time.monotonic()
        done = subprocess.run(
            [*command, "--header=content-type: application/json", *options, url], capture_output=True, text=True, check=False
        )
        spent = time.monotonic() - start
        rows = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    if len(rows) != requests or any(not row[1].startswith("2") for row in rows):
        raise RuntimeError(
            f"of {requests} requests {len(rows)} were answered, not all with 2xx:\n{done.stdout[-1000:]}{done.stderr[-1000:]}"
        )
    times = sorted(int(row[2]) for row in rows)
    return Run(requests / spent, times[len(times) // 2] / 1000, times[int(len(times) * 0.99)] / 1000)
