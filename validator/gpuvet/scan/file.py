"""One file: skip, read, judge, keep facts."""

import io
import os
from collections.abc import Mapping
from typing import NamedTuple

from gpuvet.compiled.catalogue import RULES
from gpuvet.engine.context import Context, Fact
from gpuvet.engine.judge import Crash, Judge
from gpuvet.engine.placing import fingerprint, object_reference
from gpuvet.manifests.document import Document, Problem
from gpuvet.manifests.reader import check_syntax, read
from gpuvet.scan.facts import facts_of
from gpuvet.scan.result import FileResult
from gpuvet.values.finding import Finding, Location, Severity
from gpuvet.values.path import Path, path_text
from gpuvet.values.span import Span

INPUT_RULES = {info.id: info for info in RULES if info.kind == "input"}
"""The rules about the text itself, and about us."""


class FileJob(NamedTuple):
    """What the judging of files needs; the same for all files of a run."""

    judge: Judge
    context: Context
    needles: tuple[bytes, ...]
    severities: Mapping[str, Severity]
    """Rules of the reader that are on."""
    keep: frozenset[str]
    """Kinds of objects whose facts are kept."""
    stdin_name: str = "-"
    """The input that cannot be read twice."""


def check_file(name: str, data: bytes, job: FileJob, second: bool = False) -> FileResult:
    """Judges one file. In the second pass only findings of open rules are wanted."""
    result = FileResult(name)
    result.counts.files = 1
    reading = None
    if job.needles and not _relevant(data, job.needles) and not _is_empty(data):
        reading = check_syntax(data)
        result.counts.skipped = 1
    else:
        reading = read(data)
    result.counts.empty = reading.empty
    lines = _Ignored(data)
    documents = [(document, document.source or name) for document in reading.documents]
    for problem in reading.problems:
        if problem.code == "IN008":
            result.counts.templates += 1
        result.unread = result.unread or problem.fatal
        _add_problem(result, problem, name, job)
    context = job.context
    if documents and job.keep:
        own = [fact for document, file in documents for fact in facts_of(document, file, name, job.keep, job.judge.domains)]
        if own:
            result.facts = own if name == job.stdin_name else [fact._replace(document=None) for fact in own]
            context = _OwnFirst(own, context)
    for document, file in documents:
        result.counts.documents += 1
        for problem in document.problems:
            _add_problem(result, problem, file, job)
        verdict = job.judge.judge(document, file, context)
        result.findings.extend(verdict.findings)
        result.open.extend(verdict.open)
        result.asked |= verdict.asked
        result.open_rules |= verdict.open_rules
        result.counts.objects += verdict.objects
        result.counts.fragments += verdict.fragments
        result.counts.not_covered += len(verdict.not_covered)
        for path, kind in verdict.not_covered:
            span = document.key_span(path) or document.value_span(path) or Span(document.line, 1, document.line, 2)
            message = f"{kind or 'an object without kind'} holds a Pod template, but gpuvet does not know this kind, so it was not checked"
            fix = "add a row for it under `workloads:` in .gpuvet.yaml"
            result.findings += _input_findings(job, "IN012", message, file, span, document, path, fix)
        for crash in verdict.crashes:
            result.crashed = True
            result.findings += _crash_findings(job, crash, file, document)
    result.findings = [f for f in result.findings if not lines.ignores(f)]
    result.open = [f for f in result.open if not lines.ignores(f)]
    return result


def _relevant(data: bytes, needles: tuple[bytes, ...]) -> bool:
    """Whether a rule may have something to say: a needle stands there, or could hide behind an escape or another encoding."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\\" in data or b"!!binary" in data:
        return True
    return any(needle in data for needle in needles)


def _is_empty(data: bytes) -> bool:
    """Whether there is nothing but blank lines, comments and document marks: the first line of content ends the search."""
    return all(line[:1] == b"#" or line.strip() in (b"", b"---", b"...") for line in io.BytesIO(data))


def _add_problem(result: FileResult, problem: Problem, name: str, job: FileJob) -> None:
    result.findings += _input_findings(job, problem.code, problem.message, name, problem.span)


def _input_findings(
    job: FileJob, code: str, message: str, file: str, span: Span, document: Document | None = None, path: Path = (), advice: str | None = None
) -> list[Finding]:
    """The finding, or none when its rule is off."""
    severity = job.severities.get(code)
    if severity is None:
        return []
    info = INPUT_RULES[code]
    value = document.value if document is not None else None
    finding = Finding(
        rule=code,
        name=info.name,
        severity=severity,
        consequence=info.consequence,
        message=message,
        expected=advice,
        actual=None,
        location=Location(file, span),
        path=path,
        path_text=path_text(path, value),
        object=object_reference(value) if isinstance(value, dict) else None,
        related=(),
        fix=None,
        fingerprint=fingerprint(code, file, message),
    )
    return [finding]


def _crash_findings(job: FileJob, crash: Crash, file: str, document: Document) -> list[Finding]:
    message = f"rule {crash.rule.info.id} failed on this object ({crash.error}); the other rules ran. This is a bug of the rule, not of the manifest"
    return _input_findings(job, "IN013", message, file, Span(document.line, 1, document.line, 2), document)


def unreadable(name: str, reason: str, job: FileJob) -> FileResult:
    """The result for a path that cannot be read."""
    result = FileResult(name, unread=True)
    result.counts.files = 1
    result.findings += _input_findings(job, "IN000", f"cannot be read: {reason}", name, Span(1, 1, 1, 1))
    return result


def read_bytes(name: str) -> bytes:
    """The bytes of a file. Raises OSError."""
    with open(name, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        return file.read() if size else b"".join(iter(lambda: file.read(1 << 20), b""))


class _OwnFirst:
    """The objects of the same file before everything else."""

    def __init__(self, facts: list[Fact], behind: Context) -> None:
        from gpuvet.engine.context import FactContext

        self._own = FactContext(facts)
        self._behind = behind
        self.default_namespace = behind.default_namespace

    def is_complete(self, kind: str) -> bool:
        """Whether no other objects of a kind can exist."""
        return self._behind.is_complete(kind)

    def find(self, kind: str, name: str, namespace: str | None, file: str):  # type: ignore[no-untyped-def]
        """The object of that identity."""
        answer = self._own.find(kind, name, namespace, file)
        return answer if isinstance(answer, Fact) else self._behind.find(kind, name, namespace, file)

    def find_all(self, kind: str):  # type: ignore[no-untyped-def]
        """All objects of a kind: those of the file are not all, so the rest of the run is asked."""
        return self._behind.find_all(kind)


class _Ignored:
    """Findings whose line carries `# gpuvet: ignore` or `# gpuvet: ignore[RULE, ...]`."""

    def __init__(self, data: bytes) -> None:
        self._lines: list[bytes] | None = None
        self._data = data
        self._any = b"gpuvet: ignore" in data

    def ignores(self, finding: Finding) -> bool:
        if not self._any:
            return False
        if self._lines is None:
            self._lines = self._data.split(b"\n")
        line = finding.location.span.line
        if not 0 < line <= len(self._lines):
            return False
        _, mark, rest = self._lines[line - 1].partition(b"# gpuvet: ignore")
        if not mark:
            return False
        if not rest.startswith(b"["):
            return True
        return finding.rule.encode() in [name.strip() for name in rest[1:].partition(b"]")[0].split(b",")]
