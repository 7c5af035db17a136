"""Which files a run reads: named files as they are, folders walked in order, what git ignores left out."""

import os
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

from gpuvet.scan.ignore import Ignore

SUFFIXES = (".yaml", ".yml", ".json")
_OURS = (".git", ".gpuvet.yaml")
"""What no walk enters or reads: not manifests."""


class Unreadable(NamedTuple):
    """A path that cannot be read, and why."""

    path: str
    reason: str


def find_files(paths: list[str], exclude: tuple[str, ...], root: FilePath) -> Iterator[str | Unreadable]:
    """Files to read, each once, in a stable order; `-` is passed on. `exclude` is gitignore syntax relative to `root`."""
    seen: set[tuple[int, int]] = set()
    company = Ignore(exclude, str(root.resolve()))
    for path in paths:
        if path == "-":
            yield path
        elif os.path.isdir(path):
            yield from _walk(path, company, seen)
        else:
            entry = _once(path, seen)
            if entry is not None:
                yield entry


def _once(path: str, seen: set[tuple[int, int]]) -> str | Unreadable | None:
    try:
        status = os.stat(path)
    except OSError as error:
        return Unreadable(path, error.strerror or str(error))
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return None
    seen.add(identity)
    return path


def _walk(top: str, company: Ignore, seen: set[tuple[int, int]]) -> Iterator[str | Unreadable]:
    yield from _folder(top, [company, *_ignores_above(top)], seen, frozenset())


def _folder(folder: str, ignores: list[Ignore], seen: set[tuple[int, int]], above: frozenset[tuple[int, int]]) -> Iterator[str | Unreadable]:
    try:
        status = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Unreadable(folder, error.strerror or str(error))
        return
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        yield Unreadable(folder, "the folder contains itself through a link")
        return
    here = Ignore.of(folder)
    if here is not None:
        ignores = [*ignores, here]
    for entry in entries:
        if entry.name in _OURS:
            continue
        try:
            is_folder = entry.is_dir()
        except OSError:
            is_folder = False
        full = os.path.abspath(entry.path)
        if any(ignore.matches(full, is_folder) for ignore in ignores):
            continue
        if is_folder:
            yield from _folder(entry.path, ignores, seen, above | {identity})
        elif entry.name.endswith(SUFFIXES) and (not entry.name.endswith(".json") or _may_be_manifest(entry.path)):
            found = _once(entry.path, seen)
            if found is not None:
                yield found


def _may_be_manifest(path: str) -> bool:
    """Editors and build tools keep JSON with comments; what names no apiVersion is none of ours, and no syntax error either."""
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 20)
    except OSError:
        return True
    return b"apiVersion" in data or b"\0" in data or len(data) == 1 << 20


def _ignores_above(top: str) -> list[Ignore]:
    """The .gitignore files between the root of the checkout and the folder."""
    folder = FilePath(top).resolve()
    chain: list[Ignore] = []
    for parent in folder.parents:
        above = Ignore.of(str(parent))
        if above is not None:
            chain.append(above)
        if (parent / ".git").exists():
            return chain[::-1]
    return chain[::-1] if (folder / ".git").exists() else []
