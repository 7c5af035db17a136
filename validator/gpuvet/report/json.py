"""The JSON report: `schemaVersion`, `summary`, `findings[]`. The shape is a contract; docs/json-report.md describes it."""

import json
from typing import Any

from gpuvet.scan.result import Counts, ScanResult
from gpuvet.values.finding import SEVERITIES, Finding, Related

SCHEMA_VERSION = 1
RULE_URL = "https://github.com/gpuvet/gpuvet/blob/main/docs/rules/{}.md"


def render_json(result: ScanResult) -> str:
    """The whole report as indented JSON."""
    report = {
        "schemaVersion": SCHEMA_VERSION,
        "summary": summary(result.counts, result.findings),
        "findings": [finding_json(finding) for finding in result.findings],
    }
    if result.engine is not None:
        engine = result.engine
        report["engine"] = {"name": engine.name, "url": engine.url, "rules": engine.rules, "cannotSee": engine.cannot_see}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def summary(counts: Counts, findings: list[Finding]) -> dict[str, Any]:
    """What was and was not looked at, and findings by severity."""
    by_severity = {severity: sum(finding.severity == severity for finding in findings) for severity in SEVERITIES}
    return {
        "files": counts.files,
        "documents": counts.documents,
        "checked": counts.objects,
        "skipped": counts.skipped,
        "empty": counts.empty,
        "fragments": counts.fragments,
        "templates": counts.templates,
        "notCovered": counts.not_covered,
        "bySeverity": by_severity,
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """One finding."""
    span = finding.location.span
    reference = finding.object
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "consequence": finding.consequence,
        "message": finding.message,
        "expected": finding.expected,
        "actual": finding.actual,
        "file": finding.location.file,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
        "path": list(finding.path),
        "pathText": finding.path_text,
        "object": None
        if reference is None
        else {
            "apiVersion": reference.api_version,
            "kind": reference.kind,
            "namespace": reference.namespace,
            "name": reference.name,
        },
        "related": [_related(related) for related in finding.related],
        "fix": None
        if finding.fix is None
        else {
            "title": finding.fix.title,
            "safe": finding.fix.safe,
            "edits": [
                {
                    "line": edit.span.line,
                    "column": edit.span.column,
                    "endLine": edit.span.end_line,
                    "endColumn": edit.span.end_column,
                    "text": edit.text,
                }
                for edit in finding.fix.edits
            ],
        },
        "fingerprint": finding.fingerprint,
        "url": RULE_URL.format(finding.rule),
    }


def _related(related: Related) -> dict[str, Any]:
    span = related.location.span
    return {"file": related.location.file, "line": span.line, "column": span.column, "message": related.message}
