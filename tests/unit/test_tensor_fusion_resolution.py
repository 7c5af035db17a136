"""The effective TensorFusion configuration: order of sources per version, unknowns, what shadows what."""

from typing import Any

import pytest

from gpuvet.resolve.fields import Inputs, Known
from gpuvet.resolve.tensor_fusion import TensorFusion
from gpuvet.values.total import UNKNOWN

PROFILE = {
    "spec": {
        "resources": {"requests": {"tflops": "5", "vram": "3Gi"}, "limits": {"tflops": "15", "vram": "0"}},
        "isLocalGPU": True,
        "gpuCount": 2,
        "qos": "low",
        "replicas": 3,
    }
}


def config(
    annotations: dict[str, Any],
    version: str | None = None,
    profile: Any = UNKNOWN,
    limits: dict[str, Any] | None = None,
    objects: dict[str, list[dict[str, Any]]] | None = None,
    complete: bool = False,
) -> TensorFusion:
    pod = {
        "metadata": {"annotations": {f"tensor-fusion.ai/{key}": value for key, value in annotations.items()}, "labels": {}},
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits or {}}}]},
    }

    def known(kind: str) -> tuple[list[Known], bool]:
        return [Known("default", value, ("found", (kind, "x", None))) for value in (objects or {}).get(kind, [])], complete

    platforms = {"tensorFusion": version} if version else {}
    return TensorFusion(Inputs(pod, {}, "default", lambda kind, name, namespace=None: profile, known, platforms), full=True)


def value(of: TensorFusion, name: str) -> Any:
    found = of.field(name)
    return None if found is None else found.value


def source(of: TensorFusion, name: str) -> Any:
    found = of.field(name)
    return None if found is None else found.source


def test_annotation_wins_over_profile_and_shadows_it() -> None:
    of = config({"workload-profile": "p", "tflops-request": "10"}, "2.17.1", PROFILE)
    found = of.field("tflops-request")
    assert found is not None
    assert (found.value, found.source) == ("10", "annotation")
    assert [(each.value, each.source) for each in found.shadowed] == [("5", "profile")]


def test_malformed_annotation_falls_back_to_the_profile() -> None:
    assert value(config({"workload-profile": "p", "tflops-request": "ten"}, "2.17.1", PROFILE), "tflops-request") == "5"


@pytest.mark.parametrize(("version", "expected"), [("1.34.7", None), ("1.47.0", None), ("1.48.0", "20"), ("2.17.1", "20")])
def test_request_takes_the_limit_from_1_48(version: str, expected: str | None) -> None:
    of = config({"tflops-limit": "20"}, version, complete=True)
    assert value(of, "tflops-request") == expected


def test_limit_is_never_derived_from_the_request() -> None:
    assert value(config({"tflops-request": "20"}, "2.17.1", complete=True), "tflops-limit") is None


def test_quota_default_beats_the_limit_and_is_unknown_when_no_quota_is_among_the_inputs() -> None:
    quota = {"spec": {"single": {"defaultRequests": {"tflops": "3"}}}}
    of = config({"tflops-limit": "20"}, "2.17.1", objects={"GPUResourceQuota": [quota]})
    assert (value(of, "tflops-request"), source(of, "tflops-request")) == ("3", "quota")
    unknown = config({"tflops-limit": "20"}, "2.17.1").field("tflops-request")
    assert unknown is not None
    assert unknown.value is UNKNOWN
    assert unknown.shown == "20"


def test_zero_in_a_profile_means_unset() -> None:
    assert value(config({"workload-profile": "p"}, "2.17.1", PROFILE, complete=True), "vram-limit") is None


@pytest.mark.parametrize(
    ("annotations", "version", "expected"),
    [
        ({}, "1.34.7", "false"),
        ({"is-local-gpu": "true"}, "1.34.7", "true"),
        ({"is-local-gpu": "false", "client-profile": "p"}, "1.34.7", "true"),
        ({"is-local-gpu": "false", "workload-profile": "p"}, "2.17.1", "false"),
        ({"is-local-gpu": "yes", "gpupool": "a"}, "2.17.1", UNKNOWN),
        ({"is-local-gpu": "false", "sidecar-worker": "true"}, "2.17.1", "true"),
        ({}, None, UNKNOWN),
        ({"is-local-gpu": "true"}, None, "true"),
    ],
)
def test_local_mode(annotations: dict[str, str], version: str | None, expected: Any) -> None:
    assert value(config(annotations, version, PROFILE), "is-local-gpu") == expected


def test_pool_default_is_read_when_the_pool_is_known() -> None:
    pool = {"metadata": {"name": "a"}, "spec": {"defaultUsingLocalGPU": False}}
    of = config({"gpupool": "a"}, "2.17.1", objects={"GPUPool": [pool]})
    assert (value(of, "is-local-gpu"), source(of, "is-local-gpu")) == ("false", "pool")


def test_gpu_count_order() -> None:
    limits = {"nvidia.com/gpu": "4"}
    all_of_them = {"gpu-indices": "0,1,2", "gpu-count": "5", "workload-profile": "p"}
    assert source(config(all_of_them, "2.17.1", PROFILE, limits), "gpu-count") == "gpu-indices"
    assert value(config(all_of_them, "2.17.1", PROFILE, limits), "gpu-count") == "3"
    assert value(config({"workload-profile": "p"}, "2.17.1", PROFILE, limits), "gpu-count") == 2
    assert value(config({}, "2.17.1", limits=limits), "gpu-count") == "4"
    assert value(config({}, "1.46.5", limits=limits), "gpu-count") == "1"


def test_native_limits_set_the_percent_limit_unless_a_tflops_annotation_stands_there() -> None:
    limits = {"nvidia.com/mig-1g.10gb": "1"}
    assert value(config({}, "2.17.1", limits=limits), "compute-percent-limit") == "100"
    assert value(config({"tflops-request": "3"}, "2.17.1", limits=limits), "compute-percent-limit") is None
    assert value(config({"isolation": "shared"}, "2.17.1", limits=limits), "compute-percent-limit") is None
    assert value(config({}, "2.17.1", limits=limits), "vendor") == "NVIDIA"


def test_old_profile_key_counts_only_in_old_versions() -> None:
    assert value(config({"client-profile": "p"}, "1.34.7", PROFILE), "tflops-request") == "5"
    assert value(config({"client-profile": "p"}, "2.17.1", PROFILE, complete=True), "tflops-request") is None


def test_dedicated_gpu_overwrites_the_amounts() -> None:
    assert value(config({"dedicated-gpu": "true", "tflops-limit": "3"}, "2.17.1"), "tflops-limit") is UNKNOWN


def test_a_present_key_is_read_by_the_dialects_that_know_it() -> None:
    assert value(config({"replicas": "2", "isolation": "hard"}), "replicas") == "2"
    assert value(config({"isolation": "hard"}), "isolation") == "hard"


def test_a_key_of_a_newer_dialect_excludes_the_older_ones() -> None:
    of = config({"isolation": "soft", "tflops-limit": "20"}, complete=True)
    assert value(of, "tflops-request") == "20"
    older = config({"tflops-limit": "20"}, complete=True).field("tflops-request")
    assert older is not None
    assert older.value is UNKNOWN
    assert older.shown == "20"
    assert "seed has none" in older.note


def test_qos_is_high_when_requests_equal_limits() -> None:
    same = {"tflops-request": "4", "tflops-limit": "4000m", "vram-request": "4Gi", "vram-limit": "4096Mi"}
    assert value(config(same, "2.17.1"), "qos") == "high"
    assert value(config({**same, "qos": "low"}, "2.17.1"), "qos") == "low"


def test_autoscale_without_target_scales_all() -> None:
    assert value(config({"autoscale": "true"}, "2.17.1"), "autoscale-target") == "all"


def test_a_field_says_what_it_hangs_on_however_it_came_to_be_known() -> None:
    of = config({"compute-percent-limit": "50"}, "2.17.1")
    of.field("compute-percent-request")
    assert of.hangs_on("tflops-limit") == {"GPUResourceQuota"}
    assert of.hangs_on("compute-percent-limit") == set()
    assert config({"workload-profile": "p"}, "2.17.1").hangs_on("gpu-model") == {"WorkloadProfile"}
    assert config({"workload-profile": "p"}, "2.17.1", PROFILE).hangs_on("gpu-model") == set()


def test_every_field_answers_in_every_dialect_and_on_junk() -> None:
    junk: list[Any] = [7, None, [], {}, "", "{{ .x }}", True]
    for version in (None, "1.34.7", "1.46.5", "1.65.8", "2.17.1"):
        for bad in junk:
            of = config(dict.fromkeys(config({}).fields(), bad), version, bad)
            for name in of.fields():
                of.field(name)
    of = TensorFusion(Inputs({"metadata": None, "spec": 3}, {}, None, lambda *_: UNKNOWN, lambda _: ([], False), {"tensorFusion": "x"}))
    for name in of.fields():
        of.field(name)
