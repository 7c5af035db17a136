"""Judges the objects of one document by a rule set, and places each violation on the author's line."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpuvet.engine.context import Context
from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.engine.fragments import is_fragment
from gpuvet.engine.hearing import Crash, Hearing
from gpuvet.engine.ruleset import RuleSet
from gpuvet.engine.shown import all_keys, container_keys, image_names, metadata_keys, placement_keys
from gpuvet.engine.subject import ObjectScope, Subject
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import Template, objects, pod_shape, row_of, templates
from gpuvet.values.finding import Finding
from gpuvet.values.path import Path


class Verdict(NamedTuple):
    """What judging one object gave."""

    path: Path
    """The object's place in its document."""
    findings: list[Finding]
    fragment: bool
    not_covered: tuple[Path, str] | None
    """Where an object of an unknown kind describes a Pod, and its kind."""
    crashes: list[Crash]
    hearing: Hearing | None
    """When rules asked for other objects that are not known: how to go on once they are."""


class Judge:
    """Applies one rule set. `rows` is the workload table, `domains` maps a company's own domain to the vendor's."""

    def __init__(self, rules: RuleSet, rows: Any = None, platforms: Mapping[str, str] | None = None, domains: Domains = NO_DOMAINS) -> None:
        self.rules = rules
        self.rows = rows
        self.platforms = dict(platforms or {})
        self.domains = domains

    def judge(self, document: Document, file: str, context: Context) -> Iterator[Verdict]:
        """Judges every object of the document. `file` is what findings call its file."""
        for path, value in objects(document.value):
            yield self.object(document, path, value, file, context)

    def object(self, document: Document, path: Path, author: dict[str, Any], file: str, context: Context) -> Verdict:
        """Judges the object that stands at `path`."""
        value = self.domains.canonical(author) if self.domains else author
        api_version = value.get("apiVersion")
        kind = value.get("kind")
        kind = kind if type(kind) is str else ""
        group = api_version.rpartition("/")[0] if type(api_version) is str else ""
        full_kind = f"{kind}.{group}" if group and group not in _CORE else kind
        scope = ObjectScope(document, path, value, full_kind, file, context, self.platforms)
        scope.author, scope.domains = author, self.domains
        row = row_of(value) if self.rows is None else row_of(value, self.rows)
        views: list[Template] = templates(value, row) if row is not None else []
        not_covered = None
        if row is None and (group, kind) not in _PODLESS and (shape := pod_shape(value)) is not None:
            not_covered = ((*path, *shape), scope.kind)
        scope.fragment = is_fragment(value, kind, views)
        hearing = Hearing(scope)
        _apply_to_object(self.rules, hearing, views)
        for view in views:
            _apply_to_pod(self.rules, hearing, view)
        findings = hearing.findings()
        hearing.close()
        return Verdict(path, findings, scope.fragment, not_covered, hearing.crashes, hearing if hearing.asked else None)


_CORE = frozenset(("apps", "batch", "rbac.authorization.k8s.io", "storage.k8s.io", "policy", "networking.k8s.io", "scheduling.k8s.io"))


def kind_name(group: str, kind: str) -> str:
    """How rules name a kind: those of Kubernetes itself without their group."""
    return f"{kind}.{group}" if group and group not in _CORE else kind


_PODLESS = frozenset(
    (
        *(("", kind) for kind in ("ConfigMap", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim")),
        *(("", kind) for kind in ("ResourceQuota", "Secret", "Service", "ServiceAccount")),
        *(("rbac.authorization.k8s.io", kind) for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("scheduling.koordinator.sh", "Device"),
    )
)
"""Kinds that are known not to describe Pods, so that nobody has to look for one in them."""


def _apply_to_object(rules: RuleSet, hearing: Hearing, views: list[Template]) -> None:
    """The object itself and its own metadata."""
    scope = hearing.scope
    value, kind = scope.value, scope.kind
    metadata = value.get("metadata")
    if type(metadata) is not dict:
        metadata = None
    if "object" in rules.subjects:
        elsewhere = {id(view.spec) for view in views}
        elsewhere.update([id(view.metadata) for view in views if view.metadata_path != ("metadata",)])
        name = None
        if metadata is not None:
            # Who owns which field: as long as the object, and nothing that a rule looks at.
            elsewhere.add(id(metadata.get("managedFields")))
            name = metadata.get("name") if rules.by_name else None
        selected = rules.select("object", kind, all_keys(value, elsewhere), (name,) if type(name) is str else ())
        if selected is not None:
            hearing.run(selected, Subject(scope, value, ()))
    if metadata is not None and "metadata" in rules.subjects and not any(view.metadata_path == ("metadata",) for view in views):
        selected = rules.select("metadata", kind, metadata_keys(metadata))
        if selected is not None:
            hearing.run(selected, Subject(scope, metadata, ("metadata",)))


def _apply_to_pod(rules: RuleSet, hearing: Hearing, view: Template) -> None:
    """A Pod template, its metadata and its containers."""
    scope, spec = hearing.scope, view.spec
    kind = scope.kind
    pod = {"metadata": view.metadata, "spec": spec}
    meta_keys = metadata_keys(view.metadata)
    keys = meta_keys | placement_keys(spec) | container_keys(spec)
    resources: list[tuple[Path, Any, set[str]]] = []
    for name in ("initContainers", "containers"):
        listed = spec.get(name)
        if type(listed) is list:
            for index, container in enumerate(listed):
                shown = container_keys(container)
                if shown:
                    resources.append((("spec", name, index), container, shown))
                    keys |= shown
    selected = rules.select("pod", kind, keys, (), image_names(spec) if rules.by_image else ())
    if selected is not None:
        hearing.run(selected, Subject(scope, pod, (), pod, view))
    if view.metadata:
        selected = rules.select("metadata", kind, meta_keys)
        if selected is not None:
            hearing.run(selected, Subject(scope, view.metadata, ("metadata",), pod, view))
    for path, container, shown in resources:
        selected = rules.select("container", kind, shown)
        if selected is not None:
            hearing.run(selected, Subject(scope, container, path, pod, view))
