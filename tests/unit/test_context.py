"""What a run knows of other objects, from the inputs and from context paths."""

from pathlib import Path

import pytest

from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.errors import ConfigError

PROFILE = """\
apiVersion: tensor-fusion.ai/v1
kind: WorkloadProfile
metadata: {{name: small, namespace: team}}
spec: {{resources: {{requests: {{tflops: "1", vram: 1Gi}}, limits: {{tflops: "{limit}", vram: 1Gi}}}}}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: app
  namespace: team
  labels: {tensor-fusion.ai/enabled: "true"}
  annotations: {tensor-fusion.ai/workload-profile: small, tensor-fusion.ai/tflops-request: "10", tensor-fusion.ai/vram-request: 1Gi}
spec: {containers: [{name: main, image: a}]}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def above(*paths: str, config: str | None = None) -> list[tuple[str, int, str]]:
    """Where TF013 stands, and the file it points at besides."""
    settings = load_settings(None)
    if config is not None:
        Path(".gpuvet.yaml").write_text(config, encoding="utf-8")
        settings = load_settings(Path(".gpuvet.yaml"))
    found = scan(Scan(list(paths), settings)).findings
    return [(f.location.file, f.location.span.line, f.related[0].location.file) for f in found if f.rule == "TF013"]


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def test_a_profile_that_holds_no_key_of_a_rule_is_still_read() -> None:
    write("pod.yaml", POD)
    write("profile.yaml", PROFILE.format(limit=5))
    assert above("pod.yaml", "profile.yaml") == [("pod.yaml", 7, "profile.yaml")]
    assert above("profile.yaml", "pod.yaml") == [("pod.yaml", 7, "profile.yaml")], "the order of inputs does not matter"


def test_same_file() -> None:
    write("all.yaml", POD + "---\n" + PROFILE.format(limit=5))
    assert above("all.yaml") == [("all.yaml", 7, "all.yaml")]


def test_unknown_profile_gives_nothing() -> None:
    write("pod.yaml", POD)
    assert above("pod.yaml") == []


def test_context_paths_are_known_and_not_judged() -> None:
    write("pod.yaml", POD)
    write("known/profile.yaml", PROFILE.format(limit=5))
    write("known/broken.yaml", POD.replace('"10"', '"100"') + "---\n" + PROFILE.format(limit=5))
    assert [(file, line) for file, line, _ in above("pod.yaml", config="context: {paths: [known/profile.yaml]}\n")] == [("pod.yaml", 7)]
    assert [file for file, _, _ in above("pod.yaml", config="context: {paths: [known]}\n")] == ["pod.yaml"]


def test_the_nearest_of_two_profiles_counts() -> None:
    write("one/pod.yaml", POD)
    write("one/profile.yaml", PROFILE.format(limit=20))
    write("two/profile.yaml", PROFILE.format(limit=5))
    assert above(".") == []
    write("one/profile.yaml", PROFILE.format(limit=5))
    write("two/profile.yaml", PROFILE.format(limit=20))
    assert [file for file, _, _ in above(".")] == ["./one/pod.yaml"]


def test_two_that_differ_at_the_same_distance_leave_it_unknown() -> None:
    write("pod.yaml", POD)
    write("a/profile.yaml", PROFILE.format(limit=5))
    write("b/profile.yaml", PROFILE.format(limit=6))
    assert above(".") == []
    write("b/profile.yaml", PROFILE.format(limit=5))
    assert len(above(".")) == 1


def test_another_namespace_is_another_profile() -> None:
    write("pod.yaml", POD)
    write("profile.yaml", PROFILE.format(limit=5).replace("namespace: team", "namespace: other"))
    assert above(".") == []


def test_an_omitted_namespace_is_the_configured_one() -> None:
    write("pod.yaml", POD.replace("  namespace: team\n", ""))
    write("profile.yaml", PROFILE.format(limit=5))
    assert above(".") == []
    assert len(above(".", config="namespace: team\n")) == 1


RULES = """\
rules:
  - id: ACM001
    name: alone
    severity: warning
    consequence: advice
    on: pod
    trigger: {keys: [tensor-fusion.ai/workload-profile]}
    forbidden: {that: "annotation('tensor-fusion.ai/tflops-request') == '10'", at: "annotation('tensor-fusion.ai/tflops-request')"}
    why: It is judged in the first pass.
    supersedes: [ACM002]
  - id: ACM002
    name: looks-up
    severity: warning
    consequence: advice
    on: pod
    trigger: {keys: [tensor-fusion.ai/workload-profile]}
    forbidden: {that: "has(find('WorkloadProfile', 'small'))", at: "annotation('tensor-fusion.ai/tflops-request')"}
    why: It waits for the second pass.
    supersedes: [ACM003]
  - id: ACM003
    name: alone-and-superseded
    severity: warning
    consequence: advice
    on: pod
    trigger: {keys: [tensor-fusion.ai/workload-profile]}
    forbidden: {that: "annotation('tensor-fusion.ai/tflops-request') != '12'", at: "annotation('tensor-fusion.ai/tflops-request')"}
    why: It is judged in the first pass too.
"""


@pytest.mark.parametrize(("request_", "rule"), [("10", "ACM001"), ("11", "ACM002"), ("12", "ACM002")])
def test_superseding_works_across_the_passes(request_: str, rule: str) -> None:
    write("pod.yaml", POD.replace('"10"', f'"{request_}"'))
    write("profile.yaml", PROFILE.format(limit=100))
    write("rules.yaml", RULES)
    write(".gpuvet.yaml", "ruleFiles: [rules.yaml]\n")
    found = scan(Scan(["pod.yaml", "profile.yaml"], load_settings(Path(".gpuvet.yaml")))).findings
    assert [finding.rule for finding in found if finding.rule.startswith("ACM")] == [rule]


def test_superseding_works_where_the_other_object_is_not_known() -> None:
    write("pod.yaml", POD.replace('"10"', '"11"'))
    write("rules.yaml", RULES)
    write(".gpuvet.yaml", "ruleFiles: [rules.yaml]\n")
    found = scan(Scan(["pod.yaml"], load_settings(Path(".gpuvet.yaml")))).findings
    assert [finding.rule for finding in found if finding.rule.startswith("ACM")] == ["ACM003"]


def test_a_context_path_that_is_not_there_is_an_error() -> None:
    write("pod.yaml", POD)
    with pytest.raises(ConfigError, match=r"^\.gpuvet\.yaml: context\.paths: known: No such file or directory$"):
        above("pod.yaml", config="context: {paths: [known]}\n")


def test_a_torn_context_file_is_reported() -> None:
    write("pod.yaml", POD)
    write("known/torn.yaml", "kind: [WorkloadProfile\n")
    write(".gpuvet.yaml", "context: {paths: [known]}\n")
    result = scan(Scan(["pod.yaml"], load_settings(Path(".gpuvet.yaml"))))
    assert [(finding.rule, finding.location.file) for finding in result.findings if finding.severity == "error"] == [
        ("IN001", "known/torn.yaml")
    ]
    assert result.unread
