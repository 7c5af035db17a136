"""The two passes over all inputs: judge what stands alone and keep facts, then judge what refers to other objects."""

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path as FilePath
from typing import NamedTuple

from gpuvet.engine.context import Context, EmptyContext, Fact, FactContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.ruleset import RuleSet
from gpuvet.scan.file import INPUT_RULES, FileJob, check_file, read_bytes, unreadable
from gpuvet.scan.files import Unreadable, find_files
from gpuvet.scan.result import Counts, FileResult, ScanResult
from gpuvet.scan.rules import rule_set
from gpuvet.settings.config import Settings
from gpuvet.values.errors import ConfigError
from gpuvet.values.finding import Finding

_FEW = 200
"""Files below which more than one process does not pay."""
_CHUNK = 64


class Scan(NamedTuple):
    """What is to be checked, and how. `stdin` is called `stdin_name` in findings; `jobs` 0 means one per processor."""

    paths: list[str]
    settings: Settings
    stdin_name: str = "<stdin>"
    stdin: bytes | None = None
    jobs: int = 0
    progress: Callable[[int], None] | None = None


def scan(request: Scan) -> ScanResult:
    """Checks everything. Raises ConfigError when the settings name rules or bundles that do not exist."""
    settings = request.settings
    rules = rule_set(settings)
    was = gc.isenabled()
    gc.disable()
    try:
        return _scan(request, rules)
    finally:
        if was:
            gc.enable()


def _scan(request: Scan, rules: RuleSet) -> ScanResult:
    settings = request.settings
    inputs = list(find_files(request.paths, settings.exclude, settings.folder))
    counts = Counts()
    findings: list[Finding] = []
    unread = crashed = False
    waiting: list[FileResult] = []
    facts: list[Fact] = []
    for result in read_context(settings, _job(settings, rules, frozenset(), EmptyContext())._replace(needles=())):
        facts.extend(result.facts)
        findings.extend(finding for finding in result.findings if finding.severity == "error")
        unread = unread or result.unread
    for result in _pass(request, inputs, _job(settings, rules, None, EmptyContext(), request.stdin_name)):
        counts.add(result.counts)
        facts.extend(result.facts)
        unread, crashed = unread or result.unread, crashed or result.crashed
        if result.open_rules:
            # What a rule of the second pass may supersede, or be superseded by, is not settled yet.
            result.open_rules = rules.linked(result.open_rules)
            findings.extend(f for f in result.findings if f.rule not in result.open_rules)
            result.findings, result.facts = [f for f in result.findings if f.rule in result.open_rules], []
            waiting.append(result)
        else:
            findings.extend(result.findings)
        if request.progress is not None:
            request.progress(counts.files)
    complete = frozenset(settings.context_complete)
    context = FactContext(facts, complete, settings.namespace)
    again = {result.file: result.open_rules for result in waiting if result.asked & context.kinds}
    findings.extend(f for result in waiting if result.file not in again for f in (*result.findings, *result.open))
    if again:
        only = frozenset().union(*again.values())
        for result in _pass(request, again, _job(settings, rules, only, context, request.stdin_name)):
            findings.extend(f for f in (*result.findings, *result.open) if f.rule in again[result.file] or f.rule in INPUT_RULES)
            unread, crashed = unread or result.unread, crashed or result.crashed
    return ScanResult(sorted(set(findings), key=lambda finding: finding.order), counts, unread, crashed)


def _job(settings: Settings, rules: RuleSet, only: frozenset[str] | None, context: Context, stdin_name: str = "-") -> FileJob:
    judge = Judge(rules, settings.workloads, settings.platform, only, rules.domains)
    severities = {rule.info.id: rule.severity for rule in rules.rules if rule.info.kind == "input"}
    return FileJob(judge, context, rules.needles(), severities, rules.finds, stdin_name)


def read_context(settings: Settings, job: FileJob) -> Iterator[FileResult]:
    """The files under `context.paths`: facts, and what the reader has to say. Raises ConfigError when there is no such file."""
    for name in settings.context_paths:
        for entry in find_files([str(settings.folder / name)], settings.exclude, settings.folder):
            if isinstance(entry, Unreadable):
                raise ConfigError(f"{settings.source}: context.paths: {name}: {entry.reason}")
            yield _check(entry, job, None)


def _pass(request: Scan, inputs: Iterable[str | Unreadable], job: FileJob) -> Iterator[FileResult]:
    listed = list(inputs)
    jobs = request.jobs or (min(os.cpu_count() or 1, max(1, len(listed) // _FEW)))
    if jobs > 1 and len(listed) > 1:
        yield from _parallel(listed, job, jobs, request)
        return
    for entry in listed:
        yield _one(entry, job, request)


def _one(entry: str | Unreadable, job: FileJob, request: Scan) -> FileResult:
    if isinstance(entry, Unreadable):
        return unreadable(entry.path, entry.reason, job)
    if entry in ("-", request.stdin_name) and request.stdin is not None:
        return check_file(request.stdin_name, request.stdin, job)
    return _check(entry, job, request)


def _check(name: str, job: FileJob, request: Scan | None) -> FileResult:
    try:
        data = read_bytes(name)
    except OSError as error:
        return unreadable(name, error.strerror or str(error), job)
    return check_file(name, data, job)


def _parallel(listed: list[str | Unreadable], job: FileJob, jobs: int, request: Scan) -> Iterator[FileResult]:
    import multiprocessing

    here = [entry for entry in listed if not isinstance(entry, str) or entry in ("-", request.stdin_name)]
    for entry in here:
        yield _one(entry, job, request)
    files = [entry for entry in listed if isinstance(entry, str) and entry not in ("-", request.stdin_name)]
    size = max(1, min(_CHUNK, -(-len(files) // (jobs * 4))))
    chunks = [files[start : start + size] for start in range(0, len(files), size)]
    method = multiprocessing.get_context("forkserver" if sys.platform != "win32" else "spawn")
    packed = (request.settings, job.judge.only, job.context)
    with ProcessPoolExecutor(jobs, method, initializer=_start, initargs=packed) as pool:
        for results in pool.map(_chunk, chunks):
            yield from results


_worker: FileJob | None = None


def _start(settings: Settings, only: frozenset[str] | None, context: Context) -> None:
    global _worker
    gc.disable()
    _worker = _job(settings, rule_set(settings), only, context)


def _chunk(files: list[str]) -> list[FileResult]:
    assert _worker is not None
    return [_check(file, _worker, None) for file in files]


def folder_of(paths: list[str]) -> FilePath:
    """Where to look for the configuration: the folder of the first input."""
    for path in paths:
        if path != "-":
            found = FilePath(path)
            return found if found.is_dir() else found.parent
    return FilePath.cwd()
