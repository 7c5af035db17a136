"""schemas/editor/ in a real yaml-language-server: hovering, completing and judging, in each kind and in a file of several documents."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from editor.language_server import LanguageServer, installed

pytestmark = pytest.mark.real

POD: dict[str, Any] = {
    "metadata": {
        "labels": {"tensor-fusion.ai/enabled": "true", "app": "a"},
        "annotations": {"tensor-fusion.ai/qos": "medium", "example.com/anything": "at all", "tensor-fusion.ai/gpu-count": "1"},
    },
    "spec": {
        "containers": [{"name": "main", "image": "i", "resources": {"limits": {"tke.cloud.tencent.com/qgpu-core": 30, "cpu": "1"}}}],
        "anything": {"else": True},
    },
}
META = {"name": "a"}


def workload(version: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": META, "spec": spec}


WORKLOADS: dict[str, dict[str, Any]] = {
    "pod": {"apiVersion": "v1", "kind": "Pod", **POD},
    "deployment": workload("apps/v1", "Deployment", replicas=1, template=POD),
    "statefulset": workload("apps/v1", "StatefulSet", template=POD),
    "daemonset": workload("apps/v1", "DaemonSet", template=POD),
    "job": workload("batch/v1", "Job", template=POD),
    "cronjob": workload("batch/v1", "CronJob", schedule="0 2 * * *", jobTemplate={"spec": {"template": POD}}),
    "volcano-job": workload("batch.volcano.sh/v1alpha1", "Job", tasks=[{"name": "t", "replicas": 1, "template": POD}]),
}
"""Objects whose Pod template holds our keys, by the name of their schema."""


class Member(NamedTuple):
    """A member of an object that is no workload: what hovering shows, a wrong value, and what completion offers."""

    document: dict[str, Any]
    line: str
    shows: str
    wrong: str
    offers: tuple[str, ...]


OBJECTS = {
    "workloadprofile": Member(
        workload("tensor-fusion.ai/v1", "WorkloadProfile", qos="medium", gpuModel="A"),
        "qos: medium",
        "Service level",
        "best",
        ("low", "medium", "high", "critical"),
    ),
    "tensorfusionworkload": Member(
        workload("tensor-fusion.ai/v1", "TensorFusionWorkload", isolation="soft", gpuModel="A"),
        "isolation: soft",
        "How compute is kept apart",
        "firm",
        ("shared", "soft", "hard", "partitioned"),
    ),
    "device": Member(
        workload("scheduling.koordinator.sh/v1alpha1", "Device", devices=[{"health": True, "minor": 0, "type": "gpu"}]),
        "type: gpu",
        "Kind of device",
        "npu",
        ("gpu", "rdma", "fpga"),
    ),
}


@pytest.fixture(scope="module")
def folder(checkout: Path) -> str:
    return (checkout / "schemas" / "editor").as_uri()


@pytest.fixture(scope="module")
def server(folder: str) -> Iterator[LanguageServer]:
    """One server that knows each schema by the folder that a file is in."""
    names = [*WORKLOADS, *OBJECTS, "gpuvet"]
    schemas = {f"{folder}/{name}.json": [f"**/for-{name}/*.yaml"] for name in names}
    schemas[f"{folder}/gpuvet-config.json"] = [".gpuvet.yaml"]
    with LanguageServer(installed(), schemas) as running:
        yield running


def text_of(*documents: dict[str, Any]) -> str:
    return "---\n".join(yaml.safe_dump(document, sort_keys=False) for document in documents)


def place(text: str, needle: str, nth: int = 0) -> tuple[int, int]:
    """Line and character at which a text stands, both from 0."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(needle, at + 1)
    return text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1


def spans(diagnostics: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """(line, first character, character after the last)."""
    return [
        (each["range"]["start"]["line"], each["range"]["start"]["character"], each["range"]["end"]["character"]) for each in diagnostics
    ]


ALONE_AND_TOGETHER = [(name, schema) for name in WORKLOADS for schema in (name, "gpuvet")]


@pytest.mark.parametrize(("name", "schema"), ALONE_AND_TOGETHER)
def test_good_workload_is_left_alone(server: LanguageServer, name: str, schema: str) -> None:
    assert server.open(f"file:///w/for-{schema}/good-{name}.yaml", text_of(WORKLOADS[name])) == []


@pytest.mark.parametrize(("name", "schema"), ALONE_AND_TOGETHER)
def test_hovering_shows_the_text_of_a_key(server: LanguageServer, name: str, schema: str) -> None:
    text, uri = text_of(WORKLOADS[name]), f"file:///w/for-{schema}/hover-{name}.yaml"
    server.open(uri, text)
    shown = server.hover(uri, *place(text, "tensor-fusion.ai/qos"))
    assert "Service level of the vGPU." in shown
    assert "* `critical`" in shown
    assert "Opts the Pod in" in server.hover(uri, *place(text, "tensor-fusion.ai/enabled"))
    assert "a multiple of 100 is whole cards" in server.hover(uri, *place(text, "tke.cloud.tencent.com/qgpu-core"))
    assert server.hover(uri, *place(text, "example.com/anything")) == ""


@pytest.mark.parametrize(("name", "schema"), ALONE_AND_TOGETHER)
def test_completion_offers_values_and_keys(server: LanguageServer, name: str, schema: str) -> None:
    text, uri = text_of(WORKLOADS[name]), f"file:///w/for-{schema}/complete-{name}.yaml"
    line, character = place(text, "tensor-fusion.ai/qos")
    text = text.replace("tensor-fusion.ai/qos: medium", "tensor-fusion.ai/qos: ")
    server.open(uri, text)
    offered = [item["label"] for item in server.complete(uri, line, character + len("tensor-fusion.ai/qos: "))]
    assert offered == ["low", "medium", "high", "critical"]
    keys = {item["label"]: item for item in server.complete(uri, line, character)}
    assert {"tensor-fusion.ai/gpu-model", "metax-tech.com/sgpu-qos-policy", "tke.cloud.tencent.com/app-class"} <= set(keys)
    assert "exactly as GPU.status.gpuModel spells it" in str(keys["tensor-fusion.ai/gpu-model"]["documentation"])
    assert "tensor-fusion.ai/gpu-ids" not in keys, "the operator writes it"
    assert "tensor-fusion.ai/client-profile" not in keys, "it is deprecated"


@pytest.mark.parametrize(("name", "schema"), ALONE_AND_TOGETHER)
def test_wrong_value_is_marked_where_it_stands(server: LanguageServer, name: str, schema: str) -> None:
    text = text_of(WORKLOADS[name])
    text = text.replace("tensor-fusion.ai/qos: medium", "tensor-fusion.ai/qos: best")
    text = text.replace("tensor-fusion.ai/gpu-count: '1'", "tensor-fusion.ai/gpu-count: '129'")
    text = text.replace("tensor-fusion.ai/enabled: 'true'", "tensor-fusion.ai/enabled: true")
    text = text.replace("qgpu-core: 30", "qgpu-core: 33")
    found = server.open(f"file:///w/for-{schema}/bad-{name}.yaml", text)
    expected = set()
    for needle, value in (("/qos: ", "best"), ("/gpu-count: ", "'129'"), ("/enabled: ", "true"), ("/qgpu-core: ", "33")):
        line, character = place(text, needle)
        expected.add((line, character + len(needle), character + len(needle) + len(value)))
    assert set(spans(found)) == expected
    messages = [each["message"] for each in found]
    assert 'Value is not accepted. Valid values: "low", "medium", "high", "critical".' in messages
    assert "No integer from 1 to 128." in messages


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in ("pod", "volcano-job")])
def test_key_of_a_pod_on_its_owner_is_explained(server: LanguageServer, name: str) -> None:
    document = WORKLOADS[name] | {"metadata": {"annotations": {"tensor-fusion.ai/qos": "medium", "example.com/anything": "a"}}}
    text = text_of(document)
    (found,) = server.open(f"file:///w/for-{name}/owner-{name}.yaml", text)
    assert found["message"].startswith(f"Has no effect on a {document['kind']}: it belongs in spec.")
    line, character = place(text, "tensor-fusion.ai/qos")
    assert spans([found]) == [(line, character, character + len("tensor-fusion.ai/qos: medium"))]


@pytest.mark.parametrize(("name", "schema"), [(name, schema) for name in OBJECTS for schema in (name, "gpuvet")])
def test_objects_of_the_platforms(server: LanguageServer, name: str, schema: str) -> None:
    member = OBJECTS[name]
    text, uri = text_of(member.document), f"file:///w/for-{schema}/{name}"
    assert server.open(f"{uri}-good.yaml", text) == []
    key = member.line.partition(": ")[0]
    line, character = place(text, member.line)
    assert member.shows in server.hover(f"{uri}-good.yaml", line, character)
    (found,) = server.open(f"{uri}-bad.yaml", text.replace(member.line, f"{key}: {member.wrong}"))
    start = character + len(key) + 2
    assert spans([found]) == [(line, start, start + len(member.wrong))]
    server.open(f"{uri}-empty.yaml", text.replace(member.line, f"{key}: "))
    assert tuple(item["label"] for item in server.complete(f"{uri}-empty.yaml", line, start)) == member.offers
    unknown = server.open(f"{uri}-unknown.yaml", text + "unknown: 1\n")
    assert [each["message"] for each in unknown] == ["Property unknown is not allowed."]


def test_removed_field_says_what_to_write(server: LanguageServer) -> None:
    text = text_of(workload("tensor-fusion.ai/v1", "WorkloadProfile", autoScaling=True))
    (found,) = server.open("file:///w/for-workloadprofile/removed.yaml", text)
    assert found["message"] == "No field of WorkloadProfile: never existed in this kind; write autoScalingConfig."


def test_file_of_several_documents(server: LanguageServer) -> None:
    """Each document is judged by its own kind; kinds that are not ours pass."""
    foreign = {"apiVersion": "v1", "kind": "Service", "metadata": {"annotations": {"tensor-fusion.ai/qos": "nonsense"}}, "spec": 1}
    documents = [*WORKLOADS.values(), foreign, *(member.document for member in OBJECTS.values())]
    text, uri = text_of(*documents), "file:///w/for-gpuvet/all.yaml"
    assert server.open(uri, text) == []
    assert server.hover(uri, *place(text, "nonsense")) == ""
    last = len(WORKLOADS) - 1
    assert "Service level of the vGPU." in server.hover(uri, *place(text, "tensor-fusion.ai/qos", last))
    wrong = text.replace("tensor-fusion.ai/qos: medium", "tensor-fusion.ai/qos: best").replace("type: gpu", "type: npu")
    found = server.open("file:///w/for-gpuvet/all-bad.yaml", wrong)
    lines = {number for number, line in enumerate(wrong.split("\n")) if line.endswith(("qos: best", "type: npu"))}
    assert {line for line, _, _ in spans(found)} == lines
    assert len(lines) == len(WORKLOADS) + 1


def test_configuration(server: LanguageServer) -> None:
    uri = "file:///w/.gpuvet.yaml"
    good = "bundle: strict\nrules:\n  QG004: off\nplatform:\n  tensorFusion: 1.48.4\ncontext: {complete: [WorkloadProfile]}\n"
    assert server.open(uri, good) == []
    assert "What to enforce" in server.hover(uri, 0, 1)
    assert "exclude" in [item["label"] for item in server.complete(uri, 6, 0)]
    (found,) = server.open("file:///w/a/.gpuvet.yaml", "bundel: strict\n")
    assert found["message"] == "Property bundel is not allowed."
    assert spans([found]) == [(0, 0, 6)]
    (found,) = server.open("file:///w/b/.gpuvet.yaml", "platform:\n  tensorfusion: 1.0.0\n")
    assert spans([found]) == [(1, 2, 14)]
