"""Every fixture, document by document: what the engine says without any context, and what a real API server with the webhook does."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from e2e.cluster import BUILT_IN, plurals
from gpuvet.admission.state import load_state
from gpuvet.engine.context import EmptyContext
from gpuvet.engine.judge import Judge
from gpuvet.manifests.reader import read
from gpuvet.scan.rules import rule_set
from gpuvet.settings.config import load_settings
from gpuvet.values.finding import Finding

FIXTURES = Path(__file__).parent.parent / "fixtures"
PLACEHOLDER = re.compile(r"\{\{|\$\{|\$\(")
REFUSES = frozenset(("rejected-by-api", "field-dropped"))


class Case(NamedTuple):
    """One document of a fixture."""

    name: str
    text: str
    value: dict[str, Any]
    findings: tuple[Finding, ...]
    """Of all rules, text rules too, without context."""
    seen: frozenset[str]
    """Error rules that see objects, as the webhook judges them."""
    placeholder: bool
    fragment: bool

    @property
    def refused_by_api(self) -> set[str]:
        """Rules that say that the API server itself refuses it."""
        return {finding.rule for finding in self.findings if finding.consequence in REFUSES}

    @property
    def claims_api(self) -> set[str]:
        """Rules that see objects and say that the API server refuses them, in a place that it validates."""
        return {finding.rule for finding in self.findings if finding.consequence == "rejected-by-api" and finding.rule in self.seen}


def cases() -> Iterator[Case]:
    """All documents whose kind the API server of these tests knows."""
    settings = load_settings(None)
    everything = Judge(rule_set(settings))
    objects = load_state(None, EmptyContext()).judge
    served = {group for group, _ in plurals()} | BUILT_IN | {"node.k8s.io"}
    for path in sorted(FIXTURES.glob("*/*/*/**/*.yaml")):
        if path.name == ".gpuvet.yaml" or "reader" in path.parts:
            continue
        source = path.read_text("utf-8")
        texts = [text for text in re.split(r"^---\s*$", source, flags=re.MULTILINE) if re.search(r"^kind:", text, re.MULTILINE)]
        for number, text in enumerate(texts):
            reading = read(text.encode())
            if len(reading.documents) != 1 or reading.problems:
                continue
            document = reading.documents[0]
            value = document.value
            if not isinstance(value, dict) or str(value.get("apiVersion")).rpartition("/")[0] not in served:
                continue
            verdicts = list(everything.judge(document, "", EmptyContext()))
            findings = tuple(finding for verdict in verdicts for finding in verdict.findings if finding.severity == "error")
            judged = [finding for verdict in objects.judge(document, "", EmptyContext()) for finding in verdict.findings]
            seen = frozenset(finding.rule for finding in judged if finding.severity == "error")
            name = "/".join(path.relative_to(FIXTURES).parts) + (f"#{number}" if number else "")
            yield Case(name, text, value, findings, seen, bool(PLACEHOLDER.search(text)), any(verdict.fragment for verdict in verdicts))
