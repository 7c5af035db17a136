"""The reference: the Python printer's rules, judging with an empty context."""

import json
from typing import Any

from gpuvet.engine.context import EmptyContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.ruleset import RuleSet
from gpuvet.manifests.reader import read

Findings = set[tuple[str, tuple[Any, ...]]]


class Reference:
    """Judges objects as a one-object engine should: exported rules only, nothing else known."""

    def __init__(self, rules: RuleSet, engine: str = "rego", platforms: dict[str, str] | None = None) -> None:
        only = frozenset(rule.info.id for rule in rules.rules if rule.info.exports[engine] is True)
        self.judge = Judge(rules, None, platforms, only)

    def findings(self, value: Any) -> Findings:
        """Rule and path of every finding."""
        reading = read(json.dumps(value).encode())
        assert len(reading.documents) == 1, value
        assert reading.documents[0].value == value, "the reader sees another value than was written"
        verdict = self.judge.judge(reading.documents[0], "-", EmptyContext())
        assert not verdict.crashes, (verdict.crashes, value)
        return {(finding.rule, finding.path) for finding in (*verdict.findings, *verdict.open)}
