"""Starts etcd and kube-apiserver on free ports of the loopback interface, and stops them.

    with ApiServer(components()) as server:
        server.request("POST", "/api/v1/namespaces", {...})

Ready in some three seconds, 250 MB of memory. Nothing is kept: the data lives in a temporary folder.
"""

import http.client
import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

TOKEN = "gpuvet-tests"
"""Bearer token of a member of system:masters."""
IDLE = 30.0
"""Seconds after which a connection is not used again: the server closes those that nobody uses."""


class Answer(NamedTuple):
    """What the API server answered: the HTTP status, the decoded body, and the texts of `Warning` headers."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the request was accepted."""
        return self.status < 300

    @property
    def message(self) -> str:
        """What the server said of a refusal."""
        return str(self.body.get("message", "")) if isinstance(self.body, dict) else str(self.body)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that a refusal names, as in `spec.devices[0].health`."""
        details = self.body.get("details") if isinstance(self.body, dict) else None
        return tuple(cause.get("field", "") for cause in (details or {}).get("causes") or ())


class ApiServer:
    """A running API server. Options for kube-apiserver may be added, such as `--admission-control-config-file=...`."""

    def __init__(self, binaries: Path, *options: str) -> None:
        self.binaries = binaries
        self.options = options
        self.folder = Path()
        self.port = 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._connection: http.client.HTTPSConnection | None = None
        self._used = 0.0

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="gpuvet-apiserver-"))
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        # Killed, not asked: after SIGTERM the old server answers `ok` for a minute.
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator."""
        return self.folder / "kubeconfig"

    def kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs the kubectl of the same version."""
        command = [str(self.binaries / "kubectl"), "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)

    def run_controllers(self, *names: str) -> None:
        """Starts kube-controller-manager with some of its controllers only."""
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(names)}",
            "--leader-elect=false",
            "--secure-port=0",
        )

    def request(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Answer:
        """One request of the administrator. A refusal is an answer, not an exception."""
        data = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}"} | ({"Content-Type": content} if data is not None else {})
        if self._connection is not None and time.monotonic() > self._used + IDLE:
            self._connection.close()
            self._connection = None
        self._used = time.monotonic()
        if self._connection is None:
            self._connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=_tls())
        try:
            self._connection.request(method, path, data, headers)
            reply = self._connection.getresponse()
            return Answer(reply.status, _decoded(reply.read()), _warnings(reply.headers.get_all("Warning")))
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise

    def log(self, name: str) -> str:
        """The end of a component's log."""
        path = self.folder / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else ""

    def _start(self) -> None:
        client, peer, self.port = free_ports(3)
        etcd = f"http://127.0.0.1:{client}"
        members = f"http://127.0.0.1:{peer}"
        self._run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={members}",
            f"--initial-advertise-peer-urls={members}",
            f"--initial-cluster=default={members}",
        )
        key = self.folder / "service-account.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        (self.folder / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n", encoding="utf-8")
        self.kubeconfig.write_text(_KUBECONFIG.format(port=self.port, token=TOKEN), encoding="utf-8")
        self._run(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://gpuvet.test",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            *self.options,
        )
        self._wait_ready()

    def _run(self, name: str, *options: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([str(self.binaries / name), *options], stdout=log, stderr=subprocess.STDOUT, cwd=self.folder)
        self._processes.append(process)

    def _wait_ready(self, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for process, name in zip(self._processes, ("etcd", "kube-apiserver"), strict=False):
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended with exit code {process.returncode}:\n{self.log(name)}")
            try:
                if self.request("GET", "/readyz").ok and self.request("GET", "/api/v1/namespaces/default").ok:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.1)
        raise RuntimeError(f"kube-apiserver is not ready after {seconds:.0f} s:\n{self.log('kube-apiserver')}")


_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: tests, cluster: {{server: "https://127.0.0.1:{port}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: tests, context: {{cluster: tests, user: admin}}}}]
current-context: tests
"""


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on; all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _warnings(headers: list[str] | None) -> tuple[str, ...]:
    """`299 - "text"` -> text."""
    return tuple(header.partition('"')[2].rpartition('"')[0] for header in headers or ())
