"""A company's own domain: rules see the vendor's keys, findings the author's."""

from pathlib import Path

from gpuvet.engine.domains import Domains
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings

OWN = Domains({"tensorFusion": "gpu.example.com"})
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: own-domain
  labels:
    gpu.example.com/enabled: "true"
  annotations:
    gpu.example.com/qos: hihg
spec:
  containers:
    - {name: main, image: app}
"""


def test_keys_are_made_canonical_where_they_stand() -> None:
    value = {"a": {"gpu.example.com/qos": "low", "other/x": 1}, "b": [{"key": "gpu.example.com/used-by"}]}
    assert OWN.canonical(value) == {"a": {"tensor-fusion.ai/qos": "low", "other/x": 1}, "b": [{"key": "tensor-fusion.ai/used-by"}]}
    quota = {"hard": {"requests.gpu.example.com/index": "1"}}
    assert OWN.canonical(quota) == {"hard": {"requests.tensor-fusion.ai/index": "1"}}


def test_what_has_nothing_to_rename_stays_the_same_object() -> None:
    value = {"a": [{"b": 1}]}
    assert OWN.canonical(value) is value


def test_the_company_domain_wins_over_the_vendors_one() -> None:
    both = {"tensor-fusion.ai/qos": "high", "gpu.example.com/qos": "low"}
    assert OWN.canonical(both) == {"tensor-fusion.ai/qos": "low"}
    assert OWN.canonical(dict(reversed(both.items()))) == {"tensor-fusion.ai/qos": "low"}


def test_topology_keys_and_the_api_group_keep_the_vendors_domain() -> None:
    value = {"gpu.example.com/require-gpu-topology": "true", "apiVersion": "tensor-fusion.ai/v1"}
    assert OWN.canonical(value) is value
    words = "tensor-fusion.ai/v1 tensor-fusion.ai/qos my-tensor-fusion.ai/qos tensor-fusion.ai/gpu-topology-source"
    assert OWN.spoken(words) == "tensor-fusion.ai/v1 gpu.example.com/qos my-tensor-fusion.ai/qos tensor-fusion.ai/gpu-topology-source"


def test_paths_lead_back_to_the_author() -> None:
    root = {"m": {"gpu.example.com/qos": "low", "tensor-fusion.ai/vendor": "x"}}
    assert OWN.path(("m", "tensor-fusion.ai/qos"), root) == ("m", "gpu.example.com/qos")
    assert OWN.path(("m", "tensor-fusion.ai/vendor"), root) == ("m", "tensor-fusion.ai/vendor")


def test_a_finding_stands_at_the_authors_key_and_speaks_of_it(tmp_path: Path) -> None:
    (tmp_path / ".gpuvet.yaml").write_text("domains: {tensorFusion: gpu.example.com}\n", "utf-8")
    (tmp_path / "pod.yaml").write_text(POD, "utf-8")
    result = scan(Scan([str(tmp_path / "pod.yaml")], load_settings(tmp_path / ".gpuvet.yaml"), jobs=1))
    finding = next(finding for finding in result.findings if finding.rule == "TF062")
    assert finding.location.span.line == 8
    assert finding.path == ("metadata", "annotations", "gpu.example.com/qos")
    assert "gpu.example.com/qos" in finding.message
    assert finding.fix is not None
    assert finding.fix.edits[0].text == "high"
    assert all("tensor-fusion.ai" not in finding.message for finding in result.findings)
