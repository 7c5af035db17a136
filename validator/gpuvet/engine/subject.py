"""What a rule sees: one Pod template, container, metadata or object, with the object around it and what the run knows besides."""

from collections.abc import Callable
from typing import Any

from gpuvet.engine.context import Context, Fact
from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import Template
from gpuvet.resolve.fields import Inputs, Known, Resolved, Resolver, resolver
from gpuvet.values.path import Path
from gpuvet.values.total import UNKNOWN, Place, Unknown, placeholder, pod_sum


class ObjectScope:
    """One object of a document, shared by its subjects."""

    __slots__ = (
        *("asked", "author", "context", "document", "domains", "file", "found", "fragment", "kind", "namespace", "parsed", "path"),
        *("platforms", "value"),
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
        self.parsed: dict[tuple[str, str], Any] = {}
        metadata = value.get("metadata")
        namespace = metadata.get("namespace") if type(metadata) is dict else None
        self.namespace: str | None = namespace if type(namespace) is str and namespace else None


class Subject:
    """The value a rule is about. `place` leads to it from the object."""

    __slots__ = ("_resolver", "_sums", "path", "pod", "scope", "template", "value", "view")

    def __init__(
        self, scope: ObjectScope, value: Any, path: Path, pod: dict[str, Any] | None = None, view: Template | None = None
    ) -> None:
        self.scope = scope
        self.value = value
        self.path = path
        self.pod = pod
        self.view = view
        self.template = template_facts(scope, view)
        self._resolver: Resolver | None = None
        self._sums: dict[Any, Any] = {}

    @property
    def object(self) -> dict[str, Any]:
        """The whole object."""
        return self.scope.value

    def resolver(self) -> Resolver:
        """The effective configuration, each field worked out once."""
        if self._resolver is None:
            namespace = self.scope.namespace or self.scope.context.default_namespace
            inputs = Inputs(self.pod or {}, self.template, namespace, self.find, self.known, self.scope.platforms)
            self._resolver = resolver(inputs)
        return self._resolver

    def resolved(self, field: str) -> Resolved | None:
        """An effective field with its source. Whoever asks for it depends on the same other objects."""
        found = self.resolver().field(field)
        self.scope.asked |= self.resolver().hangs_on(field)
        return found

    def effective(self, field: str) -> Any:
        """The effective value of a field; UNKNOWN when a source of it is not known; None without value."""
        resolved = self.resolved(field)
        return None if resolved is None else resolved.value

    def source(self, field: str) -> str | None:
        """The source that won an effective field."""
        resolved = self.resolved(field)
        return None if resolved is None else resolved.source

    def find(self, kind: str, name: Any, namespace: Any = None) -> Any:
        """The value of another object, None when known absent, UNKNOWN when not known. Without a namespace: the subject's own."""
        if type(name) is not str:
            return name if name is UNKNOWN else None
        if placeholder(name) or placeholder(namespace or self.scope.namespace):
            return UNKNOWN
        key = (kind, name, namespace)
        if key in self.scope.found:
            return self.scope.found[key].value
        answer = self.scope.context.find(kind, name, namespace or self.scope.namespace, self.scope.file)
        if isinstance(answer, Fact):
            self.scope.found[key] = answer
            return answer.value
        self.scope.asked.add(kind)
        return answer

    def find_all(self, kind: str, name: str = "") -> list[Any] | Unknown:
        """The values of all known objects of a kind, or those of one name."""
        self.scope.asked.add(kind)
        answer = self.scope.context.find_all(kind)
        return answer if isinstance(answer, Unknown) else [fact.value for fact in answer if not name or fact.name == name]

    def located_all(self, kind: str, name: str = "") -> list[tuple[Place, Any]]:
        """Place and value of each known object of a kind, or those of one name; none when the run cannot tell."""
        return [(known.place, known.value) for known in self.known(kind)[0] if not name or known.place[1][1] == name]

    def pod_sum(self, key: Any) -> int | None:
        """What the scheduler counts for a resource over the whole Pod, worked out once."""
        if key not in self._sums:
            self._sums[key] = pod_sum(self.pod, key)
        return self._sums[key]  # type: ignore[no-any-return]

    def once(self, work: Callable[["Subject"], Any]) -> Any:
        """What a definition of a rule file yields, worked out once."""
        if work not in self._sums:
            self._sums[work] = work(self)
        return self._sums[work]

    def known(self, kind: str) -> tuple[list[Known], bool]:
        """The known objects of a kind, and whether there are no others."""
        self.scope.asked.add(kind)
        answer = self.scope.context.find_all(kind)
        known = []
        for fact in [] if isinstance(answer, Unknown) else answer:
            key = (fact.kind, fact.name, fact.namespace)
            self.scope.found[key] = fact
            known.append(Known(fact.namespace or self.scope.context.default_namespace, fact.value, ("found", key)))
        return known, self.scope.context.is_complete(kind)

    def parsed(self, value: Any, format: str) -> Any:
        """The value of the YAML or JSON in a text; None when it does not parse."""
        if type(value) is not str:
            return None
        cache = self.scope.parsed
        if (value, format) not in cache:
            cache[value, format] = parse_text(value, format)
        return cache[value, format]

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
            case "template":
                return (self.view.replicas_path if self.view is not None and self.view.replicas_path else ()), None, ()
            case "effective":
                resolved = self.resolved(path[0])
                if resolved is not None and resolved.place is not None:
                    return self._locate(resolved.place)
                return self.view.locate(("metadata",)) if self.view is not None else (), None, ()
            case "found" if path and path[0] in self.scope.found:
                return None, self.scope.found[path[0]], path[1:]
        return (), None, ()

    @property
    def fragment(self) -> bool:
        """Whether what is missing here may stand elsewhere."""
        return self.scope.fragment or (self.view is not None and self.view.partial)

    def _own(self, path: Path) -> Path:
        if self.view is not None and self.value is self.pod:
            return self.view.locate(path)
        if self.view is not None and self.value is self.view.metadata:
            return self.view.locate(("metadata", *path))
        return (*self.path, *path)


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

