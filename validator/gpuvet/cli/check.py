"""`gpuvet check`: the main job."""

import argparse
import gc
import sys
from pathlib import Path as FilePath
from typing import Any

from gpuvet.cli.parser import RawLayout
from gpuvet.values.finding import SEVERITIES

EPILOG = """\
examples:
  gpuvet check deploy/                              a folder, .gitignore respected
  kustomize build overlays/prod | gpuvet check -    what is really applied
  helm template chart | gpuvet check -              findings name the chart's files
  gpuvet check --bundle strict --fail-on warning .  the strictest gate
  gpuvet check --output json=report.json .          text on the terminal, JSON in a file

exit codes:
  0  nothing at or above --fail-on      1  findings
  2  wrong usage, or input unreadable   3  no full verdict (a rule failed, or an engine did not answer)
"""


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "check",
        help="say which line is wrong, why, what would happen in the cluster, and how to mend it",
        description="Checks manifests that ask for shared or virtual GPUs: files, folders, or - for standard input; YAML or JSON.",
        epilog=EPILOG,
        formatter_class=RawLayout,
    )
    add_arguments(parser)
    parser.set_defaults(run=run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every command takes that reports on manifests."""
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="file, folder, or - (default: the current folder)")
    parser.add_argument("--format", default="text", choices=["text", "json"], help="format on standard output (default: text)")
    parser.add_argument(
        "--output", action="append", default=[], metavar="FORMAT=FILE", help="write a report to a file too; may be repeated"
    )
    parser.add_argument("--fail-on", default="error", choices=SEVERITIES, help="the least severity that makes the exit code 1")
    parser.add_argument("--config", metavar="FILE", help="the configuration (default: the nearest .gpuvet.yaml above the first PATH)")
    parser.add_argument("--bundle", metavar="NAME", help="what to enforce: default, strict, one vocabulary, or a bundle file")
    parser.add_argument("--stdin-filename", default="<stdin>", metavar="NAME", help="what findings in standard input are called")
    parser.add_argument(
        "-j", "--jobs", type=int, default=0, metavar="N", help="processes (default: one, or one a processor for many files)"
    )


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises GpuvetError for wrong usage or configuration."""
    from gpuvet.cli.output import parse_output

    outputs = [parse_output(text) for text in options.output]
    request = request_of(options)
    if request.settings.opa is not None:
        from gpuvet.cli.outside import outside

        request = request._replace(outside=outside(request.settings))
    return carry_out(options, request, outputs)


def request_of(options: argparse.Namespace) -> Any:
    """The scan that a command line asks for. Raises ConfigError."""
    from gpuvet.scan.run import Scan, folder_of
    from gpuvet.settings.config import find_config, load_settings

    config = FilePath(options.config) if options.config else find_config(folder_of(options.paths))
    return Scan(
        paths=options.paths,
        settings=load_settings(config, options.bundle),
        stdin_name=options.stdin_filename,
        stdin=sys.stdin.buffer.read() if "-" in options.paths else None,
        jobs=max(0, options.jobs),
    )


def carry_out(options: argparse.Namespace, request: Any, outputs: list[tuple[str, str]], engine: Any = None) -> int:
    """Scans, reports and returns the exit code. `engine` is told of in the report: what judged instead of our rules."""
    from gpuvet.cli.output import Progress
    from gpuvet.scan.run import scan

    progress = Progress()
    result = scan(request._replace(progress=progress))._replace(engine=engine)
    progress.done()
    _write(options.format, result, request, None)
    for name, file in outputs:
        _write(name, result, request, file)
    # The process ends here, and its last act would be to look for garbage in all that it ever loaded.
    gc.freeze()
    if result.crashed:
        return 3
    if result.unread:
        return 2
    failing = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
    return 1 if any(finding.severity in failing for finding in result.findings) else 0


def _write(format: str, result: Any, request: Any, file: str | None) -> None:
    from gpuvet.cli.output import SourceLines, stop_writing, wants_color
    from gpuvet.values.errors import UsageError

    if format == "json":
        from gpuvet.report.json import render_json

        pieces = iter([render_json(result)])
    else:
        from gpuvet.report.text import render_text

        pieces = render_text(result, SourceLines(request), file is None and wants_color(sys.stdout))
    if file is None:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            for piece in pieces:
                sys.stdout.write(piece)
            sys.stdout.flush()
        except BrokenPipeError:
            stop_writing()
        return
    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(pieces)
    except OSError as error:
        raise UsageError(f"--output {format}={file}: cannot be written: {error.strerror}") from None
