"""Workload kinds that a user adds in `.gpuvet.yaml` under `workloads:`, checked and turned into rows of the table.

```yaml
workloads:
  - group: example.com
    kind: TrainingRun
    templates:
      - podTemplate: spec.workers[*].template
        name: spec.workers[*].name
        replicas: spec.workers[*].replicas
        defaultReplicas: 1
```
"""

import re
from typing import Any

from gpuvet.manifests.workload_table import Count, Row, Slot
from gpuvet.values.errors import ConfigError

_PLACE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\[\*\])*(\.[A-Za-z_][A-Za-z0-9_-]*(\[\*\])*)*", re.ASCII)
_ROW_KEYS = ("group", "version", "kind", "resource", "templates", "validated", "schedulerName", "gangTotal")
_SLOT_KEYS = (
    *("podTemplate", "podSpec", "containers", "metadata", "label", "name"),
    *("replicas", "defaultReplicas", "gangMinimum", "partial"),
)
_VALIDATED = ("api", "webhook", "none")


def rows_from_config(value: Any) -> tuple[Row, ...]:
    """Rows from the list under `workloads:`. Raises ConfigError that names the entry and the key."""
    if type(value) is not list:
        raise ConfigError("workloads: must be a list")
    return tuple(_row(each, f"workloads[{i}]") for i, each in enumerate(value))


def _row(value: Any, where: str) -> Row:
    entry = _mapping(value, where, _ROW_KEYS)
    kind = _text(entry, "kind", where)
    if not kind:
        raise ConfigError(f"{where}: kind is missing")
    slots = entry.get("templates")
    if type(slots) is not list or not slots:
        raise ConfigError(f"{where}.templates: must be a list with at least one template")
    validated = _text(entry, "validated", where) or "none"
    if validated not in _VALIDATED:
        raise ConfigError(f"{where}.validated: must be one of {', '.join(_VALIDATED)}, not {validated!r}")
    for key in ("schedulerName", "gangTotal"):
        if "[*]" in _place(entry, key, where):
            raise ConfigError(f"{where}.{key}: belongs to the whole object, so it cannot hold [*]")
    return Row(
        group=_text(entry, "group", where),
        kind=kind,
        resource=_text(entry, "resource", where) or f"{kind.lower()}s",
        templates=tuple(_slot(each, f"{where}.templates[{i}]") for i, each in enumerate(slots)),
        validated=validated,
        scheduler=_place(entry, "schedulerName", where),
        gang_total=_place(entry, "gangTotal", where),
        version=_text(entry, "version", where) or "*",
        source="workloads of the configuration file",
    )


def _slot(value: Any, where: str) -> Slot:
    entry = _mapping(value, where, _SLOT_KEYS)
    template, spec, containers = (_place(entry, key, where) for key in ("podTemplate", "podSpec", "containers"))
    if sum(map(bool, (template, spec, containers))) != 1:
        raise ConfigError(f"{where}: exactly one of podTemplate, podSpec and containers must be given")
    metadata = _place(entry, "metadata", where)
    if template and metadata:
        raise ConfigError(f"{where}.metadata: podTemplate already holds the metadata")
    default = entry.get("defaultReplicas")
    if default is not None and (type(default) is not int or default < 0):
        raise ConfigError(f"{where}.defaultReplicas: must be a whole number, not {default!r}")
    partial = entry.get("partial", False)
    if type(partial) is not bool:
        raise ConfigError(f"{where}.partial: must be true or false, not {partial!r}")
    replicas = _place(entry, "replicas", where)
    at = containers.rpartition(".")[0]
    if containers and not at:
        raise ConfigError(f"{where}.containers: must stand inside a mapping, such as spec.{containers}")
    slot = Slot(
        template=template,
        spec=spec,
        metadata=(metadata,) if metadata else (),
        at=at,
        containers=(containers,) if containers else (),
        label=_text(entry, "label", where),
        name=_place(entry, "name", where),
        replicas=(Count(replicas, default),) if replicas or default is not None else (),
        gang=_place(entry, "gangMinimum", where),
        partial=partial,
    )
    _same_item(slot, where)
    return slot


def _same_item(slot: Slot, where: str) -> None:
    """Every place with `[*]` must lead through the very items that the template leads through."""
    anchor = slot.template or slot.spec or slot.at
    group = anchor[: anchor.rfind("[*]") + 3] if "[*]" in anchor else ""
    places = [
        *(("metadata", each) for each in slot.metadata),
        *(("replicas", each.at) for each in slot.replicas),
        ("name", slot.name),
        ("gangMinimum", slot.gang),
        *(("containers", each) for each in slot.containers if isinstance(each, str)),
    ]
    for key, place in places:
        rest = place.removeprefix(group) if group and place.startswith(group) else place
        if "[*]" in rest:
            raise ConfigError(f"{where}.{key}: {place} has a [*] that the template's place {anchor} does not share")


def _mapping(value: Any, where: str, known: tuple[str, ...]) -> dict[str, Any]:
    if type(value) is not dict:
        raise ConfigError(f"{where}: must be a mapping")
    for key in value:
        if key not in known:
            # Here and not above: only a wrong file pays for the import.
            from difflib import get_close_matches

            near = get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"{where}: unknown key {key!r}; {hint}")
    return value


def _text(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if value is None:
        return ""
    if type(value) is not str:
        raise ConfigError(f"{where}.{key}: must be a string, not {value!r}")
    return value


def _place(entry: dict[str, Any], key: str, where: str) -> str:
    value = _text(entry, key, where)
    if value and not _PLACE.fullmatch(value):
        raise ConfigError(f"{where}.{key}: {value!r} is not a place such as spec.workers[*].template")
    return value
