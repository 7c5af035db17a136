"""Runs the webhook: granian in front of one worker process, certificates swapped by a reload of the worker that loses no request."""

import json
import logging
import logging.config
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from gpuvet.admission.certificates import expiry
from gpuvet.admission.state import load_state
from gpuvet.engine.context import EmptyContext
from gpuvet.values.errors import UsageError

ENVIRONMENT = "GPUVET_WEBHOOK"
"""Tells the worker what the command line told its parent."""
INTERVAL = 1.0
"""Seconds between looks at rules and certificates."""
SENDERS = 512
"""Threads, made when they are needed: so many slow senders do not keep anybody else waiting. Each takes some 100 KB."""
IDLE = 5
"""Seconds until a thread that is not needed ends: few threads wait less for one another than many."""


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
        return json.dumps(line, ensure_ascii=False)


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
    cert, key = FilePath(options.tls_cert), FilePath(options.tls_key)
    for file in (cert, key):
        if not file.is_file():
            raise UsageError(f"{file} is not there; `gpuvet webhook certs --out DIR --host NAME` makes a pair")
    expiry(cert)
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
    threading.Thread(target=watch_files, args=((cert, key), _reload), name="certificates", daemon=True).start()
    logging.config.dictConfig(log_config())
    logging.getLogger("gpuvet.webhook").info("serving https on %s port %d", options.host, options.port)
    server.serve()


def _reload() -> None:
    os.kill(os.getpid(), signal.SIGHUP)


def watch_files(files: tuple[FilePath, ...], changed: Callable[[], None], interval: float = INTERVAL) -> None:
    """Calls `changed` when the content of the files is another and both can be read. Never returns."""
    seen = _contents(files)
    stop = threading.Event()
    while not stop.wait(interval):
        now = _contents(files)
        if now is not None and now != seen:
            seen = now
            logging.getLogger("gpuvet.webhook").info("certificate changed, worker reloads")
            changed()


def _contents(files: tuple[FilePath, ...]) -> list[bytes] | None:
    try:
        return [file.read_bytes() for file in files]
    except OSError:
        return None
