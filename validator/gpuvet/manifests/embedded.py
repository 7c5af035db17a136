"""Where each character of a scalar's content stands in the text around it."""

import re
from typing import Final

from gpuvet.manifests.places import Place

_LINE_END: Final = re.compile("\r\n|\n|\r")
_ESCAPE: Final = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r\n|.)", re.DOTALL)


def offsets_of(text: str, place: Place) -> list[int]:
    """For every character of the scalar's content, and for its end, the offset in `text`.

    Exact for block literals; elsewhere for everything but blanks, which may get the place right behind the word before them.
    """
    at = _content_start(text, place)
    if place.style == "|" and (exact := _literal_offsets(text, at, place.text)):
        return exact
    end = place.end
    offsets: list[int] = []
    step = _STEPS.get(place.style or "", _next_plain)
    for character in place.text:
        if character.isspace() and place.style != '"':
            offsets.append(at)
            if at < end and text[at] == character:
                at += 1
            continue
        at, width = step(text, at, end, character)
        offsets.append(at)
        at += width
    offsets.append(min(at, end))
    return offsets


def _literal_offsets(text: str, at: int, content: str) -> list[int] | None:
    """Line by line, every line of the content being the end of a line of the text; None where other line breaks spoil that."""
    offsets: list[int] = []
    for line in content.split("\n"):
        match = _LINE_END.search(text, at)
        line_end = match.start() if match else len(text)
        if line_end - len(line) < at or not text.startswith(line, line_end - len(line)):
            return None
        offsets += range(line_end - len(line), line_end + 1)
        at = match.end() if match else line_end
    return offsets


def _content_start(text: str, place: Place) -> int:
    if place.style in ("|", ">"):
        line_end = text.find("\n", place.start, place.end)
        return place.end if line_end < 0 else line_end + 1
    return place.start + (place.style in ("'", '"'))


def _next_plain(text: str, at: int, end: int, character: str) -> tuple[int, int]:
    """Offset and width of `character`, behind the indentation and line breaks that are not content."""
    found = text.find(character, at, end)
    return (at, 0) if found < 0 else (found, 1)


def _next_single(text: str, at: int, end: int, character: str) -> tuple[int, int]:
    found, width = _next_plain(text, at, end, character)
    return found, 2 if character == "'" and width else width


def _next_double(text: str, at: int, end: int, character: str) -> tuple[int, int]:
    while at < end and text[at] != character:
        if text[at] == "\\" and (escape := _ESCAPE.match(text, at)):
            if escape.group()[1] not in "\r\n":
                return at, len(escape.group())
            at = escape.end()
        elif text[at].isspace():
            if character.isspace():
                return at, 0
            at += 1
        else:
            return at, 0
    return at, int(at < end)


_STEPS: Final = {"'": _next_single, '"': _next_double}
