"""What is kept of objects that rules look up: the parts that rules read, and where to find the rest again."""

from gpuvet.engine.context import Fact
from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import objects

_PARTS = ("apiVersion", "kind", "metadata", "spec", "status", "data")


def facts_of(document: Document, shown_file: str, file: str, kinds: frozenset[str], domains: Domains = NO_DOMAINS) -> list[Fact]:
    """The facts of every object of these kinds, or `Kind/name`, in a document."""
    found = []
    for path, value in objects(document.value):
        kind, metadata = value.get("kind"), value.get("metadata")
        if type(kind) is not str or type(metadata) is not dict or type(metadata.get("name")) is not str:
            continue
        if kind not in kinds and f"{kind}/{metadata['name']}" not in kinds:
            continue
        namespace = metadata.get("namespace")
        value = domains.canonical(value) if domains else value
        kept = {part: value[part] for part in _PARTS if part in value}
        owner = namespace if type(namespace) is str and namespace else None
        found.append(Fact(kind, owner, metadata["name"], kept, shown_file, file, document.index, path, document))
    return found
