"""What a scan gives."""

from typing import NamedTuple

from gpuvet.engine.context import Fact
from gpuvet.engine.hearing import Hearing
from gpuvet.values.finding import Finding
from gpuvet.values.path import Path

# Plain classes: `dataclasses` would cost every start more than all of this module.


class Counts:
    """What was looked at and what was not. Files are inputs; objects are the Kubernetes objects in them."""

    __slots__ = ("documents", "empty", "files", "fragments", "not_covered", "objects", "skipped", "templates")

    def __init__(self) -> None:
        self.files = 0
        self.documents = 0
        self.objects = 0
        self.skipped = 0
        """Files in which no rule has anything to say, checked for syntax only."""
        self.empty = 0
        self.fragments = 0
        self.templates = 0
        """Files that are unrendered templates."""
        self.not_covered = 0
        """Objects of unknown kinds that hold a Pod template."""

    def add(self, other: "Counts") -> None:
        """Adds up."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Waiting(NamedTuple):
    """An object whose rules asked for other objects: it is judged again when all of them are known."""

    shown_file: str
    file: str
    document_index: int
    path: Path
    hearing: Hearing | None
    """How to go on; None when there were too many to hold, so that the file is read and judged again."""
    asked: frozenset[str]
    """Kinds of the objects that were asked for."""
    findings: list[Finding]
    """What the object gets should none of these kinds turn up."""
    comments: bool = False
    """The file has comments that keep findings quiet."""


class FileResult:
    """What one file, or several, gave."""

    __slots__ = ("counts", "crashed", "facts", "findings", "unread", "waiting")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.counts = Counts()
        self.facts: list[Fact] = []
        self.waiting: list[Waiting] = []
        self.unread = False
        """Something could not be read: exit 2."""
        self.crashed = False
        """A rule failed: exit 3."""

    def add(self, other: "FileResult") -> None:
        """Takes in what other files gave."""
        self.findings += other.findings
        self.counts.add(other.counts)
        self.facts += other.facts
        self.waiting += other.waiting
        self.unread = self.unread or other.unread
        self.crashed = self.crashed or other.crashed


class Engine(NamedTuple):
    """What judged instead of gpuvet's own rules."""

    name: str
    url: str
    rules: int
    """That it enforces."""
    cannot_see: dict[str, str]
    """Rules that are on and that it does not know -> why."""


class ScanResult(NamedTuple):
    """The whole run. `findings` are sorted by file and position."""

    findings: list[Finding]
    counts: Counts
    unread: bool
    crashed: bool
    engine: Engine | None = None
