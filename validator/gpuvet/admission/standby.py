"""Few threads work, the others stand by. The server has many, since a slow sender holds one; those that work at the same time on
several processors only take Python's interpreter from one another, which costs more than a review.
"""

import threading
from _thread import LockType, allocate_lock, get_ident
from collections.abc import Callable
from time import sleep

from gpuvet.scan.processors import processors

LOOKS = 0.005
"""Seconds between looks at whether the threads that work get anything done, while others stand by."""
ASLEEP = 0.05
"""The same while there is nothing to do."""
MANY = 32
"""Threads that work where there is one processor: they take turns, and the network is served for many reviews at a time."""


class Standby:
    """Threads are inside (`with standby`) while they have a request, and `rest` once its answer is out."""

    def __init__(self, size: int | None = None) -> None:
        """`size`: how many threads work at a time."""
        self._size = size if size is not None else MANY if processors() == 1 else 1
        self._inside: dict[int, int] = {}
        """Thread -> number of its request."""
        self._workers: set[int] = set()
        """The threads that do not stand by."""
        self._waiting: list[LockType] = []
        self._entered = 0
        """Requests so far."""
        self._needed = threading.Event()
        """Set while somebody stands by."""
        threading.Thread(target=self._watch, name="standby", daemon=True).start()

    def __enter__(self) -> None:
        self._entered += 1
        self._inside[get_ident()] = self._entered

    def __exit__(self, *_: object) -> None:
        del self._inside[get_ident()]

    def rest(self) -> None:
        """Returns at once to the threads that work, and to every other when it is needed."""
        me = get_ident()
        if me in self._workers:
            return
        if len(self._workers) < self._size:
            self._workers.add(me)
            return
        lock = allocate_lock()
        lock.acquire()
        self._waiting.append(lock)
        self._needed.set()
        lock.acquire()

    def _watch(self) -> None:
        """Sends one back to work for each that is held by its request, and ever more of them while no request is answered."""
        seen: dict[int, int] = {}
        answered, more = -1, 1
        while self._needed.wait():
            sleep(LOOKS if self._inside else ASLEEP)
            before, inside = answered, self._inside.copy()
            answered = self._entered - len(inside)
            held = {thread for thread in self._workers.copy() if thread in inside and inside[thread] == seen.get(thread)}
            self._workers -= held
            if answered != before:
                count, more = len(held), 1
            elif inside:
                count, more = more, 2 * more
            else:
                # The server ends threads that have nothing to do for long: who works is found out anew.
                self._workers.clear()
                count, more = 0, 1
            seen = inside
            self._call(count)

    def _call(self, count: int) -> None:
        # Cleared first: somebody may stand by between a look at the list and this.
        self._needed.clear()
        for _ in range(min(count, len(self._waiting))):
            self._waiting.pop().release()
        if self._waiting:
            self._needed.set()


class Answer(list[bytes]):
    """What granian sends. It lets go of it when it is sent, and no earlier: `close` of WSGI comes before the end of an HTTP/2 stream.

    `sent` is called then.
    """

    __slots__ = ("sent",)

    sent: Callable[[], None]

    def __del__(self) -> None:
        self.sent()
