"""What a check has to say about one place in one input."""

from typing import Literal, NamedTuple

from gpuvet.values.path import Path
from gpuvet.values.span import Span

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Worst first."""

Consequence = Literal[
    "rejected-by-api",
    "field-dropped",
    "rejected-by-webhook",
    "rejected-by-operator",
    "never-scheduled",
    "waits-for-node",
    "fails-at-bind",
    "fails-at-runtime",
    "silently-ignored",
    "unsupported",
    "lands-on-wrong-node",
    "excess-privilege",
    "advice",
    "pod-creation-fails",
    "input-not-read",
]
"""What really happens in the cluster. `pod-creation-fails` is shown instead of `rejected-by-api` where the API server does not
validate the owner's template; `input-not-read` belongs to the input family alone."""


class Location(NamedTuple):
    """A place in an input file."""

    file: str
    span: Span


class Related(NamedTuple):
    """Another place that has to do with a finding."""

    location: Location
    message: str


class Edit(NamedTuple):
    """Replace the text at `span` by `text`."""

    span: Span
    text: str


class Fix(NamedTuple):
    """How to mend it. `safe` means the edits keep what the author plainly meant; without edits it is advice only."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]


class ObjectReference(NamedTuple):
    """The Kubernetes object that a finding is about; parts that are not known are None."""

    api_version: str | None
    kind: str | None
    namespace: str | None
    name: str | None


class Finding(NamedTuple):
    """One mistake at one place. `path` leads from the object's root; `path_text` is the same for people."""

    rule: str
    name: str
    severity: Severity
    consequence: Consequence
    message: str
    expected: str | None
    actual: str | None
    location: Location
    path: Path
    path_text: str
    object: ObjectReference | None
    related: tuple[Related, ...]
    fix: Fix | None
    fingerprint: str

    @property
    def order(self) -> tuple[str, int, int, str]:
        """Sorts findings by file, then position, then rule."""
        return (self.location.file, self.location.span.line, self.location.span.column, self.rule)
