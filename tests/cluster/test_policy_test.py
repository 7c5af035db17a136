"""`gpuvet policy test --engine api-server` with a real kube-apiserver."""

import json
from pathlib import Path
from typing import Any

import pytest

from cluster.server import ApiServer
from e2e.cluster import until
from gpuvet.cli.main import main

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
BASE = "/apis/admissionregistration.k8s.io/v1"
CONFIG = "rules: {'*': 'off', QG004: 'on', TF013: 'on', K8S001: 'on', IN014: 'on'}\n"
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
"""
CONTAINER = """\
    - name: {name}
      image: registry.example.com/a:1
      resources:
        limits:
          tke.cloud.tencent.com/qgpu-core: "33" # expect: QG004
          tke.cloud.tencent.com/qgpu-memory: "4"
"""
SEVERAL = """
apiVersion: v1
kind: Pod
metadata:
  name: several
  annotations:
    tensor-fusion.ai/tflops-request: "2" # expect: TF013
    tensor-fusion.ai/tflops-limit: "1"
spec:
  containers:
"""
REFUSED = """
apiVersion: v1
kind: Pod
metadata:
  name: refused
  annotations:
    tensor-fusion.ai/tflops-request: 2 # expect: K8S001
spec:
  containers:
"""
JOB = "apiVersion: batch.example.com/v1\nkind: Job\nmetadata: {name: unknown}\n"


def suite(folder: Path, manifests: dict[str, str], config: str = CONFIG) -> str:
    (folder / "config.yaml").write_text(config)
    tests = []
    for name, manifest in manifests.items():
        (folder / f"{name}.yaml").write_text(manifest)
        tests.append({"name": name, "files": [f"{name}.yaml"], "rules": ["QG004", "TF013", "K8S001"]})
    (folder / "suite.yaml").write_text(json.dumps({"config": "config.yaml", "tests": tests}))
    return str(folder / "suite.yaml")


def judged(server: ApiServer, capsys: pytest.CaptureFixture[str], *arguments: str, kubeconfig: Path | None = None) -> tuple[int, Any]:
    common = ["policy", "test", "--engine", "api-server", "--format", "json", "--kubeconfig", str(kubeconfig or server.kubeconfig)]
    capsys.readouterr()
    code = main([*common, *arguments])
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


def left(server: ApiServer) -> list[str]:
    listed = [server.request("GET", f"{BASE}/validatingadmissionpolic{kind}").body["items"] for kind in ("ies", "ybindings")]
    return [item["metadata"]["name"] for items in listed for item in items]


def test_copies_tell_everything_and_are_gone_afterwards(api_server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifests = {
        "several": SEVERAL + CONTAINER.format(name="main"),
        "refused": REFUSED + CONTAINER.format(name="main"),
        "forty": POD.format(name="forty") + "".join(CONTAINER.format(name=f"c{number}") for number in range(20)),
        "many": POD.format(name="many") + "".join(CONTAINER.format(name=f"c{number}") for number in range(64)),
        "elsewhere": POD.format(name="a, namespace: elsewhere") + CONTAINER.format(name="main"),
        "nameless": POD.format(name="a") + CONTAINER.format(name="main").replace("name: main", "args: []"),
        "generated": POD.replace("name:", "generateName:").format(name="a-") + CONTAINER.format(name="main"),
        "unknown": JOB,
    }
    path = suite(tmp_path, manifests)
    code, report = judged(api_server, capsys, "--apply", path)
    assert left(api_server) == []
    by_name = {test["name"]: test for test in report["tests"]}
    assert code == 3
    assert {name: test["outcome"] for name, test in by_name.items()} == {
        "several": "passed",
        "refused": "passed",
        "forty": "passed",
        "many": "broken",
        "elsewhere": "broken",
        "nameless": "broken",
        "generated": "passed",
        "unknown": "passed",
    }
    assert [each["rule"] for each in by_name["refused"]["leftOut"]] == ["QG004"]
    assert by_name["forty"]["expected"] == 20
    assert "gpuvet-qgpu-workloads-errors lists" in by_name["many"]["because"]
    assert 'namespaces "elsewhere" not found; create it, or name one with --namespace' in by_name["elsewhere"]["because"]
    assert "spec.containers[0].name: Required value" in by_name["nameless"]["because"]
    code, report = judged(api_server, capsys, "--apply", "--namespace", "default", suite(tmp_path, {"elsewhere": manifests["elsewhere"]}))
    assert (code, report["summary"]["passed"]) == (0, 1)


def test_the_example_on_copies(api_server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = judged(api_server, capsys, "--apply", str(ROOT / "examples" / "policy-test" / "gpuvet-suite.yaml"))
    assert (code, report["summary"]["passed"]) == (0, 4)


def test_what_a_cluster_enforces(api_server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not there; there and asked; of another configuration; there with several that deny."""
    pod = {"pod": POD.format(name="a") + CONTAINER.format(name="main")}
    alone = "rules: {'*': 'off', QG004: 'on', IN014: 'on'}\n"
    path = suite(tmp_path, pod, alone)
    code, error = judged(api_server, capsys, path)
    assert code == 3
    assert "gpuvet-qgpu-custom-workloads-errors, gpuvet-qgpu-workloads-errors are not there" in error
    written = tmp_path / "vap"
    try:
        config = str(tmp_path / "config.yaml")
        assert main(["generate", "policies", "--target", "vap", "--config", config, "--out", str(written)]) == 0
        assert api_server.kubectl("apply", "-f", str(written)).returncode == 0
        until(lambda: judged(api_server, capsys, path)[0] == 0, 60)
        more = suite(tmp_path, {"pod": SEVERAL + CONTAINER.format(name="main")})
        code, error = judged(api_server, capsys, more)
        assert code == 3
        assert "does not enforce the policies of config.yaml: gpuvet-kubernetes-" in error
        assert main(["generate", "policies", "--target", "vap", "--config", config, "--out", str(written)]) == 0
        assert api_server.kubectl("apply", "-f", str(written)).returncode == 0
        until(lambda: "names only the first policy that denies" in str(judged(api_server, capsys, more)), 60)
    finally:
        labelled = ["-l", "app.kubernetes.io/name=gpuvet"]
        api_server.kubectl("delete", "validatingadmissionpolicies,validatingadmissionpolicybindings", *labelled)
    assert left(api_server) == []


def test_somebody_who_may_not(api_server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert api_server.request("POST", accounts, {"metadata": {"name": "nobody"}}).ok
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api_server.request("POST", f"{accounts}/nobody/token", asked).body["status"]["token"]
    kubeconfig = tmp_path / "kubeconfig"
    path = suite(tmp_path, {"pod": POD.format(name="a") + CONTAINER.format(name="main")})
    text = api_server.kubeconfig.read_text()
    mine = text.partition("token: ")[2].partition("}")[0]
    kubeconfig.write_text(text.replace(mine, token))
    for arguments, said in (((), "cannot list resource"), (("--apply",), "cannot create resource")):
        code, error = judged(api_server, capsys, *arguments, path, kubeconfig=kubeconfig)
        assert code == 3
        assert said in error
    kubeconfig.write_text(text.replace(mine, "wrong"))
    code, error = judged(api_server, capsys, path, kubeconfig=kubeconfig)
    assert code == 3
    assert "does not know who asks (401)" in error
