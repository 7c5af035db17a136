"""JSON text -> the events YAML would have given, for JSON that YAML cannot read: tabs, surrogate escapes, long keys, several roots."""

import re
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Final

from yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from gpuvet.manifests.events import Event

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_WORD: Final = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _Mark:
    """What the reader uses of PyYAML's marks."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def json_events(text: str) -> list[Event] | None:
    """The events of one or more JSON values that follow each other; None when the text is not JSON."""
    try:
        return _Scanner(text).stream()
    except (JSONDecodeError, _NotJson):
        return None


class _NotJson(Exception):
    """The text is not JSON."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.events: list[Event] = []

    def stream(self) -> list[Event]:
        self._emit(StreamStartEvent, 0)
        while self._peek():
            self._emit(DocumentStartEvent, 0)
            self._value()
            self._emit(DocumentEndEvent, 0)
        self._emit(StreamEndEvent, 0)
        return self.events

    def _value(self) -> None:
        """One value; iterative, because the text decides how deep it nests."""
        open_brackets: list[str] = []
        while True:
            head = self._peek()
            if head in ("{", "["):
                self._open(head)
                open_brackets.append("}" if head == "{" else "]")
                if self._peek() != open_brackets[-1]:
                    self._key_if(open_brackets[-1])
                    continue
            elif head == '"':
                self._string()
            else:
                self._word()
            while open_brackets:
                close = open_brackets[-1]
                head = self._peek()
                if head == close:
                    self._emit(MappingEndEvent if close == "}" else SequenceEndEvent, 1)
                    open_brackets.pop()
                elif head == "," and self.events[-1].__class__ not in (MappingStartEvent, SequenceStartEvent):
                    self.at += 1
                    self._key_if(close)
                    break
                else:
                    raise _NotJson
            if not open_brackets:
                return

    def _peek(self) -> str:
        """The next character after blanks; empty at the end."""
        self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def _key_if(self, close: str) -> None:
        if close == "}":
            if self._peek() != '"':
                raise _NotJson
            self._string()
            if self._peek() != ":":
                raise _NotJson
            self.at += 1

    def _open(self, head: str) -> None:
        kind: Any = MappingStartEvent if head == "{" else SequenceStartEvent
        start = _Mark(self.at)
        self.at += 1
        self.events.append(kind(None, None, True, start, _Mark(self.at), flow_style=True))

    def _string(self) -> None:
        start = self.at
        value, self.at = scanstring(self.text, start + 1)
        # Go's decoder, too, puts U+FFFD for half a surrogate pair.
        self._scalar(_SURROGATE.sub("\ufffd", value), start, '"')

    def _word(self) -> None:
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise _NotJson
        start, self.at = match.span()
        self._scalar(match.group(), start, None)

    def _scalar(self, value: str, start: int, style: str | None) -> None:
        implicit = (style is None, style is not None)
        kind: Any = ScalarEvent
        self.events.append(kind(None, None, implicit, value, _Mark(start), _Mark(self.at), style=style))

    def _emit(self, kind: Any, length: int) -> None:
        start = _Mark(self.at)
        self.at += length
        self.events.append(kind(start, _Mark(self.at)))
