"""How long one review takes in each engine: the same objects, the same rules, in turns, in one run. Writes docs/performance/engines.md.

    python tests/bench/engines/run.py [--objects N] [--rounds N]

Needs the components of `make cluster` and OPA. What the API server spends on the policies is the difference between a dry-run creation in
a namespace that they judge and one in kube-system, which they leave alone.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests")]
PAGE = ROOT / "docs" / "performance" / "engines.md"
WORKLOADS = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")


def main() -> None:
    """Measures and writes the page."""
    from cluster.build import components
    from differential.objects import fixtures
    from differential.opa import Opa, server
    from differential.python import Reference
    from differential.vap import policed
    from gpuvet.generate.policies import render_rego
    from gpuvet.generate.vap import policies, render_vap
    from gpuvet.settings.config import load_settings

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    settings = load_settings(None)
    wanted = [value for _, value in fixtures(ROOT / "tests" / "fixtures") if value.get("kind") in WORKLOADS]
    wanted = [{**value, "metadata": {**value["metadata"], "name": "x"}} for value in wanted if isinstance(value.get("metadata"), dict)]
    for value in wanted:
        value["metadata"].pop("namespace", None)
    start = time.perf_counter()
    files = render_vap(settings)
    generation = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as name, policed(components(), Path(name)) as api:
        folder = Path(name) / "rego"
        folder.mkdir()
        for file, text in render_rego(settings).items():
            if not file.endswith("_test.rego"):
                (folder / file).write_text(text, "utf-8")
        enforced = api.install(policies(settings))
        seen = api.judge(wanted)
        objects = [value for value, one in zip(wanted, seen, strict=True) if not one.refused][: options.objects]
        most = largest(api)
        reference = Reference(settings)
        texts = [json.dumps(value).encode() for value in objects]
        with server(*map(str, sorted(folder.glob("*.rego")))) as port:
            opa = Opa(port)
            engines: dict[str, Callable[[int], Any]] = {
                "Python (`gpuvet`, JSON text to findings)": lambda n: reference.findings(json.loads(texts[n])),
                "OPA 1.22 (one HTTP query, decoding included)": lambda n: opa.judge([objects[n]]),
                "API server, dry-run creation with the policies": lambda n: api._send(objects[n]),
                "API server, dry-run creation without": lambda n: api._send(elsewhere(objects[n])),
            }
            times = measure(engines, len(objects), options.rounds)
    write(
        times,
        len(objects),
        options.rounds,
        {"generation": generation, "enforced": enforced, "most": most, "size": sum(map(len, files.values()))},
    )
    print(PAGE.read_text("utf-8"))


def elsewhere(value: dict[str, Any]) -> dict[str, Any]:
    """The object in a namespace that no policy judges."""
    return {**value, "metadata": {**value["metadata"], "namespace": "kube-system"}}


def measure(engines: dict[str, Callable[[int], Any]], count: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds a review, one figure a round: the mean over all objects."""
    times: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(rounds + 1):
        for name, ask in engines.items():
            start = time.perf_counter()
            for one in range(count):
                ask(one)
            if number:  # the first round warms up
                times[name].append((time.perf_counter() - start) * 1000 / count)
    return times


def largest(api: Any) -> int:
    """The largest number of containers, doubled each time, that every policy still evaluates."""
    most = 0
    for count in (16, 32, 64, 128, 256, 512):
        (seen,) = api.judge([pod_of(count)])
        if seen.refused or seen.errors:
            print(f"{count} containers: {seen.refused[:300] or seen.errors[0][:300]}")
            break
        most = count
    return most


def pod_of(count: int) -> dict[str, Any]:
    """A Pod whose containers ask for something of every vocabulary."""
    amounts = {
        "tke.cloud.tencent.com/qgpu-core": "7",
        "tke.cloud.tencent.com/qgpu-memory": "3",
        "koordinator.sh/gpu-core": "30",
        "koordinator.sh/gpu-memory-ratio": "30",
        "metax-tech.com/sgpu": "1",
        "nvidia.com/gpu": "1",
    }
    containers = [{"name": f"c{number}", "image": "i", "resources": {"limits": amounts, "requests": amounts}} for number in range(count)]
    annotations = {
        "tensor-fusion.ai/tflops-request": "10",
        "tensor-fusion.ai/vram-limit": "4GiB",
        "tensor-fusion.ai/inject-container": "c1",
    }
    labels = {"tensor-fusion.ai/enabled": "true"}
    metadata = {"name": "many", "annotations": annotations, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, "schedulerName": "koord-scheduler"}}


def write(times: dict[str, list[float]], objects: int, rounds: int, figures: dict[str, float]) -> None:
    """The page."""
    with_, without = (times[name] for name in times if name.startswith("API"))
    rows = [f"| {name} | {statistics.median(each):.2f} ms | {min(each):.2f} to {max(each):.2f} |" for name, each in times.items()]
    spent = [one - other for one, other in zip(with_, without, strict=True)]
    rows.append(f"| **API server, what the policies take** | {statistics.median(spent):.2f} ms | {min(spent):.2f} to {max(spent):.2f} |")
    PAGE.write_text(
        _PAGE.format(
            head=f"CPython {platform.python_version()}, {objects} workloads of the fixtures one at a time, {rounds} rounds in turns.",
            table="\n".join(rows),
            **figures,
        ),
        "utf-8",
    )


_PAGE = """\
# How long a review takes in each engine

Measured by `tests/bench/engines/run.py`, which writes this page: the same objects and the same rules of the default bundle, in one
run, on two cores with other work beside them: ratios count, not digits.

{head}

| Engine | Median | Range |
|---|---|---|
{table}

| Of the policies for the API server | |
|---|---|
| generated in | {generation:.1f} s |
| size of the files | {size:,.0f} bytes |
| from installing the first to all being enforced | {enforced:.0f} s |
| containers in one Pod that still evaluate, of 16, 32, 64, 128, 256, 512 | {most:.0f} |
"""


if __name__ == "__main__":
    main()
