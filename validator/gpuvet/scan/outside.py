"""Engines outside of gpuvet in a run: asked about every object until one is lost, which the run then says once."""

from typing import Any

from gpuvet.engine.outside import Outside
from gpuvet.manifests.document import Document
from gpuvet.values.errors import EngineError
from gpuvet.values.finding import Finding
from gpuvet.values.path import Path


class Asked:
    """One such engine in one run of one process."""

    def __init__(self, engine: Outside) -> None:
        self._engine = engine
        self._lost = False

    def judge(self, document: Document, path: Path, value: dict[str, Any], file: str) -> tuple[list[Finding], bool, str]:
        """What it says of an object, whether it was silent, and what there is to say about that."""
        if self._lost:
            return [], True, ""
        try:
            return self._engine.judge(document, path, value, file), False, ""
        except EngineError as error:
            if error.reason == "input":
                # The reader has told that the object has no JSON form.
                return [], False, ""
            self._lost = error.lasting
            return [], True, f"{error}; it was not asked again" if error.lasting else str(error)
