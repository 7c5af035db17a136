"""The rule set of a run: the built-in rules and the users' own, as the settings want them."""

from gpuvet.compiled.catalogue import RULES
from gpuvet.engine.ruleset import RuleSet, Selection, bind
from gpuvet.settings.config import Settings
from gpuvet.values.errors import ConfigError
from gpuvet.values.rule import RuleInfo
from gpuvet.values.total import nearest


def rule_set(settings: Settings) -> RuleSet:
    """Raises ConfigError when a rule file is wrong or the settings speak of a rule that does not exist."""
    infos: tuple[RuleInfo, ...] = RULES
    functions = {}
    if settings.rule_files:
        from gpuvet.language.users import load_own_rules

        own = load_own_rules([settings.folder / name for name in settings.rule_files])
        infos += tuple(info for info, _ in own)
        functions = {info.id: function for info, function in own}
    _check_names(settings, infos)
    common = {
        "usageKey": settings.usage_key,
        "usagePattern": _literal(settings.usage_key) if settings.usage_key else r"(.*/)?node\.usage",
        "productTaints": list(settings.product_taints),
        "gpuModels": list(settings.gpu_models),
        "namespace": settings.namespace,
    }
    selection = Selection(settings.severities, settings.parameters, settings.platform, common)
    return RuleSet(bind(infos, selection, functions), settings.usage_key)


def _literal(text: str) -> str:
    import re

    return re.escape(text)


def _check_names(settings: Settings, infos: tuple[RuleInfo, ...]) -> None:
    known = {info.id for info in infos}
    families = {info.id[:-3] for info in infos} | {"IN"}
    for name in (*settings.severities, *settings.parameters):
        if name in known or name == "*" or (name.endswith("*") and name[:-1] in families) or name.startswith("IN0"):
            continue
        near = nearest(name, tuple(known))
        hint = f"; did you mean {near}?" if near else "; `gpuvet rules` lists them"
        raise ConfigError(f"{settings.source or 'bundle'}: there is no rule {name!r}{hint}")
