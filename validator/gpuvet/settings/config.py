"""`.gpuvet.yaml`: found upwards from the input, checked, merged with the bundle."""

import re
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from gpuvet.manifests.workloads import INDEX, index, rows_from_config
from gpuvet.settings.bundle import Choice, Origin, checked_severity, load_bundle
from gpuvet.settings.opa import OpaSettings, opa_settings
from gpuvet.settings.schema import FIELDS, Field
from gpuvet.settings.text import ConfigText
from gpuvet.values.errors import ConfigError
from gpuvet.values.path import Path
from gpuvet.values.version import parse_version

FILE_NAME = ".gpuvet.yaml"


class Settings(NamedTuple):
    """The configuration of a run, complete: every field has a value."""

    folder: FilePath
    """Where relative paths of the configuration start."""
    severities: Mapping[str, str]
    parameters: Mapping[str, Mapping[str, Any]]
    platform: Mapping[str, str]
    domains: Mapping[str, str]
    usage_key: str | None
    product_taints: tuple[str, ...]
    gpu_models: tuple[str, ...]
    namespace: str | None
    exclude: tuple[str, ...]
    context_paths: tuple[str, ...]
    context_complete: tuple[str, ...]
    workloads: Any
    rule_files: tuple[str, ...]
    source: str | None
    """The configuration file, or None."""
    origins: Mapping[str, Origin] = {}
    """Rule (or pattern) -> where the user speaks of it."""
    bundle: str = "default"
    """Its name or path."""
    opa: OpaSettings | None = None
    """The server whose own packages are asked, too."""

    def place(self, *path: str | int) -> str:
        """`file:line:column` of a value of the configuration. Reads the file again: for errors only."""
        return "gpuvet" if self.source is None else ConfigText(FilePath(self.source)).place(path)

    def place_of_rule(self, name: str, *inner: str) -> str:
        """`file:line:column` of where the user speaks of a rule, in configuration or bundle."""
        if name not in self.origins:
            return "bundle"
        file, path = self.origins[name]
        return ConfigText(FilePath(file)).place((*path, *inner), key=True)


def find_config(start: FilePath) -> FilePath | None:
    """The nearest `.gpuvet.yaml` in `start` or a folder above it."""
    start = start.resolve()
    for folder in (start, *start.parents):
        candidate = folder / FILE_NAME
        if candidate.is_file():
            return candidate
    return None


def load_settings(path: FilePath | None, bundle: str | None = None) -> Settings:
    """The settings of a configuration file (or none). `bundle` from the command line wins over the file's.

    Raises ConfigError that names file, line and column.
    """
    text = ConfigText(path) if path is not None else None
    data = _checked(text) if text is not None else {}
    folder = path.parent if path is not None else FilePath.cwd()
    choice = _choice(text, data, folder, bundle)
    context = data.get("context") or {}
    return Settings(
        folder=folder,
        severities=choice.severities,
        parameters=choice.parameters,
        platform=_versions(text, data),
        domains=data.get("domains") or {},
        usage_key=data.get("usageKey"),
        product_taints=tuple(data.get("productTaints") or ()),
        gpu_models=tuple(data.get("gpuModels") or ()),
        namespace=data.get("namespace"),
        exclude=tuple(data.get("exclude") or ()),
        context_paths=tuple(context.get("paths") or ()),
        context_complete=tuple(context.get("complete") or ()),
        workloads=_workloads(text, data),
        rule_files=tuple(data.get("ruleFiles") or ()),
        source=None if path is None else str(path),
        origins=choice.origins,
        bundle=bundle or data.get("bundle") or "default",
        opa=None if text is None or data.get("opa") is None else opa_settings(text, data["opa"], folder),
    )


def _choice(text: ConfigText | None, data: dict[str, Any], folder: FilePath, named: str | None) -> Choice:
    """The bundle, and over it what the configuration says of rules."""
    if named is not None:
        # A path on the command line starts where the command was given.
        choice = load_bundle(named, FilePath.cwd(), "--bundle")
    else:
        at = text.place(("bundle",)) if text is not None else ""
        choice = load_bundle(data.get("bundle") or "default", folder, at)
    severities: dict[str, str] = {}
    for pattern, entry in (data.get("rules") or {}).items():
        assert text is not None
        choice.origins[pattern] = (text.name, ("rules", pattern))
        if not isinstance(entry, dict):
            severities[pattern] = checked_severity(text, ("rules", pattern), entry)
            continue
        if "severity" in entry:
            severities[pattern] = checked_severity(text, ("rules", pattern, "severity"), entry["severity"])
        if entry.get("parameters"):
            choice.parameters[pattern] = {**choice.parameters.get(pattern, {}), **entry["parameters"]}
            choice.origins[pattern] = (text.name, ("rules", pattern, "parameters"))
    choice.say(severities)
    return choice


def _versions(text: ConfigText | None, data: dict[str, Any]) -> dict[str, str]:
    """Platform -> version as it is written: an unquoted 1.30 is a number, and would lose its zero."""
    found = {}
    for name, value in (data.get("platform") or {}).items():
        assert text is not None
        path = ("platform", name)
        found[name] = value if isinstance(value, str) else str(text.written(path) or value)
        if parse_version(found[name]) is None:
            raise text.error(path, f"{found[name]!r} is not a version such as 1.48.0")
    return found


_WHERE = re.compile(r"workloads((?:\[\d+\]|\.\w+)*)")
_STEP = re.compile(r"\[(\d+)\]|\.(\w+)")


def _workloads(text: ConfigText | None, data: dict[str, Any]) -> Any:
    """The workload table with the user's own rows before ours, or None when there are none."""
    if text is None or not data.get("workloads"):
        return None
    try:
        return index(rows_from_config(data["workloads"]), INDEX)
    except ConfigError as error:
        where = _WHERE.match(str(error))
        steps = _STEP.findall(where[1]) if where else []
        raise text.error(("workloads", *(int(number) if number else key for number, key in steps)), str(error)) from None


def _checked(text: ConfigText) -> dict[str, Any]:
    """The value, every key and type of it checked."""
    data = text.mapping((), text.value, "a configuration is a mapping")
    for key, value in data.items():
        field = FIELDS.get(key)
        if field is None:
            raise text.unknown((key,), "key", tuple(FIELDS))
        if value is not None:
            _check_field(text, key, field, value)
    return data


def _check_field(text: ConfigText, key: str, field: Field, value: Any) -> None:
    such = f"such as {field.example}"
    if field.takes == "text" and not isinstance(value, str):
        raise text.error((key,), f"{key} takes a text, {such}")
    if field.takes == "texts":
        _check_texts(text, (key,), value, f"{key} takes a list of texts, {such}")
    if field.takes == "opa" and not isinstance(value, dict):
        raise text.error((key,), f"{key} takes a mapping, {such}")
    if field.takes == "workloads" and not isinstance(value, list):
        raise text.error((key,), f"{key} takes a list of rows, {such}")
    if field.takes not in ("map", "versions", "context", "rules"):
        return
    for inner, item in text.mapping((key,), value, f"{key} takes a mapping, {such}").items():
        path = (key, inner)
        if field.choices and inner not in field.choices:
            raise text.unknown(path, f"key of {key}", field.choices)
        match field.takes:
            case "context":
                if item is not None:
                    _check_texts(text, path, item, f"{key}.{inner} takes a list of texts, {such}")
            case "map" if not isinstance(item, str) or not item:
                raise text.error(path, f"{key}.{inner} takes a text, {such}")
            case "versions" if isinstance(item, bool) or not isinstance(item, str | int | float):
                raise text.error(path, f"{key}.{inner} takes a version, {such}")
            case "rules" if isinstance(item, dict):
                _check_rule(text, path, item)


def _check_texts(text: ConfigText, path: Path, value: Any, words: str) -> None:
    if not isinstance(value, list):
        raise text.error(path, words)
    for place, item in enumerate(value):
        if not isinstance(item, str):
            raise text.error((*path, place), words)


def _check_rule(text: ConfigText, path: Path, entry: dict[str, Any]) -> None:
    known = ("severity", "parameters")
    for key in entry:
        if key not in known:
            raise text.unknown((*path, key), "key of a rule", known)
    text.mapping((*path, "parameters"), entry.get("parameters"), "parameters takes a mapping")
