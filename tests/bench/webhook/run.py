"""Measures what docs/performance.md says of the webhook, and writes that section: `make bench-webhook`.

Options: --rounds N (default 5), --reviews N (of the run for memory, default 1,000,000), --cluster no (leaves the API server out).
"""

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from handler import more_rules, rates  # type: ignore[import-not-found]
from load import Run, client, load  # type: ignore[import-not-found]
from objects import OBJECTS, PLAIN, QUIET  # type: ignore[import-not-found]
from page import write_section  # type: ignore[import-not-found]

from gpuvet.admission.state import load_state
from gpuvet.engine.context import EmptyContext
from webhook.reviews import body
from webhook.server import WebhookServer

Row = tuple[str, ...]
STEADY = 500
"""Reviews a second of a cluster that is very busy."""


def main() -> None:
    """Measures and writes the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reviews", type=int, default=1_000_000)
    parser.add_argument("--cluster", choices=["yes", "no"], default="yes")
    options = parser.parse_args()
    client()
    parts = [in_the_handler(options.rounds), over_tls(options.rounds, options.reviews)]
    if options.cluster == "yes":
        parts.append(through_the_api_server(options.rounds))
    python = f"CPython {platform.python_version()}{' of the distribution' if sys.base_prefix == '/usr' else ''}"
    head = f"{python}, {os.cpu_count()} processors, of which the client takes its share, {options.rounds} rounds."
    text = _SECTION.format(head=head, parts="\n\n".join(parts))
    write_section("The webhook", text)
    print(text)


def in_the_handler(rounds: int) -> str:
    """Rows: what, wanted, measured."""
    state = load_state(None, EmptyContext())
    rows: list[Row] = []
    for name, value in OBJECTS.items():
        rows.append((f"reviews in a second of one processor: {name}", "at least 10,000", show(rates(body(value), state, 0.3, rounds), 0)))
    ratio = more_rules(body(QUIET), state, 10_000, rounds)
    rows.append(("a review with 10,000 rules loaded, by one with ours", "below 1.10", show(ratio, 2)))
    return table(("In the handler, without server and network", "Wanted", "Measured"), rows)


def over_tls(rounds: int, reviews: int) -> str:
    """Two tables: by number of connections, and what else there is."""
    data = body(QUIET)
    with tempfile.TemporaryDirectory() as folder:
        server = WebhookServer(Path(folder), environment=as_installed(folder))
        url = f"{server.url}?timeout=2s"
        ways: dict[str, Sequence[str | int]] = {
            "1 connection": (3000, 1),
            "16 connections": (6000, 16),
            "64 connections": (6000, 64),
            "1 connection with 16 streams, as the API server has it": (6000, 1, "--max-concurrent-streams=16"),
            f"16 connections, {STEADY} reviews a second in all": (STEADY * 4, 16, f"--rps={STEADY / 16}"),
        }
        tables = []
        for title, arranged in _PLACES.items():
            runs: dict[str, list[tuple[Run, float]]] = {way: [] for way in ways}
            with arranged(server):
                load(url, data, 3000, 16)
                for _ in range(rounds):
                    for way, (requests, *rest) in ways.items():
                        before = processor(server)
                        run = load(url, data, requests, *rest)
                        runs[way].append((run, (processor(server) - before) / int(requests) * 1e6))
            rows = [
                (
                    way,
                    show(sorted(run.rate for run, _ in found), 0),
                    show(sorted(run.median for run, _ in found), 2),
                    show(sorted(run.tail for run, _ in found), 2),
                    show(sorted(cost for _, cost in found), 0),
                )
                for way, found in runs.items()
            ]
            tables.append(table((title, "Reviews/s", "Half within ms", "99 % within ms", "Server, processor us a review"), rows))
        with server:
            load(url, data, 3000, 16)
            seen = [resident(server)]
            for _ in range(10):
                load(url, data, max(reviews // 10, 100), 16)
                seen.append(resident(server))
        starts = sorted(started(server) for _ in range(rounds))
    last: list[Row] = [
        (f"memory of the server after each tenth of {reviews:,} reviews", "flat", " ".join(f"{each:.0f}" for each in seen) + " MB"),
        ("start to ready", "below 1 s", f"{show(starts, 2)} s"),
    ]
    return "\n\n".join([*tables, table(("The server", "Wanted", "Measured"), last)])


@contextmanager
def apart(server: WebhookServer) -> Iterator[None]:
    """Runs the server on one processor and the client on another, so that neither waits for the other's."""
    every = os.sched_getaffinity(0)
    first, *others = sorted(every)
    try:
        os.sched_setaffinity(0, {first})
        with server:
            os.sched_setaffinity(0, set(others) or every)
            yield
    finally:
        os.sched_setaffinity(0, every)


def as_installed(folder: str) -> dict[str, str]:
    """Bytecode is kept, as an image or an installed package has it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}


def through_the_api_server(rounds: int) -> str:
    """What a user pays: creations as dry runs, with the webhook's configuration and without it, in turns."""
    from cluster.build import components
    from cluster.server import TOKEN, ApiServer
    from e2e.cluster import configure, remove_configuration

    named = {"with our keys": QUIET, "without our keys: never sent to the webhook": PLAIN}
    times: dict[tuple[str, int, bool], list[Run]] = {}
    with tempfile.TemporaryDirectory() as folder, ApiServer(components()) as server, WebhookServer(Path(folder)) as webhook:
        assert server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "team-a"}}).ok
        url = f"https://127.0.0.1:{server.port}/apis/apps/v1/namespaces/team-a/deployments?dryRun=All"
        for number in range(rounds + 1):
            for on in (False, True):
                configure(server, webhook)
                if not on:
                    remove_configuration(server)
                    wait_until_not_asked(server, webhook)
                for name, value in named.items():
                    for connections, requests in ((1, 200), (16, 800)):
                        run = load(url, to_json(value), requests, connections, f"--header=authorization: Bearer {TOKEN}")
                        if number:  # the first round warms up
                            times.setdefault((name, connections, on), []).append(run)
        conditions = clock(server, "apiserver_admission_match_condition_evaluation_seconds")
        asking = clock(server, "apiserver_admission_webhook_admission_duration_seconds")
    rows: list[Row] = []
    for name in named:
        for connections in (1, 16):
            off, on_ = times[name, connections, False], times[name, connections, True]
            rows.append(
                (
                    f"{name}, {connections} connection{'s' if connections > 1 else ''}",
                    show(sorted(run.median for run in off), 2),
                    show(sorted(run.median for run in on_), 2),
                    show(sorted(two.median / one.median for one, two in zip(off, on_, strict=True)), 2),
                    f"{show(sorted(run.tail for run in off), 1)}, {show(sorted(run.tail for run in on_), 1)}",
                )
            )
    first = table(("A Deployment through kube-apiserver", "Off: half within ms", "On", "On by off", "99 % within ms, off and on"), rows)
    said = f"{conditions} ms on match conditions that let an object go, and {asking} ms on asking"
    return f"{first}\n\nBy its own clocks kube-apiserver spent {said} (means of all runs)."


def clock(server: Any, name: str) -> str:
    """The mean of a histogram of the API server for our webhook, in milliseconds."""
    found = {"sum": 0.0, "count": 0.0}
    ours = rf"^{name}_(sum|count){{[^}}]*admission\.gpuvet[^}}]*}} (\S+)$"
    for what, value in re.findall(ours, server.request("GET", "/metrics").body, re.MULTILINE):
        found[what] += float(value)
    return f"{found['sum'] / found['count'] * 1000:.2f}" if found["count"] else "no"


def show(values: Sequence[float], digits: int) -> str:
    """Median, and the range in brackets."""
    return f"{statistics.median(values):,.{digits}f} ({values[0]:,.{digits}f} to {values[-1]:,.{digits}f})"


def table(head: Row, rows: Iterable[Row]) -> str:
    """In Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def to_json(value: object) -> bytes:
    """A request body."""
    return json.dumps(value).encode()


def wait_until_not_asked(server: Any, webhook: WebhookServer) -> None:
    """The API server follows its configuration with a delay."""
    from e2e.cluster import create, until

    def quiet() -> bool:
        before = webhook.metric("gpuvet_reviews_total")
        create(server, QUIET, dry_run=True)
        return webhook.metric("gpuvet_reviews_total") == before

    until(quiet, 30)


def worker(server: WebhookServer) -> str:
    """The process that answers."""
    return Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()[0]


def processor(server: WebhookServer) -> float:
    """Seconds of the processor that the worker has taken."""
    fields = Path(f"/proc/{worker(server)}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(server: WebhookServer) -> float:
    """Megabytes of the worker."""
    return int(Path(f"/proc/{worker(server)}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def started(server: WebhookServer) -> float:
    """Seconds from the start to an answer of /readyz."""
    seconds = server.start()
    server.stop()
    return seconds


_PLACES: dict[str, Callable[[WebhookServer], AbstractContextManager[Any]]] = {
    "TLS and HTTP/2, loopback, wherever the kernel puts server and client": lambda server: server,
    "The same, server and client on a processor each": apart,
}
_SECTION = """\
Measured by `make bench-webhook` (`tests/bench/webhook/run.py`), which writes this section, with the default bundle and reviews of 4 KB.
The client is h2load, written in C, on the same machine; each connection sends a review when the one before is answered. The median
of the rounds counts, the range stands in brackets. Of the handler and the server it is the processor's time that counts. A Python
built without profile-guided optimisation, as pyenv builds it unless it is told to, takes an eighth longer than those of distributions and
images.

{head}

{parts}
"""


if __name__ == "__main__":
    main()
