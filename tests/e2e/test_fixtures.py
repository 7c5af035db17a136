"""Every fixture goes through a real API server: the webhook refuses what error rules that see objects find, and nothing else."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster.server import ApiServer
from e2e.cluster import configure, create, delete, install_definitions, install_our_definitions
from e2e.fixtures import Case, cases
from gpuvet.admission.review import review
from gpuvet.admission.state import load_state
from gpuvet.engine.context import EmptyContext
from webhook import reviews
from webhook.server import WebhookServer

pytestmark = pytest.mark.real

REFUSED_AS_WELL = {
    "K8S/K8S001/good/date-and-null.yaml": "a number as the value of somebody else's annotation",
    "K8S/K8S013/good/filled-in-later.yaml": "the name is filled in later",
}
"""Refused by the API server itself, though no rule says so, and why that is right."""

_LIVE = {"uid", "managedFields", "generateName"}
"""What `kubectl apply` does not take."""
_IDS = re.compile(r"(?:^|: )\[([A-Z0-9]+)\] ", re.MULTILINE)


class Row(NamedTuple):
    """What happened to a document."""

    case: Case
    status: int
    message: str
    real: int
    real_message: str

    @property
    def by_webhook(self) -> bool:
        """Whether our webhook refused it."""
        return "admission.gpuvet" in self.message

    @property
    def rules(self) -> set[str]:
        """The rules in what people see."""
        return set(_IDS.findall(self.message))


@pytest.fixture(scope="module", name="rows")
def rows_fixture(cluster: ApiServer, running: WebhookServer) -> list[Row]:
    configure(cluster, running)
    known = list(cases())
    for namespace in sorted(
        {case.value["metadata"].get("namespace") or "default" for case in known if isinstance(case.value.get("metadata"), dict)}
    ):
        cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    rows = []
    for case in known:
        if case.value["kind"] == "Namespace":
            continue
        tried = create(cluster, case.value, dry_run=True)
        real = create(cluster, case.value)
        if real.ok:
            delete(cluster, real.body)
        rows.append(Row(case, tried.status, tried.message, real.status, real.message))
    return rows


def of(rows: list[Row], reason: str) -> dict[str, str]:
    return {row.case.name: f"{reason}: {row.message[:300]}" for row in rows}


def test_enough_is_tried(rows: list[Row]) -> None:
    counts = Counter("webhook" if row.by_webhook else "admitted" if row.status < 300 else "api" for row in rows)
    assert counts["webhook"] >= 250, counts
    assert counts["admitted"] >= 800, counts
    assert counts["api"] >= 50, counts


def test_webhook_refuses_what_error_rules_find_and_nothing_else(rows: list[Row]) -> None:
    wrong = {}
    for row in rows:
        expected = row.case.seen
        if row.status < 300 and expected:
            wrong[row.case.name] = f"admitted in spite of {sorted(expected)}"
        elif row.by_webhook and row.rules != expected and not (" more" in row.message and row.rules <= expected):
            wrong[row.case.name] = f"refused for {sorted(row.rules)}, expected {sorted(expected)}: {row.message[:200]}"
    assert wrong == {}


def test_every_denial_is_a_judgement(rows: list[Row]) -> None:
    """Not a failure of the webhook or of a match condition."""
    assert of([row for row in rows if row.by_webhook and "denied the request: [" not in row.message], "no judgement") == {}


def test_what_kubernetes_refuses_first_a_rule_foretells(rows: list[Row]) -> None:
    refused = [row for row in rows if row.status >= 300 and not row.by_webhook]
    unforetold = [row for row in refused if not (row.case.refused_by_api or row.case.placeholder or row.case.fragment)]
    assert set(of(unforetold, "")) == set(REFUSED_AS_WELL), of(unforetold, "refused by Kubernetes")


def test_rules_that_say_kubernetes_refuses_are_right(rows: list[Row], cluster: ApiServer) -> None:
    """With our own CRDs instead of those that take anything."""
    groups = install_our_definitions(cluster)
    try:
        claims = [row for row in rows if row.case.claims_api]
        again = [(row, create(cluster, row.case.value, dry_run=True)) for row in claims]
        wrong = {
            row.case.name: f"{sorted(row.case.claims_api)}: {answer.status} {answer.message[:200]}"
            for row, answer in again
            if answer.ok or "admission.gpuvet" in answer.message
        }
        assert wrong == {}
        proved = {rule for row in claims for rule in row.case.claims_api}
        assert len(proved) >= 30, sorted(proved)
        assert "tensor-fusion.ai" in groups
    finally:
        for group in groups:
            for item in cluster.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body["items"]:
                if item["spec"]["group"] == group:
                    cluster.request("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{item['metadata']['name']}")
        install_definitions(cluster, missing=True)


def test_dry_run_and_creation_agree(rows: list[Row]) -> None:
    def verdict(status: int, message: str) -> tuple[int, list[str]]:
        """Names are generated, and Kubernetes lists errors in any order."""
        return status, [] if status < 300 else sorted(
            re.sub(r"-[a-z0-9]{5}\b", "-", message).replace(",", " ").replace("[", " ").replace("]", " ").split()
        )

    differ = [row for row in rows if verdict(row.status, row.message) != verdict(row.real, row.real_message)]
    assert {row.case.name: (row.message[:200], row.real_message[:200]) for row in differ} == {}


def test_kubectl_shows_the_rules(rows: list[Row], cluster: ApiServer, tmp_path: Path) -> None:
    denied = [row for row in rows if row.by_webhook]

    def apply(numbered: tuple[int, Row]) -> str | None:
        number, row = numbered
        path = tmp_path / f"{number}.yaml"
        path.write_text(row.case.text, "utf-8")
        verb = ["create"] if row.case.value["metadata"].get("generateName") else ["apply", "--server-side"]
        done = cluster.kubectl(*verb, "--dry-run=server", "-f", str(path))
        errors = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("Warning: "))
        shown = set(_IDS.findall(errors))
        if done.returncode == 1 and shown == row.rules and "admission.gpuvet" in done.stderr:
            return None
        return f"{row.case.name}: exit {done.returncode}, {sorted(shown)} for {sorted(row.rules)}: {done.stderr[:200]}"

    with ThreadPoolExecutor(3) as pool:
        wrong = [found for found in pool.map(apply, enumerate(denied)) if found]
    assert wrong == []


def test_kubectl_lets_good_fixtures_in(rows: list[Row], cluster: ApiServer, tmp_path: Path) -> None:
    good = [row for row in rows if "/good/" in row.case.name and row.status < 300 and not _LIVE & set(row.case.value["metadata"])]
    assert len(good) >= 400
    for number, row in enumerate(good):
        (tmp_path / f"{number}.yaml").write_text(row.case.text, "utf-8")
    done = cluster.kubectl("apply", "--server-side", "--dry-run=server", "-f", str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("serverside-applied") == len(good)


def test_no_good_fixture_is_denied(rows: list[Row]) -> None:
    """A fixture that needs its own configuration may be."""
    denied = [row for row in rows if "/good/" in row.case.name and row.by_webhook and row.case.name.count("/") == 3]
    assert of(denied, "") == {}


def test_stored_object_is_judged_alike(rows: list[Row], cluster: ApiServer) -> None:
    """As the API server fills it in, and not only as the author wrote it."""
    state = load_state(None, EmptyContext())
    wrong = {}
    for row in rows:
        if row.status < 300:
            value = create(cluster, row.case.value, dry_run=True).body
            outcome = review(reviews.body(value), state)
            if outcome.verdict == "denied":
                wrong[row.case.name] = outcome.rules
    assert wrong == {}
