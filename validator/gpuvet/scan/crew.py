"""Several processes for one run: this one and forked children that share its rule set and its list of inputs.

Forked, not started afresh: a child is there in a millisecond and loads nothing. Work is handed out in small pieces to whoever is
idle, and this process works too. What a dead child had is done again here.
"""

import os
import pickle
import select
import struct
from collections.abc import Callable
from typing import Any

from gpuvet.engine.context import FactContext
from gpuvet.scan.files import Unreadable
from gpuvet.scan.result import FileResult
from gpuvet.scan.worker import Worker

_LARGEST = 32
"""Files in a piece of work."""
_AHEAD = 2
"""Pieces that a child has: one at work, one in store."""
_LENGTH = struct.Struct(">Q")


def may_fork() -> bool:
    """Whether children can be forked safely: not where other threads may hold locks."""
    import sys

    threads = sys.modules.get("threading")
    return hasattr(os, "fork") and (threads is None or threads.active_count() == 1)


class Crew:
    """`make` gives the worker of a process. Called in this order: `early`, `second`, `late`, and `dismiss` whatever happens."""

    def __init__(self, inputs: list[str | Unreadable], jobs: int, make: Callable[[], Worker]) -> None:
        self._inputs = inputs
        self._make = make
        self._worker = make()
        self._children: list[_Child] = []
        for _ in range(jobs - 1):
            self._children.append(_Child(inputs, make, self._children))

    def early(self, progress: Callable[[int], None]) -> tuple[FileResult, list[int]]:
        """What can be said of the files by themselves, in no particular order, and the numbers of those that were postponed.

        `progress` gets numbers of files.
        """
        answer = self._share("early", list(range(len(self._inputs))), progress)
        return answer.result, sorted(answer.postponed)

    def second(self, context: FactContext) -> FileResult:
        """What the objects that waited come to."""
        packed = _pack(context) if self._children else b""
        for child in self._children:
            child.send(packed)
        result = self._worker.second(context)
        for child in self._children:
            answer = child.receive()
            if answer is None:
                worker = self._make()
                _work(worker, "early", child.taken, self._inputs)
                answer = worker.second(context)
            result.add(answer)
        return result

    def late(self, postponed: list[int], progress: Callable[[int], None]) -> FileResult:
        """What is to be said of the postponed files."""
        return self._share("late", postponed, progress).result

    def dismiss(self) -> None:
        """Ends the children."""
        for child in self._children:
            child.end()

    def _share(self, task: str, numbers: list[int], progress: Callable[[int], None]) -> "_Answer":
        """Hands out the work and takes part in it."""
        answer = _Answer()
        left = numbers[::-1]
        for child in self._children:
            child.taken, child.answer = [], _Answer()
            while child.waits < _AHEAD and self._supply(child, task, left):
                pass
        while left:
            answer.add(_work(self._worker, task, [left.pop()], self._inputs))
            progress(1)
            for child in self._ready(0):
                progress(self._collect(child))
                self._supply(child, task, left)
        while any(child.waits for child in self._children):
            for child in self._ready(None):
                progress(self._collect(child))
        for child in [child for child in self._children if child.dead]:
            self._children.remove(child)
            child.end()
            answer.add(_work(self._worker, task, child.taken, self._inputs))
        for child in self._children:
            answer.add(child.answer)
        return answer

    def _supply(self, child: "_Child", task: str, left: list[int]) -> bool:
        """Hands out the next piece of work; smaller ones towards the end, so that all finish together."""
        if not left or child.dead:
            return False
        size = max(1, min(_LARGEST, len(left) // (4 * (len(self._children) + 1))))
        piece = [left.pop() for _ in range(size)]
        child.taken += piece
        child.waits += 1
        child.send(_pack((task, piece)))
        return True

    def _ready(self, timeout: float | None) -> list["_Child"]:
        asked = {child.source: child for child in self._children if child.waits}
        if not asked:
            return []
        readable, _, _ = select.select(list(asked), [], [], timeout)
        return [asked[source] for source in readable]

    def _collect(self, child: "_Child") -> int:
        """Takes in an answer; returns the number of files it is about."""
        answer = child.receive()
        if answer is None:
            return 0
        child.waits -= 1
        child.answer.add(answer)
        return int(answer.result.counts.files)


class _Answer:
    """What a piece of work gave."""

    __slots__ = ("postponed", "result")

    def __init__(self) -> None:
        self.result = FileResult()
        self.postponed: list[int] = []

    def add(self, other: "_Answer") -> None:
        """Takes in another one."""
        self.result.add(other.result)
        self.postponed += other.postponed


def _work(worker: Worker, task: str, numbers: list[int], inputs: list[str | Unreadable]) -> _Answer:
    answer = _Answer()
    for number in numbers:
        entry = inputs[number]
        result = worker.late(entry) if task == "late" and isinstance(entry, str) else worker.early(entry)
        if result is None:
            answer.postponed.append(number)
        else:
            answer.result.add(result)
    return answer


class _Child:
    """A forked process, as seen from here."""

    def __init__(self, inputs: list[str | Unreadable], make: Callable[[], Worker], others: list["_Child"]) -> None:
        self.taken: list[int] = []
        """The files that were handed out to it in this round."""
        self.answer = _Answer()
        self.waits = 0
        """Answers that are still to come."""
        self.dead = False
        theirs, self._sink = os.pipe()
        self.source, their_sink = os.pipe()
        self._id = os.fork()
        if self._id == 0:
            status = 1
            try:
                for descriptor in (self._sink, self.source, *(end for other in others for end in (other._sink, other.source))):
                    os.close(descriptor)
                _serve(make(), inputs, theirs, their_sink)
                status = 0
            finally:
                # Whatever happens here, the rest of the program belongs to the parent.
                os._exit(status)
        os.close(theirs)
        os.close(their_sink)

    def send(self, packed: bytes) -> None:
        """Sends a request, unless the child is dead."""
        if not self.dead:
            try:
                _write(self._sink, packed)
            except OSError:
                self._bury()

    def receive(self) -> Any:
        """The next answer; None when the child is dead."""
        answer = None if self.dead else _read(self.source)
        if answer is None:
            self._bury()
        return answer

    def end(self) -> None:
        """Lets the child go."""
        os.close(self._sink)
        os.close(self.source)
        os.waitpid(self._id, 0)

    def _bury(self) -> None:
        self.dead = True
        self.waits = 0


def _serve(worker: Worker, inputs: list[str | Unreadable], source: int, sink: int) -> None:
    """The life of a child: pieces of work, then the context."""
    while True:
        request = _read(source)
        if request is None:
            return
        if isinstance(request, FactContext):
            _write(sink, _pack(worker.second(request)))
            continue
        task, numbers = request
        _write(sink, _pack(_work(worker, task, numbers, inputs)))


def _pack(value: Any) -> bytes:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read(descriptor: int) -> Any:
    """The next value, or None when the other side is gone."""
    head = _exactly(descriptor, _LENGTH.size)
    data = _exactly(descriptor, _LENGTH.unpack(head)[0]) if head is not None else None
    return None if data is None else pickle.loads(data)  # noqa: S301 - from our own child


def _exactly(descriptor: int, size: int) -> bytes | None:
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
