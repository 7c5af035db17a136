"""From an object to its Pod templates. Which places count is data (`workload_table`); this module only reads the table.

Everything here is total: a wrong type anywhere gives fewer templates, never an exception.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from gpuvet.manifests.workload_shape import objects, pod_shape
from gpuvet.manifests.workload_table import TABLE, Count, Made, Row, Slot
from gpuvet.values.path import Path, step

__all__ = [
    "INDEX",
    "TABLE",
    "Index",
    "Row",
    "Template",
    "index",
    "objects",
    "plans",
    "pod_shape",
    "row_of",
    "rows_from_config",
    "templates",
]

Index = dict[tuple[str, str], tuple[Row, ...]]
"""(API group, kind) -> rows, the first that fits the version wins."""

Keys = tuple[str, ...]
"""A place without indexes; `[*]` stands for each item."""


class Template(NamedTuple):
    """One description of Pods inside an object, as a Pod would see it, and the way back to what the author wrote."""

    name: str
    """Task, group or template name shown to people; empty when the kind has just one."""
    metadata: dict[str, Any]
    """Annotations and labels of the Pods; `{}` when there are none."""
    metadata_path: Path
    """Where `metadata` stands in the object, or would stand."""
    spec: dict[str, Any]
    """The PodSpec. The author's own mapping, except where it had to be put together; then `moved` says from where."""
    spec_path: Path
    """Where `spec` stands, or would stand."""
    replicas: int | None
    """Number of Pods; None when it cannot be known: a DaemonSet, an autoscaler, a placeholder."""
    replicas_path: Path | None
    """Where that number stands or would stand; None where no field sets it."""
    gang_minimum: int | None
    """How many Pods of this template start together or not at all; None when there is no gang."""
    validated: str
    """Who refuses a wrong template: `api`, `webhook`, `none`."""
    scheduler: str | None
    """The scheduler that the owner names outside the template."""
    gang_total: int | None = None
    """How many Pods of all templates together start together; None when the owner does not say."""
    partial: bool = False
    """Merged over a template that stands elsewhere: that a field is missing means nothing."""
    moved: dict[Path, Path] | None = None
    """For a view that had to be put together: path in the view -> path in the object, for everything that stands elsewhere."""

    scheduler_path: Path | None = None
    """Where the owner names it."""

    def locate(self, path: Path) -> Path:
        """The object's path for a path in the view `{"metadata": ..., "spec": ...}`."""
        if self.moved is not None:
            for length in range(len(path), 0, -1):
                place = self.moved.get(path[:length])
                if place is not None:
                    return place + path[length:]
        if path[:1] == ("metadata",):
            return self.metadata_path + path[1:]
        return self.spec_path + path[1:]


# Plain classes from here on: making a NamedTuple costs a quarter of a millisecond, and every start of gpuvet pays it.


class _Ref:
    """A parsed place. `own` places start at the slot's item, the others at the root of the object."""

    __slots__ = ("keys", "own")

    def __init__(self, place: str, group: Keys) -> None:
        keys = _keys(place)
        self.own = keys[: len(group)] == group
        self.keys = keys[len(group) :] if self.own else keys


class _Factor:
    """A parsed Count."""

    __slots__ = ("at", "at_least", "less_one_if", "stated")

    def __init__(self, stated: Count, group: Keys) -> None:
        self.stated = stated
        self.at = _maybe(stated.at, group)
        self.at_least = _maybe(stated.at_least, group)
        self.less_one_if = _maybe(stated.less_one_if, group)


class _Maker:
    """A parsed Made."""

    __slots__ = ("at", "gpu", "image", "name", "resources")

    def __init__(self, made: Made, group: Keys) -> None:
        self.name = made.name
        self.at = _Ref(made.at, group)
        self.image = _maybe(made.image, group)
        self.resources = _maybe(made.resources, group)
        self.gpu = _maybe(made.gpu, group)


class _Plan:
    """A parsed slot. `plain` slots are the author's own `metadata` and `spec` mappings: nothing has to be put together."""

    __slots__ = (
        *("at", "autoscaled", "containers", "factors", "fields", "gang", "gang_in"),
        *("group", "init_containers", "metadata", "name", "plain", "slot", "spec"),
    )

    def __init__(self, slot: Slot) -> None:
        spec, metadata = slot.spec, slot.metadata
        if slot.template:
            spec, metadata = f"{slot.template}.spec", (f"{slot.template}.metadata",)
        anchor = _keys(spec or slot.at)
        group: Keys = ()
        for length in range(len(anchor), 0, -1):
            if anchor[length - 1] == "[*]":
                group = anchor[:length]
                break
        composed = bool(slot.containers or slot.init_containers or slot.fields or slot.at or len(metadata) > 1)
        self.slot = slot
        self.group = group
        self.plain = not composed and (not metadata or _keys(metadata[0])[-1] == "metadata")
        self.at = _maybe(slot.at, group)
        self.spec = _maybe(spec, group)
        self.metadata = tuple(_Ref(each, group) for each in metadata)
        self.containers = tuple(_Maker(each, group) if isinstance(each, Made) else _Ref(each, group) for each in slot.containers)
        self.init_containers = tuple(_Ref(each, group) for each in slot.init_containers)
        self.fields = tuple((name, tuple(_Ref(each, group) for each in places)) for name, places in slot.fields)
        self.name = _maybe(slot.name, group)
        self.factors = tuple(_Factor(each, group) for each in slot.replicas)
        self.autoscaled = _maybe(slot.autoscaled, group)
        self.gang = _maybe(slot.gang, group)
        self.gang_in = _maybe(slot.gang_in, group)


class _Item:
    """The object, and the item of it that a slot is read for."""

    __slots__ = ("key", "path", "root", "value")

    def __init__(self, root: dict[str, Any], path: Path, value: dict[str, Any], key: str) -> None:
        self.root = root
        self.path = path
        self.value = value
        self.key = key

    def read(self, ref: _Ref) -> Any:
        value: Any = self.value if ref.own else self.root
        for key in ref.keys:
            if type(value) is not dict:
                return None
            value = value.get(key)
        return value

    def place(self, ref: _Ref) -> Path:
        return self.path + ref.keys if ref.own else ref.keys


def _keys(place: str) -> Keys:
    return tuple(place.replace("[*]", ".[*]").split("."))


def _maybe(place: str, group: Keys) -> _Ref | None:
    return _Ref(place, group) if place else None


@cache
def _plans(slots: tuple[Slot, ...]) -> tuple[_Plan, ...]:
    return tuple(_Plan(slot) for slot in slots)


def plans(row: Row) -> tuple[_Plan, ...]:
    """The parsed slots of a row."""
    return _plans(row.templates)


def rows_from_config(value: Any) -> tuple[Row, ...]:
    """Rows from the list under `workloads:` of a configuration file. Raises ConfigError that names the entry and the key."""
    # Here and not above: most runs have no such list.
    from gpuvet.manifests import workload_config

    return workload_config.rows_from_config(value)


def index(rows: Iterable[Row], base: Index | None = None) -> Index:
    """Rows by group and kind. Rows of `base` come after the new ones, so a user's row replaces a built-in one."""
    out: Index = {}
    for row in rows:
        out[row.group, row.kind] = (*out.get((row.group, row.kind), ()), row)
    for key, old in (base or {}).items():
        out[key] = (*out.get(key, ()), *old)
    return out


INDEX = index(TABLE)


def row_of(obj: dict[str, Any], table: Index = INDEX) -> Row | None:
    """The table's row for an object, by group, kind and version; None for every other kind."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if type(version) is not str or type(kind) is not str:
        return None
    group, _, version = version.rpartition("/")
    for row in table.get((group, kind), ()):
        if row.version == "*" or version in row.version.split("|"):
            return row
    return None


def templates(obj: dict[str, Any], row: Row) -> list[Template]:
    """The Pod templates of an object, in the order of the row and of the object's own lists."""
    out: list[Template] = []
    scheduler: str | None = None
    total: int | None = None
    if row.scheduler:
        named = _value(obj, row.scheduler)
        scheduler = named if type(named) is str and named else None
    if row.gang_total:
        # Zero is what Go reads for an absent field.
        total = _natural(_value(obj, row.gang_total)) or None
    for plan in _plans(row.templates):
        for item in _items(obj, plan.group) if plan.group else (_Item(obj, (), obj, ""),):
            found = _template(item, plan, row.validated, scheduler, total)
            if found is not None:
                out.append(found)
    if scheduler is not None:
        place = tuple(row.scheduler.split("."))
        out = [view._replace(scheduler_path=place) for view in out]
    if total is not None and len(out) == 1:
        least = out[0].gang_minimum
        out[0] = out[0]._replace(gang_minimum=total if least is None else min(least, total))
    return out


def _template(item: _Item, plan: _Plan, validated: str, scheduler: str | None, total: int | None) -> Template | None:
    moved: dict[Path, Path] | None = None
    if plan.plain:
        spec_ref, metadata_ref = plan.spec, plan.metadata[0] if plan.metadata else None
        assert spec_ref is not None
        spec = item.read(spec_ref)
        metadata = item.read(metadata_ref) if metadata_ref is not None else None
        if type(spec) is not dict:
            if type(metadata) is not dict:
                return None
            spec = {}
        spec_path = item.place(spec_ref)
        metadata_path = item.place(metadata_ref) if metadata_ref is not None else spec_path
        if type(metadata) is not dict:
            metadata = {}
    else:
        moved = {}
        joined = _joined_spec(item, plan, moved)
        if joined is None:
            return None
        spec, spec_path = joined
        metadata, metadata_path = _joined_metadata(item, plan, moved, spec_path)
    replicas, replicas_path = _replicas(item, plan)
    return Template(
        _name(item, plan),
        metadata,
        metadata_path,
        spec,
        spec_path,
        replicas,
        replicas_path,
        _gang(item, plan, replicas) if plan.gang is not None else None,
        validated,
        scheduler,
        total,
        plan.slot.partial,
        moved,
    )


def _joined_spec(item: _Item, plan: _Plan, moved: dict[Path, Path]) -> tuple[dict[str, Any], Path] | None:
    if plan.at is not None and type(item.read(plan.at)) is not dict:
        return None
    spec: dict[str, Any] = {}
    spec_path = item.place(plan.at) if plan.at is not None else item.path
    base = item.read(plan.spec) if plan.spec is not None else None
    if plan.spec is not None and type(base) is dict:
        spec, spec_path = dict(base), item.place(plan.spec)
        for ref in plan.containers:
            if isinstance(ref, _Ref) and ref.own == plan.spec.own and ref.keys[:-1] == plan.spec.keys:
                spec.pop(ref.keys[-1], None)
    elif plan.at is None:
        return None
    for name, refs in plan.fields:
        for ref in refs:
            value = item.read(ref)
            if value is not None:
                spec[name] = value
                moved["spec", name] = item.place(ref)
                break
    containers = _joined_containers(item, plan, moved, spec, spec_path)
    init = _Gathered("initContainers", moved)
    init.take(spec.get("initContainers"), (*spec_path, "initContainers"))
    for ref in plan.init_containers:
        init.take(item.read(ref), item.place(ref))
    if not containers and plan.spec is None:
        return None
    if containers:
        spec["containers"] = containers
    if init.values:
        spec["initContainers"] = init.values
    return spec, spec_path


class _Gathered:
    """Containers from several places, with the place of each one noted."""

    def __init__(self, name: str, moved: dict[Path, Path]) -> None:
        self.name = name
        self.moved = moved
        self.values: list[dict[str, Any]] = []

    def take(self, value: Any, place: Path) -> None:
        if type(value) is dict:
            self.moved["spec", self.name, len(self.values)] = place
            self.values.append(value)
        elif type(value) is list:
            for i, each in enumerate(value):
                if type(each) is dict:
                    self.take(each, (*place, i))


def _joined_containers(item: _Item, plan: _Plan, moved: dict[Path, Path], spec: dict[str, Any], spec_path: Path) -> list[dict[str, Any]]:
    out = _Gathered("containers", moved)
    out.take(spec.get("containers"), (*spec_path, "containers"))
    for source in plan.containers:
        if isinstance(source, _Maker):
            _make(item, source, out)
        else:
            out.take(item.read(source), item.place(source))
    return out.values


def _make(item: _Item, made: _Maker, out: _Gathered) -> None:
    container: dict[str, Any] = {"name": made.name}
    here: Path = ("spec", "containers", len(out.values))
    for name, ref in (("image", made.image), ("resources", made.resources)):
        value = item.read(ref) if ref is not None else None
        if ref is not None and value is not None:
            container[name] = value
            out.moved[*here, name] = item.place(ref)
    gpu = item.read(made.gpu) if made.gpu is not None else None
    resource, quantity = step(gpu, "name"), step(gpu, "quantity")
    if made.gpu is not None and type(resource) is str and quantity is not None:
        place = item.place(made.gpu)
        container["resources"] = {"limits": {resource: quantity}}
        out.moved[*here, "resources"] = place
        out.moved[*here, "resources", "limits"] = place
        out.moved[*here, "resources", "limits", resource] = (*place, "quantity")
    out.take(container, item.place(made.at))


def _joined_metadata(item: _Item, plan: _Plan, moved: dict[Path, Path], spec_path: Path) -> tuple[dict[str, Any], Path]:
    out: dict[str, Any] = {}
    for ref in plan.metadata:
        value = item.read(ref)
        if type(value) is not dict:
            continue
        for part in ("annotations", "labels"):
            entries = value.get(part)
            if entries is None:
                continue
            place = (*item.place(ref), part)
            moved["metadata", part] = place
            if type(entries) is not dict or type(out.get(part, {})) is not dict:
                out[part] = entries
                continue
            out[part] = {**out.get(part, {}), **entries}
            for key in entries:
                moved["metadata", part, key] = (*place, key)
    return out, item.place(plan.metadata[-1]) if plan.metadata else spec_path


def _name(item: _Item, plan: _Plan) -> str:
    if plan.slot.label:
        return plan.slot.label
    if plan.name is not None:
        named = item.read(plan.name)
        if type(named) is str and named:
            return named
    return item.key


def _replicas(item: _Item, plan: _Plan) -> tuple[int | None, Path | None]:
    product: int | None = None
    path: Path | None = None
    for factor in plan.factors:
        if factor.at is not None and path is None:
            path = item.place(factor.at)
        value = _factor(item, factor)
        if value is None:
            return None, path
        product = value if product is None else product * value
    if plan.autoscaled is not None:
        scaler = item.read(plan.autoscaled)
        if scaler is True or (type(scaler) is dict and scaler.get("enabled") is not False):
            return None, path
    return product, path


def _factor(item: _Item, factor: _Factor) -> int | None:
    count = factor.stated
    stated = item.read(factor.at) if factor.at is not None else None
    if stated is None:
        value = dict(count.by_name).get(item.key.lower(), count.default) if count.by_name else count.default
    else:
        value = _natural(stated)
    if value is None:
        return None
    if factor.at_least is not None:
        value = max(value, _natural(item.read(factor.at_least)) or 0)
    if factor.less_one_if is not None and type(item.read(factor.less_one_if)) is dict:
        value = max(value - 1, 0)
    return value


def _gang(item: _Item, plan: _Plan, replicas: int | None) -> int | None:
    assert plan.gang is not None
    if plan.gang_in is not None and type(item.read(plan.gang_in)) is not dict:
        return None
    stated = item.read(plan.gang)
    if stated is None or (stated == 0 and plan.slot.gang_zero_is_absent):
        return replicas if plan.slot.gang_default_replicas else None
    return _natural(stated)


def _natural(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _value(obj: dict[str, Any], place: str) -> Any:
    value: Any = obj
    for key in place.split("."):
        value = step(value, key)
    return value


def _items(obj: dict[str, Any], group: tuple[str, ...]) -> Iterator[_Item]:
    """The items that a slot is read for: each one that the `[*]` of its places stand for."""
    found: list[tuple[Path, Any, str]] = [((), obj, "")]
    for key in group:
        nested: list[tuple[Path, Any, str]] = []
        for path, value, name in found:
            if key != "[*]":
                nested.append(((*path, key), step(value, key), name))
            elif type(value) is list:
                nested.extend(((*path, i), each, str(i)) for i, each in enumerate(value))
            elif type(value) is dict:
                nested.extend(((*path, each), value[each], each) for each in value if type(each) is str)
        found = nested
    for path, value, name in found:
        if type(value) is dict:
            yield _Item(obj, path, value, name)
