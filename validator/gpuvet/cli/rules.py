"""`gpuvet rules`: the catalogue."""

import argparse
import sys
from pathlib import Path as FilePath
from typing import Any


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "rules",
        help="list the rules",
        description="Lists every rule: ours, and your own when the configuration names rule files.",
    )
    parser.add_argument("--format", default="text", choices=["text", "json"])
    parser.add_argument("--exports", action="store_true", help="list which engines can judge a rule, and why not")
    parser.add_argument("--config", metavar="FILE", help="the configuration (default: the nearest .gpuvet.yaml above the current folder)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises ConfigError when a rule file is wrong."""
    from gpuvet.scan.rules import catalogue
    from gpuvet.settings.config import find_config, load_settings

    config = FilePath(options.config) if options.config else find_config(FilePath.cwd())
    infos = catalogue(load_settings(config))
    if options.format == "json":
        import json

        fields = ("id", "name", "vocabulary", "severity", "consequence", "kind", "on", "sees", "why", "implements", "sources", "exports")
        json.dump([{field: getattr(info, field) for field in fields} for info in infos], sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return 0
    if options.exports:
        for info in infos:
            words = "  ".join(f"{engine}: {'yes' if said is True else said}" for engine, said in info.exports.items())
            print(f"{info.id:<8} {words}")
        return 0
    width = max((len(info.name) for info in infos), default=0)
    for info in infos:
        print(f"{info.id:<8} {info.severity:<8} {info.name:<{width}}  {info.consequence}")
    return 0
