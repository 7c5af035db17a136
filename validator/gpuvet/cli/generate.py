"""`gpuvet generate`: renews what is made from rules and models."""

import argparse
import sys
from typing import Any


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser("generate", help="renew generated files")
    parser.add_argument("what", choices=["compiled"])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is stale")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code."""
    from gpuvet.generate.compiled import write_compiled
    from gpuvet.values.data import package_folder

    stale = write_compiled(package_folder() / "compiled", options.check)
    for name in stale:
        print(f"{'stale' if options.check else 'wrote'}: compiled/{name}", file=sys.stderr)
    return 1 if stale and options.check else 0
