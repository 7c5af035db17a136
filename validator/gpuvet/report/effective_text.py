"""What every Pod template will get, for people: a table for each template, then the totals."""

from collections.abc import Iterator

from gpuvet.compiled.keys import KEYS
from gpuvet.engine.configuration import Configuration, Setting, Source
from gpuvet.report.text import Lines, Paint, render_finding
from gpuvet.scan.effective import EffectiveResult
from gpuvet.values.total import text

_LONGEST = 48
"""Characters of a value that are shown."""


def render_effective_text(result: EffectiveResult, lines: Lines, color: bool = False) -> Iterator[str]:
    """The answer in pieces: what could not be read, one table a template, then the summary line."""
    paint = Paint(color)
    for finding in result.scan.findings:
        yield render_finding(finding, lines, paint)
    for one in result.templates:
        yield "\n".join(_template(one, paint)) + "\n\n"
    counts = result.scan.counts
    shown = _many(len(result.templates), "Pod template")
    left = f"; {_many(counts.not_covered, 'workload')} of unknown kind not covered" if counts.not_covered else ""
    yield f"{shown} that {'asks' if len(result.templates) == 1 else 'ask'} for a GPU, in {_many(counts.files, 'file')}{left}\n"


def _template(one: Configuration, paint: Paint) -> Iterator[str]:
    file, span = one.location
    reference = one.object
    name = "/".join(part for part in (reference.namespace, reference.name) if part) or "without a name"
    template = f", {one.template}" if one.template else ""
    yield paint(f"{file}:{span.line}: {reference.kind or 'object'} {name}{template}", "bold")
    rows = [(field, *_cells(setting, file)) for field, setting in one.fields.items() if setting.known or setting.value is not None]
    if rows:
        yield from _table([("field", "value", "from", "instead of"), *rows], paint)
    for container in one.containers:
        what = "init container" if container.init else "container"
        head = (f"{what} {container.name or 'without a name'}", "request", "from", "instead of")
        yield from _table([head, *((_named(key), *_cells(setting, file)) for key, setting in container.requests.items())], paint)
    if len(one.containers) > 1:
        yield "  sum of the Pod: " + _amounts(one.pod_sum)
    if one.replicas is not None and one.total:
        devices = one.fields.get("gpu-count")
        times = f"{devices.value} {'GPU' if str(devices.value) == '1' else 'GPUs'} x " if devices is not None and devices.known else ""
        yield f"  total of {times}{_many(one.replicas, 'Pod')}: {_amounts(one.total)}"
    if one.gang is not None:
        if one.gang.minimum is not None:
            yield f"  gang of at least {_many(one.gang.minimum, 'Pod')}: {_amounts(one.gang.total)}"
        if one.gang.of_all_templates is not None and one.gang.of_all_templates != one.gang.minimum:
            yield f"  gang of at least {_many(one.gang.of_all_templates, 'Pod')} over all templates of the {reference.kind}"
    for note, names in _doubts(one).items():
        yield f"  {paint('?', 'warning')} {', '.join(names)}: {note}"
    for note in one.notes:
        yield f"  {paint('note', 'info')}: {note}"


def _doubts(one: Configuration) -> dict[str, list[str]]:
    """Why values are not certain -> whose."""
    found: dict[str, list[str]] = {}
    for name, setting in [*one.fields.items(), *(item for each in one.containers for item in each.requests.items())]:
        if not setting.known:
            found.setdefault(setting.note or "not known", []).append(name)
    return found


def _cells(setting: Setting, file: str) -> tuple[str, str, str]:
    value = _short(setting.value) if setting.known else "?" if setting.value is None else f"{_short(setting.value)} ?"
    lost = ", ".join(f"{_short(each.value)} ({_from(each.source, file)})" for each in setting.shadowed)
    return value, _from(setting.source, file) if setting.known else "", lost


def _from(source: Source, file: str) -> str:
    words = source.what.replace("-", " ")
    if source.location is None:
        return words
    place = source.location
    return f"{words}, line {place.span.line}" if place.file == file else f"{words}, {place.file}:{place.span.line}"


def _short(value: object) -> str:
    words = " ".join(text(value).split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _named(key: str) -> str:
    known = KEYS.get(key)
    return f"{key} ({known.unit})" if known is not None and known.unit else key


def _amounts(amounts: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {amount or '?'}" for name, amount in amounts.items())


def _table(rows: list[tuple[str, str, str, str]], paint: Paint) -> Iterator[str]:
    rows = rows if any(row[3] for row in rows[1:]) else [(*row[:3], "") for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for number, row in enumerate(rows):
        line = "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield paint(line, "dim") if number == 0 else line


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
