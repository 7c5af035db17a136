"""Brings our policies to a server: what it needs and nothing that it has, read back, and nobody else's touched."""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from gpuvet.opa.connection import Connection, PolicyRefusedError
from gpuvet.values.errors import EngineError, UsageError

FOLDER = "gpuvet/"
"""What the ids of our policies begin with."""
MARK = "# Pushed by `gpuvet opa push`, which replaces and removes this policy.\n"
"""The first line of every policy that is ours: an id alone proves nothing."""

_HEAD = re.compile(r"^package ([\w.]+)\n", re.MULTILINE)
_FILES = {"gpuvet": "rules.rego", "gpuvet.lib": "library.rego", "gpuvet.tables": "facts.rego"}


class Pushed(NamedTuple):
    """What a push did, by policy id."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    rules: int
    """That the server enforces now."""


def policies_of(packages: Mapping[str, str]) -> dict[str, str]:
    """Policy id -> text, of packages and their text: one policy a package, so that all rules change at once and the server compiles
    a few times instead of a dozen."""
    return {FOLDER + _FILES.get(package, f"{package}.rego"): MARK + text for package, text in packages.items()}


def push(connection: Connection, policies: Mapping[str, str], rules: Collection[str]) -> Pushed:
    """Makes the server hold these policies. `rules` are the ids that it must enforce afterwards.

    Raises UsageError when somebody else's policy is in the way, EngineError when the server does not do its part; what was there is then
    put back as far as the server lets us.
    """
    there = connection.packages()
    owned = _owned(connection, there, policies)
    changed = {name: text for name, text in policies.items() if owned.get(name) != text}
    stale = tuple(name for name in owned if name not in policies)
    if changed:
        _write(connection, changed, policies, owned)
    _remove(connection, stale)
    for name in changed:
        if connection.policy(name) != policies[name]:
            raise EngineError(f"{connection.name} took policy {name}, but gives back another text; who else writes it?", "nonsense")
    for name in stale:
        if connection.policy(name) is not None:
            raise EngineError(f"{connection.name} still holds policy {name}, which it was told to delete", "nonsense")
    _prove(connection, rules)
    return Pushed(tuple(changed), stale, tuple(name for name in policies if name not in changed), len(rules))


def enforced(connection: Connection) -> dict[str, Any]:
    """The rules that the server enforces: id -> severity and more. Raises EngineError when it holds none of ours."""
    found = connection.ask("gpuvet", "rules", {})
    if found is None:
        raise EngineError(f"{connection.name} holds no policies of gpuvet; run `gpuvet opa push --url {connection.url}`", "empty")
    if not isinstance(found, dict) or not all(isinstance(about, dict) for about in found.values()):
        raise connection.nonsense("data.gpuvet.rules is no table of rules")
    return found


def _owned(connection: Connection, there: Mapping[str, str], policies: Mapping[str, str]) -> dict[str, str]:
    """Our policies on the server. Raises UsageError when another one bears an id or fills a package that we need."""
    packages = {head[1] for text in policies.values() if (head := _HEAD.search(text)) is not None}
    found = {}
    for name, package in there.items():
        if name.startswith(FOLDER):
            text = connection.policy(name)
            if text is not None and text.startswith(MARK):
                found[name] = text
                continue
        if name in policies or package in packages:
            raise UsageError(
                f"{connection.name} holds policy {name!r} of package {package}, which gpuvet did not push; "
                "remove it first (or start OPA without that file), or nobody could say which rules count"
            )
    return found


def _write(connection: Connection, changed: Mapping[str, str], policies: Mapping[str, str], owned: Mapping[str, str]) -> None:
    refusal = _settle(connection, changed)
    if refusal is None:
        return
    if not owned:
        _clear(connection, policies)
        raise refusal
    # New and old policies do not compile side by side: for a moment there are none.
    _clear(connection, {*owned, *policies})
    refusal = _settle(connection, policies)
    if refusal is not None:
        _clear(connection, policies)
        _settle(connection, owned)
        raise refusal


def _settle(connection: Connection, wanted: Mapping[str, str]) -> PolicyRefusedError | None:
    """Writes policies in whatever order the server can compile them; why it does not take the rest."""
    pending = dict(wanted)
    while pending:
        refused: dict[str, PolicyRefusedError] = {}
        for name, text in pending.items():
            try:
                connection.put_policy(name, text)
            except PolicyRefusedError as error:
                refused[name] = error
        if len(refused) == len(pending):
            return next(iter(refused.values()))
        pending = {name: pending[name] for name in refused}
    return None


def _clear(connection: Connection, names: Collection[str]) -> None:
    _remove(connection, [name for name in names if connection.policy(name) is not None])


def _remove(connection: Connection, names: Collection[str]) -> None:
    """Deletes policies, those that others hang on last. Raises PolicyRefusedError when the server keeps some."""
    pending = list(names)
    while pending:
        kept: list[str] = []
        refusal: PolicyRefusedError | None = None
        for name in pending:
            try:
                connection.delete_policy(name)
            except PolicyRefusedError as error:
                kept.append(name)
                refusal = error
        if len(kept) == len(pending) and refusal is not None:
            raise refusal
        pending = kept


def _prove(connection: Connection, rules: Collection[str]) -> None:
    """The server enforces exactly these rules, and can judge an object."""
    there = enforced(connection)
    if there.keys() != set(rules):
        other = sorted(there.keys() ^ set(rules))
        raise EngineError(f"{connection.name} enforces other rules than were pushed: {', '.join(other[:5])}", "nonsense")
    if connection.ask("gpuvet", "verdict", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}) != []:
        raise connection.nonsense("data.gpuvet.verdict has something against an empty Pod")
