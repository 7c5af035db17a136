"""`gpuvet check`: the main job."""

import argparse
import sys
from pathlib import Path as FilePath
from typing import Any


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser("check", help="check manifests", description="Checks manifests.")
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH")
    parser.add_argument("--format", default="text", choices=["text", "json"])
    parser.add_argument("--config", metavar="FILE")
    parser.add_argument("--bundle")
    parser.add_argument("--fail-on", default="error", choices=["error", "warning", "info"])
    parser.add_argument("-j", "--jobs", type=int, default=0)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code."""
    from gpuvet.scan.run import Scan, folder_of, scan
    from gpuvet.settings.config import find_config, load_settings
    from gpuvet.values.finding import SEVERITIES

    config = FilePath(options.config) if options.config else find_config(folder_of(options.paths))
    settings = load_settings(config, options.bundle)
    stdin = sys.stdin.buffer.read() if "-" in options.paths else None
    result = scan(Scan(options.paths, settings, stdin=stdin, jobs=options.jobs))
    if options.format == "json":
        from gpuvet.report.json import render_json

        sys.stdout.write(render_json(result))
    else:
        for f in result.findings:
            print(f"{f.location.file}:{f.location.span.line}:{f.location.span.column}: {f.rule} {f.severity} {f.message} [{f.consequence}]")
    if result.crashed:
        return 3
    if result.unread:
        return 2
    failing = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1]
    return 1 if any(finding.severity in failing for finding in result.findings) else 0
