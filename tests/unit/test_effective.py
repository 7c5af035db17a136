"""`gpuvet effective`: which value counts, which line says so, and what it all takes."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpuvet.cli.main import main

PROFILE = """\
apiVersion: tensor-fusion.ai/v1
kind: WorkloadProfile
metadata: {name: small, namespace: team}
spec:
  qos: high
  gpuCount: 2
  resources:
    requests: {tflops: "5", vram: 3Gi}
    limits: {tflops: "15", vram: 3Gi}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: team}
spec:
  replicas: 3
  selector: {matchLabels: {app: app}}
  template:
    metadata:
      labels: {app: app, tensor-fusion.ai/enabled: "true"}
      annotations:
        tensor-fusion.ai/workload-profile: small
        tensor-fusion.ai/tflops-request: "10"
    spec:
      containers:
        - {name: python, image: pytorch/pytorch}
"""
QGPU = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: share}
spec:
  replicas: 2
  selector: {matchLabels: {app: share}}
  template:
    metadata: {labels: {app: share}}
    spec:
      initContainers:
        - name: warm
          image: a
          resources:
            limits: {tke.cloud.tencent.com/qgpu-core: 30, tke.cloud.tencent.com/qgpu-memory: 2}
      containers:
        - name: one
          image: a
          resources:
            limits: {tke.cloud.tencent.com/qgpu-core: "20", tke.cloud.tencent.com/qgpu-memory: 5, cpu: 1}
        - name: two
          image: a
          resources:
            requests: {tke.cloud.tencent.com/qgpu-core: 20}
            limits: {tke.cloud.tencent.com/qgpu-core: 20, tke.cloud.tencent.com/qgpu-memory: 4}
"""
JOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 3
  tasks:
    - name: master
      replicas: 1
      template:
        spec:
          containers: [{name: main, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
    - name: worker
      replicas: 4
      minAvailable: 2
      template:
        spec:
          containers:
            - name: main
              image: a
              resources: {limits: {koordinator.sh/gpu-core: 50, koordinator.sh/gpu-memory: 512Mi, koordinator.sh/gpu.shared: 1}}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(**texts: str) -> None:
    for name, text in texts.items():
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["effective", "--format", "json", *arguments]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def only(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    (template,) = answer(capsys, *arguments)["templates"]
    assert isinstance(template, dict)
    return template


def test_annotation_before_profile_with_both_places(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT, profile=PROFILE)
    template = only(capsys, "app.yaml", "profile.yaml")
    assert template["object"] == {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team", "name": "app"}
    assert (template["template"], template["file"], template["line"], template["replicas"]) == ("", "app.yaml", 7, 3)
    assert template["fields"]["tflops-request"] == {
        "value": "10",
        "known": True,
        "note": "",
        "source": {"what": "annotation", "file": "app.yaml", "line": 12, "column": 42},
        "shadowed": [{"value": "5", "source": {"what": "profile", "file": "profile.yaml", "line": 8, "column": 24}}],
    }
    assert template["fields"]["qos"]["value"] == "high"
    assert template["fields"]["qos"]["source"] == {"what": "profile", "file": "profile.yaml", "line": 5, "column": 8}
    default = template["fields"]["autoscale"]
    assert (default["value"], default["source"]) == ("false", {"what": "default", "file": None, "line": None, "column": None})


def test_total_is_value_times_devices_times_pods(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT, profile=PROFILE)
    assert only(capsys, "app.yaml", "profile.yaml")["total"] == {
        "tflops-request": "60",
        "tflops-limit": "90",
        "vram-request": "18Gi",
        "vram-limit": "18Gi",
    }


def test_without_the_profile_nothing_is_made_up(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT)
    template = only(capsys, "app.yaml")
    vram = template["fields"]["vram-request"]
    assert (vram["value"], vram["known"]) == (None, False)
    assert vram["note"]
    assert template["total"]["vram-request"] is None
    assert template["total"]["tflops-request"] is None, "the number of devices may come from the profile"


def test_profile_under_context_paths(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT)
    Path("known").mkdir()
    Path("known/profile.yaml").write_text(PROFILE, encoding="utf-8")
    Path(".gpuvet.yaml").write_text("context: {paths: [known]}\n", encoding="utf-8")
    found = answer(capsys, "app.yaml")
    assert found["summary"]["files"] == 1, "context is not input"
    (source,) = [template["fields"]["vram-request"]["source"] for template in found["templates"]]
    assert (Path(source["file"]).resolve(), source["line"]) == (Path("known/profile.yaml").resolve(), 8)


def test_named_version_decides(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT)
    Path(".gpuvet.yaml").write_text("platform: {tensorFusion: 1.34.7}\n", encoding="utf-8")
    fields = only(capsys, "app.yaml")["fields"]
    assert "workload-profile" not in fields, "that release reads another key"
    assert fields["is-local-gpu"]["value"] == "false"


def test_limits_stand_in_for_requests_and_the_pod_is_summed(capsys: pytest.CaptureFixture[str]) -> None:
    write(share=QGPU)
    template = only(capsys, "share.yaml")
    assert template["fields"] == {}
    names = [(container["name"], container["init"]) for container in template["containers"]]
    assert names == [("warm", True), ("one", False), ("two", False)]
    two = template["containers"][2]["requests"]
    assert two["tke.cloud.tencent.com/qgpu-core"]["source"] == {"what": "request", "file": "share.yaml", "line": 23, "column": 57}
    assert two["tke.cloud.tencent.com/qgpu-memory"]["source"]["what"] == "limit"
    assert set(template["containers"][1]["requests"]) == {"tke.cloud.tencent.com/qgpu-core", "tke.cloud.tencent.com/qgpu-memory"}
    assert template["podSum"] == {"tke.cloud.tencent.com/qgpu-core": "40", "tke.cloud.tencent.com/qgpu-memory": "9"}
    assert template["total"] == {"tke.cloud.tencent.com/qgpu-core": "80", "tke.cloud.tencent.com/qgpu-memory": "18"}


def test_a_large_init_container_decides_the_sum(capsys: pytest.CaptureFixture[str]) -> None:
    write(share=QGPU.replace("qgpu-core: 30", "qgpu-core: 100"))
    assert only(capsys, "share.yaml")["podSum"]["tke.cloud.tencent.com/qgpu-core"] == "100"


def test_gang_of_each_task_and_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    write(train=JOB)
    master, worker = answer(capsys, "train.yaml")["templates"]
    assert (master["template"], master["total"]) == ("master", {"nvidia.com/gpu": "1"})
    assert worker["template"] == "worker"
    assert worker["total"] == {"koordinator.sh/gpu-core": "200", "koordinator.sh/gpu-memory": "2Gi", "koordinator.sh/gpu.shared": "4"}
    assert worker["gang"] == {
        "minimum": 2,
        "ofAllTemplates": 3,
        "total": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "1Gi", "koordinator.sh/gpu.shared": "2"},
    }


def test_tensor_fusion_gang(capsys: pytest.CaptureFixture[str]) -> None:
    gang = '        tensor-fusion.ai/gang-enabled: "true"\n        tensor-fusion.ai/gang-min-members: "2"\n    spec:'
    write(app=DEPLOYMENT.replace("    spec:", gang), profile=PROFILE)
    found = only(capsys, "app.yaml", "profile.yaml")["gang"]
    assert (found["minimum"], found["total"]["tflops-request"]) == (2, "40")


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ('tensor-fusion.ai/enabled: "true"', 'tensor-fusion.ai/enabled: "yes"', "leaves these Pods alone"),
        ("kind: Deployment", "kind: DaemonSet", "number of Pods is not known"),
    ],
)
def test_notes(capsys: pytest.CaptureFixture[str], before: str, after: str, note: str) -> None:
    write(app=DEPLOYMENT.replace(before, after), profile=PROFILE)
    assert any(note in each for each in only(capsys, "app.yaml", "profile.yaml")["notes"])


@pytest.mark.parametrize("value", ["'{{ .Values.core }}'", "ten"])
def test_a_value_that_is_none_is_not_known(capsys: pytest.CaptureFixture[str], value: str) -> None:
    write(share=QGPU.replace('"20"', value))
    template = only(capsys, "share.yaml")
    core = template["containers"][1]["requests"]["tke.cloud.tencent.com/qgpu-core"]
    assert (core["value"], core["known"]) == (None, False)
    assert template["podSum"]["tke.cloud.tencent.com/qgpu-core"] is None
    assert template["podSum"]["tke.cloud.tencent.com/qgpu-memory"] == "9"


def test_unparsable_input_is_a_finding_and_the_rest_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    write(share=QGPU, torn="kind: [Pod\n")
    found = answer(capsys, "share.yaml", "torn.yaml", "missing.yaml", code=2)
    assert [(finding["rule"], finding["file"]) for finding in found["findings"]] == [("IN000", "missing.yaml"), ("IN001", "torn.yaml")]
    assert len(found["templates"]) == 1


def test_what_asks_for_nothing_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write(
        plain="apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a, resources: {limits: {cpu: 1}}}]}\n"
    )
    assert answer(capsys, "plain.yaml")["templates"] == []


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(QGPU.encode())))
    template = only(capsys, "-", "--stdin-filename", "rendered.yaml")
    source = template["containers"][0]["requests"]["tke.cloud.tencent.com/qgpu-core"]["source"]
    assert (template["file"], source["file"], source["line"]) == ("rendered.yaml", "rendered.yaml", 14)


def test_own_workload_row(capsys: pytest.CaptureFixture[str]) -> None:
    write(own=QGPU.replace("apps/v1", "example.com/v1").replace("Deployment", "Trainer"))
    assert answer(capsys, "own.yaml")["summary"]["notCovered"] == 1
    row = "workloads: [{group: example.com, kind: Trainer, templates: [{podTemplate: spec.template, replicas: spec.replicas}]}]\n"
    Path(".gpuvet.yaml").write_text(row, encoding="utf-8")
    assert only(capsys, "own.yaml")["total"]["tke.cloud.tencent.com/qgpu-core"] == "80"


def test_a_domain_of_the_company(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT.replace("tensor-fusion.ai/", "gpu.example.com/"), profile=PROFILE)
    Path(".gpuvet.yaml").write_text("domains: {tensorFusion: gpu.example.com}\n", encoding="utf-8")
    template = only(capsys, ".")
    assert template["fields"]["tflops-request"]["source"] == {"what": "annotation", "file": "./app.yaml", "line": 12, "column": 41}
    assert template["total"]["vram-limit"] == "18Gi"


def test_a_torn_context_file_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT)
    Path("known").mkdir()
    Path("known/torn.yaml").write_text("kind: [Pod\n", encoding="utf-8")
    Path(".gpuvet.yaml").write_text("context: {paths: [known]}\n", encoding="utf-8")
    found = answer(capsys, "app.yaml", code=2)
    assert [finding["rule"] for finding in found["findings"]] == ["IN001"]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT, profile=PROFILE, share=QGPU, train=JOB)
    assert main(["effective", "."]) == 0
    out = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "./app.yaml:7: Deployment team/app" in lines
    assert "tflops-request 10 annotation, line 12 5 (profile, ./profile.yaml:8)" in lines
    assert "total of 2 GPUs x 3 Pods: tflops-request 60, tflops-limit 90, vram-request 18Gi, vram-limit 18Gi" in lines
    assert "tke.cloud.tencent.com/qgpu-core (percent of one card) 20 limit, line 19" in lines
    assert "sum of the Pod: tke.cloud.tencent.com/qgpu-core 40, tke.cloud.tencent.com/qgpu-memory 9" in lines
    assert "gang of at least 3 Pods over all templates of the Job" in lines
    assert lines[-1] == "4 Pod templates that ask for a GPU, in 4 files"
    assert not re.search(r"[ \t]$", out, re.MULTILINE)


def test_text_says_what_a_value_hangs_on(capsys: pytest.CaptureFixture[str]) -> None:
    write(app=DEPLOYMENT)
    assert main(["effective", "app.yaml"]) == 0
    doubts = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ? ")]
    assert any("gpu-model" in line and "profile" in line for line in doubts)
