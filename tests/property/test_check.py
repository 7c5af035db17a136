"""`check` never raises and no rule ever fails, whatever it is given; and a fix mends what it says it mends."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.scan.result import ScanResult
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings
from gpuvet.values.finding import Finding

ROOT = Path(__file__).parents[2]
SEEDS = sorted([*(ROOT / "examples").rglob("*.yaml"), *(ROOT / "tests" / "fixtures").glob("*/*/bad/*.yaml")])
SETTINGS = load_settings(None)
_JUNK = (
    "",
    "null",
    "true",
    "-1",
    "1e400",
    "[]",
    "{}",
    "'",
    "4Gi",
    "{{ .Values.x }}",
    "\U0001f4a5",
    "0x1F",
    "999999999999999999999",
    "? a",
    "&a [*a]",
)


def check(data: bytes) -> ScanResult:
    return scan(Scan(["-"], SETTINGS, stdin=data, jobs=1))


def assert_sound(result: ScanResult) -> None:
    assert not result.crashed, [finding.message for finding in result.findings if finding.rule == "IN013"]
    assert len(set(result.findings)) == len(result.findings)


@given(st.binary(max_size=400))
@settings(max_examples=150, deadline=None)
def test_random_bytes(data: bytes) -> None:
    assert_sound(check(data))


def mutate(text: str, dice: random.Random) -> str:
    """A manifest with a few of its lines and values lost, doubled, swapped or turned into something else."""
    lines = text.split("\n")
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(lines))
        match dice.randrange(6):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, lines[dice.randrange(len(lines))])
            case 2:
                key, colon, _ = lines[place].partition(": ")
                lines[place] = f"{key}{colon}{dice.choice(_JUNK)}"
            case 3:
                lines[place] = lines[place][2:] if dice.random() < 0.5 else "  " + lines[place]
            case 4:
                at = dice.randrange(len(lines[place]) + 1)
                lines[place] = lines[place][:at] + dice.choice(_JUNK) + lines[place][at:]
            case 5:
                other = dice.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
        lines = lines or [""]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(8))
def test_mutated_manifests(seed: int) -> None:
    dice = random.Random(seed)
    for path in dice.sample(SEEDS, 60):
        data = mutate(path.read_text("utf-8"), dice).encode("utf-8", "surrogatepass")
        assert_sound(check(data))


def apply(text: str, finding: Finding) -> str:
    """The text with the edits of a finding's fix made."""
    assert finding.fix is not None
    lines = text.split("\n")
    for edit in sorted(finding.fix.edits, key=lambda edit: edit.span, reverse=True):
        line = lines[edit.span.line - 1]
        lines[edit.span.line - 1] = line[: edit.span.column - 1] + edit.text + line[edit.span.end_column - 1 :]
    return "\n".join(lines)


def fixable() -> list[tuple[Path, Finding]]:
    found = []
    for path in SEEDS:
        text = path.read_text("utf-8")
        findings = check(text.encode()).findings
        found += [(path, finding) for finding in findings if finding.fix is not None and finding.fix.edits]
    return found


def test_fixes_mend_what_they_say() -> None:
    cases = fixable()
    assert len(cases) > 100
    for path, finding in cases:
        text = path.read_text("utf-8")
        before = check(text.encode())
        after = check(apply(text, finding).encode())
        same = [each for each in after.findings if (each.rule, each.location.span.line) == (finding.rule, finding.location.span.line)]
        were = [each for each in before.findings if (each.rule, each.location.span.line) == (finding.rule, finding.location.span.line)]
        assert len(same) < len(were), (path, finding)
        assert not after.unread, (path, finding)
