"""One document of a manifest file: its plain value, and on request where every key and value stands."""

from typing import Any, Final, NamedTuple

from gpuvet.manifests.events import Event, parse
from gpuvet.manifests.places import Place, survey
from gpuvet.manifests.quick import stretch
from gpuvet.manifests.source import Source
from gpuvet.values.path import Path
from gpuvet.values.span import Span

_FIRST_ROOT: Final = 2
"""Behind the events that start the stream and its first document."""


class Problem(NamedTuple):
    """Something wrong with the text itself.

    `fatal`: (the rest of) this text could not be read. Otherwise the document is still judged, except for IN008
    (an unrendered template), which only says that the text is not covered.
    """

    code: str
    message: str
    span: Span
    fatal: bool


class Document:
    """The value of one document and the way back from a path in it to the text. Spans are worked out on first request."""

    has_text = True
    """Whether there is a text to point at and to edit."""
    __slots__ = ("_events", "_places", "_source", "_start", "index", "problems", "source", "value")

    def __init__(self, value: Any, index: int, source: Source, events: list[Event] | None, start: int) -> None:
        """`events[start]` is the event of the root node; without events, `start` is the number of `---` lines above the document.

        `index` counts the documents that are not empty from 0.
        """
        self.value = value
        self.index = index
        self.source: str | None = None
        self.problems: tuple[Problem, ...] = ()
        self._source = source
        self._events = events
        self._start = start
        self._places: Place | None = None

    @property
    def line(self) -> int:
        """1-based line of the first node."""
        events, start = self._parsed()
        return self._source.place(events[start].start_mark.index)[0]

    def value_span(self, path: Path) -> Span | None:
        """Where the value at `path` stands; None when nothing stands there.

        An empty value (`key:`) has an empty span behind the colon. For an alias it is the alias; for values inside what
        an alias or `<<` brings, the place where they are written.
        """
        place = self._find(path)
        return None if place is None else self._source.span(place.start, place.end)

    def key_span(self, path: Path) -> Span | None:
        """Where the key stands that holds the value at `path` (for a list item, the item); None when there is none."""
        if not path:
            return None
        if type(path[-1]) is int:
            return self.value_span(path)
        place = self._find(path)
        return None if place is None or place.key is None else self._source.span(*place.key)

    def scalar_style(self, path: Path) -> str | None:
        """How the scalar at `path` is written: "plain", "'", '"', "|" or ">"; None when no scalar stands there."""
        place = self._find(path)
        return None if place is None else place.style

    def raw_text(self, path: Path) -> str | None:
        """The source text of the scalar at `path`, quotes included; None when no scalar stands there."""
        place = self._find(path)
        if place is None or place.style is None:
            return None
        return self._source.text[place.start : place.end]

    def scalar_place(self, path: Path) -> tuple[Source, Place] | None:
        """For reading a text within: the text this document was read from, and where in it the scalar at `path` is written.

        That is the scalar itself, or the one that an alias stands for.
        """
        place = self._find(path)
        if place is not None and place.target is not None:
            place = place.target
        return None if place is None or place.style is None else (self._source, place)

    def _parsed(self) -> tuple[list[Event], int]:
        """The events and the position of the root among them. Most documents are in order, and nobody asks."""
        if self._events is None:
            self._source = stretch(self._source, self._start)
            self._events, self._start = parse(self._source.text), _FIRST_ROOT
        return self._events, self._start

    def _find(self, path: Path) -> Place | None:
        if self._places is None:
            events, start = self._parsed()
            self._places = survey(self._source.text, events, start).root
        place: Place | None = self._places
        for key in path:
            members = place.members if place is not None else None
            if isinstance(members, dict) and type(key) is str:
                place = members.get(key)
            elif isinstance(members, list) and type(key) is int and 0 <= key < len(members):
                place = members[key]
            else:
                return None
        return place


class Reading(NamedTuple):
    """What a text holds. `problems` are the fatal ones and the templates; `empty` counts documents with nothing in them."""

    documents: list[Document]
    problems: tuple[Problem, ...]
    empty: int
