"""The users' own Rego packages, served by an OPA of theirs: what they deny or warn of becomes findings."""

from collections.abc import Sequence
from math import inf
from threading import Lock
from time import monotonic
from typing import Any

from gpuvet.engine.placing import Told, told_finding
from gpuvet.manifests.document import Document
from gpuvet.opa.connection import Connection
from gpuvet.opa.items import NotAnItemError, Said, items_of
from gpuvet.values.errors import EngineError
from gpuvet.values.finding import Consequence, Finding
from gpuvet.values.path import Path

_LONGEST = 1000
_PAUSE = 2.0
"""Seconds for which a server that was not there is not asked again."""


class Packages:
    """An `Outside` engine. `denies_when_silent` is the configured policy at admission."""

    def __init__(self, connection: Connection, packages: Sequence[str], denies_when_silent: bool) -> None:
        self.denies_when_silent = denies_when_silent
        self._connection = connection
        self._packages = tuple(packages)
        self._lock = Lock()
        self._silent: tuple[float, EngineError] | None = None

    def judge(self, document: Document, path: Path, value: dict[str, Any], file: str, until: float | None = None) -> list[Finding]:
        """Asks each package about the object, all within the time for one question. Raises EngineError."""
        self._raise_if_silent()
        until = min(monotonic() + self._connection.access.timeout, inf if until is None else until)
        found = []
        for package in self._packages:
            for said in self._ask(package, value, until):
                consequence: Consequence = "advice" if said.severity == "info" else "forbidden-by-policy"
                message = " ".join(said.message.split())[:_LONGEST]
                told = Told(said.rule or package, package, said.severity, consequence, message, said.path)
                found.append(told_finding(told, document, path, value, file))
        return found

    def _ask(self, package: str, value: object, until: float) -> list[Said]:
        connection = self._connection
        try:
            answer = connection.ask(package, None, value, until)
        except EngineError as error:
            if error.lasting:
                with self._lock:
                    self._silent = (monotonic() + _PAUSE, error)
            raise
        if answer is None:
            raise EngineError(f"{connection.name} serves no package {package}; `opa.packages` names it", "empty")
        if not isinstance(answer, dict):
            raise EngineError(f"{connection.name}: data.{package} is no package, but {type(answer).__name__}", "nonsense")
        try:
            return items_of(answer, value)
        except NotAnItemError as error:
            raise EngineError(f"{connection.name}: package {package}: {error}", "item") from None

    def _raise_if_silent(self) -> None:
        with self._lock:
            if self._silent is not None:
                until, error = self._silent
                if monotonic() < until:
                    raise error
                self._silent = None
