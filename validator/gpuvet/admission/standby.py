"""One thread works, the others stand by. The server has many threads, since a slow sender holds one; threads that work at the same
time on several processors only take Python's interpreter from one another, which costs more than a review.
"""

import os
import threading
from _thread import LockType, allocate_lock, get_ident
from collections.abc import Callable
from time import sleep

LOOKS = 0.005
"""Seconds between looks at whether the thread that works gets anything done, while others stand by."""
ASLEEP = 0.05
"""The same while there is nothing to do."""


def processors() -> int:
    """How many this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Standby:
    """Threads are inside (`with standby`) while they have a request, and `rest` once its answer is out."""

    def __init__(self) -> None:
        self._inside: set[int] = set()
        self._worker = 0
        """The thread that never stands by; 0 when the next to be done becomes it."""
        self._waiting: list[LockType] = []
        self._done = 0
        # On one processor they take turns anyway, and the network is then served for many reviews at a time.
        self._is_on = processors() > 1
        self._needed = threading.Event()
        """Set while somebody stands by."""
        threading.Thread(target=self._watch, name="standby", daemon=True).start()

    def __enter__(self) -> None:
        self._inside.add(get_ident())

    def __exit__(self, *_: object) -> None:
        self._inside.discard(get_ident())
        self._done += 1

    def rest(self) -> None:
        """Returns at once to the one thread that works, and to every other when it is needed."""
        me = get_ident()
        if me == self._worker or not self._is_on:
            return
        if self._worker not in self._inside:
            # It waits for work, or has ended.
            self._worker = me
            return
        lock = allocate_lock()
        lock.acquire()
        self._waiting.append(lock)
        self._needed.set()
        lock.acquire()

    def _watch(self) -> None:
        """Sends threads back to work when requests are there and none is answered, twice as many at each look."""
        seen, wake = -1, 1
        while self._needed.wait():
            sleep(LOOKS if self._inside else ASLEEP)
            if self._done != seen or not self._inside:
                seen, wake = self._done, 1
                continue
            self._worker = 0
            # Cleared first: somebody may stand by between a look at the list and this.
            self._needed.clear()
            for lock in self._waiting[-wake:]:
                self._waiting.remove(lock)
                lock.release()
            wake *= 2
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
