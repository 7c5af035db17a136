"""A real API server that knows every kind of the workload table, and asks a real webhook."""

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from cluster.server import ApiServer
from gpuvet.admission.install import OTHERS, Plan, webhook_configuration
from gpuvet.manifests.workload_table import TABLE
from webhook.server import WebhookServer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
OURS = Path(__file__).parents[2] / "schemas" / "crd"
BUILT_IN = frozenset(("", "apps", "batch", "rbac.authorization.k8s.io"))
NAMESPACED_NOT = frozenset(("Device", "GPUPool", "Queue", "TensorFusionCluster", "ClusterWorkflowTemplate", "ClusterTrainingRuntime"))
NAMESPACED_NOT |= {"ClusterServingRuntime", "GPU"}
VERSIONS: Mapping[str, tuple[str, ...]] = {
    "v1alpha1": (
        *("batch.volcano.sh", "flow.volcano.sh", "argoproj.io", "trainer.kubeflow.org"),
        *("scheduling.koordinator.sh", "elasticgpu.io", "scheduling.sigs.k8s.io"),
    ),
    "v1alpha2": ("jobset.x-k8s.io",),
    "v1beta1": ("serving.kserve.io", "node.tke.cloud.tencent.com", "scheduling.volcano.sh"),
    "v1beta2": ("sparkoperator.k8s.io",),
}
PLURALS = {
    ("tensor-fusion.ai", "GPUResourceQuota"): "gpuresourcequotas",
    ("node.tke.cloud.tencent.com", "MachineSet"): "machinesets",
    ("helm.toolkit.fluxcd.io", "HelmRelease"): "helmreleases",
}
"""Kinds of fixtures besides the workload table and what the webhook is asked about."""


class Restartable(ApiServer):
    """An API server that can be stopped and started again over the same etcd."""

    def _run(self, name: str, *options: str) -> None:
        super()._run(name, *options)
        self._last = (name, options)

    def restart(self) -> None:
        """Kills kube-apiserver and starts it again."""
        process = self._processes.pop()
        process.kill()
        process.wait()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._run(self._last[0], *self._last[1])
        self._wait_ready()


def plurals() -> dict[tuple[str, str], str]:
    """(API group, kind) -> resource, of all that is not built in."""
    found = {(row.group, row.kind): row.resource for row in TABLE}
    for other in OTHERS:
        kind, _, group = other.kind.partition(".")
        found[group, kind] = other.resource.partition(".")[0]
    found |= PLURALS
    return {identity: plural for identity, plural in found.items() if identity[0] not in BUILT_IN}


def version_of(group: str) -> str:
    return next((version for version, groups in VERSIONS.items() if group in groups), "v1" if group != "helm.toolkit.fluxcd.io" else "v2")


def definition(group: str, kind: str, plural: str) -> dict[str, Any]:
    """A CRD that takes anything, with status and scale."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": version_of(group),
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # Groups under k8s.io are protected.
            "annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"},
        },
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Cluster" if kind in NAMESPACED_NOT else "Namespaced",
            "versions": [version],
        },
    }


def install_definitions(server: ApiServer, missing: bool = False) -> None:
    """All of them, served. `missing`: some may be there already."""
    wanted = {f"{plural}.{group}": definition(group, kind, plural) for (group, kind), plural in plurals().items()}
    served = []
    for name, value in wanted.items():
        if missing:
            until(lambda name=name: not server.request("GET", f"{DEFINITIONS}/{name}").body["metadata"].get("deletionTimestamp"), 30)
        answer = server.request("POST", DEFINITIONS, value)
        assert answer.ok or (missing and answer.status == 409), answer.message
        served += [(value["spec"]["group"], version["name"], value["spec"]["names"]["plural"]) for version in value["spec"]["versions"]]
    until(lambda: all(server.request("GET", f"/apis/{group}/{version}/{plural}").ok for group, version, plural in served), 60)


def install_our_definitions(server: ApiServer) -> frozenset[str]:
    """Puts the CRDs of schemas/crd in place of those that take anything; their API groups."""
    groups = set()
    for path in sorted(OURS.glob("*.yaml")):
        ours = yaml.safe_load(path.read_text("utf-8"))
        name = ours["metadata"]["name"]
        until(lambda name=name: _gone(server, name), 30)
        answer = server.request("POST", DEFINITIONS, ours)
        assert answer.ok, answer.message
        groups.add(ours["spec"]["group"])
        version, plural = ours["spec"]["versions"][0]["name"], ours["spec"]["names"]["plural"]
        until(lambda group=ours["spec"]["group"], rest=f"{version}/{plural}": server.request("GET", f"/apis/{group}/{rest}").ok, 30)
    return frozenset(groups)


def install_cert_manager(server: ApiServer) -> None:
    """Its kinds, not itself."""
    for kind, plural in (("Issuer", "issuers"), ("Certificate", "certificates")):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        value = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.cert-manager.io"},
            "spec": {"group": "cert-manager.io", "names": {"kind": kind, "plural": plural}, "scope": "Namespaced", "versions": [version]},
        }
        assert server.request("POST", DEFINITIONS, value).ok
        until(lambda plural=plural: server.request("GET", f"/apis/cert-manager.io/v1/{plural}").ok, 60)


def _gone(server: ApiServer, name: str) -> bool:
    server.request("DELETE", f"{DEFINITIONS}/{name}")
    return server.request("GET", f"{DEFINITIONS}/{name}").status == 404


def resource_path(server: ApiServer, value: Mapping[str, Any], name: str = "") -> str:
    """Where objects of that kind are created; with a name, where that object is."""
    group, _, version = value["apiVersion"].rpartition("/")
    kind = value["kind"]
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    plural, namespaced = _resource(server, base, kind)
    namespace = f"/namespaces/{value['metadata'].get('namespace') or 'default'}" if namespaced else ""
    return f"{base}{namespace}/{plural}" + (f"/{name}" if name else "")


_RESOURCES: dict[tuple[int, str], Any] = {}


def _resource(server: ApiServer, base: str, kind: str) -> tuple[str, bool]:
    key = (server.port, base)
    if key not in _RESOURCES:
        _RESOURCES[key] = server.request("GET", base).body["resources"]
    found = next(each for each in _RESOURCES[key] if each["kind"] == kind and "/" not in each["name"])
    return found["name"], found["namespaced"]


def configure(
    server: ApiServer, webhook: WebhookServer, config: Path | None = None, policy: str | None = None, wait: bool = True
) -> dict[str, Any]:
    """Makes the API server ask the webhook; the configuration as `gpuvet webhook manifests` makes it."""
    plan = Plan(config=str(config) if config else None, failure_policy=policy, ca=webhook.ca, url=webhook.url)
    wanted = webhook_configuration(plan)
    remove_configuration(server)
    answer = server.request("POST", CONFIGURATIONS, wanted)
    assert answer.ok, answer.message
    if wait:
        wait_until_asked(server)
    return wanted


def remove_configuration(server: ApiServer) -> None:
    server.request("DELETE", f"{CONFIGURATIONS}/gpuvet")


def wait_until_asked(server: ApiServer) -> None:
    """The API server follows its configuration with a delay."""
    probe = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"tke.cloud.tencent.com/qgpu-core": "7"}}}]},
    }
    until(lambda: "admission.gpuvet" in server.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", probe).message, 30)


def create(server: ApiServer, value: Mapping[str, Any], dry_run: bool = False, user: str = "") -> Any:
    """One creation as the administrator."""
    query = "?fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
    return server.request("POST", resource_path(server, value) + query, dict(value))


def delete(server: ApiServer, value: Mapping[str, Any]) -> None:
    """At once."""
    now = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
    server.request("DELETE", resource_path(server, value, value["metadata"]["name"]), now)


def until(condition: Any, seconds: float = 15) -> float:
    """Waits; the seconds that took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() < start + seconds, "waited too long"
        time.sleep(0.02)
    return time.monotonic() - start


def to_text(values: Iterable[Mapping[str, Any]]) -> str:
    """A stream for kubectl."""
    return yaml.safe_dump_all([json.loads(json.dumps(value)) for value in values])
