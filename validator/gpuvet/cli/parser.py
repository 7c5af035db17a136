"""The argument parser of all commands."""

import argparse
import os
import sys
from typing import Any


class _Layout(argparse.HelpFormatter):
    """Knows how wide a terminal is without what argparse loads for it at every start, help asked for or not."""

    def __init__(self, prog: str, **rest: Any) -> None:
        super().__init__(prog, **{"width": _columns() - 2, **rest})


class RawLayout(_Layout, argparse.RawDescriptionHelpFormatter):
    """The same, with line breaks of descriptions kept."""


class Parser(argparse.ArgumentParser):
    """A parser whose help is laid out so, that of its subcommands too."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**{"formatter_class": _Layout, **rest})


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        return 80
