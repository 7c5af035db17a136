"""Judges the objects of one document by a rule set, and places each violation on the author's line."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuvet.engine.context import Context, Fact
from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.engine.fragments import is_fragment
from gpuvet.engine.placing import build_finding
from gpuvet.engine.ruleset import BoundRule, RuleSet
from gpuvet.engine.shown import all_keys, container_keys, image_names, metadata_keys, placement_keys
from gpuvet.engine.subject import ObjectScope, Subject
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import Row, Template, objects, pod_shape, row_of, templates
from gpuvet.values.finding import Finding
from gpuvet.values.path import Path
from gpuvet.values.total import UNKNOWN, placeholder


class Crash(NamedTuple):
    """A rule that failed on a subject: our bug, never the user's."""

    rule: BoundRule
    error: str


class Verdict(NamedTuple):
    """What judging a document gave."""

    findings: list[Finding]
    asked: frozenset[str]
    """Kinds of other objects that were asked for without a certain answer."""
    open: list[Finding]
    """Findings of rules that asked, and may judge otherwise once those objects are known."""
    open_rules: frozenset[str]
    objects: int
    fragments: int
    not_covered: list[tuple[Path, str]]
    crashes: list[Crash]


class Judge:
    """Applies one rule set. `rows` is the workload table, `domains` maps a company's own domain to the vendor's."""

    def __init__(
        self,
        rules: RuleSet,
        rows: Any = None,
        platforms: Mapping[str, str] | None = None,
        only: frozenset[str] | None = None,
        domains: Domains = NO_DOMAINS,
    ) -> None:
        self.rules = rules
        self.rows = rows
        self.platforms = dict(platforms or {})
        self.only = only
        self.domains = domains

    def judge(self, document: Document, file: str, context: Context) -> Verdict:
        """Judges every object of the document."""
        verdict = Verdict([], frozenset(), [], frozenset(), 0, 0, [], [])
        for path, value in objects(document.value):
            seen = self.domains.canonical(value) if self.domains else value
            verdict = _merge(verdict, self._object(document, path, seen, file, context, value))
        return verdict

    def _object(
        self, document: Document, path: Path, value: dict[str, Any], file: str, context: Context, author: dict[str, Any]
    ) -> Verdict:
        api_version = value.get("apiVersion")
        kind = value.get("kind")
        kind = kind if type(kind) is str else ""
        group = api_version.rpartition("/")[0] if type(api_version) is str else ""
        scope = ObjectScope(document, path, value, f"{kind}.{group}" if group and group not in _CORE else kind, file, context, self.platforms)
        scope.author, scope.domains = author, self.domains
        row = row_of(value) if self.rows is None else row_of(value, self.rows)
        views: list[Template] = templates(value, row) if row is not None else []
        not_covered: list[tuple[Path, str]] = []
        if row is None and (shape := pod_shape(value)) is not None:
            not_covered.append(((*path, *shape), scope.kind))
        scope.fragment = is_fragment(value, kind, views)
        run = _Run(self, scope)
        run.object(row, views)
        for view in views:
            run.pod(view)
        findings, open_findings, open_rules = run.settle()
        return Verdict(
            findings, frozenset(scope.asked), open_findings, open_rules, 1, int(scope.fragment), not_covered, run.crashes
        )


_CORE = frozenset(("apps", "batch", "rbac.authorization.k8s.io", "storage.k8s.io", "policy", "networking.k8s.io", "scheduling.k8s.io"))


def kind_name(group: str, kind: str) -> str:
    """How rules name a kind: those of Kubernetes itself without their group."""
    return f"{kind}.{group}" if group and group not in _CORE else kind


class _Run:
    """The judging of one object."""

    def __init__(self, judge: Judge, scope: ObjectScope) -> None:
        self.judge = judge
        self.rules = judge.rules
        self.scope = scope
        self.crashes: list[Crash] = []
        self.violations: list[tuple[BoundRule, Subject, tuple[Any, ...], bool]] = []
        self.open_rules: set[str] = set()

    def object(self, row: Row | None, views: list[Template]) -> None:
        """The object itself and its own metadata."""
        value, kind = self.scope.value, self.scope.kind
        metadata = value.get("metadata")
        own_pod = any(view.metadata_path == ("metadata",) for view in views)
        if "object" in self.rules.subjects:
            skip = frozenset(id(view.spec) for view in views) | frozenset(id(view.metadata) for view in views if view.metadata_path != ("metadata",))
            keys = tuple(sorted(all_keys(value, skip) if views else all_keys(value, frozenset())))
            name = metadata.get("name") if type(metadata) is dict else None
            names = (name,) if type(name) is str and self.rules.by_name else ()
            self.apply("object", Subject(self.scope, value, ()), keys, names)
        if "metadata" in self.rules.subjects and type(metadata) is dict and not own_pod:
            self.apply("metadata", Subject(self.scope, metadata, ("metadata",)), tuple(sorted(metadata_keys(metadata))))

    def pod(self, view: Template) -> None:
        """A Pod template, its metadata and its containers."""
        pod = {"metadata": view.metadata, "spec": view.spec}
        meta_keys = metadata_keys(view.metadata)
        spec = view.spec
        resources: list[tuple[Path, Any, set[str]]] = []
        for name in ("initContainers", "containers"):
            listed = spec.get(name)
            if type(listed) is list:
                for index, container in enumerate(listed):
                    if type(container) is dict:
                        resources.append((("spec", name, index), container, container_keys(container)))
        keys = meta_keys | placement_keys(spec) | container_keys(spec)
        for _, _, shown in resources:
            keys |= shown
        subject = Subject(self.scope, pod, view.spec_path, pod, view)
        images = image_names(spec) if self.rules.by_image else ()
        self.apply("pod", subject, tuple(sorted(keys)), (), images)
        if view.metadata:
            self.apply("metadata", Subject(self.scope, view.metadata, view.metadata_path, pod, view), tuple(sorted(meta_keys)))
        for path, container, shown in resources:
            if shown:
                self.apply("container", Subject(self.scope, container, view.locate(path), pod, view), tuple(sorted(shown)))

    def apply(
        self, on: str, subject: Subject, keys: tuple[str, ...], names: tuple[str, ...] = (), images: tuple[str, ...] = ()
    ) -> None:
        """Runs the rules that the keys call for."""
        only = self.judge.only
        for rule in self.rules.select(on, self.scope.kind, keys, names, images):
            if only is not None and rule.info.id not in only:
                continue
            self.run(rule, subject)

    def run(self, rule: BoundRule, subject: Subject) -> None:
        """One rule on one subject."""
        found: list[tuple[Any, ...]] = []
        asked = self.scope.asked
        self.scope.asked = set()
        try:
            rule.function(subject, rule.parameters, found.append)
        except Exception as error:  # noqa: BLE001
            self.crashes.append(Crash(rule, f"{type(error).__name__}: {error}"))
            found = []
        is_open = bool(self.scope.asked)
        if is_open:
            self.open_rules.add(rule.info.id)
        self.scope.asked |= asked
        for violation in found:
            if not self.undecided(subject, violation[-1]):
                self.violations.append((rule, subject, violation, is_open))

    def undecided(self, subject: Subject, because: list[Any]) -> bool:
        """Whether a violation rests on what is not known, or, in a fragment, on what is not there."""
        for value in because:
            if value is None:
                if subject.fragment:
                    return True
            elif value is UNKNOWN or placeholder(value):
                return True
        return False

    def settle(self) -> tuple[list[Finding], list[Finding], frozenset[str]]:
        """Drops what another finding supersedes, and makes findings of the rest."""
        placed = [(rule, subject, violation, is_open, *subject.locate(violation[0])) for rule, subject, violation, is_open in self.violations]
        shadowed: set[tuple[str, Any]] = set()
        for rule, subject, _, _, path, fact, there in placed:
            if rule.info.supersedes:
                for spot in _spots(subject, path, fact, there):
                    shadowed.update((other, spot) for other in rule.info.supersedes)
        sure: list[Finding] = []
        open_findings: list[Finding] = []
        seen: set[Any] = set()
        for rule, subject, violation, is_open, path, fact, there in placed:
            if shadowed and any((rule.info.id, spot) in shadowed for spot in _spots(subject, path, fact, there)):
                continue
            finding = build_finding(rule, subject, violation, path, fact, there)
            key = (finding.rule, finding.location, finding.message)
            if key not in seen:
                seen.add(key)
                (open_findings if is_open else sure).append(finding)
        return sure, open_findings, frozenset(self.open_rules)


def _spots(subject: Subject, path: Path | None, fact: Fact | None, there: Path) -> list[Any]:
    """The place of a violation, and the same annotation, label or resource key anywhere in the same Pod template or object."""
    if path is None:
        return [(id(fact), there)]
    template = subject.view.name if subject.view is not None else ""
    # Only such keys say what they are about: an index, or a field like `value`, is the same in unrelated lists.
    return [path, (template, path[-1])] if path and type(path[-1]) is str and "/" in path[-1] else [path]


def _merge(one: Verdict, other: Verdict) -> Verdict:
    return Verdict(
        one.findings + other.findings,
        one.asked | other.asked,
        one.open + other.open,
        one.open_rules | other.open_rules,
        one.objects + other.objects,
        one.fragments + other.fragments,
        one.not_covered + other.not_covered,
        one.crashes + other.crashes,
    )


