"""The report for people: place, source line with carets, what is wrong, what would happen, how to mend it."""

from collections.abc import Callable, Iterator

from gpuvet.scan.result import Counts, Engine, ScanResult
from gpuvet.values.finding import CONSEQUENCES, SEVERITIES, Finding, Related
from gpuvet.values.span import Span

Lines = Callable[[str], list[str]]
"""File name -> its lines; empty when the text is not at hand."""

_COLORS = {"error": "31", "warning": "33", "info": "36", "bold": "1", "dim": "2", "fix": "32"}


class Paint:
    """Colours words, or leaves them as they are."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, words: str, color: str) -> str:
        return f"\x1b[{_COLORS[color]}m{words}\x1b[0m" if self._on else words


def render_text(result: ScanResult, lines: Lines, color: bool = False) -> Iterator[str]:
    """The report in pieces, one a finding, then the summary line."""
    paint = Paint(color)
    for finding in result.findings:
        yield render_finding(finding, lines, paint)
    yield render_summary(result.counts, result.findings, paint)
    if result.engine is not None:
        yield _engine(result.engine)


def render_finding(finding: Finding, lines: Lines, paint: Paint) -> str:
    """One finding with its source line."""
    file, span = finding.location
    place = f"{file}:{span.line}:{span.column}"
    out = [
        f"{paint(place, 'bold')}: {paint(finding.severity, finding.severity)} {paint(finding.rule, 'bold')} ({finding.name}): "
        f"{finding.message}"
    ]
    width = len(str(max([span.line, *(related.location.span.line for related in finding.related)])))
    out += _source(lines(file), span, width, paint, finding.severity)
    margin = " " * width + " = "

    def note(label: str, words: str, color: str = "bold") -> None:
        out.append(f"{margin}{paint(label, color)}: {words}")

    if finding.path_text:
        note("at", _where(finding))
    if finding.expected is not None:
        note("expected", finding.expected)
    if finding.actual is not None:
        note("actual", finding.actual)
    note("consequence", f"{finding.consequence}: {CONSEQUENCES[finding.consequence]}")
    for related in finding.related:
        out += _related(related, file, lines, width, paint)
    if finding.fix is not None:
        note("fix", finding.fix.title + (" (safe)" if finding.fix.safe and finding.fix.edits else ""), "fix")
    return "\n".join(out) + "\n\n"


def _where(finding: Finding) -> str:
    reference = finding.object
    if reference is None or reference.kind is None:
        return finding.path_text
    name = f" {reference.name}" if reference.name else ""
    return f"{finding.path_text} of {reference.kind}{name}"


def _source(lines: list[str], span: Span, width: int, paint: Paint, severity: str) -> list[str]:
    if not 0 < span.line <= len(lines):
        return []
    line = lines[span.line - 1]
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    before = "".join("\t" if char == "\t" else " " for char in line[:start])
    carets = "^" * max(1, min(end, len(line)) - start)
    return [
        f"{span.line:>{width}} | {line}",
        f"{' ' * width} | {before}{paint(carets, severity)}",
    ]


def _related(related: Related, file: str, lines: Lines, width: int, paint: Paint) -> list[str]:
    span = related.location.span
    place = f"{related.location.file}:{span.line}:{span.column}"
    head = f"{' ' * width} = {paint('see', 'bold')}: {place}: {related.message}"
    text = lines(related.location.file)
    if related.location.file == file and 0 < span.line <= len(text):
        return [head, f"{span.line:>{width}} | {paint(text[span.line - 1], 'dim')}"]
    return [head]


def render_summary(counts: Counts, findings: list[Finding], paint: Paint) -> str:
    """One line that counts findings and what was not judged."""
    parts = []
    for severity in SEVERITIES:
        number = sum(finding.severity == severity for finding in findings)
        if number:
            parts.append(paint(_many(number, severity if severity != "info" else "note"), severity))
    found = ", ".join(parts) if parts else "nothing to report"
    seen = f"{_many(counts.objects, 'object')} in {_many(counts.files, 'file')} checked"
    left = [
        words
        for number, words in (
            (counts.skipped, f"{_many(counts.skipped, 'file')} without anything for us skipped"),
            (counts.fragments, f"{_many(counts.fragments, 'fragment')} judged on what they have"),
            (counts.templates, f"{_many(counts.templates, 'unrendered template')} not covered"),
            (counts.not_covered, f"{_many(counts.not_covered, 'workload')} of unknown kind not covered"),
            (counts.empty, f"{_many(counts.empty, 'empty document')}"),
        )
        if number
    ]
    return "; ".join([f"{found}; {seen}", *left]) + "\n"


def _engine(engine: Engine) -> str:
    """Who judged, and what it could not see."""
    said = f"each object judged alone by {engine.name} at {engine.url}, which enforces {_many(engine.rules, 'rule')}"
    if not engine.cannot_see:
        return f"{said}\n"
    left = _many(len(engine.cannot_see), "further rule")
    return f"{said}; {left} of this configuration it cannot judge: `gpuvet rules --exports` says why, `gpuvet check` judges them\n"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
