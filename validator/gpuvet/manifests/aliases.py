"""Anchors and aliases of one document: aliases that lead nowhere, to themselves, or that blow the document up."""

from typing import Final

from yaml.events import AliasEvent, DocumentEndEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

from gpuvet.manifests.events import Event, Fault

_RATIO_LOW: Final = 400_000
_RATIO_HIGH: Final = 4_000_000


def check_aliases(events: list[Event], start: int, max_depth: int) -> None:
    """Raises the Fault that go-yaml's decoder would raise for the document whose root is `events[start]`.

    The counting is go-yaml's: every node read is one, every node read through an alias is one more and counts as expanded.
    """
    nodes = expanded = 0
    depth = 0
    open_nodes: list[tuple[str | None, int]] = []
    heights: list[int] = []
    anchors: dict[str, tuple[int, int] | None] = {}  # name -> (nodes, nesting) once closed
    for position in range(start, len(events)):
        event = events[position]
        kind = type(event)
        if kind is DocumentEndEvent:
            return
        if kind is ScalarEvent:
            nodes += 1
            if event.anchor is not None:
                anchors[event.anchor] = (1, 0)
        elif kind is AliasEvent:
            target = anchors.get(event.anchor, (0, 0))
            if event.anchor not in anchors:
                raise _fault("IN001", event, f"The alias `*{event.anchor}` has no anchor `&{event.anchor}` above it in this document.")
            if target is None:
                raise _fault("IN003", event, f"The alias `*{event.anchor}` stands inside the value it names, so it has no end.")
            nodes += 1 + target[0]
            expanded += target[0]
            if expanded > 100 and nodes > 1000 and expanded / nodes > _allowed_ratio(nodes):
                raise _fault("IN003", event, f"Aliases expand this document to more than {nodes:,} values, which Kubernetes refuses.")
            if depth + target[1] > max_depth:
                raise _fault("IN004", event, f"Aliases nest this document deeper than {max_depth} levels.")
            if heights:
                heights[-1] = max(heights[-1], target[1])
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            nodes += 1
            depth += 1
            open_nodes.append((event.anchor, nodes - 1))
            heights.append(0)
            if event.anchor is not None:
                anchors[event.anchor] = None
        else:
            depth -= 1
            name, before = open_nodes.pop()
            height = heights.pop() + 1
            if heights:
                heights[-1] = max(heights[-1], height)
            if name is not None:
                anchors[name] = (nodes - before, height)


def _allowed_ratio(nodes: int) -> float:
    if nodes <= _RATIO_LOW:
        return 0.99
    if nodes >= _RATIO_HIGH:
        return 0.10
    return 0.99 - 0.89 * (nodes - _RATIO_LOW) / (_RATIO_HIGH - _RATIO_LOW)


def _fault(code: str, event: Event, message: str) -> Fault:
    return Fault(code, message, event.start_mark.index, event.end_mark.index)
