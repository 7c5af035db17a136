"""A rule as a page of Markdown: for docs/rules/ and for `gpuvet explain`."""

from typing import NamedTuple

from gpuvet.values.finding import CONSEQUENCES
from gpuvet.values.rule import RuleInfo


class Page(NamedTuple):
    """What the catalogue does not hold: the constraint as it stands in the rule file, and examples."""

    constraint: str
    bad: str | None
    good: str | None


def rule_page(info: RuleInfo) -> str:
    """The page. Rules of users have no examples."""
    from gpuvet.compiled.pages import PAGES

    page = Page(*PAGES.get(info.id, ("", None, None)))
    lines = [
        f"# {info.id} {info.name}",
        "",
        f"**{info.severity}** · {info.vocabulary} · `{info.consequence}`: {CONSEQUENCES[info.consequence]}",
        "",
        "## Why",
        "",
        info.why,
    ]
    if page.constraint:
        lines += ["", "## What it checks", "", f"{_subject(info)}", "", "```yaml", page.constraint.rstrip("\n"), "```"]
    if info.platform is not None:
        name, versions, unnamed = info.platform
        lines += ["", "## Versions", "", f"{name} {versions}. When the configuration names no version: {_UNNAMED[unnamed]}."]
    if info.sees == "text":
        lines += ["", "This rule needs the text of the manifest, so it exists offline only."]
    if page.bad:
        lines += ["", "## Wrong", "", "```yaml", page.bad.rstrip("\n"), "```"]
    if page.good:
        lines += ["", "## Right", "", "```yaml", page.good.rstrip("\n"), "```"]
    if info.parameters:
        lines += ["", "## Parameters", "", *(f"- `{name}`: {value!r}" for name, value in info.parameters.items())]
    if info.sources or info.implements:
        lines += ["", "## Sources", "", *(f"- {source}" for source in (*info.sources, *info.implements))]
    return "\n".join(lines) + "\n"


_UNNAMED = {"skip": "the rule is silent", "apply": "the rule applies", "info": "it is a note only", "warning": "it is a warning only"}


def _subject(info: RuleInfo) -> str:
    subject = {
        "pod": "Each Pod template",
        "container": "Each container of a Pod template",
        "metadata": "The metadata of each object and Pod template",
        "object": "Each object",
    }[info.on]
    shown = [f"`{token}`" for token in (*info.keys, *info.names, *info.images)]
    kinds = [f"`{kind}`" for kind in info.kinds]
    words = subject
    if kinds:
        words += f" of kind {', '.join(kinds)}"
    if shown:
        words += f" that shows {' or '.join(shown)}"
    return words + ":"
