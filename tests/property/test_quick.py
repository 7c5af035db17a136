"""What the quick reader makes of a text must be what the builder makes of it, and it must take the texts that people write."""

from pathlib import Path as FilePath
from typing import Any

import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpuvet.manifests.events import parse
from gpuvet.manifests.quick import quick_values
from gpuvet.manifests.reader import _build, read
from gpuvet.manifests.source import Source

ROOT = FilePath(__file__).parents[2]
MANIFESTS = sorted(path for folder in ("examples", "tests/fixtures", "rules", "deploy") for path in (ROOT / folder).rglob("*.yaml"))
TEXTS = [path.read_text(encoding="utf-8") for path in MANIFESTS if "reader" not in path.parts]

PIECES = st.sampled_from(
    [
        *(
            "a",
            "b",
            "key",
            "'a b'",
            '"c"',
            '"d\\n"',
            "a/b.c",
            "1",
            "0x1F",
            "1e3",
            "017",
            "1:20",
            "y",
            "on",
            "null",
            "~",
            "",
            " ",
            "  ",
            "    ",
        ),
        *(":", ": ", ": |", ": |-", ": >", ": |2", ": &x", ": *x", ": !!str ", "- ", "-", "- - ", "-  ", "? ", "---", "--- a", "...", "<<"),
        *("#", " # c", "#c", "[", "]", "{", "}", ",", ", ", "[]", "{}", "[a, b]", "{a: b}", "{a: [1, 'x']}", "@", "`", "%", "%TAG", "\t"),
        *(
            "é",
            "😀",
            "\x85",
            "\u2028",
            "\r",
            "$(X)",
            "{{ x }}",
            "a: b",
            "- a: b",
            "http://a:1",
            "a #b",
            "a#b",
            "''",
            '""',
            "'",
            '"',
            ".inf",
            "=",
        ),
    ]
)
LINES = st.builds(lambda indent, pieces: " " * indent + "".join(pieces), st.integers(0, 6), st.lists(PIECES, max_size=5))


def same(left: Any, right: Any) -> bool:
    """Equal, with the same types and the same order of keys."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def agree(text: str) -> bool:
    """Whether the quick reader took the text; fails when it is no YAML, or something else to the builder."""
    quick = quick_values(text)
    if quick is None:
        return False
    built = _build(Source(text), parse(text), 0)
    assert not built.problems
    assert not any(document.problems for document in built.documents)
    assert len(quick) == len(built.documents) + built.empty
    values = [value for _, value in quick if value is not None]
    assert all(map(same, values, [document.value for document in built.documents]))
    assert len(values) == len(built.documents)
    for fast, slow in zip(read(text.encode()).documents, built.documents, strict=True):
        assert fast.line == slow.line
        assert fast.value_span(()) == slow.value_span(())
    return True


def test_it_takes_nearly_all_manifests_as_they_are_written() -> None:
    assert sum(map(agree, TEXTS)) > 0.9 * len(TEXTS)


def test_it_takes_streams_of_documents() -> None:
    taken = [text.rstrip("\n") + "\n" for text in TEXTS if quick_values(text) is not None][:40]
    assert agree("---\n".join(taken))
    assert agree("---\n" + "---\n# nothing here\n---\n".join(taken))


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=8), st.booleans())
def test_lines_in_any_order_are_read_alike(lines: list[str], ends: bool) -> None:
    agree("\n".join(lines) + "\n" * ends)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(TEXTS), st.data())
def test_manifests_with_changed_lines_are_read_alike(text: str, data: st.DataObject) -> None:
    assume(len(text) < 4000)
    lines = text.split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.integers(0, 4)):
            case 0:
                lines[at] = data.draw(LINES)
            case 1:
                lines[at] = " " * data.draw(st.integers(0, 8)) + lines[at].lstrip(" ")
            case 2:
                lines.insert(at, data.draw(LINES))
            case 3:
                lines.insert(data.draw(st.integers(0, len(lines))), lines[at])
            case _:
                cut = data.draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + data.draw(PIECES) + lines[at][cut:]
    agree("\n".join(lines))


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6) | st.text("ab01 é:#-'\"{}[],&*\n", max_size=10),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/.-1é", min_size=1, max_size=5), inner, max_size=4),
        max_leaves=12,
    ),
    st.sampled_from([None, True, False]),
    st.booleans(),
)
def test_what_yaml_libraries_write_is_read_alike(value: Any, flow: bool | None, indented: bool) -> None:
    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, indentless and not indented)

    agree(yaml.dump(value, Dumper=Dumper, default_flow_style=flow, allow_unicode=True, width=60))
