"""What a rule sees: one Pod template, container, metadata or object, with the object around it and what the run knows besides."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gpuvet.engine.context import Context, Fact
from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.engine.resolving import Lookup, key_of, shared_resolver
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import Template
from gpuvet.resolve.fields import Known, Resolved, Resolver
from gpuvet.values.path import Path
from gpuvet.values.total import UNKNOWN, Place, Unknown, get, items, placeholder, pod_sum


class _AnyMap(dict[str, Any]):
    """What a template engine will put in: any key may stand there."""

    def get(self, key: str, default: Any = None) -> Any:
        return UNKNOWN


_EMPTY: dict[str, Any] = {}
_ANY_MAP = _AnyMap()


def _map(found: Any) -> dict[str, Any]:
    if found is None:
        return _EMPTY
    if type(found) is dict:
        return found
    return _ANY_MAP if found is UNKNOWN or placeholder(found) else _EMPTY


class ObjectScope:
    """One object of a document, shared by its subjects."""

    __slots__ = (
        *("asked", "author", "context", "document", "domains", "file", "found", "fragment", "kind", "namespace", "path"),
        *("platforms", "resolvers", "sums", "value"),
    )

    def __init__(
        self, document: Document, path: Path, value: dict[str, Any], kind: str, file: str, context: Context, platforms: dict[str, str]
    ) -> None:
        self.document = document
        self.path = path
        self.value = value
        self.author = value
        """The object as it stands in the file, where a company's own domain makes it differ from `value`."""
        self.domains: Domains = NO_DOMAINS
        self.kind = kind
        self.file = file
        self.context = context
        self.platforms = platforms
        self.fragment = False
        self.asked: set[str] = set()
        """Kinds that rules asked the context for and got no certain answer."""
        self.found: dict[tuple[Any, ...], Fact] = {}
        self.resolvers: dict[int, Resolver] = {}
        """Per Pod template (by the identity of its view): its effective configuration."""
        self.sums: dict[tuple[int, Any], int | None] = {}
        """Per Pod template and resource: what the scheduler counts."""
        metadata = value.get("metadata")
        namespace = metadata.get("namespace") if type(metadata) is dict else None
        self.namespace: str | None = namespace if type(namespace) is str and namespace else None

    def renew(self) -> None:
        """Forgets what was worked out from a context that is now replaced."""
        self.resolvers.clear()


class Subject:
    """The value a rule is about. `path` leads to it from the Pod, or from the object where there is none."""

    __slots__ = ("_defined", "_template", "annotations", "labels", "limits", "path", "pod", "requests", "scope", "spec", "value", "view")

    def __init__(self, scope: ObjectScope, value: Any, path: Path, pod: dict[str, Any] | None = None, view: Template | None = None) -> None:
        self.scope = scope
        self.value = value
        self.path = path
        self.pod = pod
        self.view = view
        self._template: dict[str, Any] | None = None
        self._defined: dict[Callable[[Subject], Any], Any] | None = None
        # Maps that most rules look into, empty where something else stands: printed screens read them.
        metadata = value if view is None else view.metadata
        self.annotations = _map(metadata.get("annotations"))
        self.labels = _map(metadata.get("labels"))
        self.spec: dict[str, Any] = _EMPTY if view is None else view.spec
        resources = value.get("resources")
        self.limits = _EMPTY if resources is None else _map(get(resources, "limits"))
        self.requests = _EMPTY if resources is None else _map(get(resources, "requests"))

    @property
    def object(self) -> dict[str, Any]:
        """The whole object."""
        return self.scope.value

    @property
    def template(self) -> dict[str, Any]:
        """What rules may ask of a Pod template besides its content."""
        if self._template is None:
            self._template = template_facts(self.scope, self.view)
        return self._template

    def resolver(self, full: bool = False) -> Resolver:
        """The effective configuration."""
        scope = self.scope
        found = scope.resolvers.get(id(self.view))
        if found is None:
            found = shared_resolver(scope.context, self.pod or {}, scope.namespace, scope.file, scope.platforms, full)
            scope.resolvers[id(self.view)] = found
        return found

    def resolved(self, field: str) -> Resolved | None:
        """An effective field with its source. Whoever asks for it depends on the same other objects."""
        resolver = self.resolver()
        found = resolver.field(field)
        hangs_on = resolver.hangs_on(field)
        if hangs_on:
            self.scope.asked |= hangs_on
        return found

    def effective(self, field: str) -> Any:
        """The effective value of a field; UNKNOWN when a source of it is not known; None without value."""
        resolved = self.resolved(field)
        return None if resolved is None else resolved.value

    def source(self, field: str) -> str | None:
        """The source that won an effective field."""
        resolved = self.resolved(field)
        return None if resolved is None else resolved.source

    def part(self, name: str) -> Any:
        """A part of the subject that some rules look at alone: all that they may see of it."""
        spec = self.spec
        match name:
            case "resources":
                return self.value.get("resources")
            case "placement":
                return spec.get("affinity"), spec.get("nodeSelector"), spec.get("tolerations")
            case "named":
                metadata = self.value.get("metadata")
                return metadata.get("annotations"), metadata.get("labels")
        resources = [
            (each.get("resources"), each.get("restartPolicy")) if type(each) is dict else each
            for part in ("initContainers", "containers")
            for each in (part, *items(spec.get(part)))
        ]
        return resources, spec.get("overhead"), spec.get("resources"), spec.get("schedulerName"), self.view and self.view.scheduler

    def find(self, kind: str, name: Any, namespace: Any = None) -> Any:
        """The value of another object, None when known absent, UNKNOWN when not known. Without a namespace: the subject's own."""
        scope, key = self.scope, (kind, name, namespace)
        # Lists and maps, which manifests may hold in these places, cannot be looked up.
        if type(name) is not str:
            return name if name is UNKNOWN else None
        if namespace is not None and type(namespace) is not str:
            return UNKNOWN
        if key in scope.found:
            return scope.found[key].value
        answer = Lookup(scope.context, scope.namespace, scope.file).fact(kind, name, namespace)
        if isinstance(answer, Fact):
            scope.found[key] = answer
            return answer.value
        if not placeholder(name) and not placeholder(namespace or scope.namespace):
            scope.asked.add(kind)
        return answer

    def find_all(self, kind: str, name: str = "") -> list[Any] | Unknown:
        """The values of all known objects of a kind, or those of one name."""
        self.scope.asked.add(kind)
        context = self.scope.context
        found = context.remembered.get((kind, name))
        if found is None:
            answer = context.find_all(kind)
            found = answer if isinstance(answer, Unknown) else [fact.value for fact in answer if not name or fact.name == name]
            context.remembered[kind, name] = found
        return found

    def find_named(self, kind: str, name: Any) -> list[Any]:
        """The values of the known objects of a kind and name, in any namespace; none when the run cannot tell."""
        self.scope.asked.add(kind)
        return [fact.value for fact in self.scope.context.find_named(kind, name)] if type(name) is str else []

    def located_all(self, kind: str, name: str = "") -> list[tuple[Place, Any]]:
        """Place and value of each known object of a kind, or those of one name; none when the run cannot tell."""
        return [(known.place, known.value) for known in self.known(kind)[0] if not name or known.place[1][1] == name]

    def pod_sum(self, key: Any) -> int | None:
        """What the scheduler counts for a resource over the whole Pod, worked out once."""
        sums, place = self.scope.sums, (id(self.view), key)
        if place not in sums:
            sums[place] = pod_sum(self.pod, key)
        return sums[place]

    def once(self, work: Callable[["Subject"], Any]) -> Any:
        """What a definition of a rule file yields, worked out once."""
        if self._defined is None:
            self._defined = {}
        if work not in self._defined:
            self._defined[work] = work(self)
        return self._defined[work]

    def once_for_all(self, key: str, kinds: tuple[str, ...], work: Callable[[], Any]) -> Any:
        """What hangs on the known objects of some kinds alone: worked out for the first subject, remembered for the others."""
        self.scope.asked.update(kinds)
        remembered = self.scope.context.remembered
        if key not in remembered:
            remembered[key] = work()
        return remembered[key]

    def forget(self) -> None:
        """Forgets what was worked out from a context that is now replaced."""
        self._defined = None

    def known(self, kind: str) -> tuple[list[Known], bool]:
        """The known objects of a kind, and whether there are no others."""
        self.scope.asked.add(kind)
        return Lookup(self.scope.context, self.scope.namespace, self.scope.file).known(kind)

    def parsed(self, value: Any, format: str) -> Any:
        """The value of the YAML or JSON in a text; None when it does not parse."""
        return parse_text(value, format) if type(value) is str else None

    def locate(self, place: Place) -> tuple[Path | None, Fact | None, Path]:
        """A place as (the author's path in the object, None, ()) or, inside another object, (None, that object, path there)."""
        path, fact, there = self._locate(place)
        if path is not None and self.scope.domains:
            path = self.scope.domains.path(path, self.scope.author)
        return path, fact, there

    def _locate(self, place: Place) -> tuple[Path | None, Fact | None, Path]:
        root, path = place[0], place[1:]
        match root:
            case "self":
                return self._own(path), None, ()
            case "object":
                return path, None, ()
            case "pod":
                return self.view.locate(path) if self.view is not None else path, None, ()
            case "template" if path == ("scheduler",) and self.view is not None and self.view.scheduler_path is not None:
                return self.view.scheduler_path, None, ()
            case "template":
                return (self.view.replicas_path if self.view is not None and self.view.replicas_path else ()), None, ()
            case "effective":
                resolved = self.resolved(path[0])
                if resolved is not None and resolved.place is not None:
                    return self._locate(resolved.place)
                return self.view.locate(("metadata",)) if self.view is not None else (), None, ()
            case "found" if path and (fact := self._fact(path[0])) is not None:
                return None, fact, path[1:]
        return (), None, ()

    def _fact(self, key: tuple[Any, ...]) -> Fact | None:
        """The other object that a place speaks of: one that was found by its name, or met in the list of its kind."""
        found = self.scope.found
        if key not in found and len(key) == 3:
            self.find(*key)
        elif key not in found:
            answer = self.scope.context.find_all(key[0])
            found.update({key_of(fact): fact for fact in (answer if isinstance(answer, list) else ()) if fact.identity == key[3]})
        return found.get(key)

    @property
    def fragment(self) -> bool:
        """Whether what is missing here may stand elsewhere."""
        return self.scope.fragment or (self.view is not None and self.view.partial)

    def _own(self, path: Path) -> Path:
        return (*self.path, *path) if self.view is None else self.view.locate((*self.path, *path))


@lru_cache(maxsize=256)
def parse_text(value: str, format: str) -> Any:
    """The value of a YAML or JSON text; None when it does not parse, or is null."""
    import json

    if format == "json":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    from gpuvet.manifests.reader import read

    reading = read(value.encode("utf-8", "surrogatepass"))
    return reading.documents[0].value if len(reading.documents) == 1 and not reading.problems else None


def template_facts(scope: ObjectScope, view: Template | None) -> dict[str, Any]:
    """What rules may ask of a Pod template besides its content."""
    if view is None:
        return {}
    return {
        "name": view.name,
        "kind": scope.kind,
        "replicas": view.replicas,
        "gangMinimum": view.gang_minimum,
        "validated": view.validated,
        "scheduler": view.scheduler,
    }
