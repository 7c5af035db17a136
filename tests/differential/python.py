"""The reference: the Python printer's rules, judging with an empty context."""

import json
from typing import Any

from gpuvet.engine.context import EmptyContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.ruleset import RuleSet
from gpuvet.manifests.reader import read
from gpuvet.scan.rules import rule_set
from gpuvet.settings.config import Settings

Findings = set[tuple[str, tuple[Any, ...]]]


class Reference:
    """Judges objects as a one-object engine should: exported rules only, nothing else known."""

    def __init__(self, settings: Settings, engine: str = "rego") -> None:
        rules = rule_set(settings)
        self.rules = RuleSet((rule for rule in rules.rules if rule.info.exports[engine] is True), settings.usage_key)
        self.judge = Judge(self.rules, settings.workloads, settings.platform)

    def findings(self, value: Any) -> Findings:
        """Rule and path of every finding."""
        reading = read(json.dumps(value).encode())
        assert len(reading.documents) == 1, value
        found: Findings = set()
        for verdict in self.judge.judge(reading.documents[0], "-", EmptyContext()):
            assert not verdict.crashes, (verdict.crashes, value)
            found.update((finding.rule, (*verdict.path, *finding.path)) for finding in verdict.findings)
        return found


def ordered(value: Any) -> Any:
    """The value with the keys of its maps sorted: the order in which engines see them."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(item) for item in value] if isinstance(value, list) else value
