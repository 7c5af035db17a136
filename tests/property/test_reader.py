"""What must hold of every text: reading never fails, and every place is the place of its value."""

import random
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.manifests.document import Document, Reading
from gpuvet.manifests.reader import check_syntax, read, read_embedded
from gpuvet.values.path import Path
from gpuvet.values.span import Span

SAMPLES = [
    "# Source: c/templates/a.yaml\nkind: Pod\nmetadata: {name: x, labels: {'a b': \"c\\n\", 'd''e': 1e3}}\n",
    "a: &x\n- b: 1\n  c: |\n    d: 2\n    e:\n    - f\n- <<: {y: 1}\n  z: !!int '5'\nh: *x\n---\nb: >-\n  x\n  y\n...\n---\n- ? k\n  : v\n",
    '{"a": [1, 2.5, true, null, "\\ud83d\\ude00\\/"],\n\t"b": {}}\n',
    "{{- if .Values.x }}\na: {{ .y }}\n{{- end }}\n",
    *(path.read_text(encoding="utf-8") for path in sorted((FilePath(__file__).parents[2] / "examples").rglob("*.yaml"))[:20]),
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(-1e9, 1e9)
    | st.text("ab é😀'\"\\:#-{}[]&*!|>%@`,?=~\t\n01.\x85\u2028", max_size=12)
)
keys = st.text("abé😀 '\":#-", min_size=1, max_size=6)
trees = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12)


def every_path(value: Any, above: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield above, value
    for key, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from every_path(member, (*above, key))


def stretch(text: str, span: Span) -> str:
    """The text at the span, its first line indented as it is in the file."""
    lines = text.split("\n")
    if span.line == span.end_line:
        return lines[span.line - 1][span.column - 1 : span.end_column - 1]
    middle = lines[span.line : span.end_line - 1]
    first = " " * (span.column - 1) + lines[span.line - 1][span.column - 1 :]
    return "\n".join([first, *middle, lines[span.end_line - 1][: span.end_column - 1]])


def touch(reading: Reading) -> None:
    """Ask a reading for everything it can tell."""
    for document in reading.documents:
        assert document.line >= 1
        for path, value in every_path(document.value):
            assert document.value_span(path) is not None
            document.raw_text(path)
            if path:
                assert document.key_span(path) is not None
            if isinstance(value, str):
                for inner in read_embedded(document, path).documents:
                    assert inner.value_span(()) is not None


@settings(max_examples=60, deadline=None)
@given(st.lists(trees, min_size=1, max_size=3), st.booleans(), st.integers(2, 5), st.sampled_from([None, True, False]))
def test_the_text_at_a_span_is_the_value(values: list[Any], unicode: bool, indent: int, flow: bool | None) -> None:
    text = "".join(
        "---\n" + yaml.safe_dump(value, allow_unicode=unicode, indent=indent, default_flow_style=flow, width=60) for value in values
    )
    reading = read(text.encode())
    assert not reading.problems
    for document in reading.documents:
        assert not [problem for problem in document.problems if problem.code != "IN009"]
        for path, value in every_path(document.value):
            span = document.value_span(path)
            assert span is not None
            (again,) = read(stretch(text, span).encode()).documents or [None]
            assert (again.value if again is not None else None) == value
            if path and isinstance(path[-1], str):
                key = document.key_span(path)
                assert key is not None
                (named,) = read(("? " + stretch(text, key)).encode()).documents
                assert list(named.value) == [path[-1]]


@settings(max_examples=60, deadline=None)
@given(trees, st.sampled_from(["|", "'", '"', ">"]))
def test_spans_of_embedded_texts_hold_the_same_characters(value: Any, style: str) -> None:
    inner_text = yaml.safe_dump({"k": value}, width=1000)
    text = yaml.safe_dump({"a": {"text": inner_text}}, default_style=style, width=1000)
    (outer,) = read(text.encode()).documents
    if outer.value["a"]["text"] != inner_text:
        return
    (alone,) = read(inner_text.encode()).documents
    (inner,) = read_embedded(outer, ("a", "text")).documents
    assert inner.value == alone.value
    for path, member in every_path(inner.value):
        span, plain = inner.value_span(path), alone.value_span(path)
        assert span is not None
        assert plain is not None
        if outer.scalar_style(("a", "text")) == "|" and not isinstance(member, dict | list) and plain.line == plain.end_line:
            assert stretch(text, span) == stretch(inner_text, plain)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail(data: bytes) -> None:
    touch(read(data))
    check_syntax(data)


@settings(max_examples=150, deadline=None)
@given(st.text("ab1 \n\n\t:-?{}[],&*!|>'\"%@`#<~=.é😀\ufeff\u2028\r", max_size=60))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    touch(read(text.encode()))
    check_syntax(text.encode())


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SAMPLES), st.integers(0, 2**32))
def test_no_mutation_makes_the_reader_fail(sample: str, seed: int) -> None:
    source = random.Random(seed)
    data = bytearray(sample.encode())
    for _ in range(source.randint(1, 6)):
        at = source.randrange(len(data) + 1)
        match source.randrange(4):
            case 0:
                data[at:at] = source.choice(
                    [b"\n", b"\t", b"---\n", b"&x ", b"*x", b"<<: *x\n", b"'", b'"', b"{{ x }}", b"\xff", b"[", b"}", b"\xef\xbb\xbf"]
                )
            case 1:
                del data[at : at + source.randint(1, 30)]
            case 2:
                data[at:at] = data[at : at + source.randint(1, 200)]
            case _:
                data[at : at + 1] = bytes([source.randrange(256)])
    touch(read(bytes(data)))
    check_syntax(bytes(data))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("aé😀\u0301𝒳", min_size=1, max_size=8), min_size=1, max_size=6))
def test_columns_count_characters(words: list[str]) -> None:
    text = f"😀: [{', '.join(words)}]\n"
    (document,) = read(text.encode()).documents
    column = 5
    for index, word in enumerate(words):
        assert document.value_span(("😀", index)) == Span(1, column, 1, column + len(word))
        column += len(word) + 2


def test_samples_are_read() -> None:
    readings = [read(sample.encode()) for sample in SAMPLES]
    for reading in readings:
        touch(reading)
    assert all(isinstance(document, Document) for reading in readings for document in reading.documents)
