"""One thread works while it can, the others come back when they are needed."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpuvet.admission.standby import Answer, Standby


@pytest.fixture(name="standby")
def standby_fixture() -> Standby:
    return Standby()


class Held:
    """A thread that works on one request until it is told to go on."""

    def __init__(self, standby: Standby) -> None:
        self.standby = standby
        self.inside, self.go, self.back = threading.Event(), threading.Event(), threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        assert self.inside.wait(5)

    def _run(self) -> None:
        with self.standby:
            pass
        self.standby.rest()
        with self.standby:
            self.inside.set()
            self.go.wait(20)
        self.standby.rest()
        self.back.set()


@contextmanager
def progress(standby: Standby) -> Iterator[None]:
    """Meanwhile requests are answered, by somebody."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(0.0005):
            with standby:
                pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join()


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


def ended(threads: list[threading.Thread], seconds: float) -> bool:
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def test_a_thread_alone_never_waits(standby: Standby) -> None:
    assert all(ended(resting(standby, 1), 1) for _ in range(3))


def test_others_stand_by_while_requests_are_answered(standby: Standby) -> None:
    held = Held(standby)
    with progress(standby):
        threads = resting(standby, 5)
        time.sleep(0.2)
        assert all(thread.is_alive() for thread in threads)
    held.go.set()


def test_they_are_called_when_the_one_that_works_gets_nothing_done(standby: Standby) -> None:
    held = Held(standby)
    with progress(standby):
        threads = resting(standby, 100)
        time.sleep(0.1)
        assert sum(thread.is_alive() for thread in threads) == 100
    # 1, 2, 4 ... of them at each look.
    assert ended(threads, 1)
    assert not held.back.is_set()
    held.go.set()


def test_the_work_goes_to_another_when_the_one_that_had_it_has_ended(standby: Standby) -> None:
    for _ in range(3):
        held = Held(standby)
        held.go.set()
        assert held.back.wait(5)
        assert ended(resting(standby, 1), 1)


def test_an_answer_is_a_list_that_says_when_it_is_let_go() -> None:
    said: list[str] = []
    answer = Answer([b"{", b"}"])
    answer.sent = lambda: said.append("sent")
    assert isinstance(answer, list)
    assert b"".join(answer) == b"{}"
    assert said == []
    del answer
    assert said == ["sent"]
