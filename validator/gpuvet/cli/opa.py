"""`gpuvet opa`: push, check."""

import argparse
from pathlib import Path as FilePath
from typing import Any

from gpuvet.cli.parser import RawLayout
from gpuvet.values.errors import ConfigError

CHECK = """\
OPA judges each object alone and without its text. Rules that need more (gpuvet rules --exports lists them) are counted at the end of the
report, and only `gpuvet check` judges them.

exit codes:
  0  nothing at or above --fail-on      1  findings
  2  wrong usage, or input unreadable   3  no verdict: OPA did not answer, or holds none of our policies
"""
PUSH = """\
Policies that gpuvet did not push are never touched. A second push changes nothing and says so.

exit codes:
  0  OPA enforces the rules      2  wrong usage, or somebody else's policy is in the way      3  OPA did not do its part
"""


def register(commands: Any) -> None:
    """Adds the subcommands."""
    parser = commands.add_parser(
        "opa",
        help="put the rules on an Open Policy Agent server, or judge by one (needs gpuvet[opa])",
        description="The same rules in an Open Policy Agent server.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    push = actions.add_parser("push", help="upload rules and facts, and read them back", epilog=PUSH, formatter_class=RawLayout)
    add_server(push, 60.0)
    push.add_argument("--bundle", metavar="NAME", help="what to enforce: default, strict, one vocabulary, or a bundle file")
    push.add_argument("--config", metavar="FILE", help="the configuration to enforce (default: none)")
    push.set_defaults(run=run_push)
    check = actions.add_parser(
        "check",
        help="judge manifests by the rules that a server holds, with the report of `gpuvet check`",
        epilog=CHECK,
        formatter_class=RawLayout,
    )
    add_server(check, 10.0)
    from gpuvet.cli.check import add_arguments

    add_arguments(check)
    check.set_defaults(run=run_check)


def add_server(parser: argparse.ArgumentParser, timeout: float, required: bool = True) -> None:
    """How to reach a server."""
    parser.add_argument("--url", required=required, help="where OPA is, such as http://localhost:8181")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the bearer token")
    parser.add_argument("--ca", metavar="FILE", help="the CA that signed the server's certificate, in PEM")
    parser.add_argument("--cert", metavar="FILE", help="a client certificate, in PEM")
    parser.add_argument("--key", metavar="FILE", help="its key, in PEM")
    parser.add_argument("--timeout", type=seconds, default=timeout, metavar="SECONDS", help=f"for each question (default: {timeout:g})")


def connect(options: argparse.Namespace) -> Any:
    """A connection to the server of a command line, not used yet. Raises UsageError."""
    from gpuvet.cli.outside import need_client

    need_client()
    from gpuvet.opa.connection import Access, Connection

    def file(name: str | None) -> FilePath | None:
        return None if name is None else FilePath(name)

    return Connection(
        Access(options.url, file(options.token_file), file(options.ca), file(options.cert), file(options.key), options.timeout)
    )


def run_push(options: argparse.Namespace) -> int:
    """The exit code. Raises GpuvetError."""
    connection = connect(options)
    from gpuvet.generate.packages import packages_of
    from gpuvet.generate.policies import render_rego
    from gpuvet.opa.push import policies_of, push
    from gpuvet.scan.rules import rule_set
    from gpuvet.settings.config import load_settings

    settings = load_settings(FilePath(options.config) if options.config else None, options.bundle)
    rules = [rule.info.id for rule in rule_set(settings).rules if rule.info.exports["rego"] is True]
    done = push(connection, policies_of(packages_of(render_rego(settings))), rules)
    for word, names in (("wrote", done.written), ("removed", done.removed)):
        for name in names:
            print(f"{word} {name}")
    said = "is as it should be, nothing was changed" if not done.written and not done.removed else "holds what was written"
    print(f"{connection.name} {said}: it enforces {done.rules} rules")
    return 0


def run_check(options: argparse.Namespace) -> int:
    """The exit code. Raises GpuvetError."""
    from gpuvet.cli.check import carry_out, request_of
    from gpuvet.cli.output import parse_output
    from gpuvet.cli.outside import outside

    outputs = [parse_output(text) for text in options.output]
    connection = connect(options)
    request = request_of(options)
    from gpuvet.scan.result import Engine

    there, infos, unseen = rules_of(connection, request.settings)
    judge = judge_by(connection, infos, request.settings)
    request = request._replace(instead=judge, outside=outside(request.settings))
    return carry_out(options, request, outputs, Engine("opa", connection.url, len(there), unseen))


def rules_of(connection: Any, settings: Any) -> tuple[Any, dict[str, Any], dict[str, str]]:
    """The rules that a server enforces, all that are known here, and why it does not judge the rest of those that are on here."""
    from gpuvet.opa.push import enforced
    from gpuvet.scan.rules import catalogue, rule_set

    if settings.domains:
        raise ConfigError(f"{settings.source}: OPA knows nothing of a renamed domain; leave `domains` out, or use `gpuvet check`")
    there = enforced(connection)
    infos = {info.id: info for info in catalogue(settings)}
    on = [rule.info for rule in rule_set(settings).rules if rule.info.kind != "input"]
    return there, infos, {info.id: _reason(info.exports["rego"]) for info in on if info.id not in there}


def judge_by(connection: Any, infos: dict[str, Any], settings: Any) -> Any:
    """What makes the judge that asks a server, for `Scan.instead`."""
    from gpuvet.engine.ruleset import RuleSet
    from gpuvet.opa.judge import OpaJudge

    def instead(rules: RuleSet) -> OpaJudge:
        alone = [rule for rule in rules.rules if rule.info.exports["rego"] is True]
        return OpaJudge(connection, RuleSet(alone, settings.usage_key), infos, settings.workloads, settings.platform)

    return instead


def _reason(exported: Any) -> str:
    return "not on this server: push this configuration" if exported is True else str(exported)


def seconds(text: str) -> float:
    """A time that makes sense. Raises ValueError."""
    value = float(text)
    if not 0 < value < 3600:
        raise ValueError
    return value
