"""The rules of a run, bound to severities, parameters and platform versions, and found by what a subject shows."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.values.errors import ConfigError
from gpuvet.values.finding import Severity
from gpuvet.values.rule import PLATFORMS, RuleInfo
from gpuvet.values.version import in_range, parse_version

Check = Callable[[Any, Mapping[str, Any], Callable[[tuple[Any, ...]], None]], None]


class BoundRule:
    """A rule as this run enforces it. The printed function is imported when it is first needed."""

    __slots__ = ("_function", "info", "kinds", "parameters", "severity")

    def __init__(self, info: RuleInfo, severity: Severity, parameters: Mapping[str, Any], function: Check | None = None) -> None:
        self.info = info
        self.severity = severity
        self.parameters = parameters
        self.kinds = frozenset(info.kinds)
        self._function = function

    @property
    def function(self) -> Check:
        """The printed check."""
        if self._function is None:
            module, _, name = self.info.function.partition(":")
            self._function = getattr(import_module(module), name)
        return self._function


class Selection(NamedTuple):
    """What the bundle and the configuration say about rules."""

    severities: Mapping[str, str]
    """Rule id -> severity or `off`; `*` and `FAMILY*` are allowed, the most specific wins."""
    parameters: Mapping[str, Mapping[str, Any]]
    platforms: Mapping[str, str]
    common: Mapping[str, Any]
    """Parameters that every rule may read, such as `usageKey`."""


class RuleSet:
    """Rules found by keys, kinds, names and images: the cost of a subject does not grow with the catalogue."""

    def __init__(self, rules: Iterable[BoundRule], usage_key: str | None = None, domains: Domains = NO_DOMAINS) -> None:
        self.rules: tuple[BoundRule, ...] = tuple(rules)
        self._order = {rule.info.id: place for place, rule in enumerate(self.rules)}
        self._index: dict[tuple[str, str, str], list[BoundRule]] = {}
        self._memo: dict[tuple[str, str, tuple[str, ...]], tuple[BoundRule, ...]] = {}
        self.usage_key = usage_key
        self.domains = domains
        self.by_name = any(rule.info.names for rule in self.rules)
        self.by_image = any(rule.info.images for rule in self.rules)
        self._superseding = [(rule.info.id, other) for rule in self.rules for other in rule.info.supersedes]
        self.finds = frozenset(kind for rule in self.rules for kind in rule.info.finds)
        for rule in self.rules:
            for sort, token in tokens(rule.info, usage_key):
                self._index.setdefault((rule.info.on, sort, token), []).append(rule)
        self.subjects = frozenset(on for on, _, _ in self._index)

    def select(
        self, on: str, kind: str, keys: tuple[str, ...], names: tuple[str, ...] = (), images: tuple[str, ...] = ()
    ) -> tuple[BoundRule, ...]:
        """The rules that may speak about a subject that shows these keys, in catalogue order."""
        memo = (on, kind, keys + names + images) if names or images else (on, kind, keys)
        found = self._memo.get(memo)
        if found is None:
            found = self._select(on, kind, keys, names, images)
            if len(self._memo) < 10_000:
                self._memo[memo] = found
        return found

    def _select(self, on: str, kind: str, keys: tuple[str, ...], names: tuple[str, ...], images: tuple[str, ...]) -> tuple[BoundRule, ...]:
        found: dict[str, BoundRule] = {}
        index = self._index

        def add(sort: str, token: str) -> None:
            for rule in index.get((on, sort, token), ()):
                if not rule.kinds or kind in rule.kinds:
                    found[rule.info.id] = rule

        add("kind", kind)
        for key in keys:
            add("key", key)
            domain, slash, name = key.rpartition("/")
            if slash:
                add("domain", domain)
                add("name", name)
        for name in names:
            add("called", name)
        for image in images:
            add("image", image)
        return tuple(sorted(found.values(), key=lambda rule: self._order[rule.info.id]))

    def linked(self, ids: frozenset[str]) -> frozenset[str]:
        """The rules, and all that supersede them or are superseded by them: these are judged together or not at all."""
        found = set(ids)
        grew = True
        while grew:
            grew = False
            for one, other in self._superseding:
                if (one in found) != (other in found):
                    found.update((one, other))
                    grew = True
        return frozenset(found)

    def needles(self) -> tuple[bytes, ...]:
        """Byte strings of which a file must hold one for any rule to speak about it, or to look something up in it."""
        found = {find.rpartition("/")[2] for find in self.finds}
        for rule in self.rules:
            info = rule.info
            for sort, token in tokens(info, self.usage_key):
                found.add(token.split(".", 1)[1] if sort == "kind" and "." in token else token)
                if sort == "key":
                    found.add(self.domains.author(token))
                elif sort == "domain":
                    found.add(self.domains.renamed.get(token, token))
        shortest: list[str] = []
        for needle in sorted(found, key=len):
            if not any(other in needle for other in shortest):
                shortest.append(needle)
        return tuple(needle.encode() for needle in shortest)


def tokens(info: RuleInfo, usage_key: str | None) -> Iterable[tuple[str, str]]:
    """What calls for a rule: (`key`, `domain`, `name`, `called`, `image` or `kind`, token)."""
    for key in info.keys:
        if key == "$usageKey":
            yield ("key", usage_key) if usage_key else ("name", "node.usage")
        elif key.startswith("*/"):
            yield "name", key[2:]
        elif key.endswith("/*"):
            yield "domain", key[:-2]
        else:
            yield "key", key
    for name in info.names:
        yield "called", name
    for image in info.images:
        yield "image", image
    if not (info.keys or info.names or info.images):
        for kind in info.kinds:
            yield "kind", kind


def bind(infos: Iterable[RuleInfo], selection: Selection, functions: Mapping[str, Check] | None = None) -> list[BoundRule]:
    """The rules that are on, with what the selection says of them. Raises ConfigError for a version that is none."""
    bound = []
    named = {f"platform.{name}": selection.platforms.get(name) for name in PLATFORMS}
    versions = {name: _version(name, text) for name, text in selection.platforms.items()}
    for info in infos:
        severity = _severity(info, selection.severities)
        if info.platform is not None and severity != "off":
            chosen = selection.severities.get(info.id, "on") != "on"
            severity = _gated(info.platform, severity, versions, chosen)
        if severity == "off":
            continue
        parameters = {**named, **info.parameters, **selection.common, **selection.parameters.get(info.id, {})}
        bound.append(BoundRule(info, severity, parameters, (functions or {}).get(info.id)))  # type: ignore[arg-type]
    return bound


def _severity(info: RuleInfo, severities: Mapping[str, str]) -> str:
    for pattern in (info.id, f"{info.id[:-3]}*", "*"):
        if pattern in severities:
            chosen = severities[pattern]
            return info.severity if chosen == "on" else chosen
    return info.severity


def _gated(platform: tuple[str, str, str], severity: str, versions: Mapping[str, tuple[int, ...]], chosen: bool) -> str:
    """The severity by the platform's version; what bundle or configuration say of the rule itself counts without a version too."""
    name, text, unnamed = platform
    if name in versions:
        return severity if in_range(versions[name], text) else "off"
    if unnamed == "apply" or (chosen and unnamed != "skip"):
        return severity
    return "off" if unnamed == "skip" else unnamed


def _version(name: str, text: str) -> tuple[int, ...]:
    version = parse_version(text)
    if version is None:
        raise ConfigError(f"platform {name}: {text!r} is not a version such as 1.48.0")
    return version
