"""Patterns in gitignore syntax."""

import os
import re
from functools import lru_cache


class Ignore:
    """The patterns of one ignore file; `folder` is the absolute folder it stands in. The last pattern that fits decides."""

    def __init__(self, patterns: tuple[str, ...], folder: str) -> None:
        self._folder = folder.rstrip("/")
        self._rules = [rule for pattern in reversed(patterns) if (rule := _rule(pattern)) is not None]

    @staticmethod
    def of(folder: str) -> "Ignore | None":
        """The .gitignore of a folder, or None."""
        try:
            with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
                return Ignore(tuple(file.read().splitlines()), os.path.abspath(folder))
        except OSError:
            return None

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """Whether an absolute path is left out; None when no pattern speaks of it."""
        if not self._rules or not path.startswith(self._folder + "/"):
            return None
        inner = path[len(self._folder) + 1 :]
        for pattern, folders_only, keep in self._rules:
            if (is_folder or not folders_only) and pattern.fullmatch(inner):
                return not keep
        return None


def ignores_above(top: str) -> list[Ignore]:
    """The .gitignore files between a folder and the root of its checkout, the nearest first; none outside a checkout."""
    folder = os.path.realpath(top)
    chain: list[Ignore] = []
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        folder = parent
        above = Ignore.of(folder)
        if above is not None:
            chain.append(above)
    return chain


@lru_cache(maxsize=1024)
def _rule(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    line = line.rstrip("\r\n")
    line = re.sub(r"(?<!\\)\s+$", "", line)
    if not line or line.startswith("#"):
        return None
    keep = line.startswith("!")
    line = line[1:] if keep or line.startswith(("\\#", "\\!")) else line
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    anchored = "/" in line
    line = line.lstrip("/")
    return re.compile(("" if anchored else r"(?:.*/)?") + _regex(line), re.DOTALL), folders_only, keep


def _regex(glob: str) -> str:
    out = ""
    position = 0
    while position < len(glob):
        char = glob[position]
        if glob.startswith("**/", position):
            out += r"(?:.*/)?"
            position += 3
            continue
        if glob.startswith("/**", position) and position + 3 == len(glob):
            out += r"/.*"
            position += 3
            continue
        if char == "*":
            while glob.startswith("*", position + 1):
                position += 1
            out += r"[^/]*"
        elif char == "?":
            out += r"[^/]"
        elif char == "[" and (end := glob.find("]", position + 2)) > 0:
            body = glob[position + 1 : end]
            body = ("^" + body[1:] if body.startswith("!") else body).replace("\\", "\\\\")
            out += f"[{body}]"
            position = end
        elif char == "\\" and position + 1 < len(glob):
            position += 1
            out += re.escape(glob[position])
        else:
            out += re.escape(char)
        position += 1
    return out
