"""Runs the webhook: granian in front of one worker process, certificates swapped by a reload of the worker that loses no request."""

import json
import logging
import logging.config
import os
import signal
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from gpuvet.admission.certificates import check_pair
from gpuvet.admission.state import load_state
from gpuvet.engine.context import EmptyContext
from gpuvet.values.errors import InputError, UsageError

log = logging.getLogger("gpuvet.webhook")
ENVIRONMENT = "GPUVET_WEBHOOK"
"""Tells the worker what the command line told its parent."""
INTERVAL = 1.0
"""Seconds between looks at rules and certificates."""
SENDERS = 512
"""Threads, made when they are needed: so many slow senders do not keep anybody else waiting. Each takes some 100 KB."""
IDLE = 600
"""Seconds until a thread that is not needed ends: the next rush of reviews is not to wait for new ones."""


class Options(NamedTuple):
    """What `gpuvet webhook serve` was told."""

    host: str
    port: int
    tls_cert: str
    tls_key: str
    config: str | None
    cluster: bool


class JsonLines(logging.Formatter):
    """One JSON object a line. A message that is one already is merged in."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"), "level": record.levelname.lower()}
        message = record.getMessage()
        try:
            line.update(json.loads(message) if message.startswith("{") else {"message": message})
        except ValueError:
            line["message"] = message
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        # ASCII: some that read logs take other characters for the end of a line.
        return json.dumps(line)


def log_config(level: str = "INFO") -> dict[str, Any]:
    """For `logging.config.dictConfig`, here and in the worker."""
    handler = {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
    loggers = {
        name: {"handlers": ["json"], "level": level, "propagate": False} for name in ("gpuvet.webhook", "_granian", "granian.access")
    }
    loggers["_granian"]["level"] = "ERROR"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "gpuvet.admission.serve.JsonLines"}},
        "handlers": {"json": handler},
        "loggers": loggers,
        # What libraries say, too.
        "root": {"handlers": ["json"], "level": "WARNING"},
    }


def serve(options: Options, target: str) -> None:
    """Serves the application that the factory `target` makes in the worker, until SIGTERM.

    Raises GpuvetError when rules, configuration or certificate cannot be loaded.
    """
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.log import LogLevels

    config = FilePath(options.config) if options.config else None
    load_state(config, EmptyContext())
    cert, key = FilePath(options.tls_cert).absolute(), FilePath(options.tls_key).absolute()
    check_pair(cert, key)
    _check_address(options.host, options.port)
    os.environ[ENVIRONMENT] = json.dumps(options._asdict())
    server = Granian(
        target,
        address=options.host,
        port=options.port,
        interface=Interfaces.WSGI,
        http=HTTPModes.auto,
        workers=1,
        blocking_threads=SENDERS,
        blocking_threads_idle_timeout=IDLE,
        workers_kill_timeout=5,
        factory=True,
        websockets=False,
        ssl_cert=cert,
        ssl_key=key,
        log_level=LogLevels.error,
        log_dictconfig=log_config(),
    )
    # A mounted secret is a link to a folder that goes away with the next secret: the worker is to follow the link anew.
    tls, _, _, *rest = server.ssl_ctx
    server.ssl_ctx = (tls, str(cert), str(key), *rest)  # type: ignore[assignment]
    threading.Thread(target=watch_pair, args=(cert, key, _reload), name="certificates", daemon=True).start()
    logging.config.dictConfig(log_config())
    log.info("serving https on %s port %d", options.host, options.port)
    server.serve()


def _reload() -> None:
    os.kill(os.getpid(), signal.SIGHUP)


def _check_address(host: str, port: int) -> None:
    """Raises UsageError when nothing can listen there. The server itself would only panic."""
    try:
        ip_address(host)
    except ValueError:
        raise UsageError(f"--host {host}: is no IP address") from None
    if not 0 < port < 65536:
        raise UsageError(f"--port {port}: between 1 and 65535")
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
            trial.listen()
    except OSError as error:
        raise UsageError(f"{host} port {port}: cannot listen there: {error.strerror}") from None


def watch_pair(cert: FilePath, key: FilePath, changed: Callable[[], None], interval: float = INTERVAL) -> None:
    """Calls `changed` when the files hold another pair that a server can be started with; any other is logged. Never returns."""
    seen = failed = _contents(cert, key)
    stop = threading.Event()
    while not stop.wait(interval):
        now = _contents(cert, key)
        if now in (seen, failed):
            continue
        try:
            check_pair(cert, key)
        except InputError as error:
            # Perhaps only half of it is written yet.
            log.error("certificate not reloaded, the last good one stays in force: %s", error)
            failed = now
            continue
        if now == _contents(cert, key):
            seen = failed = now
            log.info("certificate changed, worker reloads")
            changed()


def _contents(cert: FilePath, key: FilePath) -> list[bytes | None]:
    """None for a file that cannot be read."""
    found: list[bytes | None] = []
    for file in (cert, key):
        try:
            found.append(file.read_bytes())
        except OSError:
            found.append(None)
    return found
