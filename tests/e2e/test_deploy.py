"""What deploy/ and `gpuvet webhook manifests` give, applied to a real API server with kubectl, kustomize and Helm."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.build import cache_folder
from cluster.server import ApiServer
from gpuvet.cli.main import main

pytestmark = pytest.mark.real

HELM = "v4.3.0"
DEPLOY = Path(__file__).parents[2] / "deploy"
CERT_MANAGER = [("Issuer", "issuers"), ("Certificate", "certificates")]


@pytest.fixture(scope="session", name="helm")
def helm_fixture() -> str:
    """Built from its Go module, once."""
    folder = cache_folder() / f"helm-{HELM}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "helm").exists():
            subprocess.run(["go", "install", f"helm.sh/helm/v4/cmd/helm@{HELM}"], env={**os.environ, "GOBIN": str(folder)}, check=True)
    return str(folder / "helm")


@pytest.fixture(autouse=True)
def clean(cluster: ApiServer) -> Iterator[None]:
    """The configuration asks a service that is not there."""
    yield
    cluster.kubectl("delete", "validatingwebhookconfigurations", "--all")


@pytest.fixture(scope="module", autouse=True)
def cert_manager(cluster: ApiServer) -> None:
    """Its kinds."""
    for kind, plural in CERT_MANAGER:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {"group": "cert-manager.io", "names": {"kind": kind, "plural": plural}, "scope": "Namespaced", "versions": [version]}
        value = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.cert-manager.io"},
            "spec": spec,
        }
        assert cluster.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", value).ok
    done = cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    assert done.returncode == 0, done.stderr


def applied(cluster: ApiServer, text: str, *more: str) -> str:
    done = cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", *more, stdin=text)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Warning" not in done.stderr, done.stderr[-3000:]
    return done.stdout


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("bundle", ["default", "strict"])
def test_manifests(cluster: ApiServer, tmp_path: Path, bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".gpuvet.yaml").write_text(f"bundle: {bundle}\n")
    assert main(["webhook", "certs", "--out", str(tmp_path), "--host", "gpuvet-webhook.gpuvet-system.svc"]) == 0
    capsys.readouterr()
    assert main(["webhook", "manifests", "--ca", str(tmp_path / "ca.crt"), "--config", str(tmp_path / ".gpuvet.yaml"), "--cluster"]) == 0
    out = applied(cluster, capsys.readouterr().out)
    assert "validatingwebhookconfiguration.admissionregistration.k8s.io/gpuvet serverside-applied" in out


def test_kustomize(cluster: ApiServer) -> None:
    done = cluster.kubectl("kustomize", str(DEPLOY / "kustomize" / "base"))
    assert done.returncode == 0, done.stderr
    assert applied(cluster, done.stdout).count("serverside-applied") == 11


def test_helm_lint(helm: str) -> None:
    out = run(helm, "lint", "--strict", str(DEPLOY / "helm" / "gpuvet"))
    assert "0 chart(s) failed" in out


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--set", "certManager.enabled=false,caBundle=hello,failurePolicy=Fail,cluster=false"),
        ("--set-string", "config=bundle: strict", "--set", "replicas=3"),
    ],
    ids=["default", "no-cert-manager", "config"],
)
def test_helm_template(cluster: ApiServer, helm: str, options: tuple[str, ...]) -> None:
    text = run(helm, "template", "gpuvet", str(DEPLOY / "helm" / "gpuvet"), "--namespace", "gpuvet-system", *options)
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "gpuvet-system"}})
    # The CA is checked when it is stored.
    text = text.replace("caBundle: aGVsbG8=", "caBundle: ''") if "caBundle=hello" in str(options) else text
    assert "sentinel" not in text
    applied(cluster, text)


def test_helm_chart_says_what_is_missing(helm: str) -> None:
    command = [helm, "template", "gpuvet", str(DEPLOY / "helm" / "gpuvet"), "--set", "certManager.enabled=false"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "caBundle" in done.stderr
