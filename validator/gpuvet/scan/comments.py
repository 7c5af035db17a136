"""`# gpuvet: ignore` and `# gpuvet: ignore[RULE, ...]`: what a line of a file keeps quiet about."""

import re

from gpuvet.values.finding import Finding

_MARK = b"# gpuvet: ignore"


class Comments:
    """The comments of one file. Falsy when it has none."""

    def __init__(self, data: bytes) -> None:
        self._lines: list[bytes] = []
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            data = data.decode("utf-16", "replace").encode()
        if _MARK in data:
            self._lines = re.split(b"\r\n|\n|\r", data)

    def __bool__(self) -> bool:
        return bool(self._lines)

    def filter(self, findings: list[Finding]) -> list[Finding]:
        """Without those that the line they stand on keeps quiet."""
        return [finding for finding in findings if not self._quiet(finding)]

    def _quiet(self, finding: Finding) -> bool:
        line = finding.location.span.line
        if not 0 < line <= len(self._lines):
            return False
        _, mark, rest = self._lines[line - 1].partition(_MARK)
        if not mark or not rest.startswith(b"["):
            return bool(mark)
        return finding.rule.encode() in [name.strip() for name in rest[1:].partition(b"]")[0].split(b",")]
