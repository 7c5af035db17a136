"""The commands of docs/webhook.md, as they stand there, against a real API server."""

import os
import re
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.build import components
from cluster.server import ApiServer
from e2e.cluster import CONFIGURATIONS, install_cert_manager
from gpuvet import __version__

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
SYSTEM = "/api/v1/namespaces/gpuvet-system"
DEPLOYMENT = "/apis/apps/v1/namespaces/gpuvet-system/deployments/gpuvet-webhook"


def blocks() -> dict[str, list[str]]:
    """Heading -> its shell blocks."""
    found: dict[str, list[str]] = {}
    heading = ""
    text = (ROOT / "docs" / "webhook.md").read_text("utf-8")
    for match in re.finditer(r"^## ([^\n]*)$|^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if match[1]:
            heading = match[1]
        else:
            found.setdefault(heading, []).append(match[2])
    return found


class Client(ApiServer):
    """A second connection to a server that somebody else runs."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server.binaries)
        self.port = server.port

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class Controllers(threading.Thread):
    """Stands in for what these tests do without: kubelets, which make replicas ready, and the controller that empties namespaces."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(daemon=True)
        self._server = Client(server)
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.2):
            deployment = self._server.request("GET", DEPLOYMENT)
            if deployment.ok:
                count = deployment.body["spec"]["replicas"]
                names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
                status = dict.fromkeys(names, count) | {"observedGeneration": deployment.body["metadata"]["generation"]}
                self._server.request("PATCH", f"{DEPLOYMENT}/status", {"status": status}, "application/merge-patch+json")
            namespace = self._server.request("GET", SYSTEM)
            if namespace.ok and namespace.body["metadata"].get("deletionTimestamp"):
                for path in (f"{SYSTEM}/secrets", f"{SYSTEM}/services/gpuvet-webhook", DEPLOYMENT, f"{SYSTEM}/serviceaccounts"):
                    self._server.request("DELETE", path)
                namespace.body["spec"]["finalizers"] = []
                self._server.request("PUT", f"{SYSTEM}/finalize", namespace.body)

    def stop(self) -> None:
        self._done.set()
        self.join()
        self._server.close()


class Reader:
    """Somebody who types what the page says, in a copy of the repository."""

    def __init__(self, server: ApiServer, folder: Path, helm: str) -> None:
        self.server = server
        self.folder = folder
        programs = {"kubectl": f'"{server.binaries / "kubectl"}"', "gpuvet": f'"{sys.executable}" -m gpuvet', "helm": f'"{helm}"'}
        (folder / "bin").mkdir()
        for name, program in programs.items():
            (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            (folder / "bin" / name).chmod(0o755)
        (folder / "deploy").symlink_to(ROOT / "deploy")

    def types(self, block: str, fails: bool = False) -> str:
        """What is printed."""
        text = block.replace("REGISTRY", "registry.example.com").replace("VERSION", __version__)
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "KUBECONFIG": str(self.server.kubeconfig)}
        environment |= {"PYTHONWARNINGS": "ignore", "HOME": str(self.folder)}
        command = ["bash", "-euo", "pipefail", "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=self.folder, timeout=180)
        assert (done.returncode != 0) == fails, f"{text}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(name="reader")
def reader_fixture(tmp_path: Path, helm: str) -> Iterator[Reader]:
    with ApiServer(components(), "--allow-privileged=true") as server:
        controllers = Controllers(server)
        controllers.start()
        yield Reader(server, tmp_path, helm)
        controllers.stop()


def test_install_rotate_upgrade_uninstall(reader: Reader) -> None:
    server = reader.server
    install, look, *_ = blocks()["Install in five commands"]
    assert len([line for line in install.splitlines() if line]) == 5
    reader.types(install)
    assert "denied" not in server.log("kube-apiserver")
    # Nobody runs Pods here, so that the doctor misses them, and nothing else.
    waiting, ask = look.splitlines()
    assert "successfully rolled out" in reader.types(waiting)
    said = reader.types(f"{ask} || true")
    assert [line for line in said.splitlines() if line.startswith(("error", "warning"))] == [
        "warning a Pod that breaks TF013, QG004, KM009 and PL104 is let in (a dry run)"
    ], said
    template = server.request("GET", DEPLOYMENT).body["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "webhook-"}, "spec": template["spec"]}
    # The namespace enforces the Pod security standard `restricted`.
    made = server.request("POST", f"{SYSTEM}/pods?dryRun=All", pod)
    assert made.ok, made.message
    assert made.warnings == ()
    bundle = server.request("GET", f"{CONFIGURATIONS}/gpuvet").body["webhooks"][0]["clientConfig"]["caBundle"]
    secret = server.request("GET", f"{SYSTEM}/secrets/gpuvet-webhook-tls").body["data"]["tls.crt"]

    (rotate,) = blocks()["Certificates"]
    reader.types(rotate)
    both = {entry["clientConfig"]["caBundle"] for entry in server.request("GET", f"{CONFIGURATIONS}/gpuvet").body["webhooks"]}
    assert len(both) == 1
    assert b64decode(bundle) in b64decode(both.pop())
    assert server.request("GET", f"{SYSTEM}/secrets/gpuvet-webhook-tls").body["data"]["tls.crt"] != secret
    assert "the CA bundle trusts the serving certificate" in reader.types(f"{ask} || true")

    (upgrade,) = blocks()["Upgrade"]
    reader.types(upgrade)

    (uninstall,) = blocks()["Uninstall"]
    reader.types(uninstall)
    for path in (SYSTEM, f"{CONFIGURATIONS}/gpuvet", "/apis/rbac.authorization.k8s.io/v1/clusterroles/gpuvet-webhook"):
        assert server.request("GET", path).status == 404, path
    reader.types(ask, fails=True)


def test_helm(reader: Reader) -> None:
    install_cert_manager(reader.server)
    _, _, plain, own = blocks()["Install in five commands"]
    reader.types(plain)
    (container,) = reader.server.request("GET", DEPLOYMENT).body["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"registry.example.com/gpuvet:{__version__}"
    assert reader.server.request("GET", f"{SYSTEM}/configmaps/gpuvet-config").body["data"] == {".gpuvet.yaml": "bundle: qgpu\n"}
    (reader.folder / ".gpuvet.yaml").write_text("usageKey: example.com/usage\n")
    reader.types(own)
    found = reader.server.request("GET", f"{CONFIGURATIONS}/gpuvet").body["webhooks"]
    assert "example.com/usage" in str(found)
    reader.types("helm uninstall gpuvet --namespace gpuvet-system")
    assert reader.server.request("GET", f"{CONFIGURATIONS}/gpuvet").status == 404
