"""With --cluster the verdict follows the profiles of the cluster; what cannot be seen is unknown, and denies nothing."""

import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.server import ApiServer
from e2e.cluster import until
from webhook.reviews import body, deployment
from webhook.server import WebhookServer

pytestmark = pytest.mark.real

PROFILES = "/apis/tensor-fusion.ai/v1/namespaces/team-a/workloadprofiles"


class Wire:
    """Passes bytes on to the API server until it is cut."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open: list[socket.socket] = []
        self.port = 0
        self.mend()

    def mend(self) -> None:
        """Listens, at the same port as before."""
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen()
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Closes everything."""
        for each in (self._listener, *self._open):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._listener.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    @staticmethod
    def _pass_on(client: socket.socket, server: socket.socket) -> None:
        with client, server:
            try:
                while True:
                    for readable in select.select([client, server], [], [])[0]:
                        data = readable.recv(1 << 16)
                        if not data:
                            return
                        (server if readable is client else client).sendall(data)
            except (OSError, ValueError):
                return


@pytest.fixture(name="wire")
def wire_fixture(cluster: ApiServer) -> Iterator[Wire]:
    wire = Wire(cluster.port)
    yield wire
    wire.cut()


@pytest.fixture(name="webhook")
def webhook_fixture(cluster: ApiServer, wire: Wire, tmp_path: Path) -> Iterator[WebhookServer]:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(cluster.kubeconfig.read_text("utf-8").replace(f":{cluster.port}", f":{wire.port}"), "utf-8")
    cluster.request("DELETE", PROFILES)
    with WebhookServer(tmp_path, "--cluster", environment={**os.environ, "KUBECONFIG": str(kubeconfig)}) as webhook:
        yield webhook
    cluster.request("DELETE", PROFILES)


def profile(tflops: str) -> dict[str, Any]:
    amounts = {"tflops": tflops, "vram": "8Gi"}
    spec = {"poolName": "default-pool", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "tensor-fusion.ai/v1",
        "kind": "WorkloadProfile",
        "metadata": {"name": "small", "namespace": "team-a"},
        "spec": spec,
    }


def workload() -> bytes:
    """Asks for 20 TFLOPS; the limit stands in the profile."""
    value = deployment()
    value["spec"]["template"]["metadata"]["annotations"] = {
        "tensor-fusion.ai/workload-profile": "small",
        "tensor-fusion.ai/tflops-request": "20",
    }
    return body(value)


def test_verdict_follows_the_profile(cluster: ApiServer, webhook: WebhookServer, wire: Wire) -> None:
    def denied() -> set[str]:
        response = webhook.validate(workload())
        return set() if response["allowed"] else set(response["auditAnnotations"]["rules"].split(","))

    until(lambda: webhook.metric("gpuvet_context_synced", kind="WorkloadProfile") == 1.0)
    absent = denied()
    assert "TF013" not in absent
    assert cluster.request("POST", PROFILES, profile("10")).ok
    assert until(lambda: "TF013" in denied(), 5) < 1
    larger = {"spec": {"resources": {"limits": {"tflops": "40"}}}}
    assert cluster.request("PATCH", f"{PROFILES}/small", larger, "application/merge-patch+json").ok
    assert until(lambda: denied() == set(), 5) < 1
    assert cluster.request("DELETE", f"{PROFILES}/small").ok
    assert until(lambda: denied() == absent, 5) < 1
    assert cluster.request("POST", PROFILES, profile("10")).ok
    until(lambda: "TF013" in denied())

    wire.cut()
    assert until(lambda: denied() == set(), 5) < 2
    assert webhook.metric("gpuvet_context_synced") == 0.0
    assert webhook.request("GET", "/readyz")[0] == 200
    assert any("WorkloadProfile is unknown" in record.get("message", "") for record in webhook.records())
    wire.mend()
    until(lambda: "TF013" in denied(), 10)


def test_unreachable_api_delays_readiness_five_seconds_at_most(cluster: ApiServer, wire: Wire, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(cluster.kubeconfig.read_text("utf-8").replace(f":{cluster.port}", f":{wire.port}"), "utf-8")
    wire.cut()
    start = time.monotonic()
    with WebhookServer(tmp_path, "--cluster", environment={**os.environ, "KUBECONFIG": str(kubeconfig)}) as webhook:
        assert 4 < time.monotonic() - start < 12
        assert webhook.validate(workload())["allowed"] is True
    wire.mend()


def test_permissions_of_the_manifests_are_enough(cluster: ApiServer) -> None:
    """Exactly what is watched."""
    from gpuvet.admission.install import Plan, manifests
    from gpuvet.cluster.watch import KINDS

    plan = Plan(ca=b"", watched=tuple(kind.resource for kind in KINDS))
    for value in manifests(plan):
        if value["kind"] in ("ClusterRole", "ClusterRoleBinding", "Namespace", "ServiceAccount"):
            where = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}.get(value["kind"])
            path = f"/apis/rbac.authorization.k8s.io/v1/{where}" if where else "/api/v1/namespaces"
            path = f"{path}/gpuvet-system/serviceaccounts" if value["kind"] == "ServiceAccount" else path
            answer = cluster.request("POST", path, value)
            assert answer.ok or answer.status == 409, answer.message
    account = "--as=system:serviceaccount:gpuvet-system:gpuvet-webhook"
    until(lambda: cluster.kubectl("auth", "can-i", "watch", "nodes", account).returncode == 0)
    for kind in KINDS:
        resource = ".".join(part for part in reversed(kind.resource) if part)
        for verb in ("list", "watch"):
            assert cluster.kubectl("auth", "can-i", verb, resource, account, "-A").stdout.strip() == "yes", (verb, resource)
    for verb, resource in (("get", "secrets"), ("create", "pods"), ("list", "pods"), ("update", "nodes"), ("list", "configmaps")):
        assert cluster.kubectl("auth", "can-i", verb, resource, account, "-A").stdout.strip().endswith("no"), (verb, resource)
