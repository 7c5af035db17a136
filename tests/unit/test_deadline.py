"""Work that takes too long is interrupted, and nothing else is."""

import contextlib
import threading
import time
from typing import Any

import pytest

from gpuvet.admission.deadline import Deadline, LateError


@pytest.fixture(scope="module", name="deadline")
def deadline_fixture() -> Deadline:
    return Deadline()


def forever() -> None:
    while True:
        sum(range(1000))


def test_work_in_time_is_returned(deadline: Deadline) -> None:
    assert deadline.run(time.monotonic() + 5, lambda: 7) == 7


def test_errors_of_work_are_its_own(deadline: Deadline) -> None:
    with pytest.raises(ZeroDivisionError):
        deadline.run(time.monotonic() + 5, lambda: 1 // 0)


def test_work_without_end_is_interrupted(deadline: Deadline) -> None:
    start = time.monotonic()
    with pytest.raises(LateError):
        deadline.run(start + 0.2, forever)
    assert 0.2 <= time.monotonic() - start < 1


def test_failing_rules_are_caught_and_lateness_is_not(deadline: Deadline) -> None:
    def stubborn() -> None:
        while True:
            with contextlib.suppress(Exception):
                forever()

    with pytest.raises(LateError):
        deadline.run(time.monotonic() + 0.2, stubborn)


def test_each_thread_has_its_own(deadline: Deadline) -> None:
    ends: dict[str, Any] = {}

    def work(name: str, seconds: float) -> None:
        try:
            ends[name] = deadline.run(time.monotonic() + seconds, lambda: _counted(0.6))
        except LateError:
            ends[name] = "late"

    threads = [threading.Thread(target=work, args=each) for each in (("short", 0.1), ("long", 30))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ends == {"short": "late", "long": "done"}


def _counted(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100))
    return "done"


def test_what_comes_after_is_never_hit(deadline: Deadline) -> None:
    """Work that ends just when its time is up: either it was late or it was not, and the next steps run undisturbed."""
    late = 0
    for number in range(60):
        end = time.monotonic() + 0.01 + number % 7 / 1000
        try:
            deadline.run(end, lambda end=end: _counted(end - time.monotonic() + 0.025))  # type: ignore[misc]
        except LateError:
            late += 1
        assert _counted(0.01) == "done"
    assert 0 < late < 60
