"""The chart with an OPA of the user's: what it needs to be asked is there, or the chart says what is missing."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from differential.opa import go_tool
from gpuvet.admission.install import Plan, manifests
from gpuvet.cli.main import main

pytestmark = pytest.mark.real

CHART = Path(__file__).parent.parent.parent / "deploy" / "helm" / "gpuvet"
CONFIG = "opa: {url: 'https://opa.example.com:8443/x', packages: [company.gpu], tokenFile: opa-token, ca: opa-ca.crt, timeout: 3}\n"


def template(folder: Path, config: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "values.yaml").write_text(yaml.safe_dump({"config": config}), "utf-8")
    helm = go_tool("helm.sh/helm/v4/cmd/helm", "v4.3.0", "helm")
    command = [str(helm), "template", "gpuvet", str(CHART), "--namespace=gpuvet-system", f"--values={folder / 'values.yaml'}", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def chosen(documents: Any, kind: str) -> Any:
    return next(each for each in documents if each and each["kind"] == kind)


def test_a_configuration_with_opa_needs_entries_of_its_own(tmp_path: Path) -> None:
    done = template(tmp_path, CONFIG)
    assert done.returncode == 1
    assert "`opa` may concern other keys and kinds" in done.stderr


def test_the_chart_is_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / ".gpuvet.yaml"
    config.write_text(CONFIG, "utf-8")
    assert main(["webhook", "manifests", "--config", str(config), "--only", "configuration"]) == 0
    (tmp_path / "configuration.yaml").write_text(capsys.readouterr().out, "utf-8")
    done = template(tmp_path, CONFIG, f"--set-file=configuration={tmp_path / 'configuration.yaml'}")
    assert done.returncode == 0, done.stderr
    theirs = list(yaml.safe_load_all(done.stdout))
    ours = manifests(Plan(config=str(config)))
    parts = {"Deployment": lambda it: it["spec"]["template"]["spec"]["volumes"], "NetworkPolicy": lambda it: it["spec"]["egress"][-1]}
    for kind, part in parts.items():
        assert part(chosen(theirs, kind)) == part(chosen(ours, kind))
    entries = chosen(theirs, "ValidatingWebhookConfiguration")["webhooks"]
    assert {entry["timeoutSeconds"] for entry in entries} == {10}


def test_a_secret_in_another_folder_is_refused(tmp_path: Path) -> None:
    entries = {"kind": "ValidatingWebhookConfiguration", "webhooks": []}
    (tmp_path / "configuration.yaml").write_text(yaml.safe_dump(entries), "utf-8")
    option = f"--set-file=configuration={tmp_path / 'configuration.yaml'}"
    done = template(tmp_path, CONFIG.replace("opa-token", "secret/opa-token"), option)
    assert done.returncode == 1
    assert "opa.tokenFile: secret/opa-token is mounted beside the configuration" in done.stderr
