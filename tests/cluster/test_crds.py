"""Our CRDs on a real API server: all are structural and Established, and it judges every instance as the models and JSON Schema do."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis.strategies import lists, sampled_from

from cluster.server import Answer, ApiServer
from gpuvet.models.catalogue import RESOURCES
from schemas.instances import TABLE, Instance, changes, combined, derived, pydantic_refuses, schema_refuses, whole, written

pytestmark = pytest.mark.real

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EXAMPLES = 60
"""Generated instances a kind."""


@pytest.fixture(scope="module")
def server(api_server: ApiServer, checkout: Path) -> ApiServer:
    """The API server with all our CRDs, Established."""
    names = []
    for file in sorted((checkout / "schemas" / "crd").glob("*.yaml")):
        crd = yaml.safe_load(file.read_text(encoding="utf-8"))
        answer = api_server.request("POST", CRDS + "?fieldValidation=Strict", crd)
        assert answer.ok, f"{file.name}: {answer.message}"
        names.append(crd["metadata"]["name"])
    end = time.monotonic() + 60
    while waiting := [name for name in names if conditions(api_server, name).get("Established") != "True"]:
        assert time.monotonic() < end, f"not Established: {waiting}"
        time.sleep(0.1)
    # Established is said a moment before the API is served.
    while any(api_server.request("GET", url(kind)).status == 404 for kind in RESOURCES):
        assert time.monotonic() < end
        time.sleep(0.1)
    return api_server


def conditions(server: ApiServer, name: str) -> dict[str, str]:
    status = server.request("GET", f"{CRDS}/{name}").body.get("status", {})
    return {condition["type"]: condition["status"] for condition in status.get("conditions") or ()}


def url(kind: str) -> str:
    model = RESOURCES[kind]
    group, version, _ = model.identity()
    namespace = "/namespaces/default" if model.scope == "Namespaced" else ""
    return f"/apis/{group}/{version}{namespace}/{model.plural}"


def refused(answer: Answer) -> list[str]:
    """The fields of a refusal, by their path with dots."""
    assert answer.status in (400, 422), answer
    # A number beyond its format is named in the text alone.
    unknown = re.findall(r'unknown field "([^"]+)"', answer.message)
    for found in re.findall(r"with format \w+ in (\S+)", answer.message):
        field = found.rstrip(",")
        unknown.append(field[:-1] if field.count("]") > field.count("[") else field)
    if not answer.fields and not unknown:
        # Decoding and the identity of the object are refused without naming a field.
        return ["apiVersion", "kind"]
    return [re.sub(r"\[(\d+)\]", r".\1", field) for field in (*answer.fields, *unknown)]


def judge(server: ApiServer, instance: Instance) -> str | None:
    """What is wrong with the verdicts, or None when all judges agree as expected."""
    answer = server.request("POST", url(instance.kind) + "?dryRun=All&fieldValidation=Strict", instance.document)
    verdicts = {
        "pydantic": pydantic_refuses(instance.kind, instance.document),
        "jsonschema": schema_refuses(instance.kind, instance.document),
        "server": [] if answer.ok else refused(answer),
    }
    for name, fields in verdicts.items():
        expected = (instance.wrong is not None) != (name in instance.differs)
        if bool(fields) != expected:
            return f"{instance.name}: {name} {'refuses ' + str(fields) if fields else 'accepts'}; {verdicts} {answer.message}"
        if fields and instance.wrong and not any(f"{field}.".startswith(f"{instance.wrong}.") for field in fields):
            return f"{instance.name}: {name} refuses {fields}, not {instance.wrong}; {answer.message}"
    return None


def judged(server: ApiServer, instances: list[Instance]) -> list[str]:
    return [wrong for instance in instances if (wrong := judge(server, instance)) is not None]


def test_every_crd_is_structural(server: ApiServer) -> None:
    for model in RESOURCES.values():
        found = conditions(server, f"{model.plural}.{model.identity()[0]}")
        assert found["Established"] == "True"
        assert found["NamesAccepted"] == "True"
        assert found.get("NonStructuralSchema", "False") == "False"
        assert found.get("KubernetesAPIApprovalPolicyConformant", "True") == "True"


@pytest.mark.parametrize("kind", TABLE)
def test_written_instances(server: ApiServer, kind: str) -> None:
    assert judged(server, list(written(kind))) == []


@pytest.mark.parametrize("kind", RESOURCES)
def test_derived_instances(server: ApiServer, kind: str) -> None:
    instances = list(derived(kind))
    assert len(instances) >= 15
    assert judged(server, instances) == []


@pytest.mark.parametrize("kind", RESOURCES)
def test_combined_instances(server: ApiServer, kind: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
    @given(lists(sampled_from(changes(kind)), min_size=2, max_size=4))
    def agree(chosen: list[Instance]) -> None:
        assert judge(server, combined(kind, chosen)) is None

    agree()


@pytest.mark.parametrize("kind", RESOURCES)
def test_whole_object_comes_back_as_it_was(server: ApiServer, kind: str) -> None:
    """Nothing of it is pruned, and no default is filled in."""
    document = whole(kind)
    answer = server.request("POST", url(kind) + "?dryRun=All&fieldValidation=Strict", document)
    assert answer.ok, answer.message
    assert answer.warnings == ()
    assert answer.body.get("spec") == document.get("spec")


def test_unknown_field_is_dropped_unless_validation_is_strict(server: ApiServer) -> None:
    document = whole("WorkloadProfile")
    document["spec"]["autoScaling"] = True
    path = url("WorkloadProfile") + "?dryRun=All&fieldValidation="
    warned = server.request("POST", path + "Warn", document)
    assert warned.ok
    assert warned.warnings == ('unknown field \\"spec.autoScaling\\"',)
    assert "autoScaling" not in warned.body["spec"]
    assert server.request("POST", path + "Ignore", document).warnings == ()
    strict = server.request("POST", path + "Strict", document)
    assert strict.status == 400
    assert strict.message.endswith('strict decoding error: unknown field "spec.autoScaling"')


def test_kubectl_shows_what_to_do(server: ApiServer) -> None:
    document: dict[str, Any] = whole("WorkloadProfile")
    document["spec"]["resources"]["requests"]["vram"] = "9Gi"
    done = server.kubectl("create", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(document))
    assert done.returncode == 1
    assert "spec.resources.requests.vram" in done.stderr
    assert "requests.vram is above limits.vram: lower requests.vram or raise limits.vram; 0 means no bound" in done.stderr
    explained = server.kubectl("explain", "workloadprofile.spec.resources.requests.vram")
    assert "Video memory. Zero means unset. In bytes per GPU device and worker." in " ".join(explained.stdout.split())


def test_printer_columns(server: ApiServer) -> None:
    assert server.request("POST", url("WorkloadProfile"), whole("WorkloadProfile")).ok
    try:
        head, row = server.kubectl("get", "workloadprofiles").stdout.splitlines()
    finally:
        server.request("DELETE", url("WorkloadProfile") + "/instance")
    assert head.split() == ["NAME", "POOL", "NAME", "QOS", "GPU", "NUMBER", "REPLICAS"]
    assert row.split() == ["instance", "default-pool", "medium", "1", "4"]
