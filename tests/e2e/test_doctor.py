"""`gpuvet webhook doctor` against an installation as docs/webhook.md makes it: what is broken is named, with what to do."""

import os
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.build import components
from cluster.server import ApiServer
from e2e.cluster import CONFIGURATIONS, until, wait_until_asked
from gpuvet import __version__
from gpuvet.admission.certificates import make_certificates
from webhook.server import WebhookServer

pytestmark = pytest.mark.real

HOST = "gpuvet-webhook.gpuvet-system.svc"
SYSTEM = "/api/v1/namespaces/gpuvet-system"
DEPLOYMENT = "/apis/apps/v1/namespaces/gpuvet-system/deployments/gpuvet-webhook"


KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: away, cluster: {{server: "https://127.0.0.1:{port}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: none}}}}]
contexts: [{{name: away, context: {{cluster: away, user: admin}}}}]
current-context: away
"""


def gpuvet(*arguments: str, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
    # Kubeconfigs of tests trust any certificate, of which the client warns.
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"} | ({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})
    return subprocess.run([sys.executable, "-m", "gpuvet", *arguments], capture_output=True, text=True, check=False, env=environment)


Break = Callable[["Installation"], None]


class Installation:
    """An installed webhook, and what its doctor says."""

    def __init__(self, server: ApiServer, webhook: WebhookServer) -> None:
        self.server = server
        self.webhook = webhook

    def doctor(self) -> tuple[int, dict[str, list[str]]]:
        """The exit code, and findings by state; a finding is followed by what to do."""
        done = gpuvet("webhook", "doctor", kubeconfig=self.server.kubeconfig)
        assert done.stderr == ""
        found: dict[str, list[str]] = {"ok": [], "warning": [], "error": []}
        for line in done.stdout.splitlines():
            state, _, text = line.partition(" ")
            if state in found:
                found[state].append(text.strip())
                last = found[state]
            else:
                last[-1] += f" {line.strip()}"
        return done.returncode, found

    def patch(self, path: str, change: Any) -> None:
        """A merge patch."""
        answer = self.server.request("PATCH", path, change, "application/merge-patch+json")
        assert answer.ok, answer.message

    def entries(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Changes every entry of the configuration."""
        path = f"{CONFIGURATIONS}/gpuvet"
        configuration = self.server.request("GET", path).body
        for entry in configuration["webhooks"]:
            change(entry)
        answer = self.server.request("PUT", path, configuration)
        assert answer.ok, answer.message

    def renew_secret(self) -> None:
        """The certificate of the server's folder."""
        files = [f"--cert={self.webhook.folder / 'tls.crt'}", f"--key={self.webhook.folder / 'tls.key'}"]
        self.server.kubectl("-n", "gpuvet-system", "delete", "secret", "gpuvet-webhook-tls")
        done = self.server.kubectl("-n", "gpuvet-system", "create", "secret", "tls", "gpuvet-webhook-tls", *files)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", name="server")
def server_fixture() -> Iterator[ApiServer]:
    with ApiServer(components(), "--allow-privileged=true") as server:
        yield server


@pytest.fixture(name="installed")
def installed_fixture(server: ApiServer, tmp_path: Path) -> Iterator[Installation]:
    """The five commands of docs/webhook.md. Nobody runs Pods here: the Service leads to a process, and the status is written by hand."""
    certs = tmp_path / "certs"
    assert gpuvet("webhook", "certs", "--out", str(certs), "--host", HOST, "--host", "127.0.0.1").returncode == 0
    image = f"registry.example.com/gpuvet:{__version__}"
    manifests = gpuvet("webhook", "manifests", "--ca", str(certs / "ca.crt"), "--image", image, "--cluster")
    assert manifests.returncode == 0, manifests.stderr
    server.kubectl("create", "namespace", "gpuvet-system")
    with WebhookServer(certs) as webhook:
        installation = Installation(server, webhook)
        installation.renew_secret()
        server.request("DELETE", f"{SYSTEM}/services/gpuvet-webhook")
        applied = server.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests.stdout)
        assert applied.returncode == 0, applied.stderr
        server.request("DELETE", f"{SYSTEM}/services/gpuvet-webhook")
        service = {"metadata": {"name": "gpuvet-webhook"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        assert server.request("POST", f"{SYSTEM}/services", service).ok
        installation.entries(lambda entry: entry["clientConfig"]["service"].update(port=webhook.port))
        installation.patch(f"{DEPLOYMENT}/status", {"status": {"replicas": 2, "readyReplicas": 2}})
        wait_until_asked(server)
        yield installation
    server.request("DELETE", f"{CONFIGURATIONS}/gpuvet")


def test_nothing_is_wrong(installed: Installation) -> None:
    code, found = installed.doctor()
    assert (code, found["warning"], found["error"]) == (0, [], [])
    text = "\n".join(found["ok"])
    for words in (
        "API server is v1.",
        "entries",
        "fails open",
        "trusts the serving certificate",
        "2 of 2",
        __version__,
        "may read",
        "is denied",
    ):
        assert words in text


def another_ca(installed: Installation) -> None:
    make_certificates(installed.webhook.folder / "other", [HOST])
    bundle = b64encode((installed.webhook.folder / "other" / "ca.crt").read_bytes()).decode()
    installed.entries(lambda entry: entry["clientConfig"].update(caBundle=bundle))


def certificate_that_has_ended(installed: Installation) -> None:
    make_certificates(installed.webhook.folder, [HOST, "127.0.0.1"], days=0)
    installed.renew_secret()


def certificate_for_another_name(installed: Installation) -> None:
    make_certificates(installed.webhook.folder, ["gpuvet.example.com", "127.0.0.1"])
    installed.renew_secret()
    bundle = b64encode(installed.webhook.ca).decode()
    installed.entries(lambda entry: entry["clientConfig"].update(caBundle=bundle))


def certificate_that_soon_ends(installed: Installation) -> None:
    make_certificates(installed.webhook.folder, [HOST, "127.0.0.1"], days=10)
    installed.renew_secret()
    bundle = b64encode(installed.webhook.ca).decode()
    installed.entries(lambda entry: entry["clientConfig"].update(caBundle=bundle))


def no_secret(installed: Installation) -> None:
    assert installed.server.request("DELETE", f"{SYSTEM}/secrets/gpuvet-webhook-tls").ok


def no_bundle(installed: Installation) -> None:
    installed.entries(lambda entry: entry["clientConfig"].pop("caBundle"))


def no_permission(installed: Installation) -> None:
    assert installed.server.request("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/gpuvet-webhook").ok


def no_replica(installed: Installation) -> None:
    installed.patch(f"{DEPLOYMENT}/status", {"status": {"readyReplicas": None}})


def one_replica(installed: Installation) -> None:
    installed.patch(f"{DEPLOYMENT}/status", {"status": {"readyReplicas": 1}})


def no_deployment(installed: Installation) -> None:
    assert installed.server.request("DELETE", DEPLOYMENT).ok


def fails_closed_everywhere(installed: Installation) -> None:
    installed.entries(lambda entry: entry.update(failurePolicy="Fail", namespaceSelector={}))


def no_conditions(installed: Installation) -> None:
    installed.entries(lambda entry: entry.update(failurePolicy="Fail", matchConditions=[]))


def slow(installed: Installation) -> None:
    installed.entries(lambda entry: entry.update(timeoutSeconds=30))


def another_version(installed: Installation) -> None:
    containers = [{"name": "webhook", "image": "registry.example.com:5000/gpuvet:0.0.1"}]
    change = {"spec": {"template": {"spec": {"containers": containers}}}}
    answer = installed.server.request("PATCH", DEPLOYMENT, change, "application/strategic-merge-patch+json")
    assert answer.ok, answer.message


def not_reached_and_open(installed: Installation) -> None:
    installed.webhook.stop()


def not_reached_and_closed(installed: Installation) -> None:
    installed.entries(lambda entry: entry.update(failurePolicy="Fail"))
    installed.webhook.stop()


def no_configuration(installed: Installation) -> None:
    assert installed.server.request("DELETE", f"{CONFIGURATIONS}/gpuvet").ok


@pytest.mark.parametrize(
    ("break_it", "state", "words", "cure"),
    [
        (another_ca, "error", "no CA of the bundle has signed it", "gpuvet webhook certs"),
        (certificate_that_has_ended, "error", f"it ended on {datetime.now(UTC):%Y-}", "gpuvet webhook certs"),
        (certificate_for_another_name, "error", f"it is for gpuvet.example.com, not for {HOST}", "gpuvet webhook certs"),
        (certificate_that_soon_ends, "warning", "ends in 10 days", "rotate it"),
        (no_secret, "error", "secret gpuvet-system/gpuvet-webhook-tls cannot be read (404)", "kubectl create secret tls"),
        (no_bundle, "error", "no entry has a caBundle", "--ca"),
        (no_permission, "error", "system:serviceaccount:gpuvet-system:gpuvet-webhook may not list", "apply the ClusterRole again"),
        (no_replica, "error", "none of 2 replicas is ready", "kubectl describe"),
        (one_replica, "warning", "1 replica is ready", "two or more"),
        (no_deployment, "error", "Deployment gpuvet-system/gpuvet-webhook cannot be read (404)", "apply the manifests again"),
        (fails_closed_everywhere, "error", "does not exclude gpuvet-system, kube-system", "print the configuration again"),
        (no_conditions, "error", "fails closed for every object of its kinds", "print the configuration again"),
        (slow, "warning", "timeout above five seconds", "set timeoutSeconds: 2"),
        (another_version, "warning", f"the webhook runs 0.0.1, and this is gpuvet {__version__}", "print the configuration with"),
        (not_reached_and_open, "warning", "a Pod that breaks TF013, QG004, KM009 and PL104 is let in", "fail_open_count"),
        (not_reached_and_closed, "error", "the API server does not reach the webhook", "connection refused"),
        (no_configuration, "error", "the ValidatingWebhookConfiguration gpuvet cannot be read (404)", "gpuvet webhook manifests"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_is_broken_is_named(
    installed: Installation, break_it: Callable[[Installation], None], state: str, words: str, cure: str
) -> None:
    break_it(installed)
    found: dict[str, list[str]] = {}
    code = 0

    def seen() -> bool:
        """The API server follows changes of its configuration with a delay."""
        nonlocal code, found
        code, found = installed.doctor()
        return any(words in text and cure in text for text in found[state])

    until(seen, 20)
    assert code == (1 if found["error"] else 0)
    assert code == 1 or state == "warning"


def test_weak_user_is_told(installed: Installation, tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    text = installed.server.kubeconfig.read_text()
    for user, status in (("{token: none}", 401), ("{}", 403)):
        config.write_text(re.sub("user: {token.*}}", f"user: {user}}}", text))
        done = gpuvet("webhook", "doctor", kubeconfig=config)
        assert done.returncode == 1
        assert f"cannot be read ({status})" in done.stdout
        assert "run as somebody who may read it" in done.stdout


def test_api_server_that_is_away(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(KUBECONFIG.format(port=1))
    done = gpuvet("webhook", "doctor", kubeconfig=config)
    assert done.returncode == 1
    assert done.stdout.startswith("error   the API server does not answer")
    assert "kubectl cluster-info" in done.stdout
    missing = gpuvet("webhook", "doctor", kubeconfig=tmp_path / "missing")
    assert missing.returncode == 2
    assert "no cluster" in missing.stderr
