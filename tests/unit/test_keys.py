"""The committed key tables are those of the models, and they hold what rules rely on."""

import re
from pathlib import Path

import pytest

import gpuvet.compiled.keys
from gpuvet.compiled.keys import (
    DOMAINS,
    EMBEDDED_YAML,
    ENUMERATIONS,
    FIELDS,
    KEYS,
    KINDS,
    LEVELS,
    PREFIXES,
    REMOVED,
)
from gpuvet.generate.keys import render_keys


def test_committed_tables_are_current() -> None:
    committed = Path(gpuvet.compiled.keys.__file__).read_text(encoding="utf-8")
    assert committed == render_keys(), "compiled/keys.py is stale; run `gpuvet generate compiled`"


def test_tables_need_no_pydantic() -> None:
    committed = Path(gpuvet.compiled.keys.__file__).read_text(encoding="utf-8")
    assert re.findall(r"^(?:from|import) (\S+)", committed, re.MULTILINE) == ["typing"]


@pytest.mark.parametrize(
    "name",
    [
        "tensor-fusion.ai/enabled",
        "tensor-fusion.ai/tflops-request",
        "tensor-fusion.ai/generate-workload",
        "tensor-fusion.ai/client-profile",
        "tensor-fusion.ai/gpu-ids",
        "koordinator.sh/gpu.shared",
        "koordinator.sh/gpu-core",
        "scheduling.koordinator.sh/device-allocate-hint",
        "kubernetes.io/gpu-memory-ratio",
        "metax-tech.com/sgpu",
        "metax-tech.com/vmemory",
        "tke.cloud.tencent.com/qgpu-core-greedy",
        "tke.cloud.tencent.com/qgpu-schedule-policy",
        "tencent.com/vcuda-core",
        "nvidia.com/gpu",
        "nvidia.com/gpu.driver-version",
        "maip.mxsf.io/node.usage",
        "node-role.kubernetes.io/control-plane",
        "volcano.sh/task-spec",
    ],
)
def test_known_keys_are_there(name: str) -> None:
    domain, _, last = name.rpartition("/")
    assert KEYS[name].name == name
    assert last in DOMAINS[domain]


def test_every_key_is_consistent() -> None:
    for name, key in {**KEYS, **PREFIXES}.items():
        assert key.name == name
        assert key.where
        assert key.type != "enum" or key.values, name
        assert not key.replaced_by or key.replaced_by in KEYS, name
        assert not key.shape or key.shape in FIELDS, name
        assert not set(key.where) & set(key.copied_to), name
        assert key.vocabulary == "tensor-fusion" or not key.dialects, name
        if key.pattern and key.example and key.type != "words-list":
            assert re.fullmatch(key.pattern, key.example), name
    assert sum(map(len, DOMAINS.values())) == len(KEYS)


def test_facts_of_some_keys() -> None:
    replicas = KEYS["tensor-fusion.ai/replicas"]
    assert (replicas.platform, replicas.since, replicas.until, replicas.dialects) == ("tensorFusion", "1.17.0", "1.35.0", ("seed",))
    assert KEYS["tensor-fusion.ai/client-profile"].replaced_by == "tensor-fusion.ai/workload-profile"
    assert KEYS["tensor-fusion.ai/gpu-ids"].owner == "system"
    assert KEYS["tensor-fusion.ai/gpupool"].where == ("pod-annotation",)
    core = KEYS["tke.cloud.tencent.com/qgpu-core"]
    assert (core.minimum, core.step, core.maximum, core.or_multiple_of) == (5, 5, 100, 100)
    assert KEYS["nvidia.com/gpu.product"].where == ("node-label", "node-taint")


def test_fields_and_levels_agree() -> None:
    for name, fields in FIELDS.items():
        for path in fields:
            if path.endswith("[]"):
                assert path == "[]" or fields[path[:-2]].type == "list", (name, path)
                continue
            parent, _, last = path.rpartition(".")
            assert last in LEVELS[name][parent], (name, path)
        assert sum(map(len, LEVELS[name].values())) == sum(1 for path in fields if not path.endswith("[]"))


def test_facts_of_some_fields() -> None:
    spec = FIELDS["WorkloadProfile"]
    assert spec["spec.resources.limits.tflops"].type == "quantity"
    assert spec["spec.resources.limits.tflops"].required
    assert spec["spec.gpuCount"][7:10] == (1, None, 128)
    assert spec["spec.isolation"].values == ("shared", "soft", "hard", "partitioned")
    assert not spec["spec.autoScalingConfig.autoSetResources.targetResource"].enforced
    assert spec["spec.gangScheduling.minMembers"].needed
    assert FIELDS["Device"]["spec.devices[].conditions[].lastTransitionTime"].type == "timestamp"
    assert FIELDS["Device"]["spec.devices[].resources.*"].type == "quantity"
    assert FIELDS["MetaxNodesConfig"]["[].mode"].values == ("native", "sgpu", "shared", "vgpu")
    assert FIELDS["DeviceAllocateHint"]["*.requiredTopologyScope"].values == ("Device", "PCIe", "NUMANode", "Node")


def test_removed_fields_are_no_fields_and_point_to_some() -> None:
    assert REMOVED["WorkloadProfile"]["spec.autoScaling"].replaced_by == "spec.autoScalingConfig"
    for name, removed in REMOVED.items():
        for path, gone in removed.items():
            assert path not in FIELDS[name]
            assert not gone.replaced_by or gone.replaced_by in FIELDS[name], (name, path)


def test_kinds_enumerations_and_embedded_texts() -> None:
    assert KINDS["VolcanoJob"] == ("batch.volcano.sh", "v1alpha1", "Job", "jobs", "Namespaced")
    assert set(KINDS) <= set(FIELDS)
    assert "RestartPartition" in ENUMERATIONS["VolcanoAction"]
    assert not set(ENUMERATIONS["VolcanoEvent"]) & set(ENUMERATIONS["VolcanoInternalEvent"])
    for texts in EMBEDDED_YAML.values():
        assert set(texts.values()) <= set(FIELDS)
