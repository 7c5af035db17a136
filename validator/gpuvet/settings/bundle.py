"""Bundles: what to enforce, as severities and parameters of rules; ours by name, a company's own by path."""

from pathlib import Path as FilePath
from typing import Any, NamedTuple

from gpuvet.compiled.bundles import BUNDLES
from gpuvet.settings.text import ConfigText, did_you_mean
from gpuvet.values.errors import ConfigError
from gpuvet.values.path import Path

SEVERITIES = ("off", "on", "error", "warning", "info")
"""What a bundle or configuration can say of a rule; `on` is the rule's own severity."""
_KEYS = ("name", "description", "extends", "severities", "parameters")

Origin = tuple[str, Path]
"""A file, and the key in it."""


class Choice(NamedTuple):
    """What is said of rules: id, `FAMILY*` or `*` -> severity or parameters, and where it is said."""

    severities: dict[str, str]
    parameters: dict[str, dict[str, Any]]
    origins: dict[str, Origin]
    """Only of what stands in a file of the user's."""

    def say(self, severities: dict[str, str]) -> None:
        """Lays severities over those of the layers below: a pattern takes back what they say of single rules, unless it is `on`."""
        for pattern, chosen in severities.items():
            if pattern.endswith("*") and chosen != "on":
                for name in [name for name in self.severities if name.startswith(pattern[:-1])]:
                    del self.severities[name]
        self.severities.update(severities)


def load_bundle(name: str, folder: FilePath, at: str, above: tuple[str, ...] = ()) -> Choice:
    """A bundle and all that it extends. `at` says who asked for it: file:line:column, or the option.

    Raises ConfigError that names file, line and column.
    """
    if not _is_path(name):
        bundle = BUNDLES.get(name)
        if bundle is None:
            raise ConfigError(f"{at}: there is no bundle {name!r}{did_you_mean(name, tuple(BUNDLES))}; or a path that ends in .yaml")
        choice = load_bundle(bundle["extends"], folder, at, above) if bundle.get("extends") else Choice({}, {}, {})
        choice.say({rule: severity(value) for rule, value in (bundle.get("severities") or {}).items()})
        for rule, values in (bundle.get("parameters") or {}).items():
            choice.parameters[rule] = {**choice.parameters.get(rule, {}), **values}
        return choice
    path = folder / name
    identity = str(path.resolve())
    if identity in above:
        raise ConfigError(f"{at}: bundle {name} extends itself")
    text = ConfigText(path)
    bundle = text.mapping((), text.value, "a bundle is a mapping")
    for key in bundle:
        if key not in _KEYS:
            raise text.unknown((key,), "key", _KEYS)
    extends = bundle.get("extends")
    if extends is not None and type(extends) is not str:
        raise text.error(("extends",), "extends takes the name or path of one bundle")
    choice = Choice({}, {}, {})
    if extends:
        choice = load_bundle(extends, path.parent, text.place(("extends",)), (*above, identity))
    listed = text.mapping(("severities",), bundle.get("severities"), "severities takes a mapping of rules")
    choice.say({rule: checked_severity(text, ("severities", rule), value) for rule, value in listed.items()})
    choice.origins.update({rule: (text.name, ("severities", rule)) for rule in listed})
    for rule, value in text.mapping(("parameters",), bundle.get("parameters"), "parameters takes a mapping of rules").items():
        values = text.mapping(("parameters", rule), value, "the parameters of a rule are a mapping")
        choice.parameters[rule] = {**choice.parameters.get(rule, {}), **values}
        choice.origins[rule] = (text.name, ("parameters", rule))
    return choice


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith((".yaml", ".yml"))


def checked_severity(text: ConfigText, path: Path, value: Any) -> str:
    """Raises ConfigError for anything but a severity, on or off."""
    chosen = severity(value)
    if chosen not in SEVERITIES:
        raise text.error(path, f"a severity is one of {', '.join(SEVERITIES)}, not {value!r}")
    return str(chosen)


def severity(value: Any) -> Any:
    """An unquoted `off` or `on` is a boolean to Kubernetes' YAML."""
    return ("on" if value else "off") if isinstance(value, bool) else value
