"""Where the fields of a TensorFusion configuration come from, per operator version: rules/facts/tensor-fusion-precedence.yaml, prepared.

`course` and `springs` say what can be said of a field without going through the versions one by one.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from gpuvet.compiled.facts import FACTS
from gpuvet.values.version import Version, in_range, parse_version

DOMAIN = "tensor-fusion.ai"
TABLE: dict[str, Any] = FACTS["tensor-fusion-precedence"]
FIELDS: dict[str, list[dict[str, Any]]] = TABLE["fields"]
LABELS = frozenset(field for field, sources in FIELDS.items() if any(source["from"] == "label" for source in sources))

Sources = dict[str, tuple[dict[str, Any], ...]]


@lru_cache(maxsize=64)
def sources_of(version: Version) -> Sources:
    """Field -> the sources that count in a version."""
    return {
        field: tuple(source for source in listed if "versions" not in source or in_range(version, source["versions"]))
        for field, listed in FIELDS.items()
    }


def _dialects() -> dict[str, Version]:
    found = {}
    for name, text in TABLE["dialects"].items():
        version = parse_version(text)
        assert version is not None, text
        found[name] = version
    return found


DIALECTS = _dialects()


@lru_cache(maxsize=1024)
def readers(key: str, sort: str) -> tuple[Version, ...]:
    """The dialects that read an annotation or label."""
    return tuple(
        version
        for version in DIALECTS.values()
        if any(
            source["from"] == sort and source.get("key", field) == key for field, listed in sources_of(version).items() for source in listed
        )
    )


_OLDEST = min(DIALECTS.values())


@lru_cache(maxsize=4096)
def since(key: Any, sort: str) -> Version:
    """The oldest dialect that reads an annotation or label; the oldest of all for what none reads."""
    found = readers(key[len(DOMAIN) + 1 :], sort) if type(key) is str and key.startswith(f"{DOMAIN}/") else ()
    return found[0] if found else _OLDEST


@lru_cache(maxsize=8)
def from_version(oldest: Version | None) -> tuple[Version, ...]:
    """The dialects from a version on."""
    return tuple(version for version in DIALECTS.values() if oldest is None or version >= oldest)


RIVALS = {"dedicated": "dedicated-gpu", "gpu-indices": "gpu-indices", "sidecar-worker": "sidecar-worker", "autoscale": "autoscale"}
"""Sources that count only where an annotation stands."""
_NATIVE = frozenset(("native-count", "native-percent", "native-vendor", "native-containers"))


class Course(NamedTuple):
    """The sources that all versions look at first, in the same order."""

    sources: tuple[dict[str, Any], ...]
    """Those of an annotation have all that it `takes` in the versions."""
    rivals: frozenset[str]
    """Annotations in whose presence other sources may count."""
    whole: bool
    """There are no other sources."""


@lru_cache(maxsize=1024)
def course(versions: tuple[Version, ...], field: str) -> Course:
    """What the versions have in common."""
    rivals: set[str] = set()
    queues = []
    for version in versions:
        queue = []
        for source in sources_of(version).get(field, ()):
            if source["from"] in RIVALS:
                rivals.add(f"{DOMAIN}/{RIVALS[source['from']]}")
            else:
                queue.append({part: value for part, value in source.items() if part != "versions"})
        queues.append(queue)
    shared = []
    for sources in zip(*queues, strict=False):
        takes = tuple(sorted({str(source.get("takes")) for source in sources}))
        plain = [{**source, "takes": takes} if source["from"] in ("annotation", "label") else source for source in sources]
        source = plain[0]
        if any(other != source for other in plain) or not {"when", "without"}.isdisjoint(source):
            break
        if source["from"] not in ("annotation", "label", "profile", "default"):
            break
        if source["from"] == "profile" and not course(versions, "workload-profile").whole:
            break
        rivals.update(f"{DOMAIN}/{key}" for key in source.get("unless", ()))
        shared.append(source)
    return Course(tuple(shared), frozenset(rivals), all(len(queue) == len(shared) for queue in queues))


class Springs(NamedTuple):
    """All that a field can come from in any of the versions."""

    keys: frozenset[str]
    """Annotations."""
    paths: frozenset[tuple[str, ...]]
    """Places in a profile."""
    native: bool
    """Native GPU limits."""
    quota: bool
    """The namespace's quota."""


@lru_cache(maxsize=1024)
def springs(versions: tuple[Version, ...], field: str) -> Springs | None:
    """None when a field can come from something else."""
    nothing: frozenset[Any] = frozenset()
    found = Springs(nothing, nothing, False, False)
    for version in versions:
        for source in sources_of(version).get(field, ()):
            match source["from"]:
                case "annotation":
                    more: Springs | None = found._replace(keys=found.keys | {f"{DOMAIN}/{source.get('key', field)}"})
                case "profile":
                    more = found._replace(paths=found.paths | {tuple(source["at"].split("."))})
                case "quota":
                    more = found._replace(quota=True)
                case "limit":
                    limit = springs(versions, source["field"])
                    more = limit and Springs(
                        found.keys | limit.keys, found.paths | limit.paths, found.native or limit.native, found.quota or limit.quota
                    )
                case kind if kind in RIVALS:
                    more = found._replace(keys=found.keys | {f"{DOMAIN}/{RIVALS[kind]}"})
                case kind if kind in _NATIVE:
                    more = found._replace(native=True)
                case _:
                    more = None
            if more is None:
                return None
            found = more
    return found


STATED = "stated-"
"""Before the name of a field: what is stated for it, taking it that a quota which is not among the inputs gives nothing."""


class Plan(NamedTuple):
    """How a field is looked up in some versions."""

    name: str
    """Without `stated-`."""
    key: str
    """Annotation or label of its own."""
    is_label: bool
    written: tuple[Version, ...]
    """The versions that count where that stands."""
    takes: tuple[str, ...]
    """What it may be, where it then comes before all other sources in all of these versions; else empty."""
    rivals: frozenset[str]
    """Annotations in whose presence it does not."""


class Plans(dict[str, Plan]):
    """Field -> how it is looked up in these versions, made on demand. `named`: the version is known, not just compatible."""

    def __init__(self, versions: tuple[Version, ...], named: bool) -> None:
        self._versions = versions
        self._named = named

    def __missing__(self, stated: str) -> Plan:
        name = stated.removeprefix(STATED)
        sort = "label" if name in LABELS else "annotation"
        versions = self._versions
        if not self._named:
            own = readers(name, sort)
            versions = tuple(version for version in versions if version in own) or own or versions
        common = course(versions, name)
        first = common.sources[0] if common.sources else {"from": ""}
        takes: tuple[str, ...] = tuple(first["takes"]) if first["from"] == sort and "key" not in first else ()
        plan = self[stated] = Plan(name, f"{DOMAIN}/{name}", sort == "label", versions, takes, common.rivals)
        return plan


@lru_cache(maxsize=64)
def plans(versions: tuple[Version, ...], named: bool) -> Plans:
    """The plans for some versions, shared by all Pod templates."""
    return Plans(versions, named)
