"""Installs yaml-language-server from npm into the user's cache folder, once per lock file, and speaks with it over stdio (LSP)."""

import fcntl
import hashlib
import json
import queue
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Self

from cluster.build import cache_folder

HERE = Path(__file__).resolve().parent
SECONDS = 30.0
"""Longest wait for an answer."""


def installed() -> Path:
    """The server's script; installs it when it is not there yet."""
    digest = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"editor-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            if shutil.which("npm") is None:
                raise RuntimeError("the tests of schemas/editor/ install yaml-language-server and need npm (https://nodejs.org)")
            with tempfile.TemporaryDirectory(dir=folder.parent) as work:
                made = Path(work) / "made"
                made.mkdir()
                for name in ("package.json", "package-lock.json"):
                    shutil.copy(HERE / name, made)
                subprocess.run(["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=made, check=True)
                made.rename(folder)
    return folder / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"


class LanguageServer:
    """A running server. `schemas` are schema URIs with the globs of the files that they are for."""

    def __init__(self, script: Path, schemas: dict[str, list[str]]) -> None:
        self.script = script
        self.settings = {"schemas": schemas, "schemaStore": {"enable": False}, "hover": True, "completion": True, "validate": True}
        self._next = 0
        self._version = 0
        self._answers: dict[int, queue.Queue[Any]] = {}
        self._diagnostics: dict[str, queue.Queue[list[dict[str, Any]]]] = {}

    def __enter__(self) -> Self:
        command = ["node", str(self.script), "--stdio"]
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        threading.Thread(target=self._listen, daemon=True).start()
        capabilities = {
            "textDocument": {
                "hover": {"contentFormat": ["markdown"]},
                "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}},
                "publishDiagnostics": {"relatedInformation": True},
            },
            "workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}},
        }
        self._ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities, "workspaceFolders": None})
        self._tell("initialized", {})
        self._tell("workspace/didChangeConfiguration", {"settings": {"yaml": self.settings}})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def open(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Opens a document and returns its diagnostics."""
        self._diagnostics[uri] = queue.Queue()
        self._version += 1
        item = {"uri": uri, "languageId": "yaml", "version": self._version, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": item})
        return self._wait(self._diagnostics[uri], f"diagnostics of {uri}")

    def hover(self, uri: str, line: int, character: int) -> str:
        """What is shown over a place; lines and characters count from 0."""
        answer = self._ask("textDocument/hover", self._place(uri, line, character))
        return str(answer["contents"]["value"]) if answer else ""

    def complete(self, uri: str, line: int, character: int) -> list[dict[str, Any]]:
        """What is offered at a place."""
        answer = self._ask("textDocument/completion", self._place(uri, line, character))
        return list(answer["items"] if isinstance(answer, dict) else answer or [])

    @staticmethod
    def _place(uri: str, line: int, character: int) -> dict[str, Any]:
        return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}

    def _ask(self, method: str, parameters: Any) -> Any:
        self._next += 1
        answer = self._answers[self._next] = queue.Queue()
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": parameters})
        reply = self._wait(answer, method)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply.get("result")

    def _wait(self, answers: "queue.Queue[Any]", what: str) -> Any:
        try:
            return answers.get(timeout=SECONDS)
        except queue.Empty:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"yaml-language-server gave no answer: {what}\n{said}") from None

    def _tell(self, method: str, parameters: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": parameters})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        while head := self._process.stdout.readline():
            length = int(head.split(b":")[1])
            while self._process.stdout.readline().strip():
                pass
            self._take(json.loads(self._process.stdout.read(length)))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answers[message["id"]].put(message)
        elif message["method"] == "textDocument/publishDiagnostics":
            if (waiting := self._diagnostics.get(message["params"]["uri"])) is not None:
                waiting.put(message["params"]["diagnostics"])
        elif message["method"] == "workspace/configuration":
            wanted = [item.get("section") for item in message["params"]["items"]]
            result = [self.settings if section == "yaml" else {} for section in wanted]
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif "id" in message:
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
