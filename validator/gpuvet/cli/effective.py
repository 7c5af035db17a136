"""`gpuvet effective`: what will I get?"""

import argparse
import sys
from pathlib import Path as FilePath
from typing import Any

from gpuvet.cli.parser import RawLayout

EPILOG = """\
examples:
  gpuvet effective deploy/                                    every Pod template, every value with its source
  kustomize build overlays/prod | gpuvet effective -          what is really applied
  gpuvet effective --format json . | jq '.templates[].total'  what it all takes

A value with a question mark hangs on something that is not among the inputs, such as the namespace's GPUResourceQuota; name
such files under context.paths in .gpuvet.yaml, and what does not exist under context.complete.

exit codes:
  0  answered      2  wrong usage, or input unreadable (everything else is still answered)
"""


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "effective",
        help="say what each Pod template will get, and which line says so",
        description="Merges annotation, profile, quota and defaults for each Pod template: the value that counts, where it comes from, "
        "what it keeps from counting, and the total of all Pods.",
        epilog=EPILOG,
        formatter_class=RawLayout,
    )
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="file, folder, or - (default: the current folder)")
    parser.add_argument("--format", default="text", choices=["text", "json"], help="format on standard output (default: text)")
    parser.add_argument("--config", metavar="FILE", help="the configuration (default: the nearest .gpuvet.yaml above the first PATH)")
    parser.add_argument("--stdin-filename", default="<stdin>", metavar="NAME", help="what standard input is called")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises GpuvetError for wrong usage or configuration."""
    from gpuvet.cli.output import SourceLines, wants_color
    from gpuvet.scan.effective import effective
    from gpuvet.scan.run import Scan, folder_of
    from gpuvet.settings.config import find_config, load_settings

    config = FilePath(options.config) if options.config else find_config(folder_of(options.paths))
    request = Scan(
        paths=options.paths,
        settings=load_settings(config),
        stdin_name=options.stdin_filename,
        stdin=sys.stdin.buffer.read() if "-" in options.paths else None,
    )
    result = effective(request)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if options.format == "json":
        from gpuvet.report.effective_json import render_effective_json

        sys.stdout.write(render_effective_json(result))
    else:
        from gpuvet.report.effective_text import render_effective_text

        sys.stdout.writelines(render_effective_text(result, SourceLines(request), wants_color(sys.stdout)))
    return 2 if result.scan.unread else 0
