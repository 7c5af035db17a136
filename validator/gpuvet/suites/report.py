"""What suites came to: a table for people, JSON for programs."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gpuvet.suites.load import Wanted
from gpuvet.suites.run import Outcome
from gpuvet.values.finding import Finding

SCHEMA_VERSION = 1
_WORDS = {"passed": "pass", "failed": "FAIL", "skipped": "skip", "broken": "BROKEN"}


def render_table(outcomes: Sequence[Outcome], engine: str, untested: Sequence[str]) -> Iterator[str]:
    """One line a test, what is wrong below it, and a last line that counts."""
    width = max((len(outcome.name) for outcome in outcomes), default=0)
    suite = ""
    for outcome in outcomes:
        if outcome.suite != suite:
            suite = outcome.suite
            yield f"{suite}\n"
        said = (
            outcome.because
            if outcome.state == "skipped"
            else f"{_many(outcome.files, 'file')}, {_many(outcome.wanted, 'finding')} expected"
        )
        if outcome.left_out:
            said += (
                f", {len(outcome.left_out)} left out ({', '.join(dict.fromkeys(each.rule for each in outcome.left_out))}: not for {engine})"
            )
        yield f"  {_WORDS[outcome.state]:<6}  {outcome.name:<{width}}  {said}\n"
        if outcome.state == "broken":
            yield f"          no full verdict: {outcome.because}\n"
        for wanted in outcome.missing:
            yield f"          {_place(wanted.file, wanted.line, outcome)}: {wanted.rule} was expected, and was not found\n"
        for finding in outcome.unexpected:
            place = _place(finding.location.file, finding.location.span.line, outcome)
            yield f"          {place}: {finding.severity} {finding.rule} ({finding.name}) was not expected: {finding.message}\n"
    counts = _counts(outcomes)
    if untested:
        yield f"no test expects these rules of your own: {', '.join(untested)}\n"
    yield (
        f"{_many(counts['tests'], 'test')} on {engine}: "
        + ", ".join(f"{number} {state}" for state, number in counts.items() if state != "tests" and (number or state == "passed"))
        + "\n"
    )


def render_outcomes(outcomes: Sequence[Outcome], engine: str, untested: Sequence[str]) -> str:
    """The same as JSON; the shape is a contract, docs/policy-test.md describes it."""
    report = {
        "schemaVersion": SCHEMA_VERSION,
        "engine": engine,
        "summary": _counts(outcomes),
        "untested": list(untested),
        "tests": [_outcome(outcome) for outcome in outcomes],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    return {"tests": len(outcomes), **{state: sum(outcome.state == state for outcome in outcomes) for state in _WORDS}}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "suite": outcome.suite,
        "name": outcome.name,
        "outcome": outcome.state,
        "because": outcome.because or None,
        "files": outcome.files,
        "expected": outcome.wanted,
        "missing": [_wanted(each) for each in outcome.missing],
        "unexpected": [_found(each) for each in outcome.unexpected],
        "leftOut": [_wanted(each) for each in outcome.left_out],
    }


def _wanted(wanted: Wanted) -> dict[str, Any]:
    return {"rule": wanted.rule, "file": wanted.file, "line": wanted.line, "severity": wanted.severity}


def _found(finding: Finding) -> dict[str, Any]:
    place = {"file": finding.location.file, "line": finding.location.span.line}
    return {"rule": finding.rule, "name": finding.name, "severity": finding.severity, "message": finding.message, **place}


def _place(file: str, line: int | None, outcome: Outcome) -> str:
    """An inline manifest is shown where it stands in the suite."""
    if outcome.offset:
        file, line = outcome.suite, None if line is None else line + outcome.offset
    return file if line is None else f"{file}:{line}"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
