"""`gpuvet generate`: renews what is made from rules and models. For those who work on gpuvet itself, in a checkout."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpuvet.values.errors import UsageError


def register(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "generate",
        help="renew generated files (in a checkout)",
        description="Renews generated files: compiled/ from rules and models, schemas/ and docs/reference/ from models, docs/rules/ and"
        " docs/exports.md, policies/. Policies can be written anywhere, for a bundle or a configuration of your own.",
    )
    what = ["compiled", "schemas", "docs", "policies", "deploy"]
    parser.add_argument("what", nargs="*", choices=[*what, []], help=f"{', '.join(what)} (default: all)")
    parser.add_argument("--out", metavar="DIR", help="where to write schemas or policies (default: their folder in the checkout)")
    targets = ["rego", "gatekeeper", "vap"]
    parser.add_argument("--target", choices=targets, help="policies: for which engine (default: all; with --out rego)")
    parser.add_argument("--bundle", metavar="NAME", help="policies: the bundle to enforce (default: default)")
    parser.add_argument("--config", metavar="FILE", help="policies: the configuration to enforce (default: none)")
    kubernetes = "policies for vap: the oldest Kubernetes that they must work on (default: 1.30; nothing newer is used so far)"
    parser.add_argument("--kubernetes", metavar="VERSION", help=kubernetes)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is stale")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit code. Raises ConfigError when a source is wrong, UsageError outside a checkout."""
    from gpuvet.values.data import checkout, package_folder

    root = checkout()
    what = options.what or ["compiled", "schemas", "docs", "policies", "deploy"]
    if options.out is not None and what not in (["schemas"], ["policies"]):
        raise UsageError("--out goes with `gpuvet generate schemas` or `gpuvet generate policies` alone")
    if (options.bundle or options.config) and (what != ["policies"] or options.out is None):
        raise UsageError("--bundle and --config go with `gpuvet generate policies --out DIR`: the checkout's own are of the default bundle")
    if root is None and (what != ["policies"] or options.out is None):
        raise UsageError("generate works in a checkout of gpuvet only, but for `gpuvet generate policies --out DIR`")
    if options.kubernetes is not None:
        _check_version(options.kubernetes, options.target)
    stale: list[str] = []
    if root is None:
        return _told(_policies(options, root), options.check)
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
        from gpuvet.generate.exports import render_exports
        from gpuvet.generate.pages import render_docs
        from gpuvet.generate.reference import render_reference

        written = (
            ("rules", {"coverage.yaml": render_coverage(list(RULES))}, "coverage.yaml"),
            ("docs/rules", render_docs(list(RULES)), "*.md"),
            ("docs/reference", render_reference(), "*.md"),
            ("docs", {"exports.md": render_exports(RULES)}, "exports.md"),
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
    if "policies" in what:
        stale += _policies(options, root)
    return _told(stale, options.check)


def _told(stale: list[str], check: bool) -> int:
    for name in stale:
        print(f"{'stale' if check else 'wrote'}: {name}", file=sys.stderr)
    if stale and check:
        print("run `gpuvet generate`", file=sys.stderr)
    return 1 if stale and check else 0


def _check_version(text: str, target: str | None) -> None:
    """Raises UsageError when no policies can be written for that version of Kubernetes."""
    from gpuvet.generate.vap import OLDEST
    from gpuvet.values.version import parse_version

    version = parse_version(text)
    if target != "vap":
        raise UsageError("--kubernetes goes with --target vap: OPA and Gatekeeper have versions of their own")
    if version is None:
        raise UsageError(f"--kubernetes {text}: is not a version such as 1.30")
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise UsageError(
            f"--kubernetes {text}: policies need {oldest}, the first with ValidatingAdmissionPolicy v1; for older ones use the webhook"
        )


def _policies(options: argparse.Namespace, root: Path | None) -> list[str]:
    from gpuvet.generate.compiled import write_files
    from gpuvet.generate.gatekeeper import render_gatekeeper
    from gpuvet.generate.policies import Printed, exported, load_all, render_rego
    from gpuvet.generate.vap import render_vap
    from gpuvet.settings.config import load_settings

    renderers: dict[str, tuple[str, Callable[..., dict[str, str]], str]] = {
        "rego": ("rego", render_rego, "*.rego"),
        "gatekeeper": ("rego", render_gatekeeper, "*.yaml"),
        "vap": ("cel", lambda settings, rules, _: render_vap(settings, rules), "*.yaml"),
    }
    settings = load_settings(Path(options.config) if options.config else None, options.bundle)
    loaded = load_all(settings)
    printed: Printed = {}
    written = []
    for target in [options.target or "rego"] if options.out is not None else [options.target] if options.target else list(renderers):
        engine, render, ours = renderers[target]
        rules = exported(settings, engine, loaded)
        folder = Path(options.out) if options.out is not None else (root or Path()) / "policies" / target
        written += [f"{folder.name}/{name}" for name in write_files(folder, render(settings, rules, printed), ours, options.check)]
    return written
