"""The rules of a run, bound to severities, parameters and platform versions, and found by what a subject shows."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from gpuvet.engine.domains import NO_DOMAINS, Domains
from gpuvet.engine.needles import Needles
from gpuvet.values.errors import ConfigError
from gpuvet.values.finding import Severity
from gpuvet.values.rule import PLATFORMS, RuleInfo
from gpuvet.values.version import in_range, parse_version

Screen = Callable[[Any, Mapping[str, Any]], bool]
Check = Callable[[Any, Mapping[str, Any], Callable[[tuple[Any, ...]], None]], None]


class BoundRule:
    """A rule as this run enforces it. The printed function is imported when it is first needed."""

    __slots__ = ("_function", "_is_printed", "_screen", "info", "kinds", "parameters", "severity")

    def __init__(self, info: RuleInfo, severity: Severity, parameters: Mapping[str, Any], function: Check | None = None) -> None:
        self.info = info
        self.severity = severity
        self.parameters = parameters
        self.kinds = frozenset(info.kinds)
        self._function = function
        self._is_printed = function is None and ".rules_" in info.function
        self._screen: Screen | None = None

    @property
    def function(self) -> Check:
        """The printed check."""
        if self._function is None:
            module, _, name = self.info.function.partition(":")
            self._function = getattr(import_module(module), name)
        return self._function

    @property
    def screen(self) -> Screen:
        """Whether the rule has something to say about a subject; a rule without a printed one always may."""
        if self._screen is None:
            self._screen = self._printed("") or _always
        return self._screen

    @property
    def part_screen(self) -> Screen | None:
        """Whether the part of the subject that the rule `reads` lets it say something."""
        return self._printed(f"_{self.info.reads}") if self.info.reads else None

    def _printed(self, suffix: str) -> Screen | None:
        if not self._is_printed:
            return None
        module, _, name = self.info.function.partition(":")
        return getattr(import_module(module.replace(".rules_", ".screens_")), name + suffix, None)


def _always(subject: Any, parameters: Mapping[str, Any]) -> bool:
    return True


class Selection(NamedTuple):
    """What the bundle and the configuration say about rules."""

    severities: Mapping[str, str]
    """Rule id -> severity or `off`; `*` and `FAMILY*` are allowed, the most specific wins."""
    parameters: Mapping[str, Mapping[str, Any]]
    platforms: Mapping[str, str]
    common: Mapping[str, Any]
    """Parameters that every rule may read, such as `usageKey`."""


Entry = tuple[Screen, Mapping[str, Any], BoundRule]
"""A rule with what running it takes."""


class Alike:
    """Rules that a part of their subjects decides about, which many subjects have in common word for word."""

    __slots__ = ("_room", "entries", "part", "remembered")

    def __init__(self, part: str, room: "Room") -> None:
        self.part = part
        self.entries: list[tuple[Screen, Entry]] = []
        """Each with what looks at the part."""
        self.remembered: dict[bytes, tuple[Entry, ...]] = {}
        """Such a part -> the rules that it lets say something."""
        self._room = room

    def remember(self, content: bytes, speaking: tuple[Entry, ...]) -> None:
        """Keeps it until there is no room."""
        if len(content) <= _LONGEST:
            self._room.take(self.remembered, len(content) + _ENTRY)
            self.remembered[content] = speaking


_LONGEST = 4_096
"""Bytes of a part that is remembered: somebody else's manifests must not fill the memory."""
_ENTRY = 300
"""Bytes that remembering takes besides, or so."""
_ROOM = 16 << 20
"""Bytes for what all selections of a rule set remember."""


class Room:
    """How much may be remembered. When it is used up, all is forgotten."""

    def __init__(self) -> None:
        self._left = _ROOM
        self._used: dict[int, dict[bytes, Any]] = {}

    def take(self, by: dict[bytes, Any], size: int) -> None:
        """Makes room for one thing more."""
        if self._left < size:
            for each in self._used.values():
                each.clear()
            self._used.clear()
            self._left = _ROOM
        self._used[id(by)] = by
        self._left -= size


class Selected:
    """The rules that subjects of one sort and kind call for."""

    __slots__ = ("alike", "rules")

    def __init__(self, rules: Iterable[BoundRule], room: Room) -> None:
        alike: dict[str, Alike] = {}
        plain: list[Entry] = []
        for rule in rules:
            entry, part = (rule.screen, rule.parameters, rule), rule.part_screen
            if part is None:
                plain.append(entry)
            else:
                alike.setdefault(rule.info.reads, Alike(rule.info.reads, room)).entries.append((part, entry))
        self.rules = tuple(plain)
        self.alike = tuple(alike.values())


class RuleSet:
    """Rules found by keys, kinds, names and images: the cost of a subject does not grow with the catalogue."""

    def __init__(self, rules: Iterable[BoundRule], usage_key: str | None = None, domains: Domains = NO_DOMAINS) -> None:
        self.rules: tuple[BoundRule, ...] = tuple(rules)
        self._order = {rule.info.id: place for place, rule in enumerate(self.rules)}
        self._index: dict[tuple[str, str, str], list[BoundRule]] = {}
        self._speaks: dict[str, _Spoken] = {}
        self._memo: dict[tuple[Any, ...], Selected | None] = {}
        self._room = Room()
        self.usage_key = usage_key
        self.domains = domains
        self.by_name = any(rule.info.names for rule in self.rules)
        self.by_image = any(rule.info.images for rule in self.rules)
        self.finds = frozenset(kind for rule in self.rules for kind in rule.info.finds)
        for rule in self.rules:
            for sort, token in triggers_of(rule.info, usage_key):
                self._index.setdefault((rule.info.on, sort, token), []).append(rule)
        self.subjects = frozenset(on for on, _, _ in self._index)
        for on in self.subjects:
            needed = {key for rule in self.rules if rule.info.on == on for need in rule.info.needs for key in need}
            self._speaks[on] = _Spoken(on, self._index, needed)

    def select(self, on: str, kind: str, keys: set[str], names: tuple[str, ...] = (), images: tuple[str, ...] = ()) -> Selected | None:
        """The rules that may speak about a subject that shows these keys, in catalogue order; None when there are none."""
        spoken = self._speaks.get(on)
        if spoken is None:
            return None
        # Only what some rule speaks of makes a difference; labels of every kind would fill the memo.
        hits = spoken.among(keys)
        if names:
            names = tuple([name for name in names if (on, "called", name) in self._index])
        if images:
            images = tuple([image for image in images if (on, "image", image) in self._index])
        memo = (on, kind, hits, names, images)
        try:
            return self._memo[memo]
        except KeyError:
            found = self._select(on, kind, hits, names, images)
            if len(self._memo) < 10_000:
                self._memo[memo] = found
            return found

    def _select(self, on: str, kind: str, keys: frozenset[str], names: tuple[str, ...], images: tuple[str, ...]) -> Selected | None:
        tokens = [("kind", kind), *(("called", name) for name in names), *(("image", image) for image in images)]
        tokens += [token for key in keys for token in _tokens_of(key)]
        found: dict[str, BoundRule] = {}
        for sort, token in tokens:
            for rule in self._index.get((on, sort, token), ()):
                needs = rule.info.needs
                if (not rule.kinds or kind in rule.kinds) and (not needs or any(keys.issuperset(need) for need in needs)):
                    found[rule.info.id] = rule
        return Selected(sorted(found.values(), key=lambda rule: self._order[rule.info.id]), self._room) if found else None

    def sought(self) -> Needles:
        """What a file must hold to hold objects that rules look up."""
        return sought(self.finds)

    def needles(self) -> Needles:
        """What a file must hold for any rule to speak about it, or to look something up in it."""
        words: set[str] = set()
        for rule in self.rules:
            for sort, token in triggers_of(rule.info, self.usage_key):
                words.add(token.split(".", 1)[1] if sort == "kind" and "." in token else token)
                if sort == "key":
                    words.add(self.domains.author(token))
                elif sort == "domain":
                    words.add(self.domains.get(token, token))
        return Needles(*_with_objects(words, self.finds))


def sought(finds: Iterable[str]) -> Needles:
    """What a file must hold to hold objects of these kinds, or `Kind/name`."""
    return Needles(*_with_objects(set(), finds))


def _with_objects(words: set[str], finds: Iterable[str]) -> tuple[set[str], list[tuple[str, str]]]:
    pairs = [find.partition("/") for find in finds]
    return words | {kind.partition(".")[0] for kind, _, name in pairs if not name}, [(kind, name) for kind, _, name in pairs if name]


class _Spoken:
    """Which keys make a difference to any rule for a sort of subject; found out on demand."""

    __slots__ = ("_hits", "_index", "_on", "_seen")

    def __init__(self, on: str, index: Mapping[tuple[str, str, str], Any], needed: set[str]) -> None:
        self._on = on
        self._index = index
        self._hits = needed
        self._seen = set(needed)

    def among(self, keys: set[str]) -> frozenset[str]:
        """Those of the keys that do."""
        hits = keys & self._hits
        if not keys <= self._seen:
            new = keys - self._seen
            found = {key for key in new if any((self._on, sort, token) in self._index for sort, token in _tokens_of(key))}
            if len(self._seen) + len(new) <= 50_000:
                self._hits |= found
                self._seen |= new
            hits |= found
        return frozenset(hits)


def _tokens_of(key: str) -> tuple[tuple[str, str], ...]:
    """What triggers may say of a key: the whole of it, its domain, its name."""
    domain, slash, name = key.rpartition("/")
    return (("key", key), ("domain", domain), ("name", name)) if slash else (("key", key),)


def triggers_of(info: RuleInfo, usage_key: str | None) -> Iterable[tuple[str, str]]:
    """What a subject must show one of, for the rule to be looked at: (sort, token)."""
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
