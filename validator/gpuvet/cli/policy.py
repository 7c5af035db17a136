"""`gpuvet policy test`: tests of rules."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path as FilePath
from typing import Any

from gpuvet.cli.parser import RawLayout
from gpuvet.values.errors import ConfigError, UsageError

ENGINES = ("python", "opa")
EPILOG = """\
examples:
  gpuvet policy test tests/gpu-rules.yaml                       gpuvet's own engine
  gpuvet policy test --engine opa suite.yaml                    the same rules as Rego, in the `opa` of the PATH
  gpuvet policy test --engine opa --url http://opa:8181 *.yaml  what a server enforces

exit codes:
  0  all tests passed      1  a finding is missing, or one too many
  2  the suite is wrong    3  no full verdict (a rule failed, or an engine did not answer)
"""


def register(commands: Any) -> None:
    """Adds the subcommands."""
    parser = commands.add_parser(
        "policy", help="test rules with good and bad manifests", description="Tests of rules, gpuvet's and your own, on any engine."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    test = actions.add_parser(
        "test", help="judge the manifests of suites and compare with what they expect", epilog=EPILOG, formatter_class=RawLayout
    )
    test.add_argument("paths", nargs="+", metavar="SUITE", help="a YAML file with tests")
    test.add_argument("--engine", default="python", choices=ENGINES, help="who judges (default: python)")
    test.add_argument("--format", default="text", choices=["text", "json"])
    test.add_argument("--opa", default="opa", metavar="PROGRAM", help="the local OPA that is started without --url (default: opa)")
    from gpuvet.cli.opa import add_server

    add_server(test, 30.0, required=False)
    test.set_defaults(run=run_test)


def run_test(options: argparse.Namespace) -> int:
    """The exit code. Raises ConfigError when a suite is wrong, EngineError when the engine does not answer."""
    from gpuvet.scan.rules import catalogue
    from gpuvet.settings.config import load_settings
    from gpuvet.suites.load import check_names, load_suite
    from gpuvet.suites.report import render_outcomes, render_table
    from gpuvet.suites.run import run_suite

    outcomes = []
    untested: list[str] = []
    for name in options.paths:
        suite = load_suite(FilePath(name))
        config = None if suite.text.config is None else suite.folder / suite.text.config
        bundle = suite.text.bundle
        if bundle is not None and bundle.endswith((".yaml", ".yml")):
            bundle = str((suite.folder / bundle).resolve())
        settings = load_settings(config, bundle)
        infos = catalogue(settings)
        if not suite.text.packages and settings.opa is None:
            check_names(suite, frozenset(info.id for info in infos))
        with _ground(options, suite, settings) as ground:
            outcomes += run_suite(suite, settings, ground)
        wanted = {each.rule for test in suite.tests for each in test.wanted}
        untested += [info.id for info in infos if info.vocabulary == "own" and info.id not in wanted and info.id not in untested]
    if options.format == "json":
        sys.stdout.write(render_outcomes(outcomes, options.engine, untested))
    else:
        sys.stdout.writelines(render_table(outcomes, options.engine, untested))
    states = {outcome.state for outcome in outcomes}
    return 3 if "broken" in states else 1 if "failed" in states else 0


@contextmanager
def _ground(options: argparse.Namespace, suite: Any, settings: Any) -> Iterator[Any]:
    """The engine that a suite is run on, for as long as it runs."""
    from gpuvet.suites.run import Ground

    packages = suite.text.packages or (settings.opa.packages if settings.opa is not None and suite.text.rego else ())
    if packages and not suite.text.rego and not options.url:
        raise UsageError(f"{suite.file}: packages are asked of an OPA: name Rego files under `rego`, or a server with --url")
    if options.engine == "python" and not packages:
        from gpuvet.cli.outside import outside

        yield Ground("python", None, outside(settings), {})
        return
    from gpuvet.cli.outside import need_client

    need_client()
    from gpuvet.opa.packages import Packages

    with ExitStack() as stack:
        connection = _opa(options, suite, settings, stack)
        asked = (Packages(connection, packages, False),) if packages else ()
        if options.engine == "python":
            yield Ground("python", None, asked, {})
        else:
            yield _by_opa(connection, settings, asked)


def _opa(options: argparse.Namespace, suite: Any, settings: Any, stack: ExitStack) -> Any:
    """The server of the command line, or a local one with the suite's modules and, when it is to judge, our rules."""
    if options.url:
        from gpuvet.cli.opa import connect

        return connect(options)
    from gpuvet.opa.local import local_opa

    modules = {}
    if options.engine == "opa":
        from gpuvet.generate.policies import render_rego

        modules = {name: text for name, text in render_rego(settings).items() if not name.endswith("_test.rego")}
    for number, name in enumerate(suite.text.rego):
        try:
            modules[f"own-{number}-{FilePath(name).name}"] = (suite.folder / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{suite.file}: rego: {name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return stack.enter_context(local_opa(options.opa, modules, options.timeout))


def _by_opa(connection: Any, settings: Any, asked: tuple[Any, ...]) -> Any:
    from gpuvet.cli.opa import judge_by, rules_of
    from gpuvet.suites.run import Ground

    _, infos, unseen = rules_of(connection, settings)
    return Ground("opa", judge_by(connection, infos, settings), asked, unseen)
