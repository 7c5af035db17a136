"""The webhook's application, made in granian's worker process: the one place that joins admission, cluster and OPA."""

import json
import logging
import os
from pathlib import Path as FilePath

from gpuvet.admission.app import Webhook
from gpuvet.admission.certificates import expiry
from gpuvet.admission.metrics import Metrics
from gpuvet.admission.serve import ENVIRONMENT, INTERVAL, Options
from gpuvet.admission.state import RuleWatch
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
    rules = RuleWatch(config, context, INTERVAL, lambda ok, state: metrics.loaded(ok, state.digest), outside)
    rules.start()
    metrics.certificate.set_function(lambda: expiry(FilePath(options.tls_cert)))
    return Webhook(rules, metrics, ready)


def _always() -> bool:
    return True
