"""Text -> YAML events, by libyaml where PyYAML has it, otherwise by PyYAML's own parser. Positions are `mark.index`, in characters."""

import re
from typing import Any, Final

import yaml
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner

from gpuvet.values.errors import InputError

Event = Any
"""A PyYAML event. Its classes differ in their attributes and are told apart by `type(event) is`, which no type checker follows."""

_MAX_BRACKETS: Final = 5_000
_BRACKET_OR_DOCUMENT: Final = re.compile(r"[][{}]|^---", re.MULTILINE)
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Fault(InputError):
    """The text, or one document of it, cannot be read. `start` and `end` are character offsets.

    `between_documents`: what stands above `start` is one or more whole documents.
    """

    def __init__(self, code: str, message: str, start: int, end: int, between_documents: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.start = start
        self.end = end
        self.between_documents = between_documents


class _PureParser(Reader, Scanner, Parser):
    """What `yaml.SafeLoader` is made of, up to events only."""

    def __init__(self, stream: Any) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)

    def raw_parse(self) -> None:
        for _ in iter(self.get_event, None):
            pass


def _fastest_parser() -> Any:
    try:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]
    except ImportError:
        return _PureParser
    return CParser


_parser: Any = _fastest_parser()


def parse(text: str, data: bytes | None = None) -> list[Event]:
    """All events of the stream, the two stream events included. `data`, when at hand, is `text` in UTF-8. Raises Fault."""
    events: list[Event] = _run(text, data, lambda parser: list(iter(parser.get_event, None)))
    return events


def check(text: str, data: bytes | None = None) -> None:
    """Raises the Fault that `parse` would raise, at a fraction of the cost."""
    _run(text, data, lambda parser: parser.raw_parse())


def _run(text: str, data: bytes | None, work: Any) -> Any:
    parser = None
    _refuse_deep_brackets(text)
    try:
        parser = _parser(text.encode() if data is None else data)
        return work(parser)
    except (ReaderError, UnicodeError):
        raise _unreadable(text) from None
    except yaml.MarkedYAMLError as error:
        raise _syntax_fault(text, error) from None
    finally:
        if parser is not None:
            parser.dispose()


def _refuse_deep_brackets(text: str) -> None:
    """libyaml's time grows with the square of the depth of brackets, so what go-yaml would refuse does not get that far.

    Brackets in quotes are counted, too: it takes thousands that are never closed to make a difference.
    """
    if text.count("[") + text.count("{") <= _MAX_BRACKETS:
        return
    depth = 0
    for match in _BRACKET_OR_DOCUMENT.finditer(text):
        bracket = match.group()
        if bracket == "---":
            depth = 0
        elif bracket in "[{":
            depth += 1
            if depth > _MAX_BRACKETS:
                raise Fault("IN004", f"Brackets are nested deeper than {_MAX_BRACKETS} levels.", match.start(), match.end())
        elif depth:
            depth -= 1


def _unreadable(text: str) -> Fault:
    match = _UNPRINTABLE.search(text)
    if match is None:
        return Fault("IN002", "This is not text that YAML can hold; save the file as UTF-8.", 0, 0)
    character = match.group()
    if "\udc80" <= character <= "\udcff":
        what = f"The byte 0x{ord(character) - 0xDC00:02X} is not valid UTF-8; save the file as UTF-8."
    else:
        what = f"The character U+{ord(character):04X} is not allowed in YAML; remove it, or escape it inside double quotes."
    return Fault("IN002", what, match.start(), match.end())


_ADVICE: Final = (
    (
        "mapping values are not allowed",
        "`:` starts a value where none is allowed; check the indentation, or quote a text that contains `: `.",
    ),
    ("did not find expected key", "A key was expected here; check the indentation, and that quotes and brackets are closed."),
    ("could not find expected ':'", "A `:` after a key was expected; check that the key ends with `: ` and that quotes are closed."),
    ("did not find expected '-' indicator", "A list item (`- `) was expected here; check the indentation."),
    ("did not find expected ',' or ']'", "The list opened with `[` goes on without `,` or is not closed with `]`."),
    ("did not find expected ',' or '}'", "The mapping opened with `{` goes on without `,` or is not closed with `}`."),
    ("found unexpected end of stream", "The text ends inside a quoted value; close the quote."),
    ("found unexpected document indicator", "The document ends inside a quoted value; close the quote."),
    ("block sequence entries are not allowed", "A list item (`- `) is not allowed here; put it on a line of its own."),
    ("found undefined tag handle", "The tag's prefix is not declared; remove the tag or quote the text that starts with `!`."),
    ("did not find expected <document start>", "Another document starts here without the line `---` before it; add that line."),
    ("found unknown escape character", "The escape after `\\` does not exist; double the backslash or use single quotes."),
    ("invalid Unicode character code", "The escape does not name a Unicode character."),
    ("exceeded maximum", "The document is nested too deep."),
)


def _syntax_fault(text: str, error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    index = min(mark.index if mark is not None else 0, len(text))
    if error.context_mark is not None and not text[index:].strip():
        # What is still open at the end of the text is best mended where it was opened.
        index = min(error.context_mark.index, len(text.rstrip()))
    problem = (error.problem or "the text cannot be parsed").strip()
    tab = _indenting_tab(text, index)
    if tab is not None:
        message = "A tab is used for indentation, which YAML forbids; replace the tab with spaces."
        return Fault("IN001", message, tab, tab + 1)
    advice = next((advice for start, advice in _ADVICE if start in problem), "")
    context = f"{error.context}, " if error.context else ""
    message = f"This is not valid YAML ({context}{problem}). {advice}".rstrip()
    return Fault("IN001", message, index, min(index + 1, len(text)), "<document start>" in problem)


def _indenting_tab(text: str, index: int) -> int | None:
    """Offset of a tab among the blanks that the line of `index` begins with."""
    start = max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1
    match = re.compile(r"[ ]*(?:- +)*(\t)").match(text, start)
    return match.start(1) if match and match.start(1) <= index else None
