"""Few threads work while they can, the others come back when they are needed."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpuvet.admission import standby as module
from gpuvet.admission.standby import Answer, Standby

LOOK = 0.1
"""Seconds. On a busy machine a thread may be kept waiting for some milliseconds, which must not look as if it were held."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKS", LOOK)
    monkeypatch.setattr(module, "ASLEEP", LOOK)


@pytest.fixture(name="standby")
def standby_fixture() -> Standby:
    return Standby(1)


@contextmanager
def working(standby: Standby) -> Iterator[threading.Event]:
    """Another thread answers requests, one after the other; while the event is set it is held by one."""
    started, stop, hold = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        while not stop.is_set():
            with standby:
                time.sleep(0.0005)
                while hold.is_set() and not stop.wait(0.0005):
                    pass
            standby.rest()
            started.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(5)
    yield hold
    stop.set()
    thread.join(5)


@contextmanager
def others_are_answered(standby: Standby) -> Iterator[None]:
    """By threads that are new each time, as it were."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(0.0005):
            with standby:
                pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join(5)


def resting(standby: Standby, count: int) -> list[threading.Thread]:
    """So many threads that have answered a request each."""

    def run() -> None:
        with standby:
            pass
        standby.rest()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def ended(threads: list[threading.Thread], seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def alive(threads: list[threading.Thread]) -> int:
    return sum(thread.is_alive() for thread in threads)


def test_a_thread_alone_never_waits(standby: Standby) -> None:
    for _ in range(1000):
        with standby:
            pass
        standby.rest()


def test_others_stand_by_while_one_works(standby: Standby) -> None:
    with working(standby):
        threads = resting(standby, 5)
        time.sleep(4 * LOOK)
        assert alive(threads) == 5


def test_one_is_called_for_one_that_is_held_while_others_are_answered(standby: Standby) -> None:
    with working(standby) as hold:
        threads = resting(standby, 5)
        time.sleep(0.05)
        with others_are_answered(standby):
            hold.set()
            time.sleep(5 * LOOK)
            assert alive(threads) == 4
            hold.clear()


def test_all_are_called_when_nothing_is_answered(standby: Standby) -> None:
    with working(standby) as hold:
        threads = resting(standby, 100)
        time.sleep(0.1)
        assert alive(threads) == 100
        hold.set()
        # 1, 2, 4 ... of them at each look.
        assert ended(threads)


def test_who_works_is_found_out_anew_after_a_rest(standby: Standby) -> None:
    """Whoever worked may have ended by then."""
    with working(standby):
        threads = resting(standby, 1)
        time.sleep(0.05)
    time.sleep(3 * LOOK)
    assert alive(threads) == 1
    assert ended(resting(standby, 1))


def test_several_may_work() -> None:
    standby = Standby(2)
    with working(standby), working(standby):
        threads = resting(standby, 1)
        time.sleep(3 * LOOK)
        assert alive(threads) == 1


def test_an_answer_is_a_list_that_says_when_it_is_let_go() -> None:
    said: list[str] = []
    answer = Answer([b"{", b"}"])
    answer.sent = lambda: said.append("sent")
    assert isinstance(answer, list)
    assert b"".join(answer) == b"{}"
    assert said == []
    del answer
    assert said == ["sent"]
