"""The careful pass over one document's events: where every key and value stands, and what is odd about them.

It follows the same rules as `builder.py` (which only makes values, fast) and runs when a place is asked for, or when the
builder met something odd.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from gpuvet.manifests.events import Event
from gpuvet.manifests.scalars import ScalarError, resolve_key, resolve_plain, resolve_tagged

_ANCHOR: Final = re.compile(r"&[^\s,\[\]{}]+\s*")
_SLASH_ESCAPE: Final = re.compile(r"(?<!\\)(?:\\\\)*(\\/)")
_BLOCK_STYLES: Final = ("|", ">")


class Place:
    """Where a value stands: offsets `start` to `end` (exclusive) in the text; `key` the same for the key that holds it."""

    __slots__ = ("end", "key", "members", "start", "style", "target", "text")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.key: tuple[int, int] | None = None
        self.members: dict[str, Place] | list[Place] | None = None
        self.style: str | None = None
        """For a scalar: "plain", "'", '"', "|" or ">"."""
        self.text = ""
        """For a scalar: its content, before it is resolved."""
        self.target: Place | None = None
        """For an alias: the place of what it stands for."""


class Oddity(NamedTuple):
    """A problem at offsets `start` to `end`; `first` is the offset of the earlier place that the message is about."""

    code: str
    message: str
    start: int
    end: int
    first: int | None = None


class Survey(NamedTuple):
    root: Place
    oddities: list[Oddity]
    template: int | None
    """Offset of a `{{` that YAML took for a mapping, which only happens in an unrendered template."""


def survey(text: str, events: list[Event], start: int, is_json: bool = False) -> Survey:
    """The places of the document whose root node is `events[start]`; the events must have passed the builder."""
    surveyor = _Surveyor(text, islice(events, start, None), is_json)
    root = surveyor.node(next(surveyor.events))
    return Survey(root, surveyor.oddities, surveyor.template)


class _Surveyor:
    def __init__(self, text: str, events: Iterator[Event], is_json: bool) -> None:
        self.text = text
        self.is_json = is_json
        self.events = events
        self.oddities: list[Oddity] = []
        self.template: int | None = None
        self.anchors: dict[str, Place] = {}
        self.scalars: dict[str, Event] = {}

    def node(self, event: Event, as_key: bool = False) -> Place:
        start, end = event.start_mark.index, event.end_mark.index
        kind = type(event)
        if kind is AliasEvent:
            target = self.anchors[event.anchor]
            place = Place(start, end)
            place.members, place.target = target.members, target
            return place
        if kind is ScalarEvent:
            place = self._scalar(event, start, end, as_key)
            if event.anchor is not None:
                self.anchors[event.anchor] = place
                self.scalars[event.anchor] = event
            return place
        place = Place(start, end)
        if event.anchor is not None:
            self.anchors[event.anchor] = place
        if kind is MappingStartEvent:
            self._mapping(event, place)
        else:
            self._sequence(event, place)
        return place

    def _scalar(self, event: Event, start: int, end: int, as_key: bool) -> Place:
        if event.anchor is not None and event.tag is None and (anchor := _ANCHOR.match(self.text, start)):
            start = min(anchor.end(), end)
        if event.style in _BLOCK_STYLES:
            while end > start and self.text[end - 1].isspace():
                end -= 1
        place = Place(start, end)
        place.style = event.style or "plain"
        place.text = event.value
        if event.style == '"' and not self.is_json and (slash := _SLASH_ESCAPE.search(self.text, start, end)):
            message = "The escape `\\/` exists in JSON only, and Kubernetes refuses it in YAML; write `/`."
            self.oddities.append(Oddity("IN011", message, slash.start(1), slash.end(1)))
        if not as_key and (event.tag is not None or event.implicit[0]):
            try:
                resolve_plain(event.value) if event.tag is None else resolve_tagged(event.tag, event.value)
            except ScalarError as error:
                self.oddities.append(Oddity("IN007", str(error), start, end))
        return place

    def _sequence(self, event: Event, place: Place) -> None:
        items: list[Place] = []
        place.members = items
        for item in self.events:
            if type(item) is SequenceEndEvent:
                place.end = _end(event, item, items[-1] if items else None)
                return
            items.append(self.node(item))

    def _mapping(self, event: Event, place: Place) -> None:
        members: dict[str, Place] = {}
        explicit: dict[str, int] = {}
        last = None
        place.members = members
        for key_event in self.events:
            if type(key_event) is MappingEndEvent:
                place.end = _end(event, key_event, last)
                return
            merge = is_merge(key_event)
            key_place = self.node(key_event, as_key=True)
            key = None if merge else self._key(key_event, key_place)
            last = value = self.node(next(self.events))
            if merge:
                self._merge(members, explicit, value, key_place)
                continue
            if key is None:
                continue
            if key in explicit:
                message = f"The key `{key}` is set twice in this mapping; the last value wins and the first is lost. Remove one of them."
                self.oddities.append(Oddity("IN005", message, key_place.start, key_place.end, explicit[key]))
            else:
                explicit[key] = key_place.start
            value.key = (key_place.start, key_place.end)
            members[key] = value

    def _key(self, event: Event, place: Place) -> str | None:
        kind = type(event)
        if kind is AliasEvent and place.members is None:
            event, kind = self.scalars[event.anchor], ScalarEvent
        if kind is not ScalarEvent:
            if place.start and self.text.startswith("{{", place.start - 1):
                self.template = place.start - 1
            message = "A list or mapping is used as a key, which Kubernetes refuses; quote it."
            self.oddities.append(Oddity("IN007", message, place.start, place.end))
            return None
        try:
            return scalar_key(event)
        except ScalarError as error:
            self.oddities.append(Oddity("IN007", str(error), place.start, place.end))
            return str(event.value)

    def _merge(self, members: dict[str, Place], explicit: dict[str, int], value: Place, key: Place) -> None:
        brought = [value] if isinstance(value.members, dict) else reversed(value.members or [])
        for source in brought:
            if isinstance(source.members, dict):
                overridden = [name for name in source.members if name in explicit]
                if overridden:
                    names = ", ".join(f"`{name}`" for name in overridden)
                    message = f"`<<` stands below {names} and overrides what is written there; move `<<` to the top of the mapping."
                    self.oddities.append(Oddity("IN006", message, key.start, key.end))
                members.update(source.members)


def is_merge(event: Event) -> bool:
    """Whether the event, standing as a key, is the merge key `<<`."""
    return (
        type(event) is ScalarEvent
        and event.value == "<<"
        and (event.tag == "tag:yaml.org,2002:merge" or (event.tag is None and event.implicit[0]))
    )


def scalar_key(event: Event) -> str:
    """The JSON key that the scalar event makes. Raises ScalarError when it makes none."""
    if event.tag is None and not event.implicit[0]:
        return str(event.value)
    return resolve_key(event.tag, event.value)


def _end(start: Event, end: Event, last: Place | None) -> int:
    """End offset of a collection: libyaml lets a block collection end where the next token starts, perhaps lines below."""
    if start.flow_style or last is None:
        return int(end.end_mark.index)
    return last.end
