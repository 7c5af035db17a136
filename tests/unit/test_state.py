"""Rules and certificates that change while the webhook runs."""

import logging
import shutil
import threading
from pathlib import Path

import pytest

from gpuvet.admission.certificates import make_certificates
from gpuvet.admission.review import RuleState
from gpuvet.admission.serve import JsonLines, watch_pair
from gpuvet.admission.state import RuleWatch, load_state
from gpuvet.engine.context import EmptyContext
from gpuvet.values.errors import ConfigError
from webhook.server import mount

RULE = """\
family: XX
title: Ours
rules:
  - id: XX001
    name: no-team
    severity: {severity}
    consequence: advice
    on: pod
    trigger: {{keys: [tensor-fusion.ai/enabled]}}
    forbidden: {{that: "has(label('tensor-fusion.ai/enabled'))", at: pod.metadata.labels}}
    why: For the test.
"""


class Told:
    """What the watch told."""

    def __init__(self) -> None:
        self.loads: list[tuple[bool, str]] = []

    def __call__(self, ok: bool, state: RuleState) -> None:
        self.loads.append((ok, state.digest))


@pytest.fixture(name="told")
def told_fixture() -> Told:
    return Told()


def watch(config: Path, told: Told) -> RuleWatch:
    return RuleWatch(config, EmptyContext(), 60, told)


def severity(state: RuleState, rule: str = "TF013") -> str | None:
    return next((bound.severity for bound in state.judge.rules.rules if bound.info.id == rule), None)


def test_changed_configuration_is_swapped_in(tmp_path: Path, told: Told) -> None:
    config = tmp_path / ".gpuvet.yaml"
    config.write_text("rules: {TF013: warning}\n")
    rules = watch(config, told)
    first = rules.state
    assert severity(first) == "warning"
    rules.look()
    assert rules.state is first
    config.write_text("rules: {TF013: 'off'}\n")
    rules.look()
    assert severity(rules.state) is None
    assert severity(first) == "warning"
    assert [ok for ok, _ in told.loads] == [True, True]
    assert rules.state.digest != first.digest


def test_broken_file_keeps_the_last_good_set(tmp_path: Path, told: Told, caplog: pytest.LogCaptureFixture) -> None:
    config = tmp_path / ".gpuvet.yaml"
    config.write_text("rules: {TF013: warning}\n")
    rules = watch(config, told)
    first = rules.state
    with caplog.at_level(logging.ERROR, "gpuvet.webhook"):
        for text in ("rules: [", "rules: {TF999: error}\n", "bundle: nowhere\n", "ruleFiles: [missing.yaml]\n", "\xff\x00"):
            config.write_text(text, encoding="latin-1")
            rules.look()
            assert rules.state is first
    assert [ok for ok, _ in told.loads] == [True] + [False] * 5
    assert len(caplog.records) == 5
    config.unlink()
    rules.look()
    assert rules.state is first
    config.write_text("rules: {TF013: error}\n")
    rules.look()
    assert severity(rules.state) == "error"


def test_own_rule_file_is_watched_too(tmp_path: Path, told: Told) -> None:
    config, own = tmp_path / ".gpuvet.yaml", tmp_path / "own.yaml"
    config.write_text("ruleFiles: [own.yaml]\n")
    own.write_text(RULE.format(severity="warning"))
    rules = watch(config, told)
    assert severity(rules.state, "XX001") == "warning"
    before = rules.state
    own.write_text(RULE.format(severity="error"))
    rules.look()
    assert severity(rules.state, "XX001") == "error"
    assert rules.state.digest != before.digest


def test_mounted_folder_that_is_swapped_by_a_link(tmp_path: Path, told: Told) -> None:
    """As the kubelet does it: a broken set in between leaves the last good one."""
    texts = {"one": "warning", "broken": "nonsense", "two": "error"}
    for name, level in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".gpuvet.yaml").write_text(f"rules: {{TF013: {level}}}\nruleFiles: [own.yaml]\n")
        (tmp_path / name / "own.yaml").write_text(RULE.format(severity="info"))
    folder = tmp_path / "mounted"
    mount(folder, tmp_path / "one")
    rules = watch(folder / ".gpuvet.yaml", told)
    mount(folder, tmp_path / "broken")
    rules.look()
    assert severity(rules.state) == "warning"
    mount(folder, tmp_path / "two")
    rules.look()
    assert severity(rules.state) == "error"
    assert [ok for ok, _ in told.loads] == [True, False, True]


@pytest.mark.parametrize("error", [RecursionError("deep"), ValueError("odd"), UnicodeError("bytes")])
def test_nothing_ends_the_watching(tmp_path: Path, told: Told, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / ".gpuvet.yaml"
    config.write_text("{}\n")
    rules = watch(config, told)

    def broken(*_: object, **__: object) -> RuleState:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("gpuvet.admission.state.load_state", broken)
        config.write_text("rules: {TF013: error}\n")
        rules.look()
    assert told.loads[-1][0] is False
    config.write_text("rules: {TF013: warning}\n")
    rules.look()
    assert severity(rules.state) == "warning"


def test_files_in_other_folders_are_watched(tmp_path: Path, told: Told) -> None:
    """Rule files, and a bundle of one's own."""
    for name in ("ours", "bundles"):
        (tmp_path / name).mkdir()
    config, own, bundle = tmp_path / ".gpuvet.yaml", tmp_path / "ours" / "own.yaml", tmp_path / "bundles" / "company.yaml"
    config.write_text("ruleFiles: [ours/own.yaml]\nbundle: bundles/company.yaml\n")
    own.write_text(RULE.format(severity="warning"))
    bundle.write_text("extends: default\nseverities: {TF013: warning}\n")
    rules = watch(config, told)
    digests = {rules.state.digest}
    own.write_text(RULE.format(severity="error"))
    rules.look()
    assert severity(rules.state, "XX001") == "error"
    digests.add(rules.state.digest)
    bundle.write_text("extends: default\nseverities: {TF013: info}\n")
    rules.look()
    assert severity(rules.state) == "info"
    assert len(digests | {rules.state.digest}) == 3


def test_first_load_must_work(tmp_path: Path, told: Told) -> None:
    with pytest.raises(ConfigError):
        watch(tmp_path / "missing.yaml", told)
    assert told.loads == []


def test_watch_runs_by_itself(tmp_path: Path, told: Told) -> None:
    config = tmp_path / ".gpuvet.yaml"
    config.write_text("rules: {TF013: warning}\n")
    seen = threading.Event()

    def tell(ok: bool, state: RuleState) -> None:
        if severity(state) == "error":
            seen.set()

    rules = RuleWatch(config, EmptyContext(), 0.01, tell)
    rules.start()
    config.write_text("rules: {TF013: error}\n")
    assert seen.wait(10)
    rules.stop()


def test_digest_says_what_decides(tmp_path: Path) -> None:
    config = tmp_path / ".gpuvet.yaml"
    digests = set()
    texts = (
        "{}",
        "rules: {TF013: warning}",
        "platform: {tensorFusion: '1.48'}",
        "domains: {tensorFusion: gpu.example.com}",
        "bundle: strict",
    )
    for text in (*texts, "usageKey: example.com/usage", "productTaints: [a]"):
        config.write_text(text + "\n")
        digests.add(load_state(config, EmptyContext()).digest)
    assert len(digests) == 7
    assert load_state(config, EmptyContext()).digest in digests


def test_certificate_is_watched(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Only a pair that a server can be started with is worth a reload."""
    for name in ("one", "two"):
        make_certificates(tmp_path / name, ["localhost"])
    folder = tmp_path / "mounted"
    mount(folder, tmp_path / "one")
    changed = threading.Semaphore(0)
    threading.Thread(target=watch_pair, args=(folder / "tls.crt", folder / "tls.key", changed.release, 0.01), daemon=True).start()
    assert not changed.acquire(timeout=0.1)
    (tmp_path / "mixed").mkdir()
    shutil.copy(tmp_path / "two" / "tls.crt", tmp_path / "mixed" / "tls.crt")
    for key in ((tmp_path / "one" / "tls.key").read_bytes(), b"", b"junk"):
        (tmp_path / "mixed" / "tls.key").write_bytes(key)
        mount(folder, tmp_path / "mixed")
        assert not changed.acquire(timeout=0.1)
    mount(folder, tmp_path / "one")
    assert not changed.acquire(timeout=0.1)
    mount(folder, tmp_path / "two")
    assert changed.acquire(timeout=5)
    (folder / "tls.key").unlink()
    assert not changed.acquire(timeout=0.1)
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(said) == 4, said
    assert "is not the key of" in said[0]
    assert "no unencrypted key" in said[1]
    assert "is not there" in said[3]


def test_log_lines_are_json() -> None:
    line = JsonLines()
    plain = line.format(logging.LogRecord("x", logging.INFO, "", 0, "a %s", ("b",), None))
    merged = line.format(logging.LogRecord("x", logging.INFO, "", 0, '{"verdict": "denied"}', (), None))
    assert '"message": "a b"' in plain
    assert '"verdict": "denied"' in merged
    assert "message" not in merged
    assert line.format(logging.LogRecord("x", logging.INFO, "", 0, "{broken", (), None)).endswith('"message": "{broken"}')
