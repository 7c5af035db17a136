"""The WSGI application around `review`: paths, limits, counting, one log line per decision that was not a plain allow."""

import json
import logging
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from time import monotonic
from typing import Any

from gpuvet.admission.deadline import Deadline, LateError
from gpuvet.admission.metrics import Metrics
from gpuvet.admission.review import MAX_BODY, SHARE, Outcome, late, review
from gpuvet.admission.standby import Answer, Standby
from gpuvet.admission.state import RuleWatch

log = logging.getLogger("gpuvet.webhook")
StartResponse = Callable[[str, list[tuple[str, str]]], Any]
_STATUS = {
    200: "200 OK",
    400: "400 Bad Request",
    404: "404 Not Found",
    405: "405 Method Not Allowed",
    411: "411 Length Required",
    413: "413 Content Too Large",
}
_STATUS |= {415: "415 Unsupported Media Type", 500: "500 Internal Server Error", 503: "503 Service Unavailable"}

_LENGTH = re.compile("[0-9]{1,18}", re.ASCII)
TOO_LARGE = f"the body is larger than {MAX_BODY} bytes"
PATIENCE = 2.0
"""Seconds that whoever asks is taken to wait when he does not say: the timeout of the configuration that we print."""
_TIMEOUT = re.compile(r"(?:^|&)timeout=(?:([0-9]{1,2})m)?([0-9]{1,3}(?:[.][0-9]+)?)s(?:&|$)", re.ASCII)


class Webhook:
    """One process's webhook. `ready()` says whether rules, certificates and, with a cluster, the first lists are there."""

    def __init__(self, rules: RuleWatch, metrics: Metrics, ready: Callable[[], bool]) -> None:
        self._rules = rules
        self._metrics = metrics
        self._ready = ready
        self._deadline = Deadline()
        self._standby = Standby()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/validate":
            with self._standby:
                outcome = self._validate(environ)
            if outcome.status != 200:
                # Not all of its body may have been read, and the server holds on to it as long as to the thread.
                return _respond(start_response, outcome.status, outcome.body, "text/plain")
            parts = _respond(start_response, 200, outcome.body, "application/json")
            if self._rules.state.outside:
                # Engines outside are waited for, and many threads can wait.
                return parts
            answer = Answer(parts)
            answer.sent = self._standby.rest
            return answer
        if path == "/healthz":
            return _respond(start_response, 200, b"ok\n", "text/plain")
        if path == "/readyz":
            ready = self._ready()
            return _respond(start_response, 200 if ready else 503, b"ok\n" if ready else b"not ready\n", "text/plain")
        if path == "/metrics":
            return _respond(start_response, 200, self._metrics.text(), "text/plain; version=0.0.4; charset=utf-8")
        return _respond(start_response, 404, b"not found\n", "text/plain")

    def _validate(self, environ: dict[str, Any]) -> Outcome:
        start = monotonic()
        outcome = _refusal(environ)
        if outcome is None:
            try:
                # Its length is known. With a size, granian would never be done with a body that ends in an error of HTTP/2.
                body = environ["wsgi.input"].read()
            except OSError:
                body = b""
            outcome = self._review(body, environ, start)
        self._metrics.answered(outcome.verdict, outcome.kind, outcome.rules, monotonic() - start)
        for reason in outcome.silent:
            self._metrics.silent.labels(reason).inc()
        for rule in outcome.crashes:
            self._metrics.crashes.labels(rule).inc()
        if outcome.record is not None:
            log.info("%s", json.dumps(outcome.record, ensure_ascii=False))
        return outcome

    def _review(self, body: bytes, environ: dict[str, Any], start: float) -> Outcome:
        """Without an answer in time it is the API server that decides, as the configuration says."""
        time = SHARE * patience(environ.get("QUERY_STRING", ""))
        state = self._rules.state
        try:
            return self._deadline.run(start + time, lambda: review(body, state, (start + 0.45 * time, start + 0.9 * time)))
        except LateError:
            return late(body, f"the object was not judged within {time:.2g} seconds")


@lru_cache(maxsize=64)
def patience(query: str) -> float:
    """Seconds that the API server waits for the answer: it says `timeout=2s`."""
    found = _TIMEOUT.search(query)
    return PATIENCE if found is None else min(60 * int(found[1] or 0) + float(found[2]), 30.0)


def _refusal(environ: dict[str, Any]) -> Outcome | None:
    """Why a request is not read at all."""
    if environ.get("REQUEST_METHOD") != "POST":
        return _refuse(405, "POST an AdmissionReview here")
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != "application/json":
        return _refuse(415, "an AdmissionReview is application/json")
    length = environ.get("CONTENT_LENGTH", "")
    if not _LENGTH.fullmatch(length):
        return _refuse(411, "say how long the body is: Content-Length")
    if int(length) > MAX_BODY:
        return _refuse(413, TOO_LARGE)
    return None


def _refuse(status: int, message: str) -> Outcome:
    return Outcome(status, message.encode() + b"\n", "refused", record={"verdict": "refused", "because": message})


def _respond(start_response: StartResponse, status: int, body: bytes, kind: str) -> list[bytes]:
    """The server adds the length."""
    start_response(_STATUS[status], [("Content-Type", kind)])
    return [body]
