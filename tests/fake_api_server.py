"""An API server for tests: plain HTTP, policies that are kept as they come, and answers that a test writes."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, dict[str, Any], list[str]]
"""Status, body, texts of warnings."""
_BASE = "/apis/admissionregistration.k8s.io/v1/"
_SERVED = {
    "/api/v1": [("Pod", "pods", True), ("ConfigMap", "configmaps", True), ("Node", "nodes", False)],
    "/apis/apps/v1": [("Deployment", "deployments", True)],
}


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Nobody waits for an answer that comes too late."""


class FakeApiServer:
    """`created` answers a creation: (path, query, object) -> Answer. `held` are the policies and bindings by path."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, Any]] = {}
        self.created: Callable[[str, dict[str, str], dict[str, Any]], Answer] = lambda *_: (201, {}, [])
        self.hook: Callable[[str, str], Answer | None] = lambda *_: None
        """(method, path) -> what is answered instead of anything else."""
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                length = int(self.headers.get("Content-Length") or 0)
                value = json.loads(self.rfile.read(length)) if length else {}
                found = outer.hook(self.command, parts.path) or outer.answer(self.command, parts.path, query, value)
                status, body, warnings = found
                data = json.dumps(body).encode()
                self.send_response_only(status)
                for text in warnings:
                    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
                    self.send_header("Warning", f'299 - "{quoted}"'.encode().decode("latin-1"))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = _Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, folder: Path) -> str:
        """A kubeconfig of two contexts, `here` and `there`, of which the second has a namespace."""
        server = f"http://127.0.0.1:{self._server.server_address[1]}"
        value = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [
                {"name": "here", "context": {"cluster": "c", "user": "u"}},
                {"name": "there", "context": {"cluster": "c", "user": "u", "namespace": "gpu"}},
            ],
            "current-context": "here",
        }
        file = folder / "kubeconfig"
        file.write_text(json.dumps(value))
        return str(file)

    def answer(self, method: str, path: str, query: dict[str, str], value: dict[str, Any]) -> Answer:
        if path in _SERVED:
            return 200, {"resources": [{"kind": kind, "name": name, "namespaced": own} for kind, name, own in _SERVED[path]]}, []
        if path.startswith(_BASE):
            return self._policies(method, path, value)
        if method == "POST":
            self.asked.append((path, query, value))
            return self.created(path, query, value)
        return 404, {"message": "not found"}, []

    def _policies(self, method: str, path: str, value: dict[str, Any]) -> Answer:
        if method == "GET":
            return 200, {"items": [item for place, item in self.held.items() if place.startswith(f"{path}/")]}, []
        if method == "POST":
            self.held[f"{path}/{value['metadata']['name']}"] = value
            return 201, value, []
        return (200, {}, []) if self.held.pop(path, None) is not None else (404, {}, [])
