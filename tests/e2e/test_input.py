"""Bad input straight to the port: a clear status, no crash, and others are not kept waiting."""

import contextlib
import gzip
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from webhook import frames
from webhook.reviews import body, deployment, quiet
from webhook.server import WebhookServer, raw_connection

pytestmark = pytest.mark.real


def answered(webhook: WebhookServer) -> float:
    """Seconds to a good answer."""
    start = time.monotonic()
    assert webhook.validate(body(quiet()))["allowed"] is True
    return time.monotonic() - start


def status_of(received: bytes) -> int:
    return int(received.split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("make", "content", "status"),
    [
        (lambda: b"hello", "application/json", 400),
        (lambda: b"", "application/json", 400),
        (lambda: body(quiet()), "text/plain", 415),
        (lambda: body(quiet()).replace(b"admission.k8s.io/v1", b"admission.k8s.io/v2"), "application/json", 400),
        (
            lambda: json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}).encode(),
            "application/json",
            400,
        ),
        (lambda: b"[" * 10_000 + b"]" * 10_000, "application/json", 400),
        (
            lambda: b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":' + b'{"a":' * 9000 + b"1" + b"}" * 9001,
            "application/json",
            400,
        ),
    ],
    ids=["no-json", "empty", "content-type", "version", "no-uid", "deep-list", "deep-map"],
)
def test_bad_body(running: WebhookServer, make: Callable[[], bytes], content: str, status: int) -> None:
    assert running.request("POST", "/validate", make(), content)[0] == status
    assert answered(running) < 1


def test_large_body_is_not_read(running: WebhookServer) -> None:
    for header, status in ((b"Content-Length: 20000000", 413), (b"Transfer-Encoding: chunked", 411)):
        with raw_connection(running.port) as connection:
            connection.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + header + b"\r\n\r\n")
            piece = b"x" * 65536
            framed = piece if header.startswith(b"Content-Length") else b"10000\r\n" + piece + b"\r\n"
            received = b""
            with contextlib.suppress(OSError):  # the server has answered and closed
                for _ in range(305):
                    connection.sendall(framed)
            with contextlib.suppress(OSError):
                received = connection.recv(4096)
            assert received == b"" or status_of(received) == status, received[:100]
    assert answered(running) < 1


def test_who_asks_before_sending_is_told_to_go_on(running: WebhookServer) -> None:
    data = body(quiet())
    with raw_connection(running.port) as connection:
        connection.sendall(
            b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
            % len(data)
        )
        assert status_of(connection.recv(4096)) == 100
        connection.sendall(data)
        assert status_of(connection.recv(4096)) == 200


def test_compressed_body_is_refused(running: WebhookServer) -> None:
    assert running.request("POST", "/validate", gzip.compress(body(quiet())))[0] == 400


def test_many_headers_are_refused(running: WebhookServer) -> None:
    with raw_connection(running.port) as connection:
        received = b""
        with contextlib.suppress(OSError):
            connection.sendall(
                b"POST /validate HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1000) for n in range(20_000))
            )
            received = connection.recv(4096)
        assert received == b"" or status_of(received) == 431, received[:100]
    assert answered(running) < 1


def processor_time(webhook: WebhookServer) -> float:
    """Seconds that the worker has taken."""
    children = Path(f"/proc/{webhook.pid}/task/{webhook.pid}/children").read_text().split()
    fields = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split() for child in children]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def test_http2_body_that_breaks_off_is_done_with(running: WebhookServer) -> None:
    """Cut off, cancelled, or another length than announced: nobody goes on waiting for the rest."""
    closed = frames.connect(running.port)
    closed.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, frames.headers(1000)))
    cancelled = frames.connect(running.port)
    cancelled.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, frames.headers(1000)))
    short = frames.connect(running.port)
    short.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, frames.headers(1000)))
    time.sleep(0.3)
    closed.close()
    cancelled.sendall(frames.frame(frames.RST_STREAM, 0, 1, frames.CANCEL))
    short.sendall(frames.frame(frames.DATA, frames.END_STREAM, 1, b"{}"))
    time.sleep(0.5)
    before = processor_time(running)
    time.sleep(1)
    assert processor_time(running) < before + 0.3
    assert answered(running) < 1
    for connection in (cancelled, short):
        connection.close()


def test_http2_headers_and_then_silence(running: WebhookServer) -> None:
    before = memory(running)
    connections = [frames.connect(running.port) for _ in range(20)]
    for connection in connections:
        for stream in range(1, 40, 2):
            connection.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, stream, frames.headers(1000)))
    time.sleep(0.5)
    assert max(answered(running) for _ in range(10)) < 1
    for connection in connections:
        connection.close()
    time.sleep(0.5)
    assert max(answered(running) for _ in range(10)) < 1
    assert memory(running) < before + 64_000_000


def test_http2_without_a_length_is_refused(running: WebhookServer) -> None:
    data = body(quiet())
    with frames.connect(running.port) as connection:
        connection.sendall(frames.frame(frames.HEADERS, frames.END_HEADERS, 1, frames.headers(None)))
        connection.sendall(frames.frame(frames.DATA, frames.END_STREAM, 1, data))
        answer = frames.received(connection)
    assert b"Content-Length" in b"".join(each.payload for each in answer if each.sort == frames.DATA)


@pytest.mark.parametrize("flood", ["resets", "continuations", "settings", "pings"])
def test_http2_floods_end_or_do_no_harm(running: WebhookServer, flood: str) -> None:
    before = memory(running)
    head = frames.headers(100)

    def piece(number: int) -> bytes:
        if flood == "resets":
            opened = frames.frame(frames.HEADERS, frames.END_HEADERS, 2 * number + 1, head)
            return opened + frames.frame(frames.RST_STREAM, 0, 2 * number + 1, frames.CANCEL)
        if flood == "continuations":
            more = frames.field(f"x-{number}", "a" * 100) * 70
            return frames.frame(frames.CONTINUATION, 0, 1, more) if number else frames.frame(frames.HEADERS, 0, 1, head)
        return frames.frame(frames.SETTINGS, 0, 0) * 10 if flood == "settings" else frames.frame(frames.PING, 0, 0, b"12345678") * 10

    sent = 0
    with frames.connect(running.port) as connection, contextlib.suppress(OSError):
        for number in range(5000):
            connection.sendall(piece(number))
            sent += 1
    assert sent < 5000 or flood in ("settings", "pings")
    assert max(answered(running) for _ in range(10)) < 1
    assert memory(running) < before + 64_000_000


@pytest.mark.parametrize("busy", [False, True], ids=["after-silence", "after-a-rush"])
def test_slow_senders_keep_nobody_waiting(running: WebhookServer, busy: bool) -> None:
    """After a rush all threads but one stand by, and that one is held by the first slow sender."""
    if busy:
        rush(running)
    before = memory(running)
    slow = [raw_connection(running.port) for _ in range(400)]
    try:
        for connection in slow[:300]:
            connection.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
        for connection in slow[300:]:
            connection.sendall(b"POST /validate HTT")
        time.sleep(0.5)
        assert max(answered(running) for _ in range(20)) < 1
        assert memory(running) < before + 128_000_000
    finally:
        for connection in slow:
            connection.close()
    assert answered(running) < 1


def test_huge_objects_keep_nobody_waiting(running: WebhookServer) -> None:
    """Each takes all the time that it is given: no more than three quarters of what the API server waits."""
    template = deployment("20", "10")["spec"]["template"]
    tasks = [{"name": f"task-{number}", "replicas": 1, "template": template} for number in range(2000)]
    data = body({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "huge"}, "spec": {"tasks": tasks}})
    request = b"POST /validate?timeout=2s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    huge = [raw_connection(running.port) for _ in range(5)]
    start = time.monotonic()
    for connection in huge:
        connection.sendall(request % (len(data), data))
    assert max(answered(running) for _ in range(5)) < 1
    for connection in huge:
        assert status_of(connection.recv(65536)) in (200, 500)
        connection.close()
    assert time.monotonic() - start < 5
    assert answered(running) < 1


def test_half_closed_and_broken_connections(running: WebhookServer) -> None:
    for rest in (b"", b"{", b"x" * 10):
        with raw_connection(running.port) as connection:
            connection.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n" + rest)
            connection.shutdown(socket.SHUT_WR)
    with raw_connection(running.port) as connection:
        connection.sendall(b"\x00\x01\x02 nonsense\r\n\r\n")
        assert connection.recv(4096)[:12] in (b"HTTP/1.1 400", b"")
    assert answered(running) < 1


def test_two_hundred_connections(running: WebhookServer) -> None:
    before = memory(running)
    rush(running)
    assert answered(running) < 1
    assert memory(running) < before + 64_000_000


def rush(webhook: WebhookServer) -> None:
    """Two hundred reviews at a time."""
    data = body(deployment("20", "10"))
    request = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)
    connections = [raw_connection(webhook.port) for _ in range(200)]
    try:
        for _ in range(3):
            for connection in connections:
                connection.sendall(request)
            for connection in connections:
                assert status_of(connection.recv(65536)) == 200
    finally:
        for connection in connections:
            connection.close()


def memory(webhook: WebhookServer) -> int:
    """Resident bytes of the worker."""
    children = Path(f"/proc/{webhook.pid}/task/{webhook.pid}/children").read_text().split()
    pages = sum(int(Path(f"/proc/{child}/statm").read_text().split()[1]) for child in children)
    return pages * 4096


def test_log_holds_decisions_and_never_the_object(running: WebhookServer) -> None:
    secret = "do-not-log-this"
    running.validate(body(deployment("20", "10", labels={"x": secret})))
    running.validate(body(quiet()))
    assert secret not in running.log()
    last = running.records()[-1]
    assert (last["verdict"], last["name"], last["rules"]) == ("denied", "inference", ["TF013", "TF501"])
