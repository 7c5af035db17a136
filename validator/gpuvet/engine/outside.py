"""Engines outside of gpuvet that are asked about every object besides our rules, such as a company's own policies in an OPA server."""

from typing import Any, Protocol

from gpuvet.manifests.document import Document
from gpuvet.values.finding import Finding
from gpuvet.values.path import Path


class Outside(Protocol):
    """Such an engine."""

    denies_when_silent: bool
    """At admission: what it cannot be asked about is denied."""

    def judge(self, document: Document, path: Path, value: dict[str, Any], file: str, until: float | None = None) -> list[Finding]:
        """What it has to say of the object `value` at `path` of a document. `until`: when the answer comes too late, by `time.monotonic`.

        Raises EngineError when it does not answer.
        """
