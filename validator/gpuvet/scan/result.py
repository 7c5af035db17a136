"""What a scan gives."""

from dataclasses import dataclass, field

from gpuvet.engine.context import Fact
from gpuvet.values.finding import Finding


@dataclass(slots=True)
class Counts:
    """What was looked at and what was not. Files are inputs; objects are the Kubernetes objects in them."""

    files: int = 0
    documents: int = 0
    objects: int = 0
    skipped: int = 0
    """Files in which no rule has anything to say, checked for syntax only."""
    empty: int = 0
    fragments: int = 0
    templates: int = 0
    """Files that are unrendered templates."""
    not_covered: int = 0
    """Objects of unknown kinds that hold a Pod template."""

    def add(self, other: "Counts") -> None:
        """Adds up."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class FileResult:
    """What one file gave in one pass."""

    file: str
    findings: list[Finding] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    facts: list[Fact] = field(default_factory=list)
    asked: frozenset[str] = frozenset()
    open: list[Finding] = field(default_factory=list)
    open_rules: frozenset[str] = frozenset()
    unread: bool = False
    """Something in it could not be read: exit 2."""
    crashed: bool = False
    """A rule failed on it: exit 3."""


@dataclass(slots=True)
class ScanResult:
    """The whole run. `findings` are sorted by file and position."""

    findings: list[Finding]
    counts: Counts
    unread: bool
    crashed: bool
