"""Bytes -> documents, exactly as kubectl would read them, with a place for everything and a Problem for what cannot be read."""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from gpuvet.manifests.builder import Builder
from gpuvet.manifests.document import Document, Problem, Reading
from gpuvet.manifests.embedded import offsets_of
from gpuvet.manifests.events import Event, Fault, check, parse
from gpuvet.manifests.places import Oddity, survey
from gpuvet.manifests.quick import quick_values
from gpuvet.manifests.source import Excerpt, Source, part
from gpuvet.manifests.templates import template_behind
from gpuvet.values.path import Path

_BOUNDARY: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_STRAY_MARK: Final = re.compile("^\ufeff", re.MULTILINE)
_HELM_SOURCE: Final = re.compile(r"^# Source: ([^\s:]+/[^\s:]+\.[A-Za-z]+)[ \t]*\r?$", re.MULTILINE)
_JSON_START: Final = re.compile(r"\s*[{\[]")
_TEMPLATE: Final = (
    "This is an unrendered template, not YAML yet, so it is not covered; check what it renders to (`helm template`, `kustomize build`)."
)


def read(data: bytes) -> Reading:
    """The documents of a file. Never raises: what cannot be read is a Problem, and the rest of the stream is still read."""
    text, unreadable = _decode(data)
    source = Source(text)
    if unreadable is not None:
        return Reading([], (_problem(unreadable, source),), 0)
    return _read_quickly(source) or _read(source, data if data.isascii() else None)


def _read_quickly(source: Source) -> Reading | None:
    """The documents of a text in plain style; None when it takes the builder."""
    values = None if "# Source: " in source.text else quick_values(source.text)
    if values is None:
        return None
    documents: list[Document] = []
    for breaks, value in values:
        if value is not None:
            documents.append(Document(value, len(documents), source, None, breaks))
    empty = len(values) - len(documents)
    return Reading(documents, (), empty if documents else max(empty, 1))


def read_embedded(document: Document, path: Path) -> Reading:
    """The YAML or JSON text that the scalar at `path` holds; all places are places in the file that `document` is from."""
    found = document.scalar_place(path)
    if found is None:
        return Reading([], (), 0)
    source, place = found
    return _read(Excerpt(place.text, source, lambda: offsets_of(source.text, place)), None)


def check_syntax(data: bytes) -> Reading:
    """The syntax errors of a file; a fast pass that makes no documents and counts no empty ones."""
    text, unreadable = _decode(data)
    source = Source(text)
    if unreadable is not None:
        return Reading([], (_problem(unreadable, source),), 0)
    try:
        check(text, data if data.isascii() else None)
    except Fault:
        return Reading([], _read(source, None).problems, 0)
    return Reading([], (), 0)


def _decode(data: bytes) -> tuple[str, Fault | None]:
    """The characters of a file without its byte order mark. Bytes that are not UTF-8 become lone surrogates."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "", Fault("IN002", "The file is UTF-32, which Kubernetes cannot read; save it as UTF-8.", 0, 0)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16"), None
        except UnicodeDecodeError:
            return "", Fault("IN002", "The file starts as UTF-16 but is not; save it as UTF-8.", 0, 0)
    if b"\0" in data:
        text = data[: data.index(b"\0")].decode("utf-8", "replace")
        return text, Fault("IN002", "The file holds a NUL byte, so it is not text; save it as UTF-8.", len(text), len(text))
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape"), None


def _read(source: Source, data: bytes | None) -> Reading:
    try:
        reading = _build(source, parse(source.text, data), 0)
    except Fault as fault:
        reading = _read_parts(source, fault)
    if not reading.documents and not reading.problems:
        return Reading([], (), max(reading.empty, 1))
    return reading


def _read_parts(source: Source, fault: Fault) -> Reading:
    """Each document of a broken stream for itself."""
    parts = list(_parts(source))
    documents: list[Document] = []
    problems: list[Problem] = []
    empty = 0
    for piece in parts:
        events, problem = _read_part(piece, fault if len(parts) == 1 else None)
        if events:
            reading = _build(piece, events, len(documents))
            documents += reading.documents
            problems += reading.problems
            empty += reading.empty
        if problem:
            problems.append(problem)
    return Reading(documents, tuple(problems), empty)


def _read_part(piece: Source, fault: Fault | None) -> tuple[list[Event] | None, Problem | None]:
    """The events of what can be read, and the problem with the rest. `fault`: what is known to be wrong."""
    if fault is None:
        try:
            return parse(piece.text), None
        except Fault as error:
            fault = error
    if _JSON_START.match(piece.text):
        # Here and not above: libyaml reads nearly all JSON, and a start should not pay for the rest.
        from gpuvet.manifests.json_events import json_events

        events = json_events(piece.text)
        if events is not None:
            return events, None
    problem = _broken(fault, piece)
    events = None
    if problem.fatal and fault.between_documents:
        with suppress(Fault):
            events = parse(piece.text[: fault.start])
    return events, problem


def _parts(source: Source) -> Iterator[Source]:
    """The stream split at `---` lines, which YAML allows nowhere but between documents."""
    text = source.text
    starts = [0]
    for match in _BOUNDARY.finditer(text):
        start = match.start()
        # Directives above `---` belong to the document below it.
        if text.find("%", starts[-1], start) >= 0:
            start = _above_directives(text, starts[-1], start)
        if text[starts[-1] : start].strip():
            starts.append(start)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield part(source, start, end)


def _above_directives(text: str, floor: int, end: int) -> int:
    """Where the directives begin that stand right above `end`; comments and empty lines may stand among them."""
    found = line_end = end
    while line_end > floor:
        line_start = text.rfind("\n", floor, line_end - 1) + 1 or floor
        line = text[line_start:line_end].strip()
        if line.startswith("%"):
            found = line_start
        elif line and not line.startswith("#"):
            break
        line_end = line_start
    return found


def _broken(fault: Fault, source: Source) -> Problem:
    template = template_behind(source.text, fault)
    if template is not None:
        return Problem("IN008", _TEMPLATE, source.span(*template), False)
    return _problem(fault, source)


def _build(source: Source, events: list[Event], first_index: int) -> Reading:
    documents: list[Document] = []
    problems: list[Problem] = []
    empty = 0
    above = 0
    helm = "# Source: " in source.text
    strange = _strange_to_kubernetes(source.text)
    builder = Builder(events)
    while builder.next_document():
        try:
            value = builder.value()
        except Fault as fault:
            problems.append(_broken(fault, source))
            continue
        if value is None:
            empty += 1
            continue
        document = Document(value, first_index + len(documents), source, events, builder.start)
        root = events[builder.start].start_mark.index
        if builder.odd or builder.directives or builder.begins_behind_dashes or strange:
            template = _describe(document, source, events, builder, above)
            if template is not None:
                problems.append(template)
                continue
        if helm:
            names = _HELM_SOURCE.findall(source.text, above, root)
            document.source = names[-1] if names else None
        above = root
        documents.append(document)
    return Reading(documents, tuple(problems), empty)


def _strange_to_kubernetes(text: str) -> bool:
    """Whether the text may hold what libyaml reads but go-yaml does not: JSON's escape of the slash, a byte order mark on the way."""
    return ("\\/" in text and not _JSON_START.match(text)) or "\ufeff" in text


def _describe(document: Document, source: Source, events: list[Event], builder: Builder, above: int) -> Problem | None:
    """Gives the document its problems; returns one instead when the document is an unrendered template."""
    found = survey(source.text, events, builder.start, is_json=_JSON_START.match(source.text) is not None)
    if found.template is not None:
        return Problem("IN008", _TEMPLATE, source.span(found.template, found.template + 2), False)
    problems = [_oddity(oddity, source) for oddity in found.oddities]
    refused = _refused_by_kubectl(source.text, events, builder, above, found.root.end)
    problems += [Problem(code, message, source.span(at, at + 1), False) for code, message, at in refused]
    document.problems = tuple(sorted(problems, key=lambda problem: problem.span))
    return None


def _refused_by_kubectl(text: str, events: list[Event], builder: Builder, above: int, end: int) -> Iterator[tuple[str, str, int]]:
    """Code, message and offset of what stands before the document and is right in YAML, but not where kubectl splits the stream."""
    root = events[builder.start].start_mark.index
    if builder.directives:
        yield "IN009", "kubectl cannot read a file with a `%` directive; remove the directive.", events[builder.start - 1].start_mark.index
    if builder.begins_behind_dashes:
        yield "IN009", "kubectl refuses anything but a comment behind `---`; start the document on the next line.", root
    for mark in _STRAY_MARK.finditer(text, above, end):
        # At the very start of a document, as in concatenated files, Kubernetes drops it like we do.
        if not text.startswith("---", text.rfind("\n", 0, mark.start() - 1) + 1):
            yield "IN010", "A byte order mark stands inside the file, where Kubernetes takes it for text; remove it.", mark.start()


def _oddity(oddity: Oddity, source: Source) -> Problem:
    message = oddity.message
    if oddity.first is not None:
        message += f" It was first set in line {source.place(oddity.first)[0]}."
    return Problem(oddity.code, message, source.span(oddity.start, oddity.end), False)


def _problem(fault: Fault, source: Source) -> Problem:
    return Problem(fault.code, str(fault), source.span(fault.start, fault.end), True)
