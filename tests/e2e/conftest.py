"""One API server and one webhook for all tests of a run. They fail loudly when they cannot be built or started, and are never skipped."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.build import cache_folder, components
from cluster.server import ApiServer
from e2e.cluster import configure, install_definitions
from webhook.server import WebhookServer

HELM = "v4.3.0"


@pytest.fixture(scope="session")
def cluster() -> Iterator[ApiServer]:
    """An API server that knows all kinds of the workload table, with a namespace `team-a`."""
    with ApiServer(components(), "--allow-privileged=true") as server:
        install_definitions(server)
        assert server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "team-a"}}).ok
        yield server


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    """A webhook with the default rules."""
    with WebhookServer(tmp_path_factory.mktemp("webhook")) as server:
        yield server


@pytest.fixture(scope="session")
def helm() -> str:
    """Built from its Go module, once."""
    folder = cache_folder() / f"helm-{HELM}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "helm").exists():
            subprocess.run(["go", "install", f"helm.sh/helm/v4/cmd/helm@{HELM}"], env={**os.environ, "GOBIN": str(folder)}, check=True)
    return str(folder / "helm")


@pytest.fixture
def installed(cluster: ApiServer, running: WebhookServer) -> ApiServer:
    """The API server, asking that webhook with the configuration that `gpuvet webhook manifests` makes."""
    configure(cluster, running)
    return cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """For a webhook of a test's own."""
    return tmp_path
