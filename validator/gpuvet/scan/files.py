"""Which files a run reads: named files as they are, folders walked in order, what git ignores left out."""

import os
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpuvet.scan.ignore import Ignore

SUFFIXES = (".yaml", ".yml", ".json")


class Unreadable(NamedTuple):
    """A path that cannot be read, and why."""

    path: str
    reason: str


_OURS = (".git", ".gpuvet.yaml")
"""What no walk enters or reads: not manifests."""

Identity = tuple[int, int]
"""Device and number of a file."""


def find_files(paths: list[str], exclude: tuple[str, ...], root: FilePath) -> Iterator[str | Unreadable]:
    """Files to read, each once, in a stable order; `-` is passed on. `exclude` is gitignore syntax relative to `root`."""
    seen: set[Identity] = set()
    for path in paths:
        if path == "-":
            yield path
        elif os.path.isdir(path):
            # Here and not above: most starts are about files.
            from gpuvet.scan.ignore import Ignore, ignores_above

            yield from _walk(path, Ignore(exclude, os.path.realpath(root)), ignores_above(path), seen)
        else:
            entry = _once(path, seen)
            if entry is not None:
                yield entry


def _once(path: str, seen: set[Identity]) -> str | Unreadable | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        return Unreadable(path, getattr(error, "strerror", None) or str(error))
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return None
    seen.add(identity)
    return path


class _Folder:
    """A folder on the way; its entries are taken one by one."""

    __slots__ = ("above", "entries", "ignores", "real")

    def __init__(self, path: str, real: str, ignores: list["Ignore"], above: frozenset[Identity]) -> None:
        """Raises OSError. `real` is the path without links, `above` the folders around."""
        from gpuvet.scan.ignore import Ignore

        status = os.stat(path)
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            raise OSError(0, "the folder contains itself through a link")
        with os.scandir(path) as entries:
            self.entries = iter(sorted(entries, key=lambda entry: entry.name))
        self.real = real
        self.above = above | {identity}
        here = Ignore.of(real)
        self.ignores = ignores if here is None else [here, *ignores]


def _walk(top: str, company: "Ignore", ignores: list["Ignore"], seen: set[Identity]) -> Iterator[str | Unreadable]:
    """`ignores` has the nearest ignore file first: its word counts before that of those further up."""
    open_folders: list[_Folder] = []
    enter: tuple[str, str] | None = (top, os.path.realpath(top))
    while True:
        if enter is not None:
            path, real = enter
            enter = None
            above = open_folders[-1].above if open_folders else frozenset()
            try:
                open_folders.append(_Folder(path, real, open_folders[-1].ignores if open_folders else ignores, above))
            except OSError as error:
                yield Unreadable(path, error.strerror or str(error))
        if not open_folders:
            return
        folder = open_folders[-1]
        entry = next(folder.entries, None)
        if entry is None:
            open_folders.pop()
            continue
        if entry.name in _OURS:
            continue
        is_folder, is_link = _sort(entry)
        if not is_folder and not entry.name.endswith(SUFFIXES):
            continue
        real = f"{folder.real.rstrip('/')}/{entry.name}"
        # To git, a link is a file, wherever it leads.
        words = (each.decides(real, is_folder and not is_link) for each in folder.ignores)
        if company.decides(real, is_folder) or next((word for word in words if word is not None), False):
            continue
        if is_folder:
            enter = (entry.path, real)
        elif not entry.name.endswith(".json") or _may_be_manifest(entry.path):
            found = _once(entry.path, seen)
            if found is not None:
                yield found


def _sort(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    """Whether it is a folder, and whether it is a link."""
    try:
        return entry.is_dir(), entry.is_symlink()
    except OSError:
        return False, True


def _may_be_manifest(path: str) -> bool:
    """Editors and build tools keep JSON with comments; what names no apiVersion is none of ours, and no syntax error either."""
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 20)
    except OSError:
        return True
    return b"apiVersion" in data or b"\0" in data or len(data) == 1 << 20
