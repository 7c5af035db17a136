"""Every fixture gets its verdict: rule and line, both ways for errors and warnings, infos only for the folder's own rule."""

import re
from pathlib import Path

import pytest

from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import find_config, load_settings

FIXTURES = Path(__file__).parent.parent / "fixtures"
_EXPECT = re.compile(r"#\s*expect:\s*([A-Z0-9 ,]+)")
CASES = sorted(path for path in FIXTURES.glob("*/*/*/*") if path.parent.name in ("good", "bad"))


def verdict(path: Path, rule: str) -> set[tuple[int, str]]:
    """A file, or a folder of files that belong together, as (line, rule)."""
    config = find_config(path if path.is_dir() else path.parent)
    result = scan(Scan([str(path)], load_settings(config if config and FIXTURES in config.parents else None), jobs=1))
    return {
        (finding.location.file, finding.location.span.line, finding.rule)  # type: ignore[misc]
        for finding in result.findings
        if finding.severity != "info" or finding.rule == rule
    }


def expected(path: Path) -> set[tuple[str, int, str]]:
    """The `# expect:` comments."""
    files = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
    found = set()
    for file in files:
        for number, line in enumerate(file.read_text("utf-8").split("\n"), 1):
            if match := _EXPECT.search(line):
                found.update((str(file), number, rule.strip()) for rule in match[1].split(",") if rule.strip())
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: "/".join(path.relative_to(FIXTURES).parts))
def test_fixture(path: Path) -> None:
    rule = path.parent.parent.name
    wanted = expected(path)
    if path.parent.name == "bad":
        assert any(name == rule for _, _, name in wanted), f"{path} does not expect its own rule {rule}"
    else:
        assert not wanted
    assert verdict(path, rule) == wanted
