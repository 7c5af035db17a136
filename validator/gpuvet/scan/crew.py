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
    """`make` gives the worker of a process. `first` and `second` are the two passes; `dismiss` must be called in the end."""

    def __init__(self, inputs: list[str | Unreadable], jobs: int, make: Callable[[], Worker]) -> None:
        self._inputs = inputs
        self._make = make
        self._worker = make()
        self._next = 0
        self._children: list[_Child] = []
        for _ in range(jobs - 1):
            self._children.append(_Child(inputs, make, self._children))

    def first(self, progress: Callable[[int], None]) -> FileResult:
        """What all files gave by themselves, in no particular order. `progress` gets numbers of files."""
        result = FileResult()
        for child in self._children:
            while len(child.pieces) < _AHEAD and self._supply(child):
                pass
        while self._next < len(self._inputs):
            result.add(self._worker.first(self._inputs[self._next]))
            self._next += 1
            progress(1)
            for child in self._ready(0):
                progress(self._collect(child))
                self._supply(child)
        while any(child.waits for child in self._children):
            for child in self._ready(None):
                progress(self._collect(child))
        for child in [child for child in self._children if child.dead]:
            self._children.remove(child)
            child.end()
            self._redo(child, self._worker, result)
        for child in self._children:
            result.add(child.result)
        return result

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
                self._redo(child, worker, FileResult())
                answer = worker.second(context)
            result.add(answer)
        return result

    def _redo(self, child: "_Child", worker: Worker, result: FileResult) -> None:
        for start, stop in child.pieces:
            for entry in self._inputs[start:stop]:
                result.add(worker.first(entry))

    def dismiss(self) -> None:
        """Ends the children."""
        for child in self._children:
            child.end()

    def _supply(self, child: "_Child") -> bool:
        """Hands out the next piece of work; smaller ones towards the end, so that all finish together."""
        left = len(self._inputs) - self._next
        if not left or child.dead:
            return False
        size = max(1, min(_LARGEST, left // (4 * (len(self._children) + 1))))
        piece = (self._next, self._next + size)
        self._next += size
        child.pieces.append(piece)
        child.waits += 1
        child.send(_pack(piece))
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
        child.result.add(answer)
        return int(answer.counts.files)


class _Child:
    """A forked process, as seen from here."""

    def __init__(self, inputs: list[str | Unreadable], make: Callable[[], Worker], others: list["_Child"]) -> None:
        self.pieces: list[tuple[int, int]] = []
        self.result = FileResult()
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
        result = FileResult()
        for entry in inputs[slice(*request)]:
            result.add(worker.first(entry))
        _write(sink, _pack(result))


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
