"""The type checks of Kubernetes find nothing in the generated policies: the status of each says so.

Kubernetes checks validations only, of kinds whose version a policy names, and takes a variable with a fault as one of any type. What it
passes over was compiled before the policy was taken, without the types of the object; tests/unit/test_vap.py tells that these matter
nowhere.
"""

import copy
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from cluster.build import components
from cluster.server import ApiServer
from differential.vap import POLICIES
from e2e.cluster import BUILT_IN, install_definitions, version_of
from gpuvet.values.data import data_folder

pytestmark = pytest.mark.real

CONTROLLER = "validatingadmissionpolicy-status-controller"


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with ApiServer(components()) as server:
        install_definitions(server)
        # It keeps what the server serves in mind, so it comes when all kinds are there.
        server.run_controllers(CONTROLLER)
        yield server


@pytest.fixture(scope="module")
def written() -> list[dict[str, Any]]:
    """The committed policies."""
    files = sorted((data_folder("policies") / "vap").glob("*.yaml"))
    found = [next(iter(yaml.load_all(path.read_text("utf-8"), yaml.CSafeLoader))) for path in files]
    assert len(found) > 20
    return found


def warnings(server: ApiServer, policies: list[dict[str, Any]], seconds: float) -> dict[str, list[dict[str, str]]]:
    """Name of a policy -> what its status warns of, once every policy has been looked at. The policies are gone afterwards."""
    wanted = set()
    for policy in policies:
        answer = server.request("POST", POLICIES, policy)
        assert answer.ok, f"{policy['metadata']['name']}: {answer.message[:2000]}"
        wanted.add(policy["metadata"]["name"])
    found: dict[str, list[dict[str, str]]] = {}
    end = time.monotonic() + seconds
    while wanted - found.keys():
        assert time.monotonic() < end, f"not looked at: {sorted(wanted - found.keys())}\n{server.log('kube-controller-manager')}"
        time.sleep(0.5)
        for item in server.request("GET", POLICIES).body["items"]:
            status = item.get("status") or {}
            if status.get("observedGeneration") == item["metadata"]["generation"]:
                found[item["metadata"]["name"]] = (status.get("typeChecking") or {}).get("expressionWarnings") or []
    for name in wanted:
        server.request("DELETE", f"{POLICIES}/{name}")
    return {name: found[name] for name in wanted}


def policy(name: str, where: str = "apps/v1/deployments", **parts: Any) -> dict[str, Any]:
    """A policy about one kind."""
    group, version, resource = where.split("/")
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}], **parts},
    }


def of_one_version(policy: dict[str, Any]) -> dict[str, Any]:
    """The policy for one of its kinds, with a version, so that its types are known. One is enough, and each takes as long as the others."""
    policy = copy.deepcopy(policy)
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    del rules[1:]
    (group,) = rules[0]["apiGroups"]
    rules[0]["apiVersions"] = ["v1" if group in BUILT_IN else version_of(group)]
    del rules[0]["resources"][1:]
    return policy


@pytest.mark.parametrize("versions", ["as-written", "one"])
def test_no_policy_has_a_warning(server: ApiServer, written: list[dict[str, Any]], versions: str) -> None:
    faulty = [
        policy(f"faulty-{where.rpartition('/')[2]}", where, validations=[{"expression": "object.metadata.name > 3"}])
        for where in ("apps/v1/deployments", "batch.volcano.sh/v1alpha1/jobs")
    ]
    found = warnings(server, [*(map(of_one_version, written) if versions == "one" else written), *faulty], 480)
    for one in faulty:
        (told,) = found.pop(one["metadata"]["name"])
        assert told["fieldRef"] == "spec.validations[0].expression"
        assert "'_>_' applied to '(string, int)'" in told["warning"]
    assert len(found) == len(written)
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize("part", ["variables", "matchConditions"])
def test_what_needs_no_type_of_the_object_is_checked_at_creation(server: ApiServer, part: str) -> None:
    answer = server.request("POST", POLICIES, policy("faulty", **{part: [{"name": "faulty", "expression": "size([1]) > 'x'"}]}))
    assert answer.status == 422
    assert answer.fields == (f"spec.{part}[0].expression",)
