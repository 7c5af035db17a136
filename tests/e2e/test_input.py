"""Bad input straight to the port: a clear status, no crash, and others are not kept waiting."""

import contextlib
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

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
    for headers in (b"Content-Length: 20000000", b"Transfer-Encoding: chunked"):
        with raw_connection(running.port) as connection:
            connection.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + headers + b"\r\n\r\n")
            piece = b"x" * 65536
            framed = piece if headers.startswith(b"Content-Length") else b"10000\r\n" + piece + b"\r\n"
            received = b""
            with contextlib.suppress(OSError):  # the server has answered and closed
                for _ in range(305):
                    connection.sendall(framed)
            with contextlib.suppress(OSError):
                received = connection.recv(4096)
            assert received == b"" or status_of(received) == 413, received[:100]
    assert answered(running) < 1


def test_slow_senders_keep_nobody_waiting(running: WebhookServer) -> None:
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
    data = body(deployment("20", "10"))
    request = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)
    before = memory(running)
    connections = [raw_connection(running.port) for _ in range(200)]
    try:
        for _ in range(3):
            for connection in connections:
                connection.sendall(request)
            for connection in connections:
                assert status_of(connection.recv(65536)) == 200
    finally:
        for connection in connections:
            connection.close()
    assert answered(running) < 1
    assert memory(running) < before + 64_000_000


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
