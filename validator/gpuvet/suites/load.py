"""Reads a suite and finds its manifests."""

import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

from pydantic import ValidationError

from gpuvet.language.suite import SuiteText, TestText
from gpuvet.manifests.reader import read
from gpuvet.manifests.workload_shape import objects
from gpuvet.scan.files import Unreadable, find_files
from gpuvet.settings.text import ConfigText
from gpuvet.values.errors import ConfigError
from gpuvet.values.path import Path
from gpuvet.values.total import nearest

_COMMENT = re.compile(r"#\s*expect:\s*([\w.:/-]+(?:\s*,\s*[\w.:/-]+)*)")


class Wanted(NamedTuple):
    """A finding that must be there. `line` and `severity` None: any."""

    file: str
    line: int | None
    rule: str
    severity: str | None


class Test(NamedTuple):
    """One test, its files found and its comments read."""

    text: TestText
    files: tuple[str, ...]
    manifest: bytes | None
    shown: str
    """What findings of an inline manifest call its file."""
    offset: int
    """Lines of the suite above the first one of an inline manifest."""
    wanted: tuple[Wanted, ...]


class Suite(NamedTuple):
    """A suite that can be run."""

    file: str
    folder: FilePath
    text: SuiteText
    tests: tuple[Test, ...]


def load_suite(path: FilePath) -> Suite:
    """Raises ConfigError that names file, line and column."""
    text = ConfigText(path)
    if not isinstance(text.value, dict):
        raise text.error((), "a suite is a mapping with tests")
    try:
        suite = SuiteText.model_validate(text.value)
    except ValidationError as error:
        raise _explained(text, error) from None
    names: dict[str, int] = {}
    for number, test in enumerate(suite.tests):
        if names.setdefault(test.name, number) != number:
            raise text.error(("tests", number, "name"), f"two tests are called {test.name!r}")
    return Suite(str(path), path.parent, suite, tuple(_test(text, number, test, path) for number, test in enumerate(suite.tests)))


def check_names(suite: Suite, known: frozenset[str]) -> None:
    """Raises ConfigError when a rule is expected that does not exist."""
    text = ConfigText(FilePath(suite.file))
    for number, test in enumerate(suite.tests):
        for place, expected in enumerate(test.text.expect):
            if expected.rule not in known:
                at = ("tests", number, "expect", place, "rule")
                raise text.error(at, f"there is no rule {expected.rule!r}{_near(expected.rule, known)}")
        for place, pattern in enumerate(test.text.rules):
            if pattern not in known and not (pattern.endswith("*") and any(rule.startswith(pattern[:-1]) for rule in known)):
                raise text.error(("tests", number, "rules", place), f"there is no rule {pattern!r}{_near(pattern, known)}")
        for wanted in test.wanted:
            if wanted.rule not in known:
                place_of = f"{wanted.file}:{wanted.line}"
                raise ConfigError(f"{place_of}: the comment expects {wanted.rule!r}, and there is no such rule{_near(wanted.rule, known)}")


def kinds_of(suite: Suite) -> set[tuple[str, str]]:
    """(apiVersion, kind) of all objects in the manifests of a suite."""
    texts = [test.manifest for test in suite.tests if test.manifest is not None]
    texts += [FilePath(file).read_bytes() for test in suite.tests for file in test.files]
    values = [value for text in texts for document in read(text).documents for _, value in objects(document.value)]
    found = [(value.get("apiVersion"), value.get("kind")) for value in values]
    return {(version, kind) for version, kind in found if isinstance(version, str) and isinstance(kind, str)}


def _near(name: str, known: frozenset[str]) -> str:
    near = nearest(name, tuple(sorted(known)))
    return f"; did you mean {near}?" if near else "; `gpuvet rules` lists them"


def _test(text: ConfigText, number: int, test: TestText, path: FilePath) -> Test:
    at: Path = ("tests", number)
    if test.manifest is not None:
        shown = f"{path}#{test.name}"
        wanted = (*_comments(shown, test.manifest), *_listed(text, at, test, {shown}))
        return Test(test, (), test.manifest.encode(), shown, _offset(text, (*at, "manifest")), wanted)
    files: list[str] = []
    for place, pattern in enumerate(test.files):
        found = list(_found(path.parent, pattern))
        if not found:
            raise text.error((*at, "files", place), f"no file is called {pattern!r} in {path.parent}")
        files += [file for file in found if file not in files]
    read = [wanted for file in files for wanted in _comments(file, FilePath(file).read_text("utf-8", "replace"))]
    return Test(test, tuple(files), None, "", 0, (*read, *_listed(text, at, test, set(files), path.parent)))


def _found(folder: FilePath, pattern: str) -> Iterator[str]:
    """Files in the order of their names."""
    direct = folder / pattern
    starts = [direct] if direct.exists() else sorted(folder.glob(pattern)) if not FilePath(pattern).is_absolute() else []
    for start in starts:
        for entry in find_files([str(start)], (), folder):
            if not isinstance(entry, Unreadable):
                yield entry


def _listed(text: ConfigText, at: Path, test: TestText, files: set[str], folder: FilePath | None = None) -> list[Wanted]:
    """The `expect` list, each with its file."""
    found = []
    for place, expected in enumerate(test.expect):
        here = (*at, "expect", place)
        if expected.file is None:
            if len(files) != 1:
                raise text.error(here, f"say in which of the {len(files)} files: file")
            file = next(iter(files))
        else:
            file = expected.file if folder is None else str(folder / expected.file)
            if file not in files:
                raise text.error((*here, "file"), f"{expected.file!r} is none of the files of the test")
        found.append(Wanted(file, expected.line, expected.rule, expected.severity))
    return found


def _comments(file: str, manifest: str) -> Iterator[Wanted]:
    """`# expect: RULE, RULE` behind what is wrong."""
    for number, line in enumerate(manifest.split("\n"), 1):
        if match := _COMMENT.search(line):
            for rule in match[1].split(","):
                yield Wanted(file, number, rule.strip(), None)


def _offset(text: ConfigText, at: Path) -> int:
    """Lines above the first line of a block in the suite."""
    written = text.written(at) or ""
    place = text.place(at).rsplit(":", 2)
    return int(place[1]) if written.startswith("|") else 0


def _explained(text: ConfigText, error: ValidationError) -> ConfigError:
    """The first complaint at its place."""
    # A key that is spelt wrong explains the one that is missing.
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    path = tuple(key for key in first["loc"] if isinstance(key, str | int))
    if first["type"] == "extra_forbidden":
        model = TestText if len(path) == 3 else SuiteText
        if len(path) > 4:
            from gpuvet.language.suite import ExpectText

            return text.unknown(path, "key of an expectation", tuple(ExpectText.model_fields))
        return text.unknown(path, "key of a test" if model is TestText else "key of a suite", tuple(model.model_fields))
    words = first["msg"].removeprefix("Value error, ")
    name = str(path[-1]) if path and isinstance(path[-1], str) else ""
    return text.error(path, f"{name}: {words}" if name else words)
