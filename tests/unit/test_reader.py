"""Documents, their problems, and what is still read beside something broken."""

import json
import time

import pytest
import yaml

from gpuvet.manifests import events
from gpuvet.manifests.reader import check_syntax, read, read_embedded
from gpuvet.values.span import Span


def codes(text: str | bytes) -> list[tuple[str, bool, int, int]]:
    """Code, fatal, line and column of all problems, those of the stream first."""
    reading = read(text.encode() if isinstance(text, str) else text)
    problems = [*reading.problems, *(problem for document in reading.documents for problem in document.problems)]
    return [(problem.code, problem.fatal, problem.span.line, problem.span.column) for problem in problems]


def values(text: str | bytes) -> list[object]:
    return [document.value for document in read(text.encode() if isinstance(text, str) else text).documents]


# Streams


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "null\n", "~\n", "\ufeff"])
def test_a_text_without_anything_is_one_empty_document(text: str) -> None:
    reading = read(text.encode())
    assert (reading.documents, reading.problems, reading.empty) == ([], (), 1)


def test_empty_documents_are_counted_and_not_indexed() -> None:
    reading = read(b"---\n---\na: 1\n---\n# nothing\n---\nb: 2\n")
    assert [(document.value, document.index, document.line) for document in reading.documents] == [({"a": 1}, 0, 3), ({"b": 2}, 1, 7)]
    assert reading.empty == 2


def test_documents_around_a_broken_one_are_read() -> None:
    text = "a: 1\n---\nb: [1\n---\nc: 3\n---\nd: 'x\n---\ne: 5\nf:\n- 6\n"
    reading = read(text.encode())
    assert [(document.value, document.index, document.line) for document in reading.documents] == [
        ({"a": 1}, 0, 1),
        ({"c": 3}, 1, 5),
        ({"e": 5, "f": [6]}, 2, 9),
    ]
    assert [(problem.code, problem.span.line) for problem in reading.problems] == [("IN001", 3), ("IN001", 7)]
    assert reading.documents[2].value_span(("f", 0)) == Span(11, 3, 11, 4)


def test_what_stands_behind_dots_without_dashes_is_not_read() -> None:
    assert values("a: 1\n...\nb: 2\n---\nc: 3\n") == [{"a": 1}, {"c": 3}]
    assert codes("a: 1\n...\nb: 2\n---\nc: 3\n") == [("IN001", True, 3, 1)]
    assert codes("a: 1\n...\n---\nb: 2\n...\n") == []


def test_a_fault_that_only_the_values_show_costs_one_document() -> None:
    assert values("a: 1\n---\nb: *x\n---\nc: 3\n") == [{"a": 1}, {"c": 3}]
    assert codes("a: 1\n---\nb: *x\n---\nc: 3\n") == [("IN001", True, 3, 4)]


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("---\n# Source: chart/templates/a.yaml\na: 1\n---\n# Source: chart/templates/b.yaml\n---\nb: 2\n---\nc: 3\n", ["a", "b", None]),
        ("# Source: chart/templates/a.yaml\r\na: 1\r\n", ["a"]),
        ("# Source: https://example.org/chart/a.yaml\na: 1\n", [None]),
        ("a: |\n  # Source: chart/templates/a.yaml\n---\nb: [\n---\n# Source: chart/templates/c.yaml\nc: 1\n", [None, "c"]),
    ],
)
def test_helm_source_comments(text: str, sources: list[str | None]) -> None:
    expected = [source and f"chart/templates/{source}.yaml" for source in sources]
    assert [document.source for document in read(text.encode()).documents] == expected


# Problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1\n", ("IN001", True, 1, 4)),
        ("a: 'x\nb: 1\n", ("IN001", True, 1, 4)),
        ("a: b: c\n", ("IN001", True, 1, 5)),
        ("a:\n\tb: 1\n", ("IN001", True, 2, 1)),
        ("a:\n  - b: 1\n  \tc: 2\n", ("IN001", True, 3, 3)),
        ("a: !e!x 1\n", ("IN001", True, 1, 4)),
        ("a: \x07\n", ("IN002", True, 1, 4)),
        ("a: &a [*a]\n", ("IN003", True, 1, 8)),
        ("a: 1\nb: 2\na: 3\n", ("IN005", False, 3, 1)),
        ("- x: {y: 1, y: 2}\n", ("IN005", False, 1, 13)),
        ("b: &b {x: 1}\nc:\n  x: 3\n  <<: *b\n", ("IN006", False, 4, 3)),
        ("a: .inf\n", ("IN007", False, 1, 4)),
        ("a:\n- .nan\n", ("IN007", False, 2, 3)),
        ("~: 1\n", ("IN007", False, 1, 1)),
        ("? [a]\n: 1\n", ("IN007", False, 1, 3)),
        ("a: !!int x\n", ("IN007", False, 1, 4)),
        ("%YAML 1.1\n---\na: 1\n", ("IN009", False, 1, 1)),
        ("--- {a: 1}\n", ("IN009", False, 1, 5)),
        ("# x\n\ufeffa: 1\n", ("IN010", False, 2, 1)),
        ("a: 1\n\t\nb: 2\n", ("IN001", True, 2, 1)),
        ('a: "x\\/y"\n', ("IN011", False, 1, 6)),
    ],
)
def test_problems_and_where_they_stand(text: str, expected: tuple[str, bool, int, int]) -> None:
    assert codes(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb:\n  a: 1\n",
        "b: &b {x: 1}\nc:\n  <<: *b\n  x: 3\n",
        "a: 1\n---\n\ufeffb: 2\n",
        "\ufeffa: 1\n",
        'a: "x\\\\/y"\n',
        "a: &x 1\nb: &x 2\nc: *x\n",
        "a: '{{ .Values.x }}'\nb: x{{ y }}\nc: ${X}\n",
        "a: 1\n--- # comment\nb: 1\n",
    ],
)
def test_what_is_no_problem(text: str) -> None:
    assert codes(text) == []


def test_a_tab_is_called_a_tab() -> None:
    (problem,) = read(b"a:\n\tb: 1\n").problems
    assert "tab" in problem.message


def test_the_duplicate_names_the_line_of_the_first_and_the_last_wins() -> None:
    (document,) = read(b"x: 0\n---\na: 1\nb: 2\na: 3\n").documents[1:]
    assert document.value == {"a": 3, "b": 2}
    assert "line 3" in document.problems[0].message
    assert document.value_span(("a",)) == Span(5, 4, 5, 5)


def test_values_without_a_json_form_keep_their_text() -> None:
    assert values("a: .inf\n~: 1\n? [b]\n: 2\nc: !!int x\n") == [{"a": ".inf", "~": 1, "c": "x"}]


@pytest.mark.parametrize(
    "text",
    [
        "{{- if .Values.x }}\na: 1\n{{- end }}\n",
        "metadata:\n  name: {{ .Release.Name }}-x\n",
        "metadata:\n  name: {{ .Release.Name }}\n",
        'labels:\n  {{- include "x" . | nindent 2 }}\n',
        "{% if x %}\na: 1\n{% endif %}\n",
        "{# comment #}\na: {{ x }}\n",
        "{{- /*\ncomment\n*/ -}}\na: {{ x }}y\n",
        "{{ .Values.key }}: 1\n",
    ],
)
def test_an_unrendered_template_is_not_an_error(text: str) -> None:
    reading = read(text.encode())
    assert reading.documents == []
    assert [(problem.code, problem.fatal) for problem in reading.problems] == [("IN008", False)]


@pytest.mark.parametrize("text", ["a: '{{ x }}'\nb: [1\nc: 2\n", "a: |\n  {{ x }}\n  {{- end }}\nb:\n\tc: 1\n"])
def test_a_syntax_error_beside_braces_is_an_error(text: str) -> None:
    assert [problem.code for problem in read(text.encode()).problems] == ["IN001"]


# Bytes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding: str) -> None:
    (document,) = read("a: é😀 # x\r\nb: [😀, z]\r\n".encode(encoding)).documents
    assert document.value == {"a": "é😀", "b": ["😀", "z"]}
    assert document.value_span(("a",)) == Span(1, 4, 1, 6)
    assert document.value_span(("b", 1)) == Span(2, 8, 2, 9)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        ("a: 1".encode("utf-32"), 1, 1),
        (b"\xff\xfea", 1, 1),
        (b"a: 1\nb: \x00\n", 2, 4),
        (b"\x7fELF\x02\x01\x01\x00\x00", 1, 8),
        ("a: é\nb: é".encode("latin-1"), 1, 4),
    ],
)
def test_what_is_not_text(data: bytes, line: int, column: int) -> None:
    assert codes(data) == [("IN002", True, line, column)]


def test_invalid_utf8_costs_one_document() -> None:
    assert values(b"a: 1\n---\nb: \xff\n---\nc: 1\n") == [{"a": 1}, {"c": 1}]
    assert codes(b"a: 1\n---\nb: \xff\n---\nc: 1\n") == [("IN002", True, 3, 4)]


def test_unicode_line_separators_are_no_lines_of_the_file() -> None:
    (document,) = read('a: "x\u2028 y"\nb: z\n'.encode()).documents
    assert document.value_span(("b",)) == Span(2, 4, 2, 5)


# JSON


def test_json_that_yaml_cannot_read() -> None:
    text = '\t{\n\t"a": "x\\/y",\t"b": "\\ud83d\\ude00\\ud83d",\n\t"n": [1e3, 1.0, -0, 12345678901234567890, null, true, {}, []]\n}\n'
    (document,) = read(text.encode()).documents
    assert document.value == {"a": "x/y", "b": "😀\ufffd", "n": [1000, 1, 0, 12345678901234567890, None, True, {}, []]}
    assert document.problems == ()
    assert document.value_span(("b",)) == Span(2, 20, 2, 40)
    assert document.key_span(("n",)) == Span(3, 2, 3, 5)


def test_json_values_one_after_the_other() -> None:
    reading = read(b'{"a": 1}\n{"a": 2, "a": 3}\n[]')
    assert [(document.value, document.line) for document in reading.documents] == [({"a": 1}, 1), ({"a": 3}, 2), ([], 3)]
    assert [problem.code for problem in reading.documents[1].problems] == ["IN005"]


def test_json_keys_may_be_long() -> None:
    text = json.dumps({"k" * 2000: {"x": 1}})
    assert values(text) == [json.loads(text)]


# Hostile input


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        "{a: " * 10_000 + "}" * 10_000,
        "- " * 10_000,
        "[" * 100_000,
        '{"a\\/":' + "[" * 10_000 + "]" * 10_000 + "}",
    ],
    ids=["list", "mapping", "block", "open", "json"],
)
def test_deep_nesting_is_refused(text: str) -> None:
    begin = time.perf_counter()
    (problem,) = read(text.encode()).problems
    assert (problem.code, problem.fatal) == ("IN004", True)
    check_syntax(text.encode())
    assert time.perf_counter() - begin < 5


def test_reasonable_nesting_is_read() -> None:
    assert codes("[" * 250 + "]" * 250) == []


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{name}: &{name} [{', '.join(['*' + above] * 9)}]" for above, name in zip("abcdefgh", "bcdefghi", strict=True)]
    assert [code for code, *_ in codes("\n".join(lines))] == ["IN003"]


def test_aliases_cannot_nest_deeper_than_brackets() -> None:
    lines = ["a0: &a0 [" + "x, " * 5000 + "]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 400))]
    assert next(code for code, *_ in codes("\n".join(lines))) in ("IN003", "IN004")


@pytest.mark.parametrize(
    "text",
    ["%x\n" * 50_000, "{{" * 50_000, "{%" * 50_000, "a: [\n" + "---\n" * 20_000, "\ufeff\n" * 20_000, "# Source: a\n" * 20_000 + "a: [1"],
)
def test_no_input_takes_long(text: str) -> None:
    begin = time.perf_counter()
    read(text.encode())
    assert time.perf_counter() - begin < 10


# The syntax pass


@pytest.mark.parametrize("text", ["a: 1\n", "a: [1\n---\nb: 1\n", "", "a:\n\tb: 1\n", "{{- if x }}\na: 1\n", "a: \x07\n", '\t{"a": 1}\n'])
def test_the_syntax_pass_finds_what_reading_finds(text: str) -> None:
    assert check_syntax(text.encode()).problems == read(text.encode()).problems
    assert check_syntax(text.encode()).documents == []


# Without libyaml


def test_the_pure_parser_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# Source: c/t/a.yaml\na: &x 1\nb:\n- {c: 'd e', f: g}\n- *x\n---\né: \"😀\\n\" # x\ng: >-\n  h\n  i\n---\nj: [\n---\nk: 1\n"
    with_libyaml = read(text.encode())
    monkeypatch.setattr(events, "_parser", events._PureParser)
    without = read(text.encode())
    assert check_syntax(text.encode()).problems[0].code == "IN001"
    assert [problem.span.line for problem in without.problems] == [problem.span.line for problem in with_libyaml.problems]
    for ours, theirs in zip(without.documents, with_libyaml.documents, strict=True):
        assert (ours.value, ours.index, ours.line, ours.source) == (theirs.value, theirs.index, theirs.line, theirs.source)
        for path in [(), ("a",), ("b", 0, "c"), ("b", 1), ("é",), ("g",)]:
            assert ours.value_span(path) == theirs.value_span(path)
    assert yaml.__with_libyaml__, "the test compares with libyaml"


# Places


TEXT = """\
# comment
metadata:
  name: "x y"   # comment
  labels: {a: 1, 'b c': [2, 3]}
  empty:
  anchored: &anchor 5
  alias: *anchor
  tagged: !!str 5
spec:
- name: one
  script: |
    line 1
    line 2

  # a comment below
- name: two
  folded: >-
    some
    words
base: &base
  inner: {deep: 1}
derived:
  <<: *base
  own: 2
"""


@pytest.mark.parametrize(
    ("path", "span", "key", "raw"),
    [
        (("metadata", "name"), Span(3, 9, 3, 14), Span(3, 3, 3, 7), '"x y"'),
        (("metadata", "labels"), Span(4, 11, 4, 32), Span(4, 3, 4, 9), None),
        (("metadata", "labels", "b c"), Span(4, 25, 4, 31), Span(4, 18, 4, 23), None),
        (("metadata", "labels", "b c", 1), Span(4, 29, 4, 30), Span(4, 29, 4, 30), "3"),
        (("metadata", "empty"), Span(5, 9, 5, 9), Span(5, 3, 5, 8), ""),
        (("metadata", "anchored"), Span(6, 21, 6, 22), Span(6, 3, 6, 11), "5"),
        (("metadata", "alias"), Span(7, 10, 7, 17), Span(7, 3, 7, 8), None),
        (("metadata", "tagged"), Span(8, 11, 8, 18), Span(8, 3, 8, 9), "!!str 5"),
        (("spec", 0), Span(10, 3, 13, 11), Span(10, 3, 13, 11), None),
        (("spec", 0, "script"), Span(11, 11, 13, 11), Span(11, 3, 11, 9), "|\n    line 1\n    line 2"),
        (("spec", 1, "folded"), Span(17, 11, 19, 10), Span(17, 3, 17, 9), ">-\n    some\n    words"),
        (("spec",), Span(10, 1, 19, 10), Span(9, 1, 9, 5), None),
        (("derived", "inner", "deep"), Span(21, 17, 21, 18), Span(21, 11, 21, 15), "1"),
        (("derived", "own"), Span(24, 8, 24, 9), Span(24, 3, 24, 6), "2"),
        (("metadata", "missing"), None, None, None),
        (("metadata", "name", "x"), None, None, None),
        (("spec", 2), None, None, None),
        (("spec", -1), None, None, None),
        (("spec", "0"), None, None, None),
        (("metadata", 0), None, None, None),
    ],
)
def test_places(path: tuple[str | int, ...], span: Span | None, key: Span | None, raw: str | None) -> None:
    (document,) = read(TEXT.encode()).documents
    assert document.value_span(path) == span
    assert document.key_span(path) == key
    assert document.raw_text(path) == raw


def test_the_root_has_a_place_and_no_key() -> None:
    (document,) = read(TEXT.encode()).documents
    assert document.value_span(()) == Span(2, 1, 24, 9)
    assert document.key_span(()) is None
    assert document.line == 2


def test_styles() -> None:
    (document,) = read(TEXT.encode()).documents
    paths: list[tuple[str | int, ...]] = [
        ("metadata", "name"),
        ("spec", 0, "script"),
        ("spec", 1, "folded"),
        ("metadata", "tagged"),
        ("spec",),
    ]
    assert [document.scalar_style(path) for path in paths] == ['"', "|", ">", "plain", None]


# Embedded texts


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("c: |\n  x:\n  - é: 1\n    key: 😀 # c\n", 4, 10),
        ("c: |\r\n  x:\r\n  - é: 1\r\n    key: 😀\r\n", 4, 10),
        ("c: |2\n    x:\n    - é: 1\n      key: 😀\n", 4, 12),
        ("c: |-\n\n    x:\n    - é: 1\n      key: 😀", 5, 12),
        ("c: >\n  {x: [{é: 1,\n  key: 😀}]}\n", 3, 8),
        ("c: '{x: [{é: 1, ''q'': 2, key: 😀}]}'\n", 1, 32),
        ('c: "{x: [{é: 1, \\"q\\": 2,\\x20key: 😀}]}"\n', 1, 35),
        ('c: "x:\\n- é: 1\\n  key: \\U0001F600"\n', 1, 24),
        ('c: "{x: [{é: 1,\n   key: \\\n   😀}]}"\n', 3, 4),
        ("c:\n  x:\n  - key: 😀\n", None, None),
    ],
)
def test_spans_inside_an_embedded_text_are_those_of_the_file(text: str, line: int | None, column: int) -> None:
    (document,) = read(f"a: 0\n---\n{text}".encode()).documents[1:]
    reading = read_embedded(document, ("c",))
    assert reading.problems == ()
    if line is None:
        assert reading == ([], (), 0)
        return
    (inner,) = reading.documents
    assert inner.value["x"][0]["key"] == "😀"
    span = inner.value_span(("x", 0, "key"))
    assert span is not None
    assert span[:2] == (line + 2, column)


def test_problems_inside_an_embedded_text_have_the_places_of_the_file() -> None:
    (document,) = read(b"data:\n  c: |\n    a: 1\n    a: 2\n    ---\n    b:\n    \t- x\n    ---\n    d: 1\n").documents
    reading = read_embedded(document, ("data", "c"))
    assert [(inner.value, inner.line) for inner in reading.documents] == [({"a": 2}, 3), ({"d": 1}, 9)]
    assert [(problem.code, problem.span) for problem in reading.problems] == [("IN001", Span(7, 5, 7, 6))]
    assert [(problem.code, problem.span) for problem in reading.documents[0].problems] == [("IN005", Span(4, 5, 4, 6))]
    assert "line 3" in reading.documents[0].problems[0].message


def test_a_text_in_a_text_in_a_text() -> None:
    (outer,) = read(b"a: |\n  b: |\n    c: '{d: [1, 22]}'\n").documents
    (middle,) = read_embedded(outer, ("a",)).documents
    (inner,) = read_embedded(middle, ("b",)).documents
    (innermost,) = read_embedded(inner, ("c",)).documents
    assert innermost.value == {"d": [1, 22]}
    assert innermost.value_span(("d", 1)) == Span(3, 17, 3, 19)


def test_an_embedded_text_behind_an_alias() -> None:
    (document,) = read(b"a: &text |\n  b: 1\nc: *text\nd: {<<: {e: *text}}\n").documents
    for path in [("c",), ("d", "e")]:
        (inner,) = read_embedded(document, path).documents
        assert inner.value_span(("b",)) == Span(2, 6, 2, 7)


def test_an_empty_embedded_text() -> None:
    (document,) = read(b"a: ''\nb: 5\n").documents
    assert read_embedded(document, ("a",)) == ([], (), 1)
    assert read_embedded(document, ("b",)).documents[0].value == 5
    assert read_embedded(document, ("missing",)) == ([], (), 0)
