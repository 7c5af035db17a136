"""How fast the webhook is: in the handler alone, over TLS on the loopback interface, and with ten thousand rules.

python tests/bench/webhook/handler.py            prints the tables of docs/performance/webhook.md
python tests/bench/webhook/handler.py --quick    a tenth of the work
"""

import gc
import http.client
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from gpuvet.admission.review import RuleState, review
from gpuvet.admission.state import load_state
from gpuvet.engine.context import EmptyContext
from gpuvet.engine.judge import Judge
from gpuvet.engine.ruleset import BoundRule, RuleSet
from webhook.reviews import body, deployment, pod, quiet
from webhook.server import WebhookServer

QUICK = "--quick" in sys.argv


def padded(value: dict, size: int = 4096) -> bytes:
    """A review of about `size` bytes: environment variables, as real Deployments have them."""
    container = value["spec"].get("template", value)["spec"]["containers"][0]
    container["env"] = []
    while len(data := body(value)) < size:
        container["env"].append({"name": f"SETTING_{len(container['env'])}", "value": "some value of the application"})
    return data


REVIEWS = {
    "4 KB Deployment, qGPU, allowed": padded(quiet()),
    "4 KB Deployment, TensorFusion, warned": padded(deployment()),
    "4 KB Deployment, TensorFusion, denied": padded(deployment("20", "10")),
    "4 KB Pod without our keys": padded({**pod(), "metadata": {"name": "p", "namespace": "team-a"}}),
}


def rate(data: bytes, state: RuleState, seconds: float) -> tuple[float, float]:
    """Reviews a second, the best of five runs, and the median of them."""
    for _ in range(200):
        review(data, state)
    rates = []
    for _ in range(5):
        count, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < seconds / 5:
            for _ in range(50):
                review(data, state)
            count += 50
        rates.append(count / spent)
    return max(rates), statistics.median(rates)


def many_rules(state: RuleState, count: int) -> RuleState:
    """The same set and rules about other keys, up to `count`."""
    rules = list(state.judge.rules.rules)
    origin = [rule for rule in rules if rule.info.keys]
    while len(rules) < count:
        rule = origin[len(rules) % len(origin)]
        info = rule.info._replace(id=f"XX{len(rules)}", keys=(f"example-{len(rules)}.com/key",), supersedes=())
        rules.append(BoundRule(info, rule.severity, rule.parameters))
    return state._replace(judge=Judge(RuleSet(rules, state.judge.rules.usage_key)))


def resident(pid: int | str = "self") -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


def load(server: WebhookServer, data: bytes, connections: int, requests: int) -> tuple[float, float, float]:
    """Requests a second, p50 and p99 in milliseconds, from a client process of its own."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import handler; handler.client()"
    arguments = [str(server.port), str(server.folder / "ca.crt"), str(connections), str(requests)]
    done = subprocess.run([sys.executable, "-c", code, *arguments], input=data, capture_output=True, check=True, env=os.environ)
    rps, p50, p99 = (float(word) for word in done.stdout.split())
    return rps, p50, p99


def client() -> None:
    """The other side of `load`: one thread a connection, keep-alive, no pauses."""
    port, ca, connections, requests = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    data = sys.stdin.buffer.read()
    times: list[float] = []
    each = requests // connections

    def run() -> None:
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl.create_default_context(cafile=ca))
        own = []
        for _ in range(each):
            start = time.perf_counter()
            connection.request("POST", "/validate", data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            own.append(time.perf_counter() - start)
        times.extend(own)

    threads = [threading.Thread(target=run) for _ in range(connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - start
    times.sort()
    print(len(times) / spent, times[len(times) // 2] * 1000, times[int(len(times) * 0.99)] * 1000)


def main() -> None:
    state = load_state(None, EmptyContext())
    seconds = 1.0 if QUICK else 2.5
    print("| In the handler, one thread | reviews/s | us |\n|---|---|---|")
    for name, data in REVIEWS.items():
        best, _ = rate(data, state, seconds)
        print(f"| {name} ({len(data)} bytes) | {best:,.0f} | {1e6 / best:.1f} |")
    data = REVIEWS["4 KB Deployment, qGPU, allowed"]
    many = many_rules(state, 10_000)
    gc.freeze()
    pairs = [(rate(data, state, seconds / 5)[0], rate(data, many, seconds / 5)[0]) for _ in range(8)]
    few, more = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    print(f"| the first with 10,000 rules loaded | {more:,.0f} | {1e6 / more:.1f} (the same without them, in turns: {few:,.0f}) |")
    count = 50_000 if QUICK else 1_000_000
    for _ in range(2000):
        review(data, state)
    before = resident()
    for _ in range(count):
        review(data, state)
    print(f"\nMemory of the process over {count:,} reviews: {before:.1f} MB, then {resident():.1f} MB.\n")
    with tempfile.TemporaryDirectory() as folder, WebhookServer(Path(folder)) as server:
        print("| Over TLS, loopback, Python client on the same cores | requests/s | p50 ms | p99 ms |\n|---|---|---|---|")
        load(server, data, 4, 400)
        for connections in (1, 16, 64):
            rps, p50, p99 = load(server, data, connections, 1000 if QUICK else 8000)
            print(f"| {connections} connections | {rps:,.0f} | {p50:.2f} | {p99:.2f} |")
        server.stop()
        print(f"\nStart to ready: {min(_restart(server) for _ in range(3)):.2f} s.")


def _restart(server: WebhookServer) -> float:
    seconds = server.start()
    server.stop()
    return seconds


if __name__ == "__main__":
    main()
