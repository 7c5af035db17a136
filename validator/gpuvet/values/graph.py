"""What rules ask of graphs that objects describe: things with names that depend on each other."""

from typing import Any

from gpuvet.values.total import get, items


def cycles(nodes: Any, name: str, edges: tuple[str, ...]) -> dict[str, str]:
    """Where nodes depend on each other in a circle: the first member in the order of `nodes` -> the circle as `a -> b -> a`.

    `name` is the field with a node's name, `edges` the path to the list of names that it depends on. Circles that share a member
    are told once. Names that no node has are no edges. Takes time in proportion to nodes and edges.
    """
    graph: dict[str, list[str]] = {}
    for node in items(nodes):
        known = get(node, name)
        if type(known) is str and known not in graph:
            graph[known] = [other for other in items(get(node, *edges)) if type(other) is str]
    order = {known: place for place, known in enumerate(graph)}
    depth: dict[str, int] = {}
    done: set[str] = set()
    told: set[str] = set()
    found: dict[str, str] = {}
    for start in graph:
        if start in done:
            continue
        path = [start]
        pending = [iter(graph[start])]
        depth[start] = 0
        while path:
            target = next(pending[-1], None)
            if target is None:
                done.add(path.pop())
                pending.pop()
            elif target in graph and target not in done:
                if target not in depth:
                    depth[target] = len(path)
                    path.append(target)
                    pending.append(iter(graph[target]))
                elif target not in told and path[-1] not in told:
                    circle = path[depth[target] :]
                    if told.isdisjoint(circle):
                        told.update(circle)
                        first = circle.index(min(circle, key=order.__getitem__))
                        circle = circle[first:] + circle[:first]
                        found[circle[0]] = " -> ".join([*circle, circle[0]])
    return found
