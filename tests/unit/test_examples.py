"""The examples: the good ones pass, and each broken one gives what is stated here, rule and line."""

import re
from pathlib import Path

import pytest

from gpuvet.compiled.catalogue import RULES
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.finding import Finding

EXPECTED: dict[str, list[tuple[int, str, str]]] = {
    "inference-service.yaml": [(23, "PL080", "error"), (23, "PL083", "error")],
    "metax-node.yaml": [(15, "KM042", "error"), (25, "KM040", "error"), (46, "KM032", "error"), (59, "KM149", "error")],
    "metax-pod.yaml": [(4, "K8S012", "error"), (7, "KM020", "error"), (19, "KM006", "error"), (20, "KM050", "warning")],
    "qgpu-inference.yaml": [(17, "QG023", "warning"), (26, "QG004", "error"), (27, "QG003", "error")],
    "tensor-fusion-app.yaml": [(20, "TF013", "error"), (21, "TF007", "error"), (23, "TF062", "error")],
    "tensor-fusion-cronjob.yaml": [(7, "TF005", "error"), (15, "K8S001", "error"), (18, "TF015", "warning"), (19, "TF011", "error")],
    "tensor-fusion-profile.yaml": [(14, "TF070", "error"), (15, "TF072", "error")],
    "training-job.yaml": [(8, "VJ096", "error"), (25, "PL079", "error")],
}
"""File in examples/broken -> line, rule and severity of its errors and warnings."""


def judged(folder: Path) -> list[Finding]:
    return [finding for finding in scan(Scan([str(folder)], load_settings(None))).findings if finding.severity != "info"]


def test_the_good_ones_pass(checkout: Path) -> None:
    assert judged(checkout / "examples" / "good") == []


def test_the_broken_ones_do_not(checkout: Path) -> None:
    found: dict[str, list[tuple[int, str, str]]] = {}
    for finding in judged(checkout / "examples" / "broken"):
        name = Path(finding.location.file).name
        found.setdefault(name, []).append((finding.location.span.line, finding.rule, finding.severity))
    assert {name: sorted(listed) for name, listed in found.items()} == EXPECTED


def test_every_broken_one_is_in_the_table(checkout: Path) -> None:
    assert {path.name for path in (checkout / "examples" / "broken").iterdir()} == set(EXPECTED)


def test_all_four_vocabularies_are_there(checkout: Path) -> None:
    for folder in ("good", "broken"):
        text = "".join(path.read_text(encoding="utf-8") for path in (checkout / "examples" / folder).glob("*.yaml"))
        for word in ("tensor-fusion.ai/", "metax-tech.com/", "tke.cloud.tencent.com/", "node.usage", "batch.volcano.sh/"):
            assert word in text, (folder, word)
    families = {rule[:-3] for listed in EXPECTED.values() for _, rule, _ in listed}
    assert families >= {"TF", "KM", "QG", "PL"}


@pytest.mark.parametrize("folder", ["good", "broken"])
def test_the_readme_names_every_file(checkout: Path, folder: str) -> None:
    named = set(re.findall(rf"\({folder}/([^)]+)\)", (checkout / "examples" / "README.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in (checkout / "examples" / folder).iterdir()}


def test_the_table_speaks_of_rules_that_exist() -> None:
    assert {rule for listed in EXPECTED.values() for _, rule, _ in listed} <= {info.id for info in RULES}
