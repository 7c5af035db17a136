"""The command `gpuvet`: finds the subcommand and turns errors into exit codes."""

import gc
import sys
from importlib import import_module

from gpuvet import __version__
from gpuvet.cli.parser import Parser
from gpuvet.values.errors import EngineError, GpuvetError

COMMANDS = ("check", "effective", "rules", "explain", "generate", "webhook", "opa", "policy")
"""Subcommands in the order of the help, each a module of `gpuvet.cli`."""


def main(argv: list[str] | None = None) -> int:
    """Runs a command line; returns the exit code."""
    # What a start loads is not garbage; looking through it three times would cost more than the check of a small file.
    gc.set_threshold(50_000, 20, 20)
    words = sys.argv[1:] if argv is None else argv
    parser = Parser(prog="gpuvet", description="Vets Kubernetes manifests that ask for shared or virtual GPUs.")
    parser.add_argument("--version", action="version", version=f"gpuvet {__version__}")
    # `prog` keeps argparse from laying out a usage line, for which it would load what asks terminals for their width.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, prog="gpuvet")
    # A start pays only for the subcommand that was asked for; help and mistakes see all of them.
    for name in words[:1] if words[:1] and words[0] in COMMANDS else COMMANDS:
        import_module(f"gpuvet.cli.{name}").register(commands)
    options, rest = parser.parse_known_args(words)
    if rest and (not hasattr(options, "paths") or any(word.startswith("-") and word != "-" for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:  # argparse takes paths in one go; those behind an option are left over
        options.paths = [*options.paths, *rest]
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        from gpuvet.cli.output import stop_writing

        stop_writing()
        return 0
    except EngineError as error:
        print(f"gpuvet: {error}", file=sys.stderr)
        return 3
    except GpuvetError as error:
        print(f"gpuvet: {error}", file=sys.stderr)
        return 2
