"""The rule set of a run: the built-in rules and the users' own, as the settings want them."""

import re
from collections.abc import Mapping
from typing import Any

from gpuvet.compiled.catalogue import RULES, SOURCE_DIGEST
from gpuvet.engine.domains import Domains
from gpuvet.engine.ruleset import Check, RuleSet, Selection, bind
from gpuvet.settings.config import Settings
from gpuvet.values.data import checkout, source_digest
from gpuvet.values.errors import ConfigError, StaleError
from gpuvet.values.rule import FAMILIES, RuleInfo
from gpuvet.values.total import nearest, text


def catalogue(settings: Settings) -> tuple[RuleInfo, ...]:
    """Every rule, the users' own last. Raises ConfigError when a rule file is wrong."""
    return _all(settings)[0]


def _all(settings: Settings) -> tuple[tuple[RuleInfo, ...], dict[str, Check]]:
    """The catalogue, and the functions of the rules that are not compiled."""
    infos: tuple[RuleInfo, ...] = RULES
    if checkout() is not None and source_digest() != SOURCE_DIGEST:
        raise StaleError("compiled/ is older than rules/ or policies/bundles/; run `gpuvet generate compiled`")
    if not settings.rule_files:
        return infos, {}
    from gpuvet.language.users import load_own_rules

    own = load_own_rules([settings.folder / name for name in settings.rule_files])
    twice = {info.id for info, _ in own} & {info.id for info in infos}
    if twice:
        raise ConfigError(f"{settings.place('ruleFiles')}: rule {min(twice)} is one of gpuvet's own; give yours another id")
    return (*infos, *(info for info, _ in own)), {info.id: function for info, function in own}


def rule_set(settings: Settings) -> RuleSet:
    """Raises ConfigError when a rule file is wrong or the settings speak of a rule that does not exist."""
    infos, functions = _all(settings)
    _check_names(settings, infos)
    common = {
        "usageKey": settings.usage_key,
        "usagePattern": re.escape(settings.usage_key) if settings.usage_key else r"(.*/)?node\.usage",
        "productTaints": list(settings.product_taints),
        "gpuModels": list(settings.gpu_models),
        "namespace": settings.namespace,
    }
    selection = Selection(settings.severities, settings.parameters, settings.platform, common)
    return RuleSet(bind(infos, selection, functions), settings.usage_key, Domains(settings.domains))


def _check_names(settings: Settings, infos: tuple[RuleInfo, ...]) -> None:
    """Raises ConfigError when the settings speak of a rule, a parameter or a kind that does not exist."""
    known = {info.id: info for info in infos}
    families = {*FAMILIES, *(info.id[:-3] for info in infos)}
    for name in (*settings.severities, *settings.parameters):
        if name not in known and name != "*" and not (name.endswith("*") and name[:-1] in families):
            near = nearest(name, tuple(known))
            hint = f"; did you mean {near}?" if near else "; `gpuvet rules` lists them"
            raise ConfigError(f"{settings.place_of_rule(name)}: there is no rule {name!r}{hint}")
    for name, values in settings.parameters.items():
        if name not in known:
            raise ConfigError(f"{settings.place_of_rule(name)}: parameters belong to one rule, not to {name}")
        _check_parameters(settings, known[name], values)
    kinds = {kind for info in infos for kind in info.finds}
    for place, kind in enumerate(settings.context_complete):
        near = nearest(kind, tuple(sorted(kinds))) if kind not in kinds else None
        if near:
            raise ConfigError(f"{settings.place('context', 'complete', place)}: no rule looks up {kind!r}; did you mean {near}?")


def _check_parameters(settings: Settings, info: RuleInfo, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if name not in info.parameters:
            hint = f"; it has {', '.join(info.parameters)}" if info.parameters else "; it has none"
            raise ConfigError(f"{settings.place_of_rule(info.id, name)}: {info.id} has no parameter {name!r}{hint}")
        default = info.parameters[name]
        if default is not None and type(value) is not type(default) and not (type(value) is int and type(default) is float):
            takes = f"parameter {name} of {info.id} takes {_NAMES[type(default)]}, such as {text(default)}"
            raise ConfigError(f"{settings.place_of_rule(info.id, name)}: {takes}")


_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a mapping"}
