"""rules/coverage.yaml: what became of every candidate of the specification.

Which rules implement a candidate follows from the rules; what is open or refused, and why, is written by hand and kept.
"""

from typing import Any

from gpuvet.language.catalogue import load_document
from gpuvet.values.data import data_folder
from gpuvet.values.rule import RuleInfo

CANDIDATES = {"tensor-fusion": 104, "koordinator-metax": 62, "qgpu": 48}
"""Reference -> number of its candidates."""
_HEADER = """\
# What became of every candidate of the specification, per reference and number: the rules that implement it, or a text that
# begins with `open` or `refused` and says why. `gpuvet generate` writes the rules; the texts are kept as they stand.
"""


def render_coverage(infos: list[RuleInfo]) -> str:
    """The text of rules/coverage.yaml."""
    path = data_folder("rules") / "coverage.yaml"
    kept: dict[str, Any] = load_document(path, "rules/coverage.yaml").value if path.is_file() else {}
    lines = [_HEADER]
    for reference, count in CANDIDATES.items():
        lines.append(f"{reference}:")
        for number in range(1, count + 1):
            rules = [info.id for info in infos if f"{reference}/{number}" in info.implements]
            text = (kept.get(reference) or {}).get(str(number))
            if rules:
                lines.append(f"  {number}: [{', '.join(rules)}]")
            else:
                reason = text if isinstance(text, str) else "open"
                lines.append(f"  {number}: '{reason.replace(chr(39), chr(39) * 2)}'")
    return "\n".join(lines) + "\n"
