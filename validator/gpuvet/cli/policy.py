"""`gpuvet policy test`: tests of rules."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path as FilePath
from typing import Any

from gpuvet.cli.parser import RawLayout
from gpuvet.values.errors import ConfigError, UsageError

ENGINES = ("python", "opa", "api-server")
EPILOG = """\
examples:
  gpuvet policy test tests/gpu-rules.yaml                       gpuvet's own engine
  gpuvet policy test --engine opa suite.yaml                    the same rules as Rego, in the `opa` of the PATH
  gpuvet policy test --engine opa --url http://opa:8181 *.yaml  what a server enforces
  gpuvet policy test --engine api-server suite.yaml             what a cluster enforces as ValidatingAdmissionPolicies
  gpuvet policy test --engine api-server --apply suite.yaml     copies of the policies, for the time of the test

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
    cluster = test.add_argument_group("--engine api-server (needs gpuvet[cluster])")
    cluster.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig (default: as kubectl finds it)")
    cluster.add_argument("--context", metavar="NAME", help="its context (default: the current one)")
    cluster.add_argument("--namespace", metavar="NAME", help="where all objects are tried, whatever they say (default: where they say)")
    cluster.add_argument("--apply", action="store_true", help="bring copies of the policies, which judge this test alone, and remove them")
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
    from gpuvet.cli.outside import need_client, need_cluster, outside
    from gpuvet.suites.run import Ground

    if options.engine == "api-server":
        need_cluster()
    elif options.apply or options.kubeconfig or options.context or options.namespace:
        raise UsageError("--kubeconfig, --context, --namespace and --apply go with --engine api-server")
    packages = suite.text.packages or (settings.opa.packages if settings.opa is not None and suite.text.rego else ())
    if packages and not suite.text.rego and not options.url:
        raise UsageError(f"{suite.file}: packages are asked of an OPA: name Rego files under `rego`, or a server with --url")
    if options.engine == "python" and not packages:
        yield Ground("python", None, outside(settings), {})
        return
    with ExitStack() as stack:
        asked: tuple[Any, ...] = ()
        connection = None
        if packages or options.engine == "opa":
            need_client()
            from gpuvet.opa.packages import Packages

            connection = _opa(options, suite, settings, stack)
            asked = (Packages(connection, packages, False),) if packages else ()
        if options.engine == "python":
            yield Ground("python", None, asked, {})
        elif options.engine == "opa":
            yield _by_opa(connection, settings, asked)
        else:
            yield _by_cluster(options, suite, settings, asked, stack)


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


def _by_cluster(options: argparse.Namespace, suite: Any, settings: Any, asked: tuple[Any, ...], stack: ExitStack) -> Any:
    """The policies of the configuration in an API server."""
    from gpuvet.cluster.access import Cluster
    from gpuvet.cluster.judge import PolicyEngine
    from gpuvet.cluster.policies import Enforced, check_enforced, concerning, copies
    from gpuvet.engine.judge import Judge
    from gpuvet.engine.ruleset import RuleSet
    from gpuvet.generate.policies import exported
    from gpuvet.generate.vap import ACTIONS, groups, policies
    from gpuvet.scan.rules import catalogue, rule_set
    from gpuvet.suites.load import kinds_of
    from gpuvet.suites.run import Ground

    rules = exported(settings, "cel")
    written = policies(settings, rules)
    cluster = Cluster(options.kubeconfig, options.context, options.timeout)
    if options.apply:
        # Each copy costs the API server seconds: only those that may have something to say.
        resources = [cluster.resource(*each) for each in kinds_of(suite)]
        needed = concerning(written, [each for each in resources if each is not None])
        source: Any = stack.enter_context(copies(cluster, needed, options.namespace or cluster.namespace))
    else:
        check_enforced(cluster, written, suite.text.config or suite.file)
        source = Enforced(cluster, written)
    on = rule_set(settings)
    told = {one.bound.info.id for one in rules if one.bound.severity in ACTIONS}
    unseen = {
        bound.info.id: str(bound.info.exports["cel"]) if bound.info.exports["cel"] is not True else "infos are in no policy"
        for bound in on.rules
        if bound.info.id not in told and bound.info.kind != "input"
    }
    infos = {info.id: info for info in catalogue(settings)}
    ours = Judge(on, settings.workloads, settings.platform)
    kinds = frozenset().union(*(group.kinds for group in groups(settings)))
    engine = PolicyEngine(cluster, source, ours, infos, told, kinds, options.namespace)

    def nobody(_: RuleSet) -> Judge:
        return Judge(RuleSet(()), settings.workloads, settings.platform)

    return Ground("api-server", nobody, (engine, *asked), unseen, engine.unjudged)
