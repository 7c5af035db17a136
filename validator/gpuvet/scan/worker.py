"""What one process does of a run: judges files, holds back the objects that hang on others, and judges these once all is known."""

from gpuvet.engine.context import FactContext, reread
from gpuvet.engine.late import LateDocument
from gpuvet.manifests.workloads import objects
from gpuvet.scan.comments import Comments
from gpuvet.scan.file import FileJob, check_file, crash_findings, read_bytes, unreadable
from gpuvet.scan.files import Unreadable
from gpuvet.scan.result import FileResult, Waiting
from gpuvet.values.finding import Finding

_WHOLE = 8
"""Objects held with all their text: a small run reads nothing twice."""
_HELD = 1_000
"""Objects held without their text. Further ones are read again, so that memory does not grow with the inputs."""
_KEPT = 1_000_000
"""Bytes of postponed files that are kept until their turn."""


class Worker:
    """Judges files one after the other. `stdin` is what stands behind the name `job.stdin_name`.

    First the files that may hold objects that rules look up (`early`), then, with those objects known (`second`), all others (`late`).
    """

    def __init__(self, job: FileJob, stdin: bytes | None = None) -> None:
        self._job = job
        self._stdin = stdin
        self._waiting: list[Waiting] = []
        self._held = 0
        self._kept: dict[str, bytes] = {}
        self._room = _KEPT

    def early(self, entry: str | Unreadable) -> FileResult | None:
        """What can be said of a file by itself. None: it holds nothing that others look up, and is judged late."""
        if isinstance(entry, Unreadable):
            return unreadable(entry.path, entry.reason, self._job)
        name = self._job.stdin_name if entry == "-" else entry
        try:
            data = self._stdin if entry == "-" and self._stdin is not None else read_bytes(entry)
        except OSError as error:
            return unreadable(name, error.strerror or str(error), self._job)
        if self._job.known_by and not self._job.known_by.stand_in(data):
            if len(data) <= self._room or entry == "-":
                self._room -= len(data)
                self._kept[entry] = data
            return None
        result = check_file(name, data, self._job)
        if result.waiting:
            self._hold(result.waiting)
            result.waiting = []
        return result

    def second(self, context: FactContext) -> FileResult:
        """What else there is to say of the early files, now that the objects of all files are known."""
        self._job = self._job._replace(context=context, is_final=True)
        result = FileResult()
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if each.asked.isdisjoint(context.kinds):
                result.findings += each.findings
                continue
            findings = self._again(each, context, result)
            if each.comments and findings:
                findings = Comments(self._bytes(each)).filter(findings)
            result.findings += findings
        return result

    def late(self, entry: str) -> FileResult:
        """All that is to be said of a postponed file."""
        name = self._job.stdin_name if entry == "-" else entry
        try:
            data = self._kept.pop(entry) if entry in self._kept else read_bytes(entry)
        except OSError as error:
            return unreadable(name, error.strerror or str(error), self._job)
        return check_file(name, data, self._job)

    def _hold(self, waiting: list[Waiting]) -> None:
        for each in waiting:
            hearing = each.hearing
            if hearing is not None and (self._stdin is None or each.file != self._job.stdin_name):
                self._held += 1
                if self._held > _WHOLE + _HELD:
                    each = each._replace(hearing=None)
                elif self._held > _WHOLE:
                    hearing.park(LateDocument(hearing.scope.document.value, each.document_index, each.file))
            self._waiting.append(each)

    def _again(self, each: Waiting, context: FactContext, result: FileResult) -> list[Finding]:
        hearing = each.hearing
        if hearing is not None:
            findings = hearing.resume(context)
            crashes, document = hearing.crashes, hearing.scope.document
        else:
            read_again = reread(each.file, each.document_index)
            value = None if read_again is None else next((value for path, value in objects(read_again.value) if path == each.path), None)
            if read_again is None or value is None:
                return each.findings
            document = read_again
            verdict = self._job.judge.object(document, each.path, value, each.shown_file, context)
            findings, crashes = verdict.findings, verdict.crashes
        for crash in crashes:
            result.crashed = True
            findings = findings + crash_findings(self._job, crash, each.shown_file, document)
        return findings

    def _bytes(self, each: Waiting) -> bytes:
        if each.file == self._job.stdin_name and self._stdin is not None:
            return self._stdin
        try:
            return read_bytes(each.file)
        except OSError:
            return b""
