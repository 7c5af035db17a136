"""`gpuvet explain`: one rule in full."""

import argparse
from pathlib import Path as FilePath
from typing import Any

from gpuvet.values.errors import UsageError


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "explain",
        help="explain a rule",
        description="Prints what a rule checks, why, what would happen in the cluster, a bad and a good example, and its sources.",
    )
    parser.add_argument("rule", metavar="RULE", help="an id such as QG004, or a name such as qgpu-core-granularity")
    parser.add_argument("--config", metavar="FILE", help="the configuration, for rules of your own")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises UsageError when there is no such rule."""
    from gpuvet.generate.page import rule_page
    from gpuvet.scan.rules import catalogue
    from gpuvet.settings.config import find_config, load_settings
    from gpuvet.values.total import nearest

    config = FilePath(options.config) if options.config else find_config(FilePath.cwd())
    infos = catalogue(load_settings(config))
    wanted = options.rule.strip()
    for info in infos:
        if wanted.upper() == info.id or wanted == info.name:
            print(rule_page(info), end="")
            return 0
    near = nearest(wanted, [info.name for info in infos]) or nearest(wanted.upper(), [info.id for info in infos])
    raise UsageError(f"there is no rule {wanted!r}" + (f"; did you mean {near}?" if near else "; `gpuvet rules` lists them"))
