"""YAML events -> plain values, as sigs.k8s.io/yaml makes them. The hot path: it looks at every event once and keeps no places."""

from operator import length_hint
from typing import Any, Final

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpuvet.manifests.aliases import check_aliases
from gpuvet.manifests.events import Event, Fault
from gpuvet.manifests.places import is_merge, scalar_key
from gpuvet.manifests.scalars import PlainKeys, PlainValues, ScalarError, resolve_tagged

MAX_DEPTH: Final = 300
"""Levels of nesting that are read. A CRD with a whole Pod template in its schema has some 60."""

PLAIN: Final = PlainValues()
KEYS: Final = PlainKeys()
"""What plain scalars mean, as values and as keys, kept for the life of the process."""


class Builder:
    """Makes the values of a stream, one document after the other."""

    __slots__ = (
        "_aliases_checked",
        "_anchors",
        "_events",
        "_scalars",
        "_stream",
        "_take",
        "begins_behind_dashes",
        "directives",
        "odd",
        "start",
    )

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._stream = iter(events)
        self._take = self._stream.__next__
        self._take()

    def next_document(self) -> bool:
        """Go on to the next document; False when the stream is over. `start` is then the position of its root event."""
        for event in self._stream:
            kind = type(event)
            if kind is DocumentStartEvent:
                self.directives = bool(event.version or event.tags)
                self.start = len(self._events) - length_hint(self._stream)
                # JSON's marks know no lines, but JSON has no `---` either.
                self.begins_behind_dashes = event.explicit is True and event.end_mark.line == self._events[self.start].start_mark.line
                self.odd = False
                self._anchors: dict[str, Any] = {}
                self._scalars: dict[str, Event] = {}
                self._aliases_checked = False
                return True
        return False

    def value(self) -> Any:
        """The value of the document. Raises Fault; `odd` tells that `places.survey` has something to say about it."""
        refused = PLAIN.refused, KEYS.refused
        value = self._node(self._take(), 0)
        if refused != (PLAIN.refused, KEYS.refused):
            self.odd = True
        return value

    def _node(self, event: Event, depth: int) -> Any:
        kind = type(event)
        if kind is ScalarEvent:
            return self._scalar(event)
        if kind is MappingStartEvent:
            return self._mapping(event, depth)
        if kind is SequenceStartEvent:
            return self._sequence(event, depth)
        return self._alias(event)

    def _scalar(self, event: Event) -> Any:
        if event.tag is None:
            value = PLAIN[event.value] if event.implicit[0] else event.value
        else:
            try:
                value = resolve_tagged(event.tag, event.value)
            except ScalarError:
                self.odd = True
                value = event.value
        if event.anchor is not None:
            self._anchors[event.anchor] = value
            self._scalars[event.anchor] = event
        return value

    def _sequence(self, start: Event, depth: int) -> list[Any]:
        if depth >= MAX_DEPTH:
            raise _too_deep(start)
        depth += 1
        take, plain = self._take, PLAIN
        out: list[Any] = []
        append = out.append
        if start.anchor is not None:
            self._anchors[start.anchor] = out
        while True:
            event = take()
            kind = type(event)
            if kind is ScalarEvent:
                if event.tag is None and event.anchor is None:
                    append(plain[event.value] if event.implicit[0] else event.value)
                else:
                    append(self._scalar(event))
            elif kind is MappingStartEvent:
                append(self._mapping(event, depth))
            elif kind is SequenceEndEvent:
                return out
            elif kind is SequenceStartEvent:
                append(self._sequence(event, depth))
            else:
                append(self._alias(event))

    def _mapping(self, start: Event, depth: int) -> dict[str, Any]:
        if depth >= MAX_DEPTH:
            raise _too_deep(start)
        depth += 1
        take, plain, keys = self._take, PLAIN, KEYS
        out: dict[str, Any] = {}
        if start.anchor is not None:
            self._anchors[start.anchor] = out
        while True:
            event = take()
            kind = type(event)
            if kind is ScalarEvent:
                text = event.value
                if event.tag is None and event.anchor is None and text != "<<":
                    key = keys[text] if event.implicit[0] else text
                elif is_merge(event):
                    self._scalar(event)
                    self._merge(out, take(), depth)
                    continue
                else:
                    key = self._special_key(event)
            elif kind is MappingEndEvent:
                return out
            else:
                name = self._complex_key(event, depth)
                if name is None:
                    self._node(take(), depth)
                    continue
                key = name
            if key in out:
                self.odd = True
            event = take()
            kind = type(event)
            if kind is ScalarEvent:
                if event.tag is None and event.anchor is None:
                    out[key] = plain[event.value] if event.implicit[0] else event.value
                else:
                    out[key] = self._scalar(event)
            elif kind is MappingStartEvent:
                out[key] = self._mapping(event, depth)
            elif kind is SequenceStartEvent:
                out[key] = self._sequence(event, depth)
            else:
                out[key] = self._alias(event)

    def _special_key(self, event: Event) -> str:
        """A key with a tag or an anchor, or a quoted `<<`."""
        if event.anchor is not None:
            self._scalar(event)
        try:
            return scalar_key(event)
        except ScalarError:
            self.odd = True
            return str(event.value)

    def _complex_key(self, event: Event, depth: int) -> str | None:
        """The key for an alias to a scalar; None (and odd) for a list or mapping in the place of a key."""
        value = self._node(event, depth)
        kind = type(event)
        if kind is AliasEvent and not isinstance(value, (dict, list)):
            return self._special_key(self._scalars[event.anchor])
        self.odd = True
        return None

    def _alias(self, event: Event) -> Any:
        if not self._aliases_checked:
            check_aliases(self._events, self.start, MAX_DEPTH)
            self._aliases_checked = True
        return self._anchors[event.anchor]

    def _merge(self, out: dict[str, Any], event: Event, depth: int) -> None:
        """`<<` at this place of the mapping: what it brings overrides what stands above it, as in go-yaml."""
        value = self._node(event, depth)
        if isinstance(value, dict):
            brought = [value]
        elif type(event) is SequenceStartEvent and all(isinstance(item, dict) for item in value):
            brought = value[::-1]
        else:
            message = "`<<` takes a mapping, an alias of one, or a list of them; anything else Kubernetes refuses."
            raise Fault("IN001", message, event.start_mark.index, event.end_mark.index)
        for mapping in brought:
            if not out.keys().isdisjoint(mapping):
                self.odd = True
            out.update(mapping)


def _too_deep(event: Event) -> Fault:
    message = f"The document is nested deeper than {MAX_DEPTH} levels and is not read."
    return Fault("IN004", message, event.start_mark.index, event.start_mark.index + 1)
