"""The two passes over all inputs: judge what stands alone and keep facts, then judge what refers to other objects."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

from gpuvet.engine.context import EmptyContext, FactContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.needles import NO_NEEDLES
from gpuvet.engine.outside import Outside
from gpuvet.engine.ruleset import RuleSet
from gpuvet.scan.file import FileJob
from gpuvet.scan.files import Unreadable, find_files
from gpuvet.scan.outside import Asked
from gpuvet.scan.result import FileResult, ScanResult
from gpuvet.scan.rules import rule_set
from gpuvet.scan.worker import Worker
from gpuvet.settings.config import Settings
from gpuvet.values.errors import ConfigError

_FEW = 40
"""Files for which a process of its own pays."""


class Scan(NamedTuple):
    """What is to be checked, and how. `stdin` is called `stdin_name` in findings; `jobs` 0 means one per processor."""

    paths: list[str]
    settings: Settings
    stdin_name: str = "<stdin>"
    stdin: bytes | None = None
    jobs: int = 0
    progress: Callable[[int], None] | None = None
    outside: tuple[Outside, ...] = ()
    """Engines that are asked about every object, besides our rules."""
    instead: Callable[[RuleSet], Judge] | None = None
    """Makes the judge that judges instead of ours, each object alone."""


def scan(request: Scan) -> ScanResult:
    """Checks everything. Raises ConfigError when the settings name rules or bundles that do not exist, and EngineError when what judges
    instead of our rules does not answer."""
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
    job = _job(request, rules)
    outside = FileResult()
    for read in read_context(settings, job._replace(judge=Judge(RuleSet(()), domains=rules.domains), outside=())):
        outside.facts += read.facts
        outside.findings += [finding for finding in read.findings if finding.severity == "error"]
        outside.unread = outside.unread or read.unread
    seen = 0

    def progress(files: int) -> None:
        nonlocal seen
        seen += files
        if request.progress is not None:
            request.progress(seen)

    def context(result: FileResult) -> FactContext:
        # In an order of their own: which process read which file first must not decide anything.
        facts = {fact.identity: fact for fact in [*outside.facts, *result.facts]}
        return FactContext([facts[identity] for identity in sorted(facts)], frozenset(settings.context_complete), settings.namespace)

    jobs = _processes(request, inputs)
    if jobs > 1:
        from gpuvet.scan.crew import Crew

        crew = Crew(inputs, jobs, lambda: Worker(job))
        try:
            result, postponed = crew.early(progress)
            result.add(crew.second(context(result)))
            result.add(crew.late(postponed, progress))
        finally:
            crew.dismiss()
    else:
        result = _alone(Worker(job, request.stdin), inputs, context, progress)
    result.add(outside)
    findings = sorted(dict.fromkeys(result.findings), key=lambda finding: finding.order)
    return ScanResult(findings, result.counts, result.unread, result.crashed)


def _alone(
    worker: Worker, inputs: list[str | Unreadable], context: Callable[[FileResult], FactContext], progress: Callable[[int], None]
) -> FileResult:
    result = FileResult()
    postponed: list[str] = []
    for entry in inputs:
        early = worker.early(entry)
        if early is not None:
            result.add(early)
            progress(1)
        elif isinstance(entry, str):
            postponed.append(entry)
    result.add(worker.second(context(result)))
    for entry in postponed:
        result.add(worker.late(entry))
        progress(1)
    return result


def _processes(request: Scan, inputs: list[str | Unreadable]) -> int:
    """How many processes share the work. What comes from standard input cannot be read by several."""
    if request.stdin is not None or request.jobs == 1 or len(inputs) < 2:
        return 1
    if request.outside or request.instead is not None:
        # They are waited for, and what is lost to one process should be lost to all.
        return 1
    from gpuvet.scan.processors import processors

    jobs = min(request.jobs, len(inputs)) if request.jobs else min(processors(), len(inputs) // _FEW)
    if jobs < 2:
        return 1
    from gpuvet.scan.crew import may_fork

    return jobs if may_fork() else 1


def _job(request: Scan, rules: RuleSet) -> FileJob:
    settings = request.settings
    severities = {rule.info.id: rule.severity for rule in rules.rules if rule.info.kind == "input"}
    context = EmptyContext(settings.namespace)
    asked = tuple(Asked(engine) for engine in request.outside)
    # What others have to say about an object is not known, so every object is shown to them.
    needles = NO_NEEDLES if asked else rules.needles()
    if request.instead is not None:
        judge = request.instead(rules)
        return FileJob(judge, context, needles, severities, frozenset(), request.stdin_name, is_final=True, outside=asked)
    judge = Judge(rules, settings.workloads, settings.platform, rules.domains)
    return FileJob(judge, context, needles, severities, rules.finds, request.stdin_name, rules.sought(), outside=asked)


def read_context(settings: Settings, job: FileJob) -> Iterator[FileResult]:
    """The files under `context.paths`: facts, and what the reader has to say. Raises ConfigError when there is no such file."""
    worker = Worker(job._replace(needles=NO_NEEDLES, known_by=NO_NEEDLES))
    for name in settings.context_paths:
        for entry in find_files([str(settings.folder / name)], settings.exclude, settings.folder):
            if isinstance(entry, Unreadable):
                raise ConfigError(f"{settings.source}: context.paths: {name}: {entry.reason}")
            yield worker.early(entry) or FileResult()


def folder_of(paths: list[str]) -> FilePath:
    """Where to look for the configuration: the folder of the first input."""
    for path in paths:
        if path != "-":
            found = FilePath(path)
            return found if found.is_dir() else found.parent
    return FilePath.cwd()
