"""A server that speaks as much of OPA's protocol as tests need, and misbehaves on demand."""

import json
import re
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

Answer = tuple[int, bytes]
Hook = Callable[[str, str, bytes], Answer | None]


class FakeOpa:
    """In this process, on the loopback interface. `hook` may answer a request before the server does."""

    def __init__(self, hook: Hook | None = None, token: str | None = None) -> None:
        self.hook = hook
        self.token = token
        self.policies: dict[str, str] = {}
        self.data: dict[str, Callable[[Any], Any]] = {}
        """Path under /v1/data -> what is said of an input."""
        self.requests: list[tuple[str, str]] = []
        self.drip = 0.0
        """Seconds between two bytes of an answer."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                fake.requests.append((self.command, self.path))
                status, answer = fake.answer(self.command, self.path, body, self.headers.get("Authorization"))
                try:
                    self.send_response(status)
                    if 300 <= status < 400:
                        self.send_header("Location", answer.decode())
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    if fake.drip:
                        for byte in answer:
                            self.wfile.write(bytes([byte]))
                            self.wfile.flush()
                            time.sleep(fake.drip)
                    else:
                        self.wfile.write(answer)
                except OSError:
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_DELETE = _serve

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.scheme = "http"

    def secure(self, folder: Path) -> Self:
        """With the certificate that `gpuvet webhook certs` wrote to a folder."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.scheme = "https"
        return self

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self.scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: bytes, authorization: str | None) -> Answer:
        if self.hook is not None and (said := self.hook(method, path, body)) is not None:
            return said
        if self.token is not None and authorization != f"Bearer {self.token}":
            return 401, b'{"code": "unauthorized", "message": "request rejected by administrative policy"}'
        if path.startswith("/v1/policies"):
            return self._policies(method, path.removeprefix("/v1/policies").strip("/"), body.decode())
        if path.startswith("/v1/data/") and method == "POST":
            said_of = self.data.get(path.removeprefix("/v1/data/"))
            return 200, json.dumps({} if said_of is None else {"result": said_of(json.loads(body)["input"])}).encode()
        return 404, b'{"code": "resource_not_found", "message": "no such thing"}'

    def _policies(self, method: str, name: str, text: str) -> Answer:
        if not name:
            return 200, json.dumps({"result": [_about(name, text) for name, text in self.policies.items()]}).encode()
        if method == "PUT":
            self.policies[name] = text
            return 200, b"{}"
        if name not in self.policies:
            return 404, b'{"code": "resource_not_found", "message": "storage_not_found_error: policy id"}'
        if method == "DELETE":
            del self.policies[name]
            return 200, b"{}"
        return 200, json.dumps({"result": _about(name, self.policies[name])}).encode()


def _about(name: str, text: str) -> dict[str, Any]:
    package = re.search(r"^package ([\w.]+)", text, re.MULTILINE)
    path = ["data", *(package[1].split(".") if package else ["nothing"])]
    return {"id": name, "raw": text, "ast": {"package": {"path": [{"type": "string", "value": part} for part in path]}, "rules": []}}
