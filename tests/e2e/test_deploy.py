"""What deploy/ and `gpuvet webhook manifests` give, applied to a real API server with kubectl, kustomize and Helm."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.server import ApiServer
from e2e.cluster import install_cert_manager
from gpuvet.admission.install import Plan, webhook_configuration
from gpuvet.cli.main import main
from gpuvet.compiled.bundles import BUNDLES

pytestmark = pytest.mark.real

DEPLOY = Path(__file__).parents[2] / "deploy"
CONFIGURATION = "ValidatingWebhookConfiguration"
CHART = DEPLOY / "helm" / "gpuvet"


@pytest.fixture(autouse=True)
def clean(cluster: ApiServer) -> Iterator[None]:
    """The configuration asks a service that is not there."""
    yield
    cluster.kubectl("delete", "validatingwebhookconfigurations", "--all")


@pytest.fixture(scope="module", autouse=True)
def cert_manager(cluster: ApiServer) -> None:
    """Its kinds."""
    install_cert_manager(cluster)


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
    # Another test may have left one that points outside the cluster.
    cluster.kubectl("delete", "validatingwebhookconfiguration", "gpuvet", "--ignore-not-found")
    assert main(["webhook", "manifests", "--ca", str(tmp_path / "ca.crt"), "--config", str(tmp_path / ".gpuvet.yaml"), "--cluster"]) == 0
    out = applied(cluster, capsys.readouterr().out)
    assert "validatingwebhookconfiguration.admissionregistration.k8s.io/gpuvet serverside-applied" in out


def test_kustomize(cluster: ApiServer) -> None:
    done = cluster.kubectl("kustomize", str(DEPLOY / "kustomize" / "base"))
    assert done.returncode == 0, done.stderr
    assert applied(cluster, done.stdout).count("serverside-applied") == 13


def test_helm_lint(helm: str) -> None:
    out = run(helm, "lint", "--strict", str(CHART))
    assert "0 chart(s) failed" in out


def template(helm: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [helm, "template", "gpuvet", str(CHART), "--namespace", "gpuvet-system", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rendered(helm: str, *options: str) -> dict[str, dict[str, Any]]:
    """Kind -> document."""
    done = template(helm, *options)
    assert done.returncode == 0, done.stderr
    assert "sentinel" not in done.stdout
    return {value["kind"]: value for value in yaml.safe_load_all(done.stdout) if value}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--set", "certManager.enabled=false,caBundle=hello,failurePolicy=Fail,cluster=false"),
        ("--set-string", "config=bundle: strict", "--set", "replicas=3"),
        *(("--set", f"bundle={bundle}") for bundle in BUNDLES),
    ],
    ids=["default", "no-cert-manager", "config", *BUNDLES],
)
def test_helm_template(cluster: ApiServer, helm: str, options: tuple[str, ...]) -> None:
    done = template(helm, *options)
    assert done.returncode == 0, done.stderr
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "gpuvet-system"}})
    # The CA is checked when it is stored.
    applied(cluster, done.stdout.replace("caBundle: aGVsbG8=", "caBundle: ''"))


@pytest.mark.parametrize("policy", [None, "Ignore", "Fail"])
@pytest.mark.parametrize("bundle", BUNDLES)
def test_chart_asks_what_the_command_prints(helm: str, bundle: str, policy: str | None) -> None:
    """The same entries for every bundle and policy, and the webhook enforces that bundle."""
    options = ["--set", f"bundle={bundle}"] + (["--set", f"failurePolicy={policy}"] if policy else [])
    found = rendered(helm, *options)
    wanted = webhook_configuration(Plan(bundle=bundle, failure_policy=policy))
    shown = {entry["name"]: entry for entry in found["ValidatingWebhookConfiguration"]["webhooks"]}
    assert set(shown) == {entry["name"] for entry in wanted["webhooks"]}
    for entry in wanted["webhooks"]:
        mine = shown[entry["name"]]
        excluded = mine["namespaceSelector"]["matchExpressions"][0]
        assert mine == entry | {"namespaceSelector": {"matchExpressions": [excluded]}}
        assert sorted(excluded["values"]) == ["gpuvet-system", "kube-system"]
    arguments = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    if bundle == "default":
        assert "ConfigMap" not in found
    else:
        assert yaml.safe_load(found["ConfigMap"]["data"][".gpuvet.yaml"]) == {"bundle": bundle}
        assert "--config=/etc/gpuvet/config/.gpuvet.yaml" in arguments


def test_chart_takes_a_configuration_of_ones_own(cluster: ApiServer, helm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / ".gpuvet.yaml"
    config.write_text("bundle: qgpu\nusageKey: example.com/usage\nrules: {PL*: on}\n")
    given = ["--set-file", f"config={config}"]
    assert "usageKey" in template(helm, *given).stderr
    assert main(["webhook", "manifests", "--config", str(config), "--only", "configuration", "--failure-policy", "Fail"]) == 0
    printed = tmp_path / "configuration.yaml"
    printed.write_text(capsys.readouterr().out)
    found = rendered(helm, *given, "--set-file", f"configuration={printed}")
    assert found["ConfigMap"]["data"][".gpuvet.yaml"].strip() == config.read_text().strip()
    entries = found["ValidatingWebhookConfiguration"]["webhooks"]
    wanted = yaml.safe_load(printed.read_text())["webhooks"]
    assert [entry["matchConditions"] for entry in entries] == [entry["matchConditions"] for entry in wanted]
    assert "example.com/usage" in str(entries)
    assert {entry["failurePolicy"] for entry in entries} == {"Ignore", "Fail"}
    applied(cluster, yaml.safe_dump(found["ValidatingWebhookConfiguration"]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--set", "certManager.enabled=false"), "caBundle: the CA of the serving certificate"),
        (("--set", "bundle=everything"), "value must be one of '', 'default', 'koordinator-metax'"),
        (("--set", "failurepolicy=Fail"), "'failurepolicy' not allowed"),
        (("--set-string", "config=bundle: ./company.yaml"), "bundle: ./company.yaml is none of default, koordinator-metax"),
        (("--set-string", "config=bundle: everything"), "bundle: everything is none of default, koordinator-metax"),
        (("--set-string", "config=namespace: x", "--set", "bundle=qgpu"), "write `bundle: qgpu` into it"),
        (("--set-string", "config=a: ["), "config: no YAML"),
        (("--set-string", "config=opa: {url: 'http://localhost:8181'}"), "config: `opa` may concern other keys and kinds"),
        (("--set-string", "config=ruleFiles: [own.yaml]"), "config: `ruleFiles` may concern other keys"),
        (("--set-string", "config=workloads: [{kind: X}]"), "config: `workloads` may concern other keys"),
        (("--set-string", "config=domains: {tensorFusion: a.b}"), "config: `domains` may concern other keys"),
        (("--set-string", r"ruleFiles.own\.yaml=x"), "ruleFiles: rules of your own"),
        (("--set-file", "config=TF013"), "the bundle qgpu is made without TF rules, and `rules` turns TF013 on"),
        (("--set-string", "configuration=kind: Pod"), "configuration: is not what"),
        (
            ("--set-string", f"configuration=kind: {CONFIGURATION}", "--set", "failurePolicy=Fail"),
            "failurePolicy: with configuration",
        ),
    ],
    ids=range(15),
)
def test_chart_says_what_does_not_fit(helm: str, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    (tmp_path / "TF013").write_text("bundle: qgpu\nrules: {QG004: warning, VJ*: off, TF013: {severity: error}, PL099: {parameters: {}}}\n")
    done = template(helm, *(option.replace("=TF013", f"={tmp_path / 'TF013'}") for option in options))
    assert done.returncode != 0
    assert words in done.stderr, done.stderr
