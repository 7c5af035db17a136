"""`gpuvet generate`: renews what is made from rules and models. For those who work on gpuvet itself, in a checkout."""

import argparse
import sys
from pathlib import Path
from typing import Any

from gpuvet.values.errors import UsageError


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "generate",
        help="renew generated files (in a checkout)",
        description="Renews generated files: compiled/ from rules and models, schemas/ and docs/reference/ from models, docs/rules/.",
    )
    parser.add_argument(
        "what", nargs="*", choices=["compiled", "schemas", "docs", "deploy", []], help="compiled, schemas, docs, deploy (default: all)"
    )
    parser.add_argument("--out", metavar="DIR", help="where to write schemas (default: schemas/ of the checkout)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is stale")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises ConfigError when a source is wrong, UsageError outside a checkout."""
    from gpuvet.values.data import checkout, package_folder

    root = checkout()
    if root is None:
        raise UsageError("generate works in a checkout of gpuvet only")
    stale: list[str] = []
    what = options.what or ["compiled", "schemas", "docs", "deploy"]
    if options.out is not None and what != ["schemas"]:
        raise UsageError("--out goes with `gpuvet generate schemas` alone")
    if "compiled" in what:
        from gpuvet.generate.compiled import write_compiled

        stale += [f"compiled/{name}" for name in write_compiled(package_folder() / "compiled", root / "tests" / "fixtures", options.check)]
    if "schemas" in what:
        from gpuvet.generate.schemas import write_schemas

        target = Path(options.out) if options.out is not None else root / "schemas"
        stale += [f"schemas/{name}" for name in write_schemas(target, options.check)]
    if "docs" in what:
        from gpuvet.compiled.catalogue import RULES
        from gpuvet.generate.compiled import write_files
        from gpuvet.generate.coverage import render_coverage
        from gpuvet.generate.pages import render_docs
        from gpuvet.generate.reference import render_reference

        written = (
            ("rules", {"coverage.yaml": render_coverage(list(RULES))}, "coverage.yaml"),
            ("docs/rules", render_docs(list(RULES)), "*.md"),
            ("docs/reference", render_reference(), "*.md"),
        )
        for folder, files, ours in written:
            stale += [f"{folder}/{name}" for name in write_files(root / folder, files, ours, options.check)]
    if "deploy" in what:
        from gpuvet import __version__
        from gpuvet.admission.deploy import render_deploy
        from gpuvet.cluster.watch import KINDS
        from gpuvet.generate.compiled import write_files

        deploy = render_deploy(__version__, tuple(kind.resource for kind in KINDS))
        stale += [f"deploy/{name}" for name in write_files(root / "deploy", deploy, "*/**/*.yaml", options.check)]
    for name in stale:
        print(f"{'stale' if options.check else 'wrote'}: {name}", file=sys.stderr)
    if stale and options.check:
        print("run `gpuvet generate`", file=sys.stderr)
    return 1 if stale and options.check else 0
