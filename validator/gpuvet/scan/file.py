"""One file: skip, read, judge, keep facts."""

import io
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuvet.compiled.catalogue import RULES
from gpuvet.engine.context import Context, OwnFirst
from gpuvet.engine.hearing import Crash
from gpuvet.engine.judge import Judge, Verdict
from gpuvet.engine.needles import NO_NEEDLES, Needles
from gpuvet.engine.placing import object_reference
from gpuvet.engine.spans import span_of
from gpuvet.manifests.document import Document, Problem
from gpuvet.manifests.reader import check_syntax, read
from gpuvet.manifests.workload_shape import objects
from gpuvet.scan.comments import Comments
from gpuvet.scan.facts import facts_of
from gpuvet.scan.outside import Asked
from gpuvet.scan.result import FileResult, Waiting
from gpuvet.values.finding import Finding, Location, Severity
from gpuvet.values.path import Path, path_text
from gpuvet.values.span import Span
from gpuvet.values.total import get

INPUT_RULES = {info.id: info for info in RULES if info.kind == "input"}
"""The rules about the text itself, and about us."""


class FileJob(NamedTuple):
    """What the judging of files needs; the same for all files of a run."""

    judge: Judge
    context: Context
    needles: Needles
    severities: Mapping[str, Severity]
    """Rules of the reader that are on."""
    keep: frozenset[str]
    """Kinds of objects whose facts are kept."""
    stdin_name: str = "-"
    """The input that cannot be read twice."""
    known_by: Needles = NO_NEEDLES
    """What a file must hold to hold objects that rules look up."""
    is_final: bool = False
    """The context knows the objects of all inputs, so nothing has to wait."""
    outside: tuple[Asked, ...] = ()
    """Engines that are asked about every object, too."""


def check_file(name: str, data: bytes, job: FileJob) -> FileResult:
    """Judges one file."""
    result = FileResult()
    counts = result.counts
    counts.files = 1
    if job.needles and not job.needles.stand_in(data) and not _is_empty(data):
        reading = check_syntax(data)
        counts.skipped = 1
    else:
        reading = read(data)
    counts.empty = reading.empty
    for problem in reading.problems:
        if problem.code == "IN008":
            counts.templates += 1
        result.unread = result.unread or problem.fatal
        _add_problem(result, problem, name, job)
    origin = b"config.kubernetes.io/origin" in data
    documents = [(document, (origin and origin_of(document.value)) or document.source or name) for document in reading.documents]
    context = job.context
    if documents and job.keep and not job.is_final:
        own = [fact for document, file in documents for fact in facts_of(document, file, name, job.keep, job.judge.domains)]
        if own:
            result.facts = own if name == job.stdin_name else [fact._replace(document=None) for fact in own]
            context = OwnFirst(own, context)
    for document, file in documents:
        counts.documents += 1
        for problem in document.problems:
            _add_problem(result, problem, file, job)
        for verdict in job.judge.judge(document, file, context):
            _take(verdict, document, file, name, job, result)
        for path, value in objects(document.value) if job.outside else ():
            for engine in job.outside:
                _ask(engine, path, value, document, file, job, result)
    if isinstance(context, OwnFirst):
        context.close()
    comments = Comments(data)
    if comments:
        result.findings = comments.filter(result.findings)
        result.waiting = [waiting._replace(findings=comments.filter(waiting.findings), comments=True) for waiting in result.waiting]
    return result


def _take(verdict: Verdict, document: Document, file: str, name: str, job: FileJob, result: FileResult) -> None:
    """Adds what an object gave."""
    counts = result.counts
    counts.objects += 1
    counts.fragments += verdict.fragment
    if verdict.hearing is None or job.is_final:
        result.findings += verdict.findings
    else:
        asked = frozenset(verdict.hearing.asked)
        result.waiting.append(Waiting(file, name, document.index, verdict.path, verdict.hearing, asked, verdict.findings))
    if verdict.not_covered is not None:
        counts.not_covered += 1
        path, kind = verdict.not_covered
        span = document.key_span(path) or document.value_span(path) or Span(document.line, 1, document.line, 2)
        message = f"{kind or 'an object without kind'} holds a Pod template, but gpuvet does not know this kind, so it was not checked"
        fix = "add a row for it under `workloads:` in .gpuvet.yaml"
        result.findings += _input_findings(job, "IN012", message, file, span, document, path, fix)
    for crash in verdict.crashes:
        result.crashed = True
        result.findings += crash_findings(job, crash, file, document)


def _ask(engine: Asked, path: Path, value: dict[str, Any], document: Document, file: str, job: FileJob, result: FileResult) -> None:
    """Adds what an engine outside says of an object."""
    findings, silent, complaint = engine.judge(document, path, value, file)
    result.findings += findings
    result.crashed = result.crashed or silent
    if complaint:
        result.findings += _input_findings(job, "IN014", complaint, file, span_of(document, path), document)


def origin_of(value: Any) -> str | None:
    """The file that kustomize says an object comes from, in its annotation `config.kubernetes.io/origin`."""
    origin = get(value, "metadata", "annotations", "config.kubernetes.io/origin")
    if type(origin) is not str:
        return None
    for line in origin.split("\n"):
        key, _, path = line.partition(":")
        if key == "path":
            return path.strip().strip("'\"") or None
    return None


def _is_empty(data: bytes) -> bool:
    """Whether there is nothing but blank lines, comments and document marks: the first line of content ends the search."""
    return all(line[:1] == b"#" or line.strip() in (b"", b"---", b"...") for line in io.BytesIO(data))


def _add_problem(result: FileResult, problem: Problem, name: str, job: FileJob) -> None:
    result.findings += _input_findings(job, problem.code, problem.message, name, problem.span)


def _input_findings(
    job: FileJob,
    code: str,
    message: str,
    file: str,
    span: Span,
    document: Document | None = None,
    path: Path = (),
    advice: str | None = None,
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
    )
    return [finding]


def crash_findings(job: FileJob, crash: Crash, file: str, document: Document) -> list[Finding]:
    rule = crash.rule.info.id
    message = f"rule {rule} failed on this object ({crash.error}); the other rules ran. This is a bug of the rule, not of the manifest"
    return _input_findings(job, "IN013", message, file, Span(document.line, 1, document.line, 2), document)


def unreadable(name: str, reason: str, job: FileJob) -> FileResult:
    """The result for a path that cannot be read."""
    result = FileResult()
    result.unread = True
    result.counts.files = 1
    result.findings += _input_findings(job, "IN000", f"cannot be read: {reason}", name, Span(1, 1, 1, 1))
    return result


def read_bytes(name: str) -> bytes:
    """The bytes of a file. Raises OSError."""
    with open(name, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        return file.read() if size else b"".join(iter(lambda: file.read(1 << 20), b""))
