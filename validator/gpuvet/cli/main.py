"""The command `gpuvet`: finds the subcommand and turns errors into exit codes."""

import argparse
import sys

from gpuvet import __version__
from gpuvet.cli import check, effective, explain, generate, rules, webhook
from gpuvet.values.errors import GpuvetError

COMMANDS = (check, effective, rules, explain, generate, webhook)


def main(argv: list[str] | None = None) -> int:
    """Runs a command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="gpuvet", description="Vets Kubernetes manifests that ask for shared or virtual GPUs.")
    parser.add_argument("--version", action="version", version=f"gpuvet {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.register(commands)
    options, rest = parser.parse_known_args(argv)
    if rest and (not hasattr(options, "paths") or any(word.startswith("-") and word != "-" for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:  # argparse takes paths in one go; those behind an option are left over
        options.paths = [*options.paths, *rest]
    try:
        return int(options.run(options))
    except GpuvetError as error:
        print(f"gpuvet: {error}", file=sys.stderr)
        return 2
