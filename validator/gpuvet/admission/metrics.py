"""What Prometheus may ask: reviews by verdict and kind, findings by rule, latency, rule set, certificate, reloads."""

from collections.abc import Collection
from time import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0)


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reviews = Counter("gpuvet_reviews", "Answered requests.", ("verdict", "kind"), registry=self.registry)
        self.findings = Counter("gpuvet_findings", "Reviews in which a rule spoke.", ("rule", "verdict"), registry=self.registry)
        self.crashes = Counter("gpuvet_rule_crashes", "Rules that failed on an object: a bug of gpuvet.", ("rule",), registry=self.registry)
        self.silent = Counter("gpuvet_opa_failures", "Questions that OPA did not answer.", ("reason",), registry=self.registry)
        self.seconds = Histogram("gpuvet_review_seconds", "Time to an answer.", buckets=_BUCKETS, registry=self.registry)
        self.rules = Gauge("gpuvet_rules_info", "The rule set in force.", ("digest",), registry=self.registry)
        self.reload_ok = Gauge("gpuvet_rules_last_reload_success", "1 when the last load of rules worked.", registry=self.registry)
        self.reload_time = Gauge("gpuvet_rules_last_reload_timestamp_seconds", "When rules were last loaded.", registry=self.registry)
        self.certificate = Gauge(
            "gpuvet_certificate_expiry_timestamp_seconds", "When the serving certificate ends.", registry=self.registry
        )
        self.certificate_current = Gauge(
            "gpuvet_certificate_last_reload_success",
            "0 while the file holds another than the one in use.",
            registry=self.registry,
        )
        self.watch = Gauge("gpuvet_context_synced", "1 while a kind of the cluster is watched.", ("kind",), registry=self.registry)
        self._kinds: Collection[str] = ()
        self._reviews: dict[tuple[str, str], Counter] = {}
        """By verdict and kind: looking a counter up takes longer than counting."""

    def answered(self, verdict: str, kind: str, rules: tuple[str, ...], seconds: float) -> None:
        """Counts one answer. Whoever reaches the port may invent kinds: what no rule speaks of is counted as `other`."""
        if kind and kind not in self._kinds:
            kind = "other"
        counter = self._reviews.get((verdict, kind))
        if counter is None:
            counter = self._reviews[verdict, kind] = self.reviews.labels(verdict, kind)
        counter.inc()
        for rule in rules:
            self.findings.labels(rule, verdict).inc()
        self.seconds.observe(seconds)

    def loaded(self, ok: bool, digest: str, kinds: Collection[str]) -> None:
        """Notes a load of rules, and the kinds that the webhook is asked about."""
        self._kinds = kinds
        self.reload_ok.set(ok)
        self.reload_time.set(time())
        self.rules.clear()
        self.rules.labels(digest).set(1)

    def text(self) -> bytes:
        """The exposition."""
        return generate_latest(self.registry)
