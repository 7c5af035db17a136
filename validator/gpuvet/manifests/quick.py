"""The quick way from text to values: line by line, for the plain style in which nearly all manifests are written.

It gives up (None) on every line that is not beyond doubt: then libyaml and the builder read the text. So it must know only what it
recognizes, never what all of YAML means. What it takes: block mappings and lists, plain and simply quoted scalars on one line, `|` texts,
lists and mappings of such scalars in brackets on one line, comments, `---`. All of that is valid YAML, and kubectl reads it as is.
"""

import re
from collections.abc import Iterator
from marshal import dumps, loads
from typing import Any, Final

from gpuvet.manifests.builder import KEYS, MAX_DEPTH, PLAIN
from gpuvet.manifests.source import Source, part

_PLAIN: Final = r"(?:[\w/.$(+~^;)\\]|-(?=[^\s]))(?:[^\s:#]|:(?=\S)|(?<=[^\s])#| +(?=[^\s#]))*"
_QUOTED: Final = r"""'[^'\n]*'|"[^"\\\n]*\""""
_KEY: Final = r"[A-Za-z0-9_][A-Za-z0-9_./-]*|" + _QUOTED
_WORD: Final = "-*[A-Za-z0-9_./][A-Za-z0-9_./-]*|" + _QUOTED
_LINE: Final = re.compile(rf"( *)(- +)?(?:({_KEY}):(?= |\Z) *)?(?:({_PLAIN})|({_QUOTED})|([\[{{][^#\n]*[\]}}])|(\|-?))?(?: *| +#.*)")
"""Groups: indentation, dash, key; then plain scalar, quoted scalar, brackets, or the head of a text."""
_TOKEN: Final = re.compile(rf" *(?:(?P<sign>[\[\]{{}},])|(?P<key>{_KEY}): +(?=[^ ])|(?P<word>{_WORD})(?= *[\]}},]))")
_BREAK_LINE: Final = re.compile("^---$", re.MULTILINE)
_CACHED_LINES: Final = 20_000
_CACHED_LENGTH: Final = 100
_LONGEST_KEY: Final = 1000
"""Characters; libyaml takes some more."""

_SCALAR, _OPEN, _FLOW, _TEXT, _NOTHING, _BREAK, _DOUBT = range(7)
"""What stands on a line behind indentation, dash and key."""

_Line = tuple[int, int, int, str | None, Any]
"""Kind, indentation, column of what stands behind the dash (-1 without one), key, value."""
_EMPTY_LINE: Final[_Line] = (_NOTHING, -2, -1, None, None)
_BREAKING: Final[_Line] = (_BREAK, -2, -1, None, None)
_DOUBTFUL: Final[_Line] = (_DOUBT, 0, -1, None, None)


class _Lines(dict[str, _Line]):
    """Line -> what it says; filled on demand. Manifests repeat their lines."""

    def __missing__(self, line: str) -> _Line:
        found = _look_at(line)
        if len(line) <= _CACHED_LENGTH:
            if len(self) >= _CACHED_LINES:
                self.clear()
            self[line] = found
        return found


_LINES: Final = _Lines()


def _look_at(line: str) -> _Line:
    if line == "---":
        return _BREAKING
    match = _LINE.fullmatch(line)
    if match is None or not line.isprintable():
        # Tabs, line breaks of other systems, byte order marks and what YAML cannot hold are not printable, either.
        return _EMPTY_LINE if line.lstrip(" ")[:1] == "#" and line.isprintable() else _DOUBTFUL
    before, dash, name, plain, quoted, flow, text = match.groups()
    refused = PLAIN.refused, KEYS.refused
    indent = len(before)
    inner = -1 if dash is None else indent + len(dash)
    key = None if name is None else _key(name)
    kind, value = _SCALAR, None
    if plain is not None:
        value = PLAIN[plain]
    elif quoted is not None:
        value = quoted[1:-1]
    elif flow is not None:
        try:
            kind, value = _FLOW, dumps(_Flow(flow).whole())
        except _Doubt:
            return _DOUBTFUL
    elif text is not None:
        kind, value = _TEXT, text
    elif key is not None:
        kind = _OPEN
    else:
        return _EMPTY_LINE if dash is None else _DOUBTFUL
    if (key is None and dash is None) or refused != (PLAIN.refused, KEYS.refused):
        return _DOUBTFUL
    if key is not None and len(key) > _LONGEST_KEY:
        return _DOUBTFUL
    return kind, indent, inner, key, value


def _key(text: str) -> str:
    return text[1:-1] if text[0] in "'\"" else KEYS[text]


class _Doubt(Exception):
    """Brackets hold something that is not recognized."""


class _Flow:
    """Reads lists and mappings in brackets, on one line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Any:
        """The value of the text. Raises _Doubt."""
        value = self._value(0)
        if self._at != len(self._text):
            raise _Doubt
        return value

    def _take(self) -> tuple[str, str]:
        match = _TOKEN.match(self._text, self._at)
        if match is None or match.lastgroup is None:
            raise _Doubt
        self._at = match.end()
        return match.lastgroup, match[match.lastgroup]

    def _value(self, depth: int) -> Any:
        sort, text = self._take()
        if sort == "word":
            return text[1:-1] if text[0] in "'\"" else PLAIN[text]
        if depth > 20 or text not in "[{" or sort == "key":
            raise _Doubt
        return self._list(depth + 1) if text == "[" else self._mapping(depth + 1)

    def _list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        if self._ends("]"):
            return items
        while True:
            items.append(self._value(depth))
            if self._goes_on("]"):
                return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        if self._ends("}"):
            return items
        while True:
            sort, text = self._take()
            key = _key(text) if sort == "key" else None
            if key is None or key in items:
                raise _Doubt
            items[key] = self._value(depth)
            if self._goes_on("}"):
                return items

    def _ends(self, sign: str) -> bool:
        before = self._at
        if self._take() == ("sign", sign):
            return True
        self._at = before
        return False

    def _goes_on(self, sign: str) -> bool:
        """Whether the bracket closes; otherwise there is a comma."""
        token = self._take()
        if token not in (("sign", sign), ("sign", ",")):
            raise _Doubt
        return token[1] == sign


def quick_values(text: str) -> list[tuple[int, Any]] | None:
    """The documents of a stream: behind how many `---` lines each stands, and its value. None when there is any doubt."""
    lines = text.split("\n")
    # What stands behind the last line break is no line.
    ends_well = not lines[-1]
    if ends_well:
        lines.pop()
    values: list[tuple[int, Any]] = []
    root: Any = None
    breaks = 0
    here: Any = None
    """The mapping or list that lines are put into, and (`at`) the column of its keys or dashes."""
    at = -1
    quick = -1
    """`at` while `here` is a mapping that takes a key next; -1 otherwise."""
    stack: list[tuple[Any, int]] = []
    waiting: str | None = None
    """A key of `here` whose value stands on the next line, or is null."""
    known = _LINES
    stream = iter(lines)
    line: str | None
    for line in stream:
        while line is not None:
            kind, indent, inner, key, value = known[line]
            line = None
            if indent == quick and inner < 0 and kind < _FLOW:
                if key in here:
                    return None
                here[key] = value
                if kind == _OPEN:
                    waiting, quick = key, -1
                break
            if kind >= _NOTHING:
                if kind == _NOTHING:
                    break
                if kind == _DOUBT:
                    return None
                if breaks or root is not None:
                    values.append((breaks, root))
                root, here, at, quick, waiting = None, None, -1, -1, None
                breaks += 1
                stack.clear()
                break
            if waiting is not None:
                if indent > at or (inner >= 0 and indent == at):
                    if len(stack) >= MAX_DEPTH - 2:
                        return None
                    stack.append((here, at))
                    nested: Any = [] if inner >= 0 else {}
                    here[waiting] = nested
                    here, at = nested, indent
                waiting = None
            elif root is None:
                root = here = [] if inner >= 0 else {}
                at = indent
            while indent < at:
                if not stack:
                    return None
                here, at = stack.pop()
            if inner < 0:
                if type(here) is list and stack and stack[-1][1] == at:
                    # A list may stand as deep as the key it belongs to.
                    here, at = stack.pop()
                if indent != at or type(here) is not dict:
                    return None
            else:
                if indent != at or type(here) is not list:
                    return None
                if key is not None:
                    if len(stack) >= MAX_DEPTH - 2:
                        return None
                    item: dict[str, Any] = {}
                    here.append(item)
                    stack.append((here, at))
                    here, at = item, inner
            if kind == _OPEN:
                waiting = key
            elif kind == _FLOW:
                value = loads(value)  # noqa: S302 - packed by `_look_at`, so that each line gets a list of its own
            elif kind == _TEXT:
                found = _text(stream, at, value == "|-")
                if found is None or (found[1] is None and not ends_well):
                    return None
                value, line = found
            if key is None:
                here.append(value)
                quick = -1
            elif key in here:
                return None
            else:
                here[key] = value
                quick = -1 if kind == _OPEN else at
    if breaks or root is not None:
        values.append((breaks, root))
    return values


def stretch(source: Source, breaks: int) -> Source:
    """What stands behind that many `---` lines of a text that was read quickly."""
    starts = [0, *(match.start() for match in _BREAK_LINE.finditer(source.text)), len(source.text)]
    return part(source, starts[breaks], starts[breaks + 1])


def _text(stream: Iterator[str], outside: int, strip: bool) -> tuple[str, str | None] | None:
    """A `|` text and the line behind it. `outside` is the column that it must stand deeper than. None when in doubt."""
    content: list[str] = []
    column = -1
    behind: str | None = None
    for line in stream:
        bare = line.lstrip(" ")
        depth = len(line) - len(bare)
        if not bare:
            if column < 0:
                return None
            content.append(line[column:])
            continue
        if column < 0:
            if depth <= outside:
                return None
            column = depth
        if depth < column:
            if depth > outside:
                return None
            behind = line
            break
        if not line.isprintable():
            return None
        content.append(line[column:])
    if not content:
        return None
    while not content[-1]:
        content.pop()
    return "\n".join(content) + ("" if strip else "\n"), behind
