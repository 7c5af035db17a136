"""The rule set of a run: the built-in rules and the users' own, as the settings want them."""

import re

from gpuvet.compiled.catalogue import RULES, SOURCE_DIGEST
from gpuvet.engine.domains import Domains
from gpuvet.engine.ruleset import Check, RuleSet, Selection, bind
from gpuvet.settings.config import Settings
from gpuvet.values.data import checkout, source_digest
from gpuvet.values.errors import ConfigError, StaleError
from gpuvet.values.rule import RuleInfo
from gpuvet.values.total import nearest


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
        raise ConfigError(f"{settings.source}: rule {min(twice)} is one of gpuvet's own; give yours another id")
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
    known = {info.id for info in infos}
    families = {info.id[:-3] for info in infos}
    for name in (*settings.severities, *settings.parameters):
        if name in known or name == "*" or (name.endswith("*") and name[:-1] in families):
            continue
        near = nearest(name, tuple(known))
        hint = f"; did you mean {near}?" if near else "; `gpuvet rules` lists them"
        raise ConfigError(f"{settings.source or 'bundle'}: there is no rule {name!r}{hint}")
