"""What a run knows of other objects. Three answers: the object, None (known absent), UNKNOWN."""

import os
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from gpuvet.engine.spans import span_of
from gpuvet.manifests.document import Document
from gpuvet.manifests.reader import read
from gpuvet.resolve.fields import Resolver
from gpuvet.values.finding import Location
from gpuvet.values.path import Path
from gpuvet.values.span import Span
from gpuvet.values.total import UNKNOWN, Unknown


class Fact(NamedTuple):
    """What is kept of an object that rules look up. Places are worked out when a finding needs them, by reading the file again."""

    kind: str
    namespace: str | None
    name: str
    value: dict[str, Any]
    shown_file: str
    """What findings call the file."""
    file: str
    document_index: int
    """The document's place in the file."""
    path: Path
    """The object's place in the document (in a List)."""
    document: Document | None
    """Kept only while the file is being judged, and for what cannot be read again."""

    @property
    def identity(self) -> tuple[str, int, Path]:
        """Which object it is. Also the order that does not hang on who read which file first."""
        return (self.file, self.document_index, self.path)

    def locate(self, path: Path) -> Location:
        """The place of a path in the object, or of its nearest ancestor that has one."""
        document = self.document or reread(self.file, self.document_index)
        span = Span(1, 1, 1, 2) if document is None else span_of(document, (*self.path, *path))
        return Location(self.shown_file, span)


@lru_cache(maxsize=4)
def _documents(file: str, device: int, inode: int, changed: int) -> list[Document]:
    """The documents of a file as it is now: names alone would mix up files of different folders, and of different times."""
    with open(file, "rb") as stream:
        return read(stream.read()).documents


def reread(file: str, index: int) -> Document | None:
    """A document of a file, read again; None when it is no longer there."""
    try:
        status = os.stat(file)
        documents = _documents(file, status.st_dev, status.st_ino, status.st_mtime_ns)
    except OSError:
        return None
    return documents[index] if index < len(documents) else None


class Context(Protocol):
    """Answers questions about other objects."""

    remembered: dict[Any, Any]
    """What rules worked out from all objects of a kind, by a key of theirs."""
    resolvers: dict[bytes, Resolver]
    """Effective configurations, by all that they were worked out from."""

    @property
    def default_namespace(self) -> str | None:
        """The namespace of objects that name none, when that is known."""

    def is_complete(self, kind: str) -> bool:
        """Whether there are no objects of a kind but those that are known."""

    def find(self, kind: str, name: str, namespace: str | None, file: str) -> Fact | Unknown | None:
        """The object of that identity, seen from `file`; None only when it is known not to exist."""

    def neighbourhood(self, file: str) -> str:
        """The same for files from which every object is seen alike."""

    def find_all(self, kind: str) -> list[Fact] | Unknown:
        """All objects of a kind, when the run knows any or the kind is declared complete."""

    def find_named(self, kind: str, name: str) -> list[Fact]:
        """Those of `find_all` that have this name."""


class EmptyContext:
    """Knows nothing: what one-object engines see."""

    def __init__(self, default_namespace: str | None = None) -> None:
        self.default_namespace = default_namespace
        self.remembered: dict[Any, Any] = {}
        self.resolvers: dict[bytes, Resolver] = {}

    def is_complete(self, kind: str) -> bool:
        return False

    def find(self, kind: str, name: str, namespace: str | None, file: str) -> Fact | Unknown | None:
        return UNKNOWN

    def neighbourhood(self, file: str) -> str:
        return ""

    def find_all(self, kind: str) -> list[Fact] | Unknown:
        return UNKNOWN

    def find_named(self, kind: str, name: str) -> list[Fact]:
        return []


class FactContext:
    """Knows the objects among the inputs, and which kinds were declared complete."""

    def __init__(self, facts: list[Fact], complete: frozenset[str] = frozenset(), default_namespace: str | None = None) -> None:
        self._by_name: dict[tuple[str, str], list[Fact]] = {}
        self._by_kind: dict[str, list[Fact]] = {}
        self._complete = complete
        self._default = default_namespace
        self.remembered: dict[Any, Any] = {}
        self.resolvers: dict[bytes, Resolver] = {}
        for fact in facts:
            self._by_name.setdefault((fact.kind, fact.name), []).append(fact)
            self._by_kind.setdefault(fact.kind, []).append(fact)
        self._by_place = any(len(same) > 1 for same in self._by_name.values())
        """Whether it may depend on the place of a file which object it sees."""

    @property
    def default_namespace(self) -> str | None:
        """The namespace of objects that name none."""
        return self._default

    def is_complete(self, kind: str) -> bool:
        return kind in self._complete

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds about which the context knows anything."""
        return frozenset(self._by_kind) | self._complete

    def find(self, kind: str, name: str, namespace: str | None, file: str) -> Fact | Unknown | None:
        found = self._by_name.get((kind, name), [])
        wanted = namespace or self._default
        same = [fact for fact in found if (fact.namespace or self._default) == wanted]
        if not same:
            open_namespace = wanted is None or any((fact.namespace or self._default) is None for fact in found)
            return UNKNOWN if kind not in self._complete or (found and open_namespace) else None
        return _one_of(same, file)

    def neighbourhood(self, file: str) -> str:
        return file.rpartition("/")[0] if self._by_place else ""

    def find_named(self, kind: str, name: str) -> list[Fact]:
        return self._by_name.get((kind, name), [])

    def find_all(self, kind: str) -> list[Fact] | Unknown:
        found = self._by_kind.get(kind)
        return found if found is not None else [] if kind in self._complete else UNKNOWN


class OwnFirst:
    """The objects of the same file before everything else."""

    def __init__(self, own: list[Fact], behind: Context) -> None:
        self._own = FactContext(own, default_namespace=behind.default_namespace)
        self._behind = behind
        self.default_namespace = behind.default_namespace
        self.remembered = behind.remembered
        self.resolvers: dict[bytes, Resolver] = {}

    def neighbourhood(self, file: str) -> str:
        return file

    def close(self) -> None:
        """Lets go of what holds on to this context."""
        self.resolvers.clear()

    def is_complete(self, kind: str) -> bool:
        return self._behind.is_complete(kind)

    def find(self, kind: str, name: str, namespace: str | None, file: str) -> Fact | Unknown | None:
        answer = self._own.find(kind, name, namespace, file)
        return answer if isinstance(answer, Fact) else self._behind.find(kind, name, namespace, file)

    def find_all(self, kind: str) -> list[Fact] | Unknown:
        """Those of the file are not all, so the rest of the run is asked."""
        return self._behind.find_all(kind)

    def find_named(self, kind: str, name: str) -> list[Fact]:
        return self._behind.find_named(kind, name)


def _one_of(facts: list[Fact], file: str) -> Fact | Unknown:
    """Same file before nearest folder; two that still differ leave it unknown."""
    if len(facts) > 1:
        facts = sorted(facts, key=lambda fact: -_nearness(fact.shown_file, file))
        best = _nearness(facts[0].shown_file, file)
        near = [fact for fact in facts if _nearness(fact.shown_file, file) == best]
        if any(fact.value != near[0].value for fact in near):
            return UNKNOWN
    return facts[0]


def _nearness(one: str, other: str) -> int:
    if one == other:
        return 1_000_000
    shared = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        shared += 1
    return shared
