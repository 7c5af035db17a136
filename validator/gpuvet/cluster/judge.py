"""Judges by the policies in an API server: the verdict is its, the places in the text and the words are ours."""

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

from gpuvet.cluster.access import Cluster, Resource
from gpuvet.cluster.answers import UnreadableError, Violation, violations
from gpuvet.cluster.policies import Asked
from gpuvet.engine.context import EmptyContext
from gpuvet.engine.judge import Judge, kind_name
from gpuvet.engine.placing import told_by_rule, told_finding
from gpuvet.engine.spans import span_of
from gpuvet.manifests.document import Document
from gpuvet.values.errors import EngineError
from gpuvet.values.finding import Finding, Severity
from gpuvet.values.path import Path, path_named
from gpuvet.values.rule import RuleInfo
from gpuvet.values.span import Span

_EMPTY = EmptyContext()


class Source(Protocol):
    """Policies that can be asked."""

    severities: Mapping[str, Severity]

    def ask(self, resource: Resource, namespace: str, value: dict[str, Any]) -> Asked:
        """Raises EngineError."""


class Unjudged(NamedTuple):
    """Lines of a file of which the policies did not judge something. `rules` None: anything."""

    file: str
    span: Span
    rules: frozenset[str] | None


class PolicyEngine:
    """Asks about every object of `kinds`; an `Outside`. `namespace`: where all objects go, whatever they say."""

    denies_when_silent = False

    def __init__(
        self,
        cluster: Cluster,
        source: Source,
        ours: Judge,
        infos: Mapping[str, RuleInfo],
        exported: Collection[str],
        kinds: Collection[str],
        namespace: str | None = None,
    ) -> None:
        self._cluster = cluster
        self._source = source
        self._ours = ours
        """With all rules that are on: what they say adds what a policy does not carry, and tells why an object is refused."""
        self._infos = infos
        self._exported = exported
        self._kinds = kinds
        self._namespace = namespace
        self._lost: EngineError | None = None
        self.unjudged: list[Unjudged] = []

    def judge(self, document: Document, path: Path, value: dict[str, Any], file: str, until: float | None = None) -> list[Finding]:
        """Raises EngineError."""
        if self._lost is not None:
            raise self._lost
        try:
            return self._judge(document, path, value, file)
        except EngineError as error:
            self._lost = error if error.lasting else None
            raise

    def _judge(self, document: Document, path: Path, value: dict[str, Any], file: str) -> list[Finding]:
        span = document.value_span(path) or span_of(document, path)
        if not self._is_judged(value):
            self.unjudged.append(Unjudged(file, span, None))
            return []
        resource = self._cluster.resource(str(value["apiVersion"]), str(value["kind"]))
        if resource is None:
            what = f"{value['apiVersion']} {value['kind']}"
            raise EngineError(f"{self._cluster.name} serves no {what}: install its CustomResourceDefinition there", "kind")
        value, namespace = self._placed(value)
        ours = list(self._ours.object(document, path, value, file, _EMPTY).findings)
        asked = self._source.ask(resource, namespace, value)
        if asked.refusal:
            return self._refused(asked.refusal, ours, namespace, file, span)
        found = [
            self._finding(one, severity, value, path, ours, document, file) for severity, listed in self._listed(asked) for one in listed
        ]
        dropped = frozenset(finding.rule for finding in ours if finding.consequence == "field-dropped")
        self.unjudged += [Unjudged(file, span, dropped)] if dropped else []
        return found

    def _is_judged(self, value: dict[str, Any]) -> bool:
        """Whether a policy may speak of the object at all."""
        version, kind, metadata = value.get("apiVersion"), value.get("kind"), value.get("metadata")
        if not isinstance(version, str) or not isinstance(kind, str):
            return False
        metadata = metadata if isinstance(metadata, dict) else {}
        away = metadata.get("deletionTimestamp") is not None or (self._namespace or metadata.get("namespace")) == "kube-system"
        return kind_name(version.rpartition("/")[0], kind) in self._kinds and not away

    def _placed(self, value: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """The object as it is sent, and where to."""
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            raise EngineError("the object has no JSON form, so it cannot be sent", "input") from None
        metadata = value.get("metadata")
        own = metadata.get("namespace") if isinstance(metadata, dict) else None
        if self._namespace is None:
            return value, own if isinstance(own, str) and own else self._cluster.namespace
        if isinstance(metadata, dict) and own is not None:
            value = {**value, "metadata": {**metadata, "namespace": self._namespace}}
        return value, self._namespace

    def _refused(self, why: str, ours: list[Finding], namespace: str, file: str, span: Span) -> list[Finding]:
        """An object that no policy was asked about: what our rules said would happen, or no verdict."""
        foretold = [finding for finding in ours if finding.consequence == "rejected-by-api"]
        if not foretold:
            if f'namespaces "{namespace}" not found' in why:
                why += "; create it, or name one with --namespace"
            raise EngineError(f"{self._cluster.name} refuses the object itself, and asks no policy: {why[:500]}", "refused")
        self.unjudged.append(Unjudged(file, span, None))
        return [finding for finding in foretold if finding.rule in self._exported]

    def _listed(self, asked: Asked) -> list[tuple[Severity, list[Violation]]]:
        found = []
        for spoken in asked.said:
            try:
                found.append((self._source.severities[spoken.policy], violations(spoken.text, self._exported)))
            except UnreadableError as error:
                raise EngineError(f"{self._cluster.name}: {spoken.policy} {error}", "policy") from None
        return found

    def _finding(
        self, said: Violation, severity: Severity, value: dict[str, Any], at: Path, ours: list[Finding], document: Document, file: str
    ) -> Finding:
        """`ours` loses what is taken from it: two violations at one place are two findings."""
        same = next(
            (one for one in ours if one.rule == said.rule and " ".join(one.path_text.split()) == " ".join(said.where.split())), None
        )
        if same is not None:
            ours.remove(same)
            return same._replace(severity=severity)
        told = told_by_rule(said.rule, self._infos.get(said.rule), severity, said.message, path_named(said.where, value))
        return told_finding(told, document, at, value, file)
