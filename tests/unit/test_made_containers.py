"""Findings about containers that an operator makes from single fields stand at these fields."""

from pathlib import Path

import pytest

from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.finding import Finding

SPARK = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: features, namespace: ml}
spec:
  type: Python
  sparkVersion: 3.5.0
  mainApplicationFile: local:///opt/features.py
  driver: {cores: 1}
  executor:
    gpu:
      name: NAME
      quantity: 7
"""
TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, namespace: ml}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    resourcesPerNode:
      limits:
        NAME: 7
        tke.cloud.tencent.com/qgpu-memory: 5
"""


def found(folder: Path, manifest: str, name: str, rule: str) -> Finding:
    (folder / "job.yaml").write_text(manifest.replace("NAME", name), "utf-8")
    result = scan(Scan([str(folder / "job.yaml")], load_settings(None), jobs=1))
    (finding,) = [finding for finding in result.findings if finding.rule == rule]
    return finding


@pytest.mark.parametrize(
    ("manifest", "line", "path"),
    [
        (SPARK, 12, "spec.executor.gpu.quantity"),
        (TRAIN_JOB, 9, "spec.trainer.resourcesPerNode.limits[tke.cloud.tencent.com/qgpu-core]"),
    ],
    ids=["spark", "train-job"],
)
def test_an_amount_is_wrong(tmp_path: Path, manifest: str, line: int, path: str) -> None:
    finding = found(tmp_path, manifest, "tke.cloud.tencent.com/qgpu-core", "QG004")
    assert (finding.location.span.line, finding.path_text) == (line, path)
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["10"]


@pytest.mark.parametrize(("manifest", "edits"), [(SPARK, []), (TRAIN_JOB, ["tke.cloud.tencent.com/qgpu-core"])], ids=["spark", "train-job"])
def test_a_name_that_is_a_value_is_not_renamed_as_a_key(tmp_path: Path, manifest: str, edits: list[str]) -> None:
    finding = found(tmp_path, manifest, "tke.cloud.tencent.com/qgpu-cores", "QG020")
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == edits
