"""What every Pod template of the inputs will get: reads all inputs once for the objects that others refer to, then again for the answer."""

from typing import NamedTuple

from gpuvet.engine.configuration import KINDS, Configuration, configurations
from gpuvet.engine.context import EmptyContext, Fact, FactContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.needles import Needles
from gpuvet.engine.ruleset import RuleSet
from gpuvet.manifests.reader import read
from gpuvet.resolve.requests import DOMAINS
from gpuvet.scan.file import FileJob, check_file, read_bytes, unreadable
from gpuvet.scan.files import Unreadable, find_files
from gpuvet.scan.result import FileResult, ScanResult
from gpuvet.scan.rules import rule_set
from gpuvet.scan.run import Scan, read_context

_NEEDLES = DOMAINS | {"tensor-fusion.ai", "kubernetes.io/gpu"}


class EffectiveResult(NamedTuple):
    """`templates` in the order of the inputs; `scan` holds what the reader had to say."""

    templates: list[Configuration]
    scan: ScanResult


def effective(request: Scan) -> EffectiveResult:
    """Works it out for all inputs. Raises ConfigError when the settings are wrong."""
    settings = request.settings
    rules = rule_set(settings)
    severities = {rule.info.id: rule.severity for rule in rules.rules if rule.info.kind == "input"}
    judge = Judge(RuleSet(()), settings.workloads, settings.platform, domains=rules.domains)
    needles = Needles((*_NEEDLES, *settings.domains.values()))
    job = FileJob(judge, EmptyContext(), needles, severities, KINDS, request.stdin_name)
    result = FileResult()
    facts: list[Fact] = []
    for one in read_context(settings, job):
        facts += one.facts
        result.findings += [finding for finding in one.findings if finding.severity == "error"]
        result.unread = result.unread or one.unread
    files: list[str] = []
    for entry in find_files(request.paths, settings.exclude, settings.folder):
        one = _first(entry, job, request)
        result.findings += one.findings
        result.counts.add(one.counts)
        result.unread = result.unread or one.unread
        facts += one.facts
        if isinstance(entry, str) and not one.counts.skipped:
            files.append(entry)
    result.findings.sort(key=lambda finding: finding.order)
    context = FactContext(facts, frozenset(settings.context_complete), settings.namespace)
    found: list[Configuration] = []
    for file in files:
        name = request.stdin_name if file == "-" else file
        try:
            documents = read(_bytes(file, request)).documents
        except OSError:
            continue
        for document in documents:
            found += configurations(document, document.source or name, context, settings.workloads, settings.platform, rules.domains)
    return EffectiveResult(found, ScanResult(result.findings, result.counts, result.unread, False))


def _first(entry: str | Unreadable, job: FileJob, request: Scan) -> FileResult:
    if isinstance(entry, Unreadable):
        return unreadable(entry.path, entry.reason, job)
    try:
        data = _bytes(entry, request)
    except OSError as error:
        return unreadable(entry, error.strerror or str(error), job)
    return check_file(request.stdin_name if entry == "-" else entry, data, job)


def _bytes(entry: str, request: Scan) -> bytes:
    return request.stdin or b"" if entry == "-" else read_bytes(entry)
