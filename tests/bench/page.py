"""docs/performance.md is written by several measurements, each its own part: the first, and one for each heading."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"


def write_first(text: str) -> None:
    """What stands before the first `## ` heading; sections are kept."""
    _write([text, *_parts()[1:]])


def write_section(title: str, text: str) -> None:
    """A section, in the place of the old one of that title or at the end."""
    head, *sections = _parts()
    new = f"## {title}\n\n{text}"
    places = [place for place, section in enumerate(sections) if section.startswith(f"## {title}\n")]
    for place in places:
        sections[place] = new
    _write([head, *sections, *([] if places else [new])])


def _parts() -> list[str]:
    return re.split(r"^(?=## )", PAGE.read_text("utf-8"), flags=re.MULTILINE) if PAGE.exists() else [""]


def _write(parts: list[str]) -> None:
    PAGE.write_text("\n".join(part.strip("\n") + "\n" for part in parts), "utf-8")
