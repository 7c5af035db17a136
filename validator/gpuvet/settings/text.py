"""A YAML file of ours, configuration or bundle, and errors that name its file, line and column."""

from pathlib import Path as FilePath
from typing import Any

from gpuvet.manifests.document import Document
from gpuvet.manifests.reader import read
from gpuvet.values.errors import ConfigError
from gpuvet.values.path import Path
from gpuvet.values.total import nearest


class ConfigText:
    """One file of one document. `value` is None when the file is empty."""

    def __init__(self, path: FilePath) -> None:
        """Raises ConfigError when the file cannot be read or is not one YAML document."""
        self.name = str(path)
        try:
            reading = read(path.read_bytes())
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
        problems = (*reading.problems, *(problem for document in reading.documents for problem in document.problems))
        if problems:
            raise ConfigError(f"{path}:{problems[0].span.line}:{problems[0].span.column}: {problems[0].message}")
        if len(reading.documents) > 1:
            raise ConfigError(f"{path}:{reading.documents[1].line}:1: a second document; this file should hold one")
        self._document: Document | None = reading.documents[0] if reading.documents else None
        self.value: Any = self._document.value if self._document is not None else None

    def place(self, path: Path, key: bool = False) -> str:
        """`file:line:column` of a value, or of its key, or of the nearest thing around it that exists."""
        span = None
        while self._document is not None and span is None:
            span = self._document.key_span(path) if key else self._document.value_span(path)
            span = span or self._document.value_span(path)
            if not path:
                break
            path = path[:-1]
        return f"{self.name}:{span.line}:{span.column}" if span is not None else f"{self.name}:1:1"

    def error(self, path: Path, message: str, key: bool = False) -> ConfigError:
        """The error to raise about a value, or about its key."""
        return ConfigError(f"{self.place(path, key)}: {message}")

    def unknown(self, path: Path, what: str, known: tuple[str, ...]) -> ConfigError:
        """The error about a key that is none of those known."""
        return self.error(path, f"unknown {what} {path[-1]!r}{did_you_mean(str(path[-1]), known)}", key=True)

    def mapping(self, path: Path, value: Any, words: str) -> dict[str, Any]:
        """The value as a mapping; nothing is an empty one. Raises ConfigError for anything else."""
        if value is None:
            return {}
        if type(value) is not dict:
            raise self.error(path, words)
        return value

    def written(self, path: Path) -> str | None:
        """A plain scalar as it is written: 1.30 and not 1.3."""
        return self._document.raw_text(path) if self._document is not None else None


def did_you_mean(name: str, known: tuple[str, ...]) -> str:
    """What to say after an unknown name."""
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else f"; known are {', '.join(known)}"
