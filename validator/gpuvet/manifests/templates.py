"""Texts that are not YAML yet: Go templates (Helm) and Jinja, recognised by what their markers do to the parser."""

import re
from typing import Final

from gpuvet.manifests.events import Fault, check

_MARKERS: Final = re.compile(  # none reaches across the opening of another: linear in the text, however it is made
    r"\{\{(?:[^{}]|\}(?!\})|\{(?!\{))*\}\}"
    r"|\{%(?:[^%{]|%(?!\})|\{(?!%))*%\}"
    r"|\{#(?:[^#{]|#(?!\})|\{(?!#))*#\}"
)
_INK: Final = re.compile(r"[^\r\n]")


def template_behind(text: str, fault: Fault) -> tuple[int, int] | None:
    """The first marker's start and end if `fault` goes away, or elsewhere, once the markers are taken out of `text`."""
    if fault.code != "IN001" or "{" not in text:
        return None
    marker = _MARKERS.search(text)
    if marker is None:
        return None
    try:
        check(_MARKERS.sub(_neutral, text))
    except Fault as remaining:
        if remaining.start == fault.start:
            return None
    return marker.span()


def _neutral(match: re.Match[str]) -> str:
    """Blanks where markers have the lines for themselves, otherwise a word of the same length."""
    text, start, end = match.string, match.start(), match.end()
    before = text[max(text.rfind("\n", 0, start), -1) + 1 : start]
    line_end = text.find("\n", end)
    after = text[end : line_end if line_end >= 0 else len(text)]
    alone = not _MARKERS.sub("", before).strip(" \t-") and not _MARKERS.sub("", after).strip()
    return _INK.sub(" " if alone else "x", match.group())
