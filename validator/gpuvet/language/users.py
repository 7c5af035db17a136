"""Users' own rule files: the same YAML as ours, printed by the same printer, run from memory."""

from pathlib import Path as FilePath
from typing import Any

from gpuvet.language.catalogue import load_rules
from gpuvet.language.info import rule_info
from gpuvet.language.printers.python import print_definitions, print_module, print_rule
from gpuvet.values.errors import ConfigError
from gpuvet.values.rule import RuleInfo


def load_own_rules(files: list[FilePath]) -> list[tuple[RuleInfo, Any]]:
    """Each rule with its function. Raises ConfigError that names file, line and key."""
    loaded = []
    places: dict[str, str] = {}
    for file in files:
        for rule in load_rules(file):
            place = f"{file}:{rule.line}"
            if rule.text.id in places:
                raise ConfigError(f"{place}: rule {rule.text.id} stands at {places[rule.text.id]} too; ids are never reused")
            places[rule.text.id] = place
            namespace: dict[str, Any] = {}
            source = print_module([print_rule(rule.text.id, rule.text.name, rule.checks)], print_definitions([rule.checks]))
            exec(compile(source, f"<rule {rule.text.id} of {file}>", "exec"), namespace)  # noqa: S102
            loaded.append((rule_info(rule, str(file)), namespace[rule.text.id]))
    return loaded
