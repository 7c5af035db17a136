"""The webhook's application, made in granian's worker process: the one place that joins admission, cluster and OPA."""

import json
import logging
import os
from pathlib import Path as FilePath

from gpuvet.admission.app import Webhook
from gpuvet.admission.certificates import expiry
from gpuvet.admission.metrics import Metrics
from gpuvet.admission.serve import ENVIRONMENT, INTERVAL, Options
from gpuvet.admission.state import RuleWatch, kinds_of
from gpuvet.cli.outside import outside
from gpuvet.engine.context import Context, EmptyContext


def application() -> Webhook:
    """Made from what `serve` left in the environment."""
    logging.captureWarnings(True)
    options = Options(**json.loads(os.environ[ENVIRONMENT]))
    metrics = Metrics()
    context: Context = EmptyContext()
    ready = _always
    if options.cluster:
        from gpuvet.cluster.watch import ClusterContext

        watched = ClusterContext(lambda kind, synced: metrics.watch.labels(kind).set(synced))
        watched.start()
        context, ready = watched, watched.ready
    config = FilePath(options.config) if options.config else None
    rules = RuleWatch(config, context, INTERVAL, lambda ok, state: metrics.loaded(ok, state.digest, kinds_of(state)), outside)
    rules.start()
    _tell_of_certificate(metrics, FilePath(options.tls_cert))
    return Webhook(rules, metrics, ready)


def _tell_of_certificate(metrics: Metrics, file: FilePath) -> None:
    """Of the one that this worker shows, whatever the file holds later: a good one there means a new worker."""
    shown = file.read_bytes()
    metrics.certificate.set(expiry(file))

    def current() -> float:
        try:
            return float(file.read_bytes() == shown)
        except OSError:
            return 0.0

    metrics.certificate_current.set_function(current)


def _always() -> bool:
    return True
