"""Runs a suite: judges its manifests and compares what was found with what was wanted, both ways."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

from gpuvet.engine.judge import Judge
from gpuvet.engine.outside import Outside
from gpuvet.engine.ruleset import RuleSet
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import Settings
from gpuvet.suites.load import Suite, Test, Wanted
from gpuvet.values.finding import Finding
from gpuvet.values.span import Span

_OUR_FAULT = ("IN013", "IN014")


class Ground(NamedTuple):
    """On which engine a suite is run. `instead` makes the judge that judges instead of the Python rules."""

    engine: str
    instead: Callable[[RuleSet], Judge] | None
    outside: tuple[Outside, ...]
    cannot_judge: Mapping[str, str]
    """Rules that the engine does not know -> why."""
    unjudged: Sequence["Place"] = ()
    """What the engine did not judge of what it was given; it grows while a suite is run."""


class Place(Protocol):
    """Lines of a file, and the rules that were not judged there; None: none was."""

    @property
    def file(self) -> str:
        """As findings call it."""

    @property
    def span(self) -> Span:
        """The lines."""

    @property
    def rules(self) -> frozenset[str] | None:
        """Their ids."""


class Outcome(NamedTuple):
    """What a test came to. `state` is passed, failed, skipped or broken (no full verdict)."""

    suite: str
    name: str
    state: str
    files: int
    wanted: int
    missing: tuple[Wanted, ...]
    unexpected: tuple[Finding, ...]
    left_out: tuple[Wanted, ...]
    """Wanted of rules that the engine cannot judge."""
    offset: int
    because: str = ""


def run_suite(suite: Suite, settings: Settings, ground: Ground) -> list[Outcome]:
    """One outcome a test. Raises EngineError when what judges instead of the Python rules does not answer."""
    return [_run(suite, test, settings, ground) for test in suite.tests]


def _run(suite: Suite, test: Test, settings: Settings, ground: Ground) -> Outcome:
    files = len(test.files) or 1
    if test.text.engines and ground.engine not in test.text.engines:
        because = f"it is for {', '.join(test.text.engines)}"
        return Outcome(suite.file, test.text.name, "skipped", files, len(test.wanted), (), (), (), test.offset, because)
    found, broken = _judged(test, settings, ground)
    left_out = tuple(wanted for wanted in test.wanted if wanted.rule in ground.cannot_judge or _is_unjudged(wanted, found, ground))
    wanted = [each for each in test.wanted if each not in left_out]
    rules = {each.rule for each in wanted}
    counting = [finding for finding in found if _counts(finding, test, rules)]
    missing, unexpected = _compare(wanted, counting)
    state = "broken" if broken else "failed" if missing or unexpected else "passed"
    because = "; ".join(dict.fromkeys(finding.message for finding in found if finding.rule in _OUR_FAULT))
    return Outcome(suite.file, test.text.name, state, files, len(wanted), missing, unexpected, left_out, test.offset, because)


def _is_unjudged(wanted: Wanted, found: list[Finding], ground: Ground) -> bool:
    """Whether it stands where the engine did not judge its rule, and did not speak of it after all."""
    return any(
        place.file == wanted.file
        and (place.rules is None or wanted.rule in place.rules)
        and (wanted.line is None or place.span.line <= wanted.line <= place.span.end_line)
        for place in ground.unjudged
    ) and not any(_fits(wanted, finding) for finding in found)


def _judged(test: Test, settings: Settings, ground: Ground) -> tuple[list[Finding], bool]:
    """The findings, and whether a rule or an engine failed."""
    if test.manifest is not None:
        runs = [Scan(["-"], settings, test.shown, test.manifest)]
    elif test.text.apart:
        runs = [Scan([file], settings) for file in test.files]
    else:
        runs = [Scan(list(test.files), settings)]
    results = [scan(run._replace(jobs=1, instead=ground.instead, outside=ground.outside)) for run in runs]
    return [finding for result in results for finding in result.findings], any(result.crashed for result in results)


def _counts(finding: Finding, test: Test, wanted: set[str]) -> bool:
    if test.text.rules:
        return any(fnmatchcase(finding.rule, pattern) for pattern in test.text.rules) or finding.rule in wanted
    return finding.severity != "info" or finding.rule in wanted


def _compare(wanted: list[Wanted], found: list[Finding]) -> tuple[tuple[Wanted, ...], tuple[Finding, ...]]:
    """What is missing, and what nobody wanted. One expectation stands for every finding of its rule on its line."""
    missing = [each for each in wanted if not any(_fits(each, finding) for finding in found)]
    unexpected = [finding for finding in found if not any(_fits(each, finding) for each in wanted)]
    return tuple(missing), tuple(unexpected)


def _fits(wanted: Wanted, finding: Finding) -> bool:
    file, span = finding.location
    return (
        wanted.rule == finding.rule
        and wanted.file == file
        and wanted.line in (None, span.line)
        and wanted.severity in (None, finding.severity)
    )
