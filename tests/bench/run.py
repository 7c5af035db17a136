"""Measures what docs/performance.md says, everything as a ratio within one run: `make bench`.

Options: --files N (of the dense corpus, default 2000), --rounds N (default 5).
"""

import argparse
import gc
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))

from corpus import Shape, write_dense, write_mixed  # type: ignore[import-not-found]
from page import write_first  # type: ignore[import-not-found]

ROOT = Path(__file__).parents[2]
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
AS_INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""What an installed package has: its modules are compiled once."""
GPUVET = [sys.executable, "-c", "import sys; from gpuvet.cli.main import main; sys.exit(main())", "check", "--format", "json"]


def seconds(command: list[str], cpu: bool = False) -> float:
    """Of one run of a command, its output thrown away: wall clock, or processor time of it and its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=AS_INSTALLED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter() - start
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime if cpu else wall


def ratios(one: Callable[[], float], other: Callable[[], float], rounds: int) -> list[float]:
    """one / other, measured in turns, so that a machine that changes its pace changes both; sorted."""
    one(), other()
    return sorted(one() / other() for _ in range(rounds))


def show(values: list[float]) -> str:
    """Median, and the range in brackets."""
    return f"{statistics.median(values):.2f} ({values[0]:.2f} to {values[-1]:.2f})"


def load_all(folder: Path) -> float:
    """Seconds of merely loading a folder with PyYAML's fast loader, in this process."""
    gc.disable()
    start = time.perf_counter()
    for path in sorted(folder.rglob("*.yaml")):
        for _ in yaml.load_all(path.read_bytes(), yaml.CSafeLoader):
            pass
    gc.enable()
    return time.perf_counter() - start


def check_all(folder: Path, settings: object = None) -> float:
    """Seconds of a whole check of a folder by its own configuration, rules and findings included, in this process."""
    from gpuvet.scan.run import Scan, scan
    from gpuvet.settings.config import load_settings

    start = time.perf_counter()
    scan(Scan([str(folder)], settings or load_settings(folder / ".gpuvet.yaml"), jobs=1))  # type: ignore[arg-type]
    return time.perf_counter() - start


def more_rules(folder: Path, rounds: int) -> list[float]:
    """A check with 10,000 more rules on keys that are absent, by one without them."""
    from gpuvet.compiled.catalogue import RULES
    from gpuvet.engine.context import EmptyContext
    from gpuvet.engine.judge import Judge
    from gpuvet.engine.ruleset import BoundRule, RuleSet
    from gpuvet.manifests.reader import read

    ours = [BoundRule(info, info.severity, info.parameters) for info in RULES if info.kind != "input"]
    model = next(info for info in RULES if info.id == "QG004")
    extra = [
        BoundRule(model._replace(id=f"XX{number:05}", keys=(f"company-{number}.example/key",)), "error", {}, lambda s, p, out: None)
        for number in range(10_000)
    ]
    judges = [Judge(RuleSet(rules)) for rules in (ours + extra, ours)]
    documents = [document for path in sorted(folder.rglob("*.yaml"))[:200] for document in read(path.read_bytes()).documents]

    def judged(judge: Judge) -> float:
        start = time.perf_counter()
        for document in documents:
            for _ in judge.judge(document, "f", EmptyContext()) or ():
                pass
        return time.perf_counter() - start

    return ratios(lambda: judged(judges[0]), lambda: judged(judges[1]), rounds)


def peak(folder: Path) -> float:
    """MiB that a check in one process needs at most. Not from getrusage: there a process starts with its parent's peak."""
    program = (
        "import sys; from gpuvet.cli.main import main; main(sys.argv[1:]);"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "check", "-j", "1", "--output", f"json={os.devnull}", str(folder)]
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return int(run.stderr.split()[-1]) / 1024


def kubeconform() -> list[str]:
    """The command of the peer, installed into the user's cache folder. Raises CalledProcessError when it cannot be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gpuvet" / "bench"
    if not (cache / "kubeconform").exists():
        subprocess.run(["go", "install", KUBECONFORM], check=True, env={**os.environ, "GOBIN": str(cache)})
    schemas = cache / "schemas"
    if not schemas.exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--target", str(schemas), "kubernetes-validate"], check=True
        )
    location = newest_schemas(schemas) + "/{{.ResourceKind}}{{.KindSuffix}}.json"
    return [str(cache / "kubeconform"), "-n", "1", "-ignore-missing-schemas", "-schema-location", location, "-summary"]


def newest_schemas(folder: Path) -> str:
    """The folder of the newest standalone schemas in the package."""
    found = sorted(
        {path.parent for path in folder.rglob("deployment-apps-v1.json")},
        key=lambda path: [int(n) for n in path.name.split("-")[0].strip("v").split(".") if n.isdigit()],
    )
    if not found:
        raise FileNotFoundError(f"{folder} holds no deployment-apps-v1.json")
    return str(found[-1])


def main() -> None:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="gpuvet-bench-"))
    try:
        rows = measure(work, options.files, options.rounds)
    finally:
        shutil.rmtree(work)
    head = f"CPython {platform.python_version()}, {os.cpu_count()} processors, {options.files} files, {options.rounds} rounds in turns."
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    write_first(_PAGE.format(head=head, table=table))
    print(table)


def measure(work: Path, files: int, rounds: int) -> list[tuple[str, str, str]]:
    """Rows of (what, wanted, measured: median and range)."""
    dense, mixed, small = work / "dense", work / "mixed", work / "small.yaml"
    documents = write_dense(dense, Shape(files))
    write_mixed(mixed, Shape(files))
    shutil.copy(ROOT / "examples" / "good" / "tensor-fusion-profile.yaml", small)
    bare = [sys.executable, "-c", "pass"]
    rows = [
        (
            "cold check of one small file, by `python3 -c pass`",
            "at most 8",
            show(ratios(lambda: seconds([*GPUVET, str(small)]), lambda: seconds(bare), rounds * 3)),
        ),
        (
            f"loading {documents} documents with yaml.CSafeLoader, by checking them",
            "at least 1.5",
            show(ratios(lambda: load_all(dense), lambda: check_all(dense), rounds)),
        ),
        (
            "`-j 1` by `-j 2`, same corpus",
            "at least 1.8",
            show(ratios(lambda: seconds([*GPUVET, "-j", "1", str(dense)]), lambda: seconds([*GPUVET, "-j", "2", str(dense)]), rounds)),
        ),
        ("a document with 10,000 more rules on absent keys, by one without", "below 1.10", show(more_rules(dense, rounds))),
    ]
    peer = [*kubeconform(), str(mixed)]
    rows.append(
        (
            "CPU-seconds on a mixed corpus (one file in ten is relevant), by kubeconform's",
            "below 1",
            show(ratios(lambda: seconds([*GPUVET, "-j", "1", str(mixed)], cpu=True), lambda: seconds(peer, cpu=True), rounds)),
        )
    )
    for count in (files // 4, files, files * 4):
        folder = work / f"memory-{count}"
        write_dense(folder, Shape(count, mistakes=min(0.03, 60 / count)))
        rows.append((f"largest process, {count} files and at most 1,000 findings or so", "at most 80 MiB", f"{peak(folder):.0f} MiB"))
        shutil.rmtree(folder)
    return rows


_PAGE = """\
# Performance

Measured by `make bench` (`tests/bench/run.py`), which writes this page. Every figure but the last ones is a ratio of two things
measured in turns in the same run; the median counts, the range stands in brackets. The corpora are made by `tests/bench/corpus.py`.
Each has a `.gpuvet.yaml` that names the versions of the platforms; where nobody does, most TensorFusion manifests get an info, and to write
so many findings takes as long as all the rest.

{head}

| What | Wanted | Measured |
|---|---|---|
{table}
"""


if __name__ == "__main__":
    main()
