"""TensorFusion: which source wins each field of a Pod template (tensor-fusion.md 2.1 to 2.10).

The order of sources is data, in rules/facts/tensor-fusion-precedence.yaml. With a named operator version exactly its order counts.
Without one every dialect is tried: a key that is present is read as the dialects that know it do, a key of a newer dialect excludes
the older ones, and a field on which the rest do not agree is UNKNOWN.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuvet.resolve.fields import Candidate, Inputs, Known, Resolved
from gpuvet.resolve.tensor_fusion_sources import (
    DIALECTS,
    DOMAIN,
    FIELDS,
    STATED,
    TABLE,
    Springs,
    course,
    from_version,
    plans,
    since,
    sources_of,
    springs,
)
from gpuvet.values.total import UNKNOWN, Unknown, get, integer, items, matches, placeholder, quantity, split
from gpuvet.values.version import Version, parse_version

_ANNOTATIONS = ("pod", "metadata", "annotations")


class _Offer(NamedTuple):
    """What a source has: a value, or UNKNOWN."""

    value: Any
    place: tuple[Any, ...] | None = None


_NOTHING = _Offer(None)
_DIFFER = _Offer(None, ("differ",))
_CERTAIN: frozenset[str] = frozenset()
_PROFILE = frozenset(("WorkloadProfile",))
_PROFILE_KEYS = frozenset((f"{DOMAIN}/workload-profile", f"{DOMAIN}/client-profile"))


class TensorFusion:
    """The effective TensorFusion configuration of one Pod template."""

    def __init__(self, inputs: Inputs, full: bool = False) -> None:
        """With `full` the fields also say which values are shadowed, which takes a look at every source."""
        self.inputs = inputs
        self.full = full
        self.remembered: dict[Any, Any] = {}
        named = parse_version(inputs.platforms["tensorFusion"]) if "tensorFusion" in inputs.platforms else None
        self.version = named
        self.annotations = get(inputs.pod, "metadata", "annotations")
        self.labels = get(inputs.pod, "metadata", "labels")
        self._views: dict[Version, _View] = {}
        self._fields: dict[str, Resolved | None] = {}
        self._hangs_on: dict[str, frozenset[str]] = {}
        self.versions: tuple[Version, ...] = (named,) if named is not None else self._compatible()
        self._plans = plans(self.versions, named is not None)

    def fields(self) -> tuple[str, ...]:
        """All names."""
        return tuple(FIELDS)

    def field(self, name: str) -> Resolved | None:
        """What counts."""
        if name not in self._fields:
            self._fields[name] = self._field(name)
        return self._fields[name]

    def hangs_on(self, name: str) -> frozenset[str]:
        """The kinds of objects that may still change a field."""
        if name not in self._hangs_on:
            self.field(name)
            self._hangs_on[name] = frozenset(kind for view in self._views.values() for kind in view.hangs_on.get(name, ()))
        return self._hangs_on[name]

    def _field(self, name: str) -> Resolved | None:
        plan = self._plans[name]
        written = get(self.labels if plan.is_label else self.annotations, plan.key)
        versions = self.versions if written is None else plan.written
        if not self.full:
            if written is not None and plan.takes and plan.rivals.isdisjoint(self.annotations or ()):
                offers = [
                    _taken(written, takes, ("pod", "metadata", "labels" if plan.is_label else "annotations", plan.key))
                    for takes in plan.takes
                ]
                offer = offers[0]
                if offer is not None and (len(offers) == 1 or all(other == offer for other in offers)):
                    self._hangs_on[name] = _CERTAIN
                    return Resolved(offer.value, "label" if plan.is_label else "annotation", offer.place)
            short = self._short(versions, plan.name, name)
            if short is not None:
                return short[0]
        answers = [self._view(version).field(name) for version in versions]
        last = answers[-1]
        if all((answer.value if answer else None) == (last.value if last else None) for answer in answers):
            return last
        told = last if last is not None else next(answer for answer in answers if answer is not None)
        shown = told.shown if told.value is UNKNOWN else told.value
        differ = "the operator versions differ: " + ", ".join(
            f"{dialect} {_word(answer)}" for dialect, answer in zip(self._names(versions), answers, strict=True)
        )
        return Resolved(UNKNOWN, told.source, told.place, told.shadowed, shown, differ)

    def _view(self, version: Version) -> "_View":
        if version not in self._views:
            self._views[version] = _View(self.inputs, self.annotations, self.labels, version, self.full)
        return self._views[version]

    def _short(self, versions: tuple[Version, ...], name: str, stated: str) -> tuple[Resolved | None] | None:
        """The answer in a tuple, where all versions certainly give the same one; None where they have to be asked."""
        annotations = self.annotations or {}
        if type(annotations) is not dict:
            return None
        self._hangs_on[stated] = _CERTAIN
        origins = springs(versions, name)
        if origins is not None and origins.keys.isdisjoint(annotations) and self._gives_nothing(origins, versions, stated):
            return (None,)
        steps = course(versions, name)
        if steps.rivals.isdisjoint(annotations):
            for source in steps.sources:
                found = self._same(source, versions, name)
                if found is _DIFFER:
                    break
                if found.value is not None:
                    if found.value is UNKNOWN and source["from"] == "profile":
                        self._hangs_on[stated] = _PROFILE
                    return (Resolved(found.value, source["from"], found.place),)
            else:
                if steps.whole:
                    return (None,)
        del self._hangs_on[stated]
        return None

    def _gives_nothing(self, origins: Springs, versions: tuple[Version, ...], stated: str) -> bool:
        """Whether native limits, profile and quota certainly have no value for a field."""
        if origins.native and self._has_natives():
            return False
        if origins.paths and not _PROFILE_KEYS.isdisjoint(self.annotations or ()) and not self._profile_lacks(origins.paths, versions):
            return False
        return not origins.quota or self._no_quota(stated)

    def _same(self, source: dict[str, Any], versions: tuple[Version, ...], name: str) -> _Offer:
        """What a source that the versions share has to offer; `_DIFFER` when they make different things of it."""
        match source["from"]:
            case "default":
                return _Offer(source["value"])
            case "profile":
                return self._view(versions[-1])._offer(name, source) or _NOTHING
        where = "labels" if source["from"] == "label" else "annotations"
        key = f"{DOMAIN}/{source.get('key', name)}"
        value = get(self.labels if where == "labels" else self.annotations, key)
        if value is None:
            return _NOTHING
        offers = [_taken(value, takes, ("pod", "metadata", where, key)) or _NOTHING for takes in source["takes"]]
        return offers[0] if all(offer == offers[0] for offer in offers) else _DIFFER

    def _profile_lacks(self, paths: frozenset[tuple[str, ...]], versions: tuple[Version, ...]) -> bool:
        """Whether the profile is known and says nothing in any of these places."""
        named = self._short(versions, "workload-profile", "workload-profile")
        if named is None or named[0] is None or type(named[0].value) is not str or placeholder(named[0].value):
            return False
        profile = self.inputs.find("WorkloadProfile", named[0].value, None)
        return profile is not UNKNOWN and all(get(profile, *path) is None for path in paths)

    def _no_quota(self, stated: str) -> bool:
        """Whether no quota gives a value; a field that is only `stated` takes it so while none is known."""
        listed, complete = self.inputs.objects("GPUResourceQuota")
        if any(quota.namespace == self.inputs.namespace for quota in listed) or not (complete or stated.startswith(STATED)):
            return False
        if not complete:
            self._hangs_on[stated] = frozenset(("GPUResourceQuota",))
        return True

    def _has_natives(self) -> bool:
        return next(self._view(self.versions[-1]).natives(), None) is not None

    def _compatible(self) -> tuple[Version, ...]:
        """All dialects but those older than a key that is present. Old keys exclude nothing: they are often just left over."""
        found = [
            since(key, sort)
            for sort, keys in (("annotation", self.annotations), ("label", self.labels))
            for key in (keys if type(keys) is dict else ())
        ]
        return from_version(max(found, default=None))

    @staticmethod
    def _names(versions: tuple[Version, ...]) -> list[str]:
        return [next(name for name, own in DIALECTS.items() if own == version) for version in versions]


def _word(answer: Resolved | None) -> str:
    if answer is None:
        return "has none"
    return "cannot be known" if answer.value is UNKNOWN else f"takes {answer.value}"


class _View:
    """The configuration as one operator version sees it."""

    def __init__(self, inputs: Inputs, annotations: Any, labels: Any, version: Version, full: bool) -> None:
        self.inputs = inputs
        self.annotations = annotations
        self.labels = labels
        self.full = full
        self.sources = sources_of(version)
        self._fields: dict[str, Resolved | None] = {}
        self._stated = False
        self._open: set[str] = set()
        self.hangs_on: dict[str, set[str]] = {}
        """Field -> kinds of objects that may still change it."""

    def field(self, name: str) -> Resolved | None:
        if name not in self._fields:
            self._fields[name] = None  # no field needs itself
            before = self._stated, self._open
            self._stated, self._open = name.startswith(STATED), set()
            self._fields[name] = self._merge(name.removeprefix(STATED))
            self.hangs_on[name] = self._open
            self._stated, self._open = before
        self._open |= self.hangs_on.get(name, set())
        return self._fields[name]

    def objects(self, kind: str) -> tuple[list[Known], bool]:
        """The known objects of a kind, and whether there are no others."""
        listed, complete = self.inputs.objects(kind)
        if not complete:
            self._open.add(kind)
        return listed, complete

    def value(self, name: str) -> Any:
        found = self.field(name)
        return None if found is None else found.value

    def _merge(self, name: str) -> Resolved | None:
        winner: tuple[_Offer, str] | None = None
        shown: Any = None
        shadowed: list[Candidate] = []
        for source in self.sources.get(name, ()):
            offer = self._offer(name, source)
            if offer is None or offer.value is None:
                continue
            if winner is None:
                winner = (offer, source["from"])
                if not self.full and offer.value is not UNKNOWN:
                    break
            elif offer.value is not UNKNOWN:
                if winner[0].value is UNKNOWN and shown is None:
                    shown = offer.value
                if source["from"] not in ("default", "limit"):
                    shadowed.append(Candidate(offer.value, source["from"], offer.place))
        if winner is None:
            return None
        (value, place), origin = winner
        note = f"it hangs on the {origin.replace('-', ' ')}, which is not among the inputs" if value is UNKNOWN else ""
        return Resolved(value, origin, place, tuple(shadowed), shown, note)

    def _offer(self, name: str, source: dict[str, Any]) -> _Offer | None:
        """What a source has for a field; None when it does not count."""
        if any(self._annotated(key) for key in source.get("unless", ())):
            return None
        for key, wanted in source.get("when", {}).items():
            holds = self.value(key) if key != "gang-enabled" else get(self.annotations, f"{DOMAIN}/gang-enabled")
            if holds is UNKNOWN or placeholder(holds):
                return _Offer(UNKNOWN)
            if holds != wanted:
                return None
        others = [self.value(STATED + other if self._stated else other) for other in source.get("without", ())]
        if any(other is not None for other in others):
            return None if any(other is not None and other is not UNKNOWN for other in others) else _Offer(UNKNOWN)
        match source["from"]:
            case "annotation":
                return self._written(self.annotations, "annotations", source.get("key", name), source["takes"])
            case "label":
                return self._written(self.labels, "labels", source.get("key", name), source["takes"])
            case "profile":
                offer = self._profile(source)
                return offer if offer is None or "means" not in source or offer.value is UNKNOWN else offer._replace(value=source["means"])
            case "quota":
                return self._quota(source)
            case "pool":
                return self._pool(source)
            case "default":
                return _Offer(source["value"])
            case "limit":
                return self._inherited(source["field"])
            case other:
                return _COMPUTED[other](self)

    def _annotated(self, name: str) -> bool:
        """Whether a quantity annotation counts at all: a malformed one does not."""
        value = get(self.annotations, f"{DOMAIN}/{name}")
        return value is not None and (placeholder(value) or quantity(value) is not None)

    def _written(self, of: Any, where: str, key: str, takes: str) -> _Offer | None:
        full = f"{DOMAIN}/{key}"
        return _taken(get(of, full), takes, ("pod", "metadata", where, full))

    def _profile(self, source: dict[str, Any]) -> _Offer | None:
        name = self.value("workload-profile")
        if name is None or name == "":
            return None
        if name is UNKNOWN or placeholder(name):
            return _Offer(UNKNOWN)
        profile = self.inputs.find("WorkloadProfile", name, None)
        if profile is UNKNOWN:
            self._open.add("WorkloadProfile")
        path = source["at"].split(".")
        return _taken(get(profile, *path), source["takes"], ("found", ("WorkloadProfile", name, None), *path))

    def _quota(self, source: dict[str, Any]) -> _Offer | None:
        listed, complete = self.objects("GPUResourceQuota")
        path = source["at"].split(".")
        here = [quota for quota in listed if quota.namespace == self.inputs.namespace]
        if not here:
            return None if complete or self._stated else _Offer(UNKNOWN)
        offers = [_taken(get(quota.value, *path), source["takes"], (*quota.place, *path)) for quota in here]
        values = {None if offer is None else str(offer.value) for offer in offers}
        return offers[0] if len(values) == 1 else _Offer(UNKNOWN)

    def _pool(self, source: dict[str, Any]) -> _Offer | None:
        pool = self.pool()
        if pool is None or isinstance(pool, Unknown):
            return None if pool is None else _Offer(UNKNOWN)
        path = source["at"].split(".")
        return _taken(get(pool.value, *path), source["takes"], (*pool.place, *path))

    def pool(self) -> Known | Unknown | None:
        """The GPUPool of the Pod."""
        name = self.value("gpupool")
        if type(name) is not str or placeholder(name):
            return UNKNOWN if name is not None else None
        listed, complete = self.objects("GPUPool")
        for pool in listed:
            if get(pool.value, "metadata", "name") == name:
                return pool
        return None if complete else UNKNOWN

    def _inherited(self, field: str) -> _Offer | None:
        limit = self.field(STATED + field if self._stated else field)
        return None if limit is None else _Offer(limit.value, limit.place)

    # Sources that are computed.

    def dedicated(self) -> _Offer | None:
        """dedicated-gpu overwrites every amount with the capacity of the model, which only the cluster knows."""
        dedicated = self.field("dedicated-gpu")
        if dedicated is None or dedicated.value == "false":
            return None
        return _Offer(UNKNOWN, dedicated.place)

    def sidecar(self) -> _Offer | None:
        """The annotation sidecar-worker forces local mode; a profile's sidecarWorker does not."""
        sidecar = self.field("sidecar-worker")
        return _Offer("true", sidecar.place) if sidecar is not None and sidecar.source == "annotation" and sidecar.value == "true" else None

    def indices(self) -> _Offer | None:
        """As many devices as gpu-indices names."""
        listed = self.field("gpu-indices")
        if listed is None:
            return None
        if placeholder(listed.value):
            return _Offer(UNKNOWN, listed.place)
        return _Offer(str(len(split(listed.value, ","))), listed.place)

    def natives(self) -> Iterator[tuple[int, Any, str, Any]]:
        """Index of the container, its name, resource key and amount of each native GPU limit. Init containers do not count."""
        for index, container in enumerate(items(get(self.inputs.pod, "spec", "containers"))):
            limits = get(container, "resources", "limits")
            for key in limits if type(limits) is dict else ():
                if vendor_of(key) is not None:
                    yield index, get(container, "name"), key, limits[key]

    def _native_place(self) -> tuple[Any, ...] | None:
        for index, _, key, _ in self.natives():
            return ("pod", "spec", "containers", index, "resources", "limits", key)
        return None

    def native_count(self) -> _Offer | None:
        """The sum of native GPU limits, each a number of whole cards."""
        amounts = [amount for _, _, _, amount in self.natives()]
        if any(placeholder(amount) for amount in amounts):
            return _Offer(UNKNOWN, self._native_place())
        total = sum(integer(amount) or 0 for amount in amounts)
        return _Offer(str(total), self._native_place()) if total > 0 else None

    def native_percent(self) -> _Offer | None:
        """Native GPU limits that set the count also set the limit to the whole card, except for isolation shared."""
        isolation, count = self.value("isolation"), self.field("gpu-count")
        if count is None or count.source != "native-count" or isolation == "shared":
            return None
        return _Offer(UNKNOWN if isolation is UNKNOWN or placeholder(isolation) else "100", count.place)

    def native_vendor(self) -> _Offer | None:
        """The vendor of the first native GPU limit."""
        for _, _, key, _ in self.natives():
            return _Offer(vendor_of(key), self._native_place())
        return None

    def native_containers(self) -> _Offer | None:
        """The containers with native GPU limits."""
        names = [name for _, name, _, amount in self.natives() if type(name) is str and integer(amount) != 0]
        return _Offer(",".join(names), self._native_place()) if names else None

    def only_container(self) -> _Offer | None:
        """The one container of the Pod."""
        containers = get(self.inputs.pod, "spec", "containers")
        name = get(containers, 0, "name")
        if type(containers) is not list or len(containers) != 1 or type(name) is not str:
            return None
        return _Offer(name, ("pod", "spec", "containers", 0, "name"))

    def default_pool(self) -> _Offer | None:
        """The pool that the cluster calls the default one."""
        listed, _ = self.objects("GPUPool")
        for pool in listed:
            if get(pool.value, "metadata", "annotations", f"{DOMAIN}/is-default-pool") == "true":
                return _Offer(get(pool.value, "metadata", "name"), (*pool.place, "metadata", "name"))
        return _Offer(UNKNOWN)

    def equal_amounts(self) -> _Offer | None:
        """High when requests equal limits, both of them and not zero."""
        values = [self.value(field) for field in ("tflops-request", "tflops-limit", "vram-request", "vram-limit")]
        if any(value is UNKNOWN or placeholder(value) for value in values):
            return _Offer(UNKNOWN)
        tflops, tflops_limit, vram, vram_limit = (quantity(value) for value in values)
        return _Offer("high") if tflops and vram and tflops == tflops_limit and vram == vram_limit else None

    def autoscale(self) -> _Offer | None:
        """The annotation autoscale without a target scales everything."""
        found = self.field("autoscale")
        return _Offer("all", found.place) if found is not None and found.source == "annotation" else None


_COMPUTED = {
    "dedicated": _View.dedicated,
    "sidecar-worker": _View.sidecar,
    "gpu-indices": _View.indices,
    "native-count": _View.native_count,
    "native-percent": _View.native_percent,
    "native-vendor": _View.native_vendor,
    "native-containers": _View.native_containers,
    "only-container": _View.only_container,
    "default-pool": _View.default_pool,
    "equal-request-and-limit": _View.equal_amounts,
    "autoscale": _View.autoscale,
}


def vendor_of(resource: str) -> str | None:
    """The vendor of a native GPU resource that the operator knows without configuration; None for every other resource."""
    if "/" not in resource:
        return None
    vendor = TABLE["native"].get(resource)
    if vendor is None and resource.startswith("nvidia.com/"):
        vendor = next((name for pattern, name in TABLE["native_patterns"].items() if matches(resource, pattern)), None)
    return vendor  # type: ignore[no-any-return]


def _taken(value: Any, takes: str, place: tuple[Any, ...]) -> _Offer | None:
    """The value if the source counts it as one."""
    if value is None or value is UNKNOWN:
        return _Offer(UNKNOWN) if value is UNKNOWN else None
    if type(value) is bool:
        value = "true" if value else "false"
    if placeholder(value):
        return _Offer(value, place)
    match takes:
        case "filled":
            counts = value != ""
        case "quantity":
            counts = quantity(value) is not None
        case "amount":
            counts = bool(quantity(value))
        case "count":
            counts = integer(value) != 0
        case "true":
            counts = value == "true"
        case "boolean":
            counts = value in ("true", "false")
        case _:
            counts = True
    return _Offer(value, place) if counts else None
