"""`gpuvet generate`: renews what is made from rules and models. For those who work on gpuvet itself, in a checkout."""

import argparse
import sys
from typing import Any

from gpuvet.values.errors import UsageError


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "generate",
        help="renew generated files (in a checkout)",
        description="Renews generated files: compiled/ from rules and models, docs/rules/ from the catalogue.",
    )
    parser.add_argument("what", nargs="*", choices=["compiled", "docs", []], help="compiled, docs (default: both)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is stale")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises ConfigError when a source is wrong, UsageError outside a checkout."""
    from gpuvet.values.data import checkout, package_folder

    root = checkout()
    if root is None:
        raise UsageError("generate works in a checkout of gpuvet only")
    stale: list[str] = []
    what = options.what or ["compiled", "docs"]
    if "compiled" in what:
        from gpuvet.generate.compiled import write_compiled

        stale += [f"compiled/{name}" for name in write_compiled(package_folder() / "compiled", root / "tests" / "fixtures", options.check)]
    if "docs" in what:
        from gpuvet.compiled.catalogue import RULES
        from gpuvet.generate.compiled import write_files
        from gpuvet.generate.pages import render_docs

        from gpuvet.generate.coverage import render_coverage

        files = {"coverage.yaml": render_coverage(list(RULES))}
        stale += [f"rules/{name}" for name in write_files(root / "rules", files, "coverage.yaml", options.check)]
        stale += [f"docs/rules/{name}" for name in write_files(root / "docs" / "rules", render_docs(list(RULES)), "*.md", options.check)]
    for name in stale:
        print(f"{'stale' if options.check else 'wrote'}: {name}", file=sys.stderr)
    if stale and options.check:
        print("run `gpuvet generate`", file=sys.stderr)
    return 1 if stale and options.check else 0
