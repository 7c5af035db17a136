"""`.gpuvet.yaml`: found upwards from the input, checked, merged with the bundle."""

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from gpuvet.compiled.bundles import BUNDLES
from gpuvet.manifests.document import Document
from gpuvet.manifests.reader import read
from gpuvet.manifests.workloads import INDEX, index, rows_from_config
from gpuvet.settings.schema import FIELDS
from gpuvet.values.errors import ConfigError
from gpuvet.values.path import Path
from gpuvet.values.total import nearest

FILE_NAME = ".gpuvet.yaml"
_SEVERITIES = ("off", "on", "error", "warning", "info")


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

    Raises ConfigError that names file, line and key.
    """
    data: dict[str, Any] = {}
    folder = FilePath.cwd()
    if path is not None:
        folder = path.parent
        data = _checked(_document(path), str(path))
    severities, parameters = _bundle(bundle or data.get("bundle") or "default", folder, str(path or "--bundle"))
    for pattern, entry in (data.get("rules") or {}).items():
        if isinstance(entry, dict):
            if "severity" in entry:
                severities[pattern] = _severity(entry["severity"])
            parameters[pattern] = {**parameters.get(pattern, {}), **(entry.get("parameters") or {})}
        else:
            severities[pattern] = _severity(entry)
    context = data.get("context") or {}
    rows = rows_from_config(data["workloads"]) if data.get("workloads") else ()
    return Settings(
        folder=folder,
        severities=severities,
        parameters=parameters,
        platform={name: str(version) for name, version in (data.get("platform") or {}).items()},
        domains=data.get("domains") or {},
        usage_key=data.get("usageKey"),
        product_taints=tuple(data.get("productTaints") or ()),
        gpu_models=tuple(data.get("gpuModels") or ()),
        namespace=data.get("namespace"),
        exclude=tuple(data.get("exclude") or ()),
        context_paths=tuple(context.get("paths") or ()),
        context_complete=tuple(context.get("complete") or ()),
        workloads=index(rows, INDEX) if rows else None,
        rule_files=tuple(data.get("ruleFiles") or ()),
        source=None if path is None else str(path),
    )


def _document(path: FilePath) -> Document | None:
    try:
        reading = read(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    problems = (*reading.problems, *(problem for document in reading.documents for problem in document.problems))
    if problems:
        raise ConfigError(f"{path}:{problems[0].span.line}:{problems[0].span.column}: {problems[0].message}")
    if len(reading.documents) > 1:
        raise ConfigError(f"{path}: a configuration is one document")
    return reading.documents[0] if reading.documents else None


def _checked(document: Document | None, name: str) -> dict[str, Any]:
    """The value, every key and type of it checked."""
    if document is None:
        return {}
    data = document.value

    def wrong(path: Path, message: str) -> ConfigError:
        span = document.key_span(path) or document.value_span(path)
        return ConfigError(f"{name}:{span.line if span else 1}:{span.column if span else 1}: {message}")

    if not isinstance(data, dict):
        raise wrong((), "a configuration is a mapping")
    for key, value in data.items():
        field = FIELDS.get(key)
        if field is None:
            near = nearest(key, tuple(FIELDS))
            hint = f"; did you mean {near!r}?" if near else f"; known are {', '.join(FIELDS)}"
            raise wrong((key,), f"unknown key {key!r}{hint}")
        if value is None:
            continue
        if field.takes == "text" and not isinstance(value, str):
            raise wrong((key,), f"{key} takes a text, such as {field.example}")
        if field.takes == "texts" and not _texts(value):
            raise wrong((key,), f"{key} takes a list of texts, such as {field.example}")
        if field.takes in ("map", "context", "rules"):
            if not isinstance(value, dict):
                raise wrong((key,), f"{key} takes a mapping, such as {field.example}")
            for inner, item in value.items():
                if field.choices and inner not in field.choices:
                    near = nearest(inner, field.choices)
                    hint = f"; did you mean {near!r}?" if near else ""
                    raise wrong((key, inner), f"{key} knows {', '.join(field.choices)}, not {inner!r}{hint}")
                if field.takes == "context" and not _texts(item):
                    raise wrong((key, inner), f"{key}.{inner} takes a list of texts")
                if field.takes == "map" and not isinstance(item, str | int | float):
                    raise wrong((key, inner), f"{key}.{inner} takes a text")
                if field.takes == "rules":
                    _check_rule(key, inner, item, wrong)
        if field.takes == "workloads" and not isinstance(value, list):
            raise wrong((key,), f"{key} takes a list of rows, such as {field.example}")
    return data


def _check_rule(key: str, rule: str, item: Any, wrong: Any) -> None:
    severity = item
    if isinstance(item, dict):
        unknown = set(item) - {"severity", "parameters"}
        if unknown:
            raise wrong((key, rule, min(unknown)), f"a rule takes severity and parameters, not {min(unknown)!r}")
        severity = item.get("severity", "on")
        if not isinstance(item.get("parameters") or {}, dict):
            raise wrong((key, rule, "parameters"), "parameters takes a mapping")
    if _severity(severity) not in _SEVERITIES:
        raise wrong((key, rule), f"a severity is one of {', '.join(_SEVERITIES)}, not {severity!r}")


def _severity(value: Any) -> Any:
    """An unquoted `off` or `on` is a boolean to Kubernetes' YAML."""
    return ("on" if value else "off") if isinstance(value, bool) else value


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _bundle(name: str, folder: FilePath, source: str) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Severities and parameters of a bundle and of those it extends."""
    bundle: Any = BUNDLES.get(name)
    if bundle is None:
        path = folder / name
        if "/" not in name and not name.endswith((".yaml", ".yml")):
            near = nearest(name, tuple(BUNDLES))
            hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(BUNDLES)}"
            raise ConfigError(f"{source}: there is no bundle {name!r}{hint}")
        document = _document(path)
        bundle = document.value if document is not None else {}
        unknown = set(bundle) - {"name", "description", "extends", "severities", "parameters"} if isinstance(bundle, dict) else {"-"}
        if unknown:
            raise ConfigError(f"{path}: a bundle has name, description, extends, severities, parameters, not {min(unknown)!r}")
    severities: dict[str, str] = {}
    parameters: dict[str, dict[str, Any]] = {}
    if bundle.get("extends"):
        severities, parameters = _bundle(bundle["extends"], folder, source)
    severities.update({rule: _severity(value) for rule, value in (bundle.get("severities") or {}).items()})
    for rule, values in (bundle.get("parameters") or {}).items():
        parameters[rule] = {**parameters.get(rule, {}), **values}
    return severities, parameters
