"""The effective configuration of Pod templates, worked out once for all templates that say the same in the same surroundings."""

from marshal import dumps
from typing import Any

from gpuvet.engine.context import Context, Fact
from gpuvet.resolve.fields import Inputs, Known, Resolver
from gpuvet.values.path import Path
from gpuvet.values.total import UNKNOWN, get, items, placeholder

_DOMAIN = "tensor-fusion.ai/"
_REMEMBERED = 1_000
"""Configurations kept for each context."""
_LONGEST = 8_192
"""Bytes of what a configuration that is kept was worked out from: somebody else's manifests must not fill the memory."""


class Lookup:
    """Finds other objects for a place in the inputs. It holds on to nothing of the object that asks."""

    __slots__ = ("_context", "_file", "_namespace")

    def __init__(self, context: Context, namespace: str | None, file: str) -> None:
        self._context = context
        self._namespace = namespace
        self._file = file

    def find(self, kind: str, name: Any, namespace: Any = None) -> Any:
        """The value of another object, None when known absent, UNKNOWN when not known. Without a namespace: the object's own."""
        answer = self.fact(kind, name, namespace)
        return answer.value if isinstance(answer, Fact) else answer

    def fact(self, kind: str, name: Any, namespace: Any = None) -> Any:
        """The same with its file."""
        if type(name) is not str:
            return name if name is UNKNOWN else None
        if placeholder(name) or placeholder(namespace or self._namespace):
            return UNKNOWN
        return self._context.find(kind, name, namespace or self._namespace, self._file)

    def known(self, kind: str) -> tuple[list[Known], bool]:
        """The known objects of a kind, and whether there are no others."""
        answer = self._context.find_all(kind)
        default = self._context.default_namespace
        listed = [
            Known(fact.namespace or default, fact.value, ("found", key_of(fact))) for fact in (answer if isinstance(answer, list) else ())
        ]
        return listed, self._context.is_complete(kind)


def key_of(fact: Fact) -> tuple[str, str, str | None, tuple[str, int, Path]]:
    """What places call an object that was met in a list."""
    return (fact.kind, fact.name, fact.namespace, fact.identity)


def shared_resolver(
    context: Context, pod: dict[str, Any], namespace: str | None, file: str, platforms: dict[str, str], full: bool
) -> Resolver:
    """The resolver of a Pod template, perhaps one that another template has used before.

    With `full` it is a new one, whose fields also say what they keep from counting.
    """
    # All that a resolver looks at: what is left out here, it cannot see.
    metadata = pod.get("metadata", {})
    seen = {
        "metadata": {"annotations": _own_keys(metadata.get("annotations")), "labels": _own_keys(metadata.get("labels"))},
        "spec": {"containers": [_limits(container) for container in items(get(pod, "spec", "containers"))]},
    }
    content = b""
    if not full:
        try:
            content = dumps((seen, namespace, context.neighbourhood(file), platforms), 2)
        except ValueError:
            pass
        else:
            found = context.resolvers.get(content)
            if found is not None:
                return found
    # Not at the top: a check of manifests without TensorFusion's keys does not pay for it.
    from gpuvet.resolve.tensor_fusion import TensorFusion

    lookup = Lookup(context, namespace, file)
    made = TensorFusion(Inputs(seen, {}, namespace or context.default_namespace, lookup.find, lookup.known, platforms), full)
    if 0 < len(content) <= _LONGEST:
        if len(context.resolvers) >= _REMEMBERED:
            context.resolvers.clear()
        context.resolvers[content] = made
    return made


def _own_keys(value: Any) -> Any:
    return {key: item for key, item in value.items() if key.startswith(_DOMAIN)} if type(value) is dict else value


def _limits(container: Any) -> Any:
    if type(container) is not dict:
        return container
    return {"name": container.get("name"), "resources": {"limits": get(container, "resources", "limits")}}
