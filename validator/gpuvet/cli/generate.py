"""`gpuvet generate`: renews what is made from rules and models. For those who work on gpuvet itself, in a checkout."""

import argparse
import sys
from pathlib import Path as FilePath
from typing import Any

from gpuvet.values.errors import UsageError


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "generate",
        help="renew generated files (in a checkout)",
        description="Renews generated files: compiled/ from rules and models, docs/rules/ and docs/exports.md from the catalogue, policies/"
        " from the rules of a bundle. Policies can be written anywhere, for a configuration of your own.",
    )
    parser.add_argument("what", nargs="*", choices=["compiled", "docs", "policies", []], help="compiled, docs, policies (default: all)")
    parser.add_argument("--target", default="rego", choices=["rego"], help="policies: for which engine (default: rego)")
    parser.add_argument("--bundle", metavar="NAME", help="policies: the bundle to enforce (default: default)")
    parser.add_argument("--config", metavar="FILE", help="policies: the configuration to enforce (default: none)")
    parser.add_argument("--out", metavar="DIR", help="policies: where to write (default: policies/ of the checkout)")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is stale")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises ConfigError when a source is wrong, UsageError outside a checkout."""
    from gpuvet.values.data import checkout, package_folder

    root = checkout()
    what = options.what or ["compiled", "docs", "policies"]
    if what != ["policies"] and (options.out or options.bundle or options.config):
        raise UsageError("--bundle, --config and --out go with `generate policies`")
    if (options.bundle or options.config) and not options.out:
        raise UsageError("policies/ of the checkout are those of the default bundle; say where to write others with --out")
    if root is None and not (what == ["policies"] and options.out):
        raise UsageError("generate works in a checkout of gpuvet only; `generate policies --out DIR` works everywhere")
    stale: list[str] = []
    if root is not None and "compiled" in what:
        from gpuvet.generate.compiled import write_compiled

        stale += [f"compiled/{name}" for name in write_compiled(package_folder() / "compiled", root / "tests" / "fixtures", options.check)]
    if root is not None and "docs" in what:
        from gpuvet.compiled.catalogue import RULES
        from gpuvet.generate.compiled import write_files
        from gpuvet.generate.exports import render_exports
        from gpuvet.generate.pages import render_docs

        stale += [f"docs/rules/{name}" for name in write_files(root / "docs" / "rules", render_docs(list(RULES)), "*.md", options.check)]
        stale += [f"docs/{name}" for name in write_files(root / "docs", {"exports.md": render_exports(RULES)}, "exports.md", options.check)]
    if "policies" in what:
        stale += _policies(options, root)
    for name in stale:
        print(f"{'stale' if options.check else 'wrote'}: {name}", file=sys.stderr)
    if stale and options.check:
        print("run `gpuvet generate`", file=sys.stderr)
    return 1 if stale and options.check else 0


def _policies(options: argparse.Namespace, root: FilePath | None) -> list[str]:
    from gpuvet.generate.policies import render_rego, write_policies
    from gpuvet.settings.config import load_settings

    settings = load_settings(FilePath(options.config) if options.config else None, options.bundle)
    if options.out:
        folder = FilePath(options.out)
    else:
        assert root is not None
        folder = root / "policies" / options.target
    return [f"{folder.name}/{name}" for name in write_policies(folder, render_rego(settings), options.check)]
