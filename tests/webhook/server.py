"""The webhook as a subprocess, with real certificates."""

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from gpuvet.admission.certificates import make_certificates


class WebhookServer:
    """A running `gpuvet webhook serve` on the loopback interface."""

    def __init__(self, folder: Path, *options: str, port: int = 0, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.options = options
        self.port = port or _free_port()
        self.environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: http.client.HTTPSConnection | None = None

    def __enter__(self) -> Self:
        if not (self.folder / "tls.crt").exists():
            make_certificates(self.folder, ["127.0.0.1", "localhost"])
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def ca(self) -> bytes:
        """The CA bundle."""
        return (self.folder / "ca.crt").read_bytes()

    @property
    def url(self) -> str:
        """Where reviews are sent."""
        return f"https://127.0.0.1:{self.port}/validate"

    @property
    def pid(self) -> int:
        """Of the parent."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> float:
        """Starts and waits until it is ready; the seconds that took."""
        begun = time.monotonic()
        with (self.folder / "webhook.log").open("ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, env=self.environment)
        while time.monotonic() < begun + 30:
            if self._process.poll() is not None:
                raise RuntimeError(f"the webhook ended with exit code {self._process.returncode}:\n{self.log()}")
            try:
                if self.request("GET", "/readyz")[0] == 200:
                    return time.monotonic() - begun
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.02)
        raise RuntimeError(f"the webhook is not ready:\n{self.log()}")

    def command(self) -> list[str]:
        """What is run."""
        serve = [sys.executable, "-m", "gpuvet", "webhook", "serve", "--host", "127.0.0.1", "--port", str(self.port)]
        return [*serve, "--tls-cert", str(self.folder / "tls.crt"), "--tls-key", str(self.folder / "tls.key"), *self.options]

    def stop(self) -> None:
        """Ends it as Kubernetes does."""
        self.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        """Closes the client's connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def log(self) -> str:
        """What it wrote."""
        return (self.folder / "webhook.log").read_text("utf-8")

    def records(self) -> list[dict[str, Any]]:
        """Its log, line by line."""
        return [json.loads(line) for line in self.log().splitlines()]

    def request(self, method: str, path: str, data: bytes | None = None, content: str = "application/json") -> tuple[int, bytes]:
        """One request over a kept connection; a new one when the server has closed that after a refusal."""
        kept = self._connection is not None
        if self._connection is None:
            context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
            self._connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)
        try:
            self._connection.request(method, path, data, {"Content-Type": content} if data is not None else {})
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (ssl.SSLEOFError, http.client.RemoteDisconnected):
            self.close()
            if kept:
                return self.request(method, path, data, content)
            raise
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def validate(self, data: bytes) -> dict[str, Any]:
        """The response to a review."""
        status, answer = self.request("POST", "/validate", data)
        assert status == 200, answer
        found: dict[str, Any] = json.loads(answer)["response"]
        return found

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry the labels."""
        text = self.request("GET", "/metrics")[1].decode()
        total = 0.0
        for match in re.finditer(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE):
            if all(f'{label}="{value}"' in (match[1] or "") for label, value in labels.items()):
                total += float(match[2])
        return total


def mount(folder: Path, source: Path) -> None:
    """Puts the files of `source` into `folder` as the kubelet mounts a Secret: links that are swapped at once; the old files go."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "..data"
    before = data.resolve() if data.is_symlink() else None
    new = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for file in source.iterdir():
        if file.is_file():
            shutil.copy(file, new / file.name)
    link = folder / "..data_tmp"
    link.symlink_to(new.name)
    link.replace(data)
    for file in new.iterdir():
        if not (folder / file.name).is_symlink():
            (folder / file.name).symlink_to(f"..data/{file.name}")
    if before is not None:
        shutil.rmtree(before)


def raw_connection(port: int, *protocols: str) -> ssl.SSLSocket:
    """A TLS connection that asks for HTTP/2 only if it is told to, and trusts anybody."""
    context = ssl.create_default_context()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def new_folder() -> Path:
    """A temporary folder."""
    return Path(tempfile.mkdtemp(prefix="gpuvet-webhook-"))
