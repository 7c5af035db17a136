"""Judges by an OPA server that holds our policies: the verdict is its, the places in the text and the words are ours."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuvet.engine.context import Context, EmptyContext
from gpuvet.engine.judge import Judge, Verdict
from gpuvet.engine.placing import told_by_rule, told_finding
from gpuvet.engine.ruleset import RuleSet
from gpuvet.manifests.document import Document
from gpuvet.manifests.workloads import objects
from gpuvet.opa.connection import Connection
from gpuvet.values.errors import EngineError
from gpuvet.values.finding import SEVERITIES, Finding
from gpuvet.values.path import Path, path_text
from gpuvet.values.rule import RuleInfo

_EMPTY = EmptyContext()


class OpaJudge(Judge):
    """A Judge that lets OPA decide.

    What the same rule says here, at the same place of the same object, only adds what Rego does not carry: the key or the value as the
    place, what was expected, how to mend it. A rule or a place that only OPA knows is reported in OPA's words.
    """

    def __init__(
        self, connection: Connection, rules: RuleSet, infos: Mapping[str, RuleInfo], rows: Any, platforms: Mapping[str, str]
    ) -> None:
        super().__init__(rules, rows, platforms)
        self._connection = connection
        self._infos = infos

    def judge(self, document: Document, file: str, context: Context) -> Iterator[Verdict]:
        """As `Judge`, but raises EngineError when the server does not answer. Other objects are not known to it."""
        for path, value in objects(document.value):
            verdict = self.object(document, path, value, file, _EMPTY)
            ours = list(verdict.findings)
            findings = [self._finding(item, value, path, ours, document, file) for item in self._ask(value)]
            yield verdict._replace(findings=findings, crashes=[], hearing=None)

    def _ask(self, value: dict[str, Any]) -> list[dict[str, Any]]:
        """The items of `data.gpuvet.verdict` on an object, each checked."""
        try:
            found = self._connection.ask("gpuvet", "verdict", value)
        except EngineError as error:
            if error.reason == "input":
                return []
            raise
        if found is None:
            raise EngineError(f"{self._connection.name} holds no policies of gpuvet any more", "empty")
        for item in found if isinstance(found, list) else (None,):
            if not isinstance(item, dict) or not (
                isinstance(item.get("rule"), str)
                and isinstance(item.get("msg"), str)
                and item.get("severity") in SEVERITIES
                and isinstance(item.get("at"), list)
                and all(type(key) in (str, int) for key in item["at"])
            ):
                raise self._connection.nonsense("data.gpuvet.verdict holds something else than findings")
        return list(found)

    def _finding(
        self, item: dict[str, Any], value: dict[str, Any], at: Path, ours: list[Finding], document: Document, file: str
    ) -> Finding:
        """`ours` loses what is taken from it: two items at one place are two findings."""
        path: Path = tuple(item["at"])
        same = next((finding for finding in ours if finding.rule == item["rule"] and finding.path == path), None)
        if same is not None:
            ours.remove(same)
            return same._replace(severity=item["severity"])
        rule: str = item["rule"]
        message = item["msg"].removeprefix(f"{rule} {path_text(path, value)}: ")
        return told_finding(told_by_rule(rule, self._infos.get(rule), item["severity"], message, path), document, at, value, file)
