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
    "forbidden-by-policy",
    "advice",
    "pod-creation-fails",
    "input-not-read",
]
"""What really happens in the cluster. `pod-creation-fails` is shown instead of `rejected-by-api` where the API server does not
validate the owner's template; `input-not-read` belongs to the input family alone."""


CONSEQUENCES: dict[Consequence, str] = {
    "rejected-by-api": "the API server refuses the object",
    "pod-creation-fails": "the object is accepted, but its controller cannot create the Pods",
    "field-dropped": "the field is dropped; strict validation and server-side apply refuse it",
    "rejected-by-webhook": "the vendor's webhook refuses the object",
    "rejected-by-operator": "the vendor's operator refuses the Pod",
    "never-scheduled": "the Pod waits forever: no node can ever take it",
    "waits-for-node": "the Pod waits until some node has what it asks for",
    "fails-at-bind": "a node is chosen, binding fails, and the Pod stays Pending",
    "fails-at-runtime": "the Pod is bound, and then fails or runs without the right GPU slice",
    "silently-ignored": "it is accepted and has no effect, or another than meant",
    "unsupported": "the vendor's documentation rules it out",
    "lands-on-wrong-node": "the Pod can land on a node that is not meant for it",
    "excess-privilege": "it grants more than is needed",
    "forbidden-by-policy": "a policy of your own does not want it",
    "advice": "it works; there is a better way",
    "input-not-read": "nothing here could be checked",
}
"""Consequence -> what it means in a sentence."""


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

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that stay the same wherever the object moves to; worked out on request."""
        from hashlib import blake2b

        place = (self.location.file,) if self.object is None else (*(part or "" for part in self.object), self.path_text)
        parts = (self.rule, *place, self.actual or "", self.message)
        return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()

    @property
    def order(self) -> tuple[str | int, ...]:
        """Sorts findings by file, then position, then rule; the rest only leaves nothing to chance."""
        line, column, *_ = self.location.span
        return (self.location.file, line, column, self.rule, self.message, self.path_text)
