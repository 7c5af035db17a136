"""What each Pod template will get: its effective configuration with the author's place of every value, and the totals."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuvet.engine.context import Context
from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.engine.placing import locate, object_reference
from gpuvet.engine.spans import span_of
from gpuvet.engine.subject import ObjectScope, Subject
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import INDEX, Index, Template, objects, row_of, templates
from gpuvet.resolve.fields import Candidate, Resolved
from gpuvet.resolve.requests import container_requests, is_bytes, pod_sums
from gpuvet.values.finding import Location, ObjectReference
from gpuvet.values.path import Path
from gpuvet.values.quantity import format_quantity
from gpuvet.values.total import UNKNOWN, Place, get, integer, placeholder, quantity

KINDS = frozenset(("GPUPool", "GPUResourceQuota", "WorkloadProfile"))
"""Kinds of other objects that a configuration may come from."""

_DOMAIN = "tensor-fusion.ai/"
_AMOUNTS = ("tflops-request", "tflops-limit", "compute-percent-request", "compute-percent-limit", "vram-request", "vram-limit")
"""Fields that count for each of a worker's devices."""


class Source(NamedTuple):
    """Where a value comes from: `annotation`, `profile`, `default` ... Without a place it is nobody's text."""

    what: str
    location: Location | None


class Shadowed(NamedTuple):
    """A value that another one keeps from counting."""

    value: Any
    source: Source


class Setting(NamedTuple):
    """The value that counts. When it is not `known`, `value` is what it would be by what is known (or None), `note` says why, and
    `source` is what it hangs on."""

    value: Any
    known: bool
    note: str
    source: Source
    shadowed: tuple[Shadowed, ...]


class Container(NamedTuple):
    """A container's device requests after defaulting."""

    name: str | None
    init: bool
    requests: dict[str, Setting]


class Gang(NamedTuple):
    """How many Pods start together or not at all, and what they need together."""

    minimum: int | None
    of_all_templates: int | None
    """The same over all templates of the object, when the owner says it there."""
    total: dict[str, str | None]


class Configuration(NamedTuple):
    """One Pod template. `fields` is empty when TensorFusion has nothing to do with it, `containers` when no device is asked for."""

    object: ObjectReference
    template: str
    location: Location
    replicas: int | None
    fields: dict[str, Setting]
    containers: tuple[Container, ...]
    pod_sum: dict[str, str | None]
    total: dict[str, str | None]
    """Value x devices x Pods; None where a factor is not known."""
    gang: Gang | None
    notes: tuple[str, ...]


def configurations(
    document: Document,
    file: str,
    context: Context,
    rows: Index | None = None,
    platforms: Mapping[str, str] | None = None,
    domains: Domains = NO_DOMAINS,
) -> list[Configuration]:
    """The configuration of every Pod template of a document that asks for a device."""
    found = []
    for path, author in objects(document.value):
        value = domains.canonical(author) if domains else author
        row = row_of(value, INDEX if rows is None else rows)
        if row is None:
            continue
        for view in templates(value, row):
            scope = ObjectScope(document, path, value, str(value.get("kind")), file, context, dict(platforms or {}))
            scope.author, scope.domains = author, domains
            pod = {"metadata": view.metadata, "spec": view.spec}
            configuration = _configuration(Subject(scope, pod, (), pod, view), view, pod)
            if configuration is not None:
                found.append(configuration)
    return found


def _configuration(subject: Subject, view: Template, pod: dict[str, Any]) -> Configuration | None:
    managed = _speaks_of_tensor_fusion(view.metadata)
    containers = tuple(
        Container(each.name, each.init, {key: _setting(subject, value) for key, value in each.requests.items()})
        for each in container_requests(pod)
    )
    if not managed and not containers:
        return None
    fields: dict[str, Setting] = {}
    for name in subject.resolver(full=True).fields() if managed else ():
        resolved = subject.resolved(name)
        if resolved is not None:
            fields[name] = _setting(subject, resolved)
    sums = pod_sums(pod)
    each = {**_amounts(fields), **sums}
    gang = _gang(view, fields)
    return Configuration(
        object=object_reference(subject.scope.value),
        template=view.name,
        location=_place_of(subject, view),
        replicas=view.replicas,
        fields=fields,
        containers=containers,
        pod_sum=sums,
        total={name: _times(name, amount, view.replicas) for name, amount in each.items()},
        gang=None if gang is None else gang._replace(total={name: _times(name, amount, gang.minimum) for name, amount in each.items()}),
        notes=_notes(fields, view, subject.scope.domains),
    )


def _speaks_of_tensor_fusion(metadata: dict[str, Any]) -> bool:
    parts = (metadata.get("annotations"), metadata.get("labels"))
    return any(type(part) is dict and any(key.startswith(_DOMAIN) for key in part) for part in parts)


def _place_of(subject: Subject, view: Template) -> Location:
    """The template's name in the list of templates, its metadata or its spec; of a Pod the object."""
    scope = subject.scope
    path: Path = view.metadata_path if view.metadata else view.spec_path
    path = path[:-1] if len(path) > 1 else ()
    return Location(scope.file, span_of(scope.document, (*scope.path, *path), on_key=True))


def _setting(subject: Subject, resolved: Resolved) -> Setting:
    value, note = resolved.value, resolved.note
    known = value is not UNKNOWN and not placeholder(value)
    if value is UNKNOWN:
        value = None if resolved.shown is UNKNOWN or placeholder(resolved.shown) else resolved.shown
    elif not known:
        value, note = None, note or f"{value} is still to be filled in"
    shadowed = tuple(_lost(subject, each) for each in resolved.shadowed)
    return Setting(value, known, note, _source(subject, resolved.source, resolved.place), shadowed)


def _lost(subject: Subject, candidate: Candidate) -> Shadowed:
    return Shadowed(candidate.value, _source(subject, candidate.source, candidate.place))


def _source(subject: Subject, what: str, place: Place | None) -> Source:
    return Source(what, None if place is None else locate(subject, place))


def _amounts(fields: dict[str, Setting]) -> dict[str, str | None]:
    """What one Pod takes: the value of each device times the number of devices."""
    count = fields.get("gpu-count")
    devices = integer(count.value) if count is not None and count.known else None
    return {name: _times(name, _known(fields[name]), devices) for name in _AMOUNTS if name in fields}


def _known(setting: Setting) -> Any:
    return setting.value if setting.known else None


def _times(name: str, amount: Any, factor: int | None) -> str | None:
    nanos = quantity(amount)
    if nanos is None or factor is None:
        return None
    return format_quantity(nanos * factor, binary=name.startswith("vram-") or is_bytes(name))


def _gang(view: Template, fields: dict[str, Setting]) -> Gang | None:
    """The owner's gang (Volcano and others), else TensorFusion's own."""
    if view.gang_minimum is not None or view.gang_total is not None:
        return Gang(view.gang_minimum, view.gang_total, {})
    enabled = fields.get("gang-enabled")
    if enabled is None or enabled.value != "true" or not enabled.known:
        return None
    minimum = fields.get("gang-min-members")
    return Gang(view.replicas if minimum is None else integer(_known(minimum)), None, {})


def _notes(fields: dict[str, Setting], view: Template, domains: Domains) -> tuple[str, ...]:
    notes = []
    if fields and get(view.metadata, "labels", f"{_DOMAIN}enabled") != "true":
        label = domains.author(f"{_DOMAIN}enabled")
        notes.append(f"the operator leaves these Pods alone: the label {label} of the Pod template is not 'true'")
    if view.replicas is None:
        notes.append("the number of Pods is not known here, so there is no total")
    return tuple(notes)
