"""What policies say through the API server, read: who spoke, and which rules are violated where."""

import re
from collections.abc import Collection
from typing import NamedTuple

from gpuvet.cluster.access import Answer

_SAID = re.compile(r"ValidatingAdmissionPolicy '([^']*)'(?: with binding '[^']*')?(?: denied request)?: (.*)", re.DOTALL)
_MORE = re.compile(r"; and (\d+) more$")
_WHOLE = 4096
"""Characters of all warnings of an answer from which on the API server cuts each to `_CUT`, and drops the rest."""
_CUT = 256


class Spoken(NamedTuple):
    """The words of one policy."""

    policy: str
    text: str


class Violation(NamedTuple):
    """One of the violations in the words of a policy. `where` is a path as people write it."""

    rule: str
    where: str
    message: str


class UnreadableError(ValueError):
    """The words of a policy are no list of violations, or not the whole of it."""


def denial(answer: Answer) -> Spoken | None:
    """The policy that denied the request. The API server names the first, and none besides."""
    match = _SAID.search(answer.message) if answer.status >= 400 else None
    return Spoken(match[1], match[2]) if match and " denied request: " in answer.message else None


def warned(answer: Answer) -> list[Spoken]:
    """The policies that warned."""
    found = [_SAID.search(text) for text in answer.warnings if text.startswith("Validation failed for ")]
    return [Spoken(match[1], match[2]) for match in found if match]


def is_cut(answer: Answer) -> bool:
    """Whether the API server may have shortened or dropped a warning: it cuts all of them when together they are too long."""
    return any(len(text) == _CUT for text in answer.warnings) or sum(map(len, answer.warnings)) > _WHOLE


def violations(text: str, rules: Collection[str]) -> list[Violation]:
    """The violations of `rules` that a policy lists. Raises UnreadableError."""
    more = _MORE.search(text)
    starts = list(re.finditer(rf"(?:^|; )({'|'.join(map(re.escape, rules)) or '(?!)'}) (.*?): ", text))
    if not starts or starts[0].start() != 0:
        raise UnreadableError(f"says something else than violations of rules: {text[:300]}")
    ends = [start.start() for start in starts[1:]] + [len(text) if more is None else more.start()]
    if more is not None:
        raise UnreadableError(f"lists {len(starts)} violations and leaves out {more[1]}: a message holds no more than 4 KiB")
    return [Violation(start[1], start[2], text[start.end() : end]) for start, end in zip(starts, ends, strict=True)]
