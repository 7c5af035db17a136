"""What `kubectl` prints: denials and warnings, each finding with rule, path, expected, actual and fix, cut at a sane length."""

from gpuvet.values.finding import CONSEQUENCES, Finding

DENIAL = 3000
"""Characters of a denial; the rest is counted."""
WARNING = 250
"""Characters of one warning; the API server cuts at 256."""
WARNINGS = 16
"""Warnings of one answer; the API server keeps 4096 bytes of all together."""


def denial_message(errors: list[Finding]) -> str:
    """One line per error, the worst first."""
    lines: list[str] = []
    length = 0
    for place, finding in enumerate(errors):
        line = denial_line(finding)
        if lines and length + len(line) > DENIAL:
            lines.append(f"and {len(errors) - place} more")
            break
        lines.append(line)
        length += len(line)
    return "\n".join(lines)


def denial_line(finding: Finding) -> str:
    """`[TF013] spec.template...: message; expected ..., actual ...; consequence; fix: ...`."""
    parts = [f"[{finding.rule}] {finding.path_text or 'object'}: {finding.message}"]
    if finding.expected is not None:
        parts.append(f"expected {finding.expected}")
    if finding.actual is not None:
        parts.append(f"actual {finding.actual}")
    parts.append(CONSEQUENCES[finding.consequence])
    if finding.fix is not None:
        parts.append(f"fix: {finding.fix.title}")
    return _one_line(", ".join(parts))[:1500]


def warning_texts(findings: list[Finding]) -> list[str]:
    """Rule id and fix first: the API server may cut the end."""
    texts = []
    for finding in findings[:WARNINGS]:
        fix = f" ({finding.fix.title})" if finding.fix is not None else ""
        texts.append(_one_line(f"[{finding.rule}]{fix} {finding.path_text or 'object'}: {finding.message}")[:WARNING])
    if len(findings) > WARNINGS:
        texts.append(f"[gpuvet] and {len(findings) - WARNINGS} more; `gpuvet check` shows all")
    return texts


def _one_line(text: str) -> str:
    return text if text.isprintable() else " ".join(text.split())
