"""A hard end to work that takes too long, wherever in a rule it is: the thread that does it is interrupted.

A check between rules would not do: one rule on one huge list may take minutes.
"""

import ctypes
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

T = TypeVar("T")
LOOKS = 0.05
"""Seconds between looks at who is late."""

_interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
_interrupt.argtypes = (ctypes.c_ulong, ctypes.py_object)
_NOTHING = ctypes.py_object()


class LateError(BaseException):
    """Raised in the middle of work whose time is up. Not an Exception: who catches failures of rules must let it through."""


class Deadline:
    """Interrupts threads of this process: between two steps of Python, never inside one, such as a regular expression."""

    def __init__(self) -> None:
        self._ends: dict[int, float] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, name="deadline", daemon=True).start()

    def run(self, end: float, work: Callable[[], T]) -> T:
        """What `work` returns. Raises LateError when it is not done by `end`, in seconds of `time.monotonic`."""
        me = threading.get_ident()
        try:
            self._ends[me] = end
            return work()
        finally:
            if self._ends.pop(me, None) is None:
                # The watcher has taken note of us. An interruption that it is about to send must not hit what this thread does next.
                with self._lock:
                    _interrupt(me, _NOTHING)

    def _watch(self) -> None:
        while True:
            sleep(LOOKS)
            now = monotonic()
            for thread, end in list(self._ends.items()):
                if end < now:
                    with self._lock:
                        if self._ends.pop(thread, None) is not None:
                            _interrupt(thread, ctypes.py_object(LateError))
