"""What the API server really sends, and what it is answered: recorded between the two, and held against the engine."""

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from cluster.build import components
from cluster.server import ApiServer
from e2e.cluster import configure, create, install_definitions
from e2e.fixtures import Case, cases
from gpuvet.admission.bare import BareDocument
from gpuvet.admission.state import load_state
from gpuvet.admission.words import WARNINGS
from gpuvet.engine.context import EmptyContext
from webhook.reviews import deployment
from webhook.server import WebhookServer

pytestmark = pytest.mark.real

_AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}
_PROFILE = "speaks of what a profile says, which only --cluster knows"
_RELEASE = "speaks of a Helm release beside the Pod, which only files tell"
NEEDS_MORE_THAN_THE_OBJECT = dict.fromkeys(("TF039", "TF041", "TF421", "TF422", "TF434"), _PROFILE)
NEEDS_MORE_THAN_THE_OBJECT |= dict.fromkeys(("KM051", "KM053", "KM152", "KM153"), _RELEASE)
NEEDS_MORE_THAN_THE_OBJECT["PL087"] = "needs the parameter productTaints"
"""Error rules that see objects and that no creation of one object without a context can break, and why."""
CHANGED_ON_THE_WAY = {
    "K8S009": "the API server requests what is limited",
    "KM034": "a status is dropped at creation",
    "KM039": "an object outside namespaces loses the one that it names",
    "TF549": "in files it is TF548: here nobody knows who wrote the number of replicas",
}
"""Rules that say another thing of a file than of what becomes of it, and why."""


class Exchange(NamedTuple):
    """One review."""

    request: dict[str, Any]
    response: dict[str, Any]


class Recorder:
    """Stands before a webhook, with its certificate, and keeps what passes."""

    def __init__(self, webhook: WebhookServer) -> None:
        self.exchanges: list[Exchange] = []
        self.ca = webhook.ca
        self.open: list[Any] = []
        recorder, connections = self, threading.local()
        trusting = ssl.create_default_context(cafile=str(webhook.folder / "ca.crt"))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                recorder.open.append(self.connection)

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if not hasattr(connections, "kept"):
                    connections.kept = http.client.HTTPSConnection("127.0.0.1", webhook.port, timeout=10, context=trusting)
                    recorder.open.append(connections.kept)
                connections.kept.request("POST", self.path, data, {"Content-Type": self.headers["Content-Type"]})
                answer = connections.kept.getresponse()
                body = answer.read()
                if answer.status == 200:
                    recorder.exchanges.append(Exchange(json.loads(data)["request"], json.loads(body)["response"]))
                self.send_response(answer.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(webhook.folder / "tls.crt", webhook.folder / "tls.key")
        self.server.socket = serving.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}/validate"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Ends all connections."""
        self.server.shutdown()
        self.server.server_close()
        for each in self.open:
            each.close()


class Run(NamedTuple):
    """Every fixture, created in a dry run."""

    cases: list[Case]
    exchanges: list[list[Exchange]]
    """Of each case."""
    refused: list[bool]
    audit: list[dict[str, Any]]


@pytest.fixture(scope="module", name="run")
def run_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("audit")
    (folder / "policy.json").write_text(json.dumps(_AUDIT), "utf-8")
    options = (f"--audit-policy-file={folder / 'policy.json'}", f"--audit-log-path={folder / 'audit.log'}", "--allow-privileged=true")
    with ApiServer(components(), *options) as server, WebhookServer(tmp_path_factory.mktemp("webhook")) as webhook:
        install_definitions(server)
        recorder = Recorder(webhook)
        configure(server, recorder)  # type: ignore[arg-type]
        known = [case for case in cases() if case.value["kind"] != "Namespace"]
        for namespace in {case.value["metadata"].get("namespace") for case in known if isinstance(case.value.get("metadata"), dict)}:
            server.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        exchanges, refused = [], []
        for case in known:
            recorder.exchanges.clear()
            answer = create(server, case.value, dry_run=True)
            exchanges.append(list(recorder.exchanges))
            refused.append(not answer.ok and "admission.gpuvet" not in answer.message)
        recorder.close()
        audit = [json.loads(line) for line in (folder / "audit.log").read_text("utf-8").splitlines()]
        yield Run(known, exchanges, refused, audit)


def told(exchange: Exchange) -> set[str]:
    """The rules of an answer."""
    rules = (exchange.response.get("auditAnnotations") or {}).get("rules", "")
    return set(filter(None, rules.split(",")))


def test_answers_are_the_verdict_of_the_engine_on_what_was_sent(run: Run) -> None:
    """Of every severity: errors deny, all else is a warning."""
    judge = load_state(None, EmptyContext()).judge
    wrong = {}
    count = 0
    for case, exchanges in zip(run.cases, run.exchanges, strict=True):
        for exchange in exchanges:
            count += 1
            findings = [
                finding
                for verdict in judge.judge(BareDocument(exchange.request["object"]), "", EmptyContext())
                for finding in verdict.findings
            ]
            denied = any(finding.severity == "error" for finding in findings)
            softer = sorted(finding.rule for finding in findings if finding.severity != "error")
            warned = sorted(text.partition("]")[0][1:] for text in exchange.response.get("warnings") or () if text[1:7] != "gpuvet")
            same = warned == softer or (len(softer) > WARNINGS and len(warned) == WARNINGS)
            if exchange.response["allowed"] == denied or told(exchange) != {finding.rule for finding in findings} or not same:
                wrong[case.name] = (exchange.response, [finding.rule for finding in findings])
    assert wrong == {}
    assert count > 1000


def test_files_are_judged_as_what_was_sent(run: Run) -> None:
    """By all rules that see objects, whatever their severity: the API server fills in and rewrites, and that changes no verdict."""
    judge = load_state(None, EmptyContext()).judge
    differ = {}
    for case, exchanges, refused in zip(run.cases, run.exchanges, run.refused, strict=True):
        if isinstance(case.value.get("metadata"), dict) and case.value["metadata"].get("namespace") == "kube-system":
            continue  # nobody is asked
        written = {finding.rule for verdict in judge.judge(BareDocument(case.value), "", EmptyContext()) for finding in verdict.findings}
        for exchange in exchanges[:1]:
            changed = (written ^ told(exchange)) - set(CHANGED_ON_THE_WAY)
            if changed:
                differ[case.name] = (sorted(written), sorted(told(exchange)))
        if not exchanges and written and not refused:
            differ[case.name] = (sorted(written), "not asked")
    assert differ == {}


def test_every_error_rule_that_sees_objects_was_seen_to_deny(run: Run) -> None:
    rules = load_state(None, EmptyContext()).judge.rules.rules
    errors = {rule.info.id for rule in rules if rule.severity == "error"}
    denied = {
        rule
        for exchanges in run.exchanges
        for exchange in exchanges
        if not exchange.response["allowed"]
        for rule in told(exchange) & errors
    }
    by_api = {rule for case, refused in zip(run.cases, run.refused, strict=True) if refused for rule in case.refused_by_api}
    silent = {rule.info.id: rule.info.consequence for rule in rules if rule.info.id in errors - denied - by_api}
    assert set(silent) == set(NEEDS_MORE_THAN_THE_OBJECT), silent


def test_audit_log_names_rules_and_digest(run: Run) -> None:
    digest = load_state(None, EmptyContext()).digest
    noted = [
        {key.rpartition("/")[2]: value for key, value in event["annotations"].items() if ".admission.gpuvet/" in key}
        for event in run.audit
        if event.get("objectRef", {}).get("name") != "probe" and any(".admission.gpuvet/" in key for key in event.get("annotations") or ())
    ]
    assert sum(1 for exchanges in run.exchanges for exchange in exchanges if told(exchange)) == len(noted) > 500
    assert {note["rules-digest"] for note in noted} == {digest}
    assert all(note["rules"] for note in noted)


def test_reviews_are_of_the_sort_that_tests_make(run: Run) -> None:
    """Ours are made by hand."""
    from webhook.reviews import review

    parts = set(review(deployment())["request"])
    for exchanges in run.exchanges:
        for exchange in exchanges:
            assert {"uid", "kind", "resource", "operation", "userInfo", "object"} <= set(exchange.request) & parts
            assert exchange.request["operation"] == "CREATE"
            assert exchange.request["dryRun"] is True
