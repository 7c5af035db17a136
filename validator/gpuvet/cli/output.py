"""Where reports go, and whether in colour."""

import os
import sys
from typing import TextIO

from gpuvet.scan.run import Scan
from gpuvet.values.errors import UsageError

FORMATS = ("text", "json")
"""Formats that `check` knows; each is one module of `gpuvet.report`."""


def wants_color(stream: TextIO) -> bool:
    """Colour only on a terminal, and never against NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def parse_output(text: str) -> tuple[str, str]:
    """FORMAT=FILE of --output. Raises UsageError."""
    name, mark, file = text.partition("=")
    if not mark or not file or name not in FORMATS:
        raise UsageError(f"--output {text}: write FORMAT=FILE with a format of {', '.join(FORMATS)}")
    return name, file


def stop_writing() -> None:
    """Nobody reads standard output any more (`gpuvet check | head`): the rest is thrown away, and the verdict stays."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


class SourceLines:
    """The lines of the inputs, for quoting; keeps one file at a time."""

    def __init__(self, request: Scan) -> None:
        self._stdin = (request.stdin_name, request.stdin)
        self._file: str | None = None
        self._lines: list[str] = []

    def __call__(self, file: str) -> list[str]:
        if file != self._file:
            self._file, self._lines = file, self._read(file)
        return self._lines

    def _read(self, file: str) -> list[str]:
        name, data = self._stdin
        if file != name or data is None:
            try:
                with open(file, "rb") as stream:
                    data = stream.read(10_000_000)
            except OSError:
                return []
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        return data.decode(encoding, "replace").replace("\r\n", "\n").split("\n")


class Progress:
    """A line on a terminal's standard error for runs that take long."""

    def __init__(self) -> None:
        self._shown = False
        self._next = 500
        self._on = sys.stderr.isatty()

    def __call__(self, files: int) -> None:
        if self._on and files >= self._next:
            self._next = files + 500
            self._shown = True
            sys.stderr.write(f"\r{files} files ...")
            sys.stderr.flush()

    def done(self) -> None:
        """Takes the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
