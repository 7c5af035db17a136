"""The effective configuration as expressions over one Pod, for engines that see no other object (CEL, Rego).

What `resolve/tensor_fusion.py` works out at run time with an empty context, this module writes down as IR: a field that a profile, a
quota or a pool could supply is UNKNOWN there. The differential tests hold the two together.
"""

from functools import cache
from typing import Any, NamedTuple

from gpuvet.language import ir
from gpuvet.resolve.tensor_fusion_sources import DIALECTS, DOMAIN, FIELDS, STATED, TABLE, readers, sources_of
from gpuvet.values.total import UNKNOWN
from gpuvet.values.version import Version, parse_version

UNKNOWN_CONSTANT = ir.Constant(UNKNOWN)
_METADATA = ir.Get(ir.Root("pod"), ir.Constant("metadata"))
_CONTAINERS = ir.Get(ir.Get(ir.Root("pod"), ir.Constant("spec")), ir.Constant("containers"))


class Lowered(NamedTuple):
    """An effective field: its value, the name of the source that won, and an expression whose place is the field's."""

    value: ir.Expr
    source: ir.Expr
    place: ir.Expr


class Offer(NamedTuple):
    """What one source has: a value (absent when it does not count) and where it stands."""

    value: ir.Expr
    source: str
    place: ir.Expr


def lower_field(name: str, platforms: dict[str, str]) -> Lowered:
    """The field for the named operator version, or for every dialect that fits when none is named."""
    return _lower(name, parse_version(platforms.get("tensorFusion", "")))


@cache
def _lower(name: str, named: Version | None) -> Lowered:
    if named is not None:
        return _in(name, named)
    versions = tuple(DIALECTS.values())
    sort = "label" if any(source["from"] == "label" for source in FIELDS.get(name, ())) else "annotation"
    key = name.removeprefix(STATED)
    own = readers(key, sort)
    given = ir.Present(_written(sort, key))
    consulted: list[ir.Expr] = []
    for place, version in enumerate(versions):
        fits = _fits(version)
        if not own:
            consulted.append(fits)
            continue
        # With the key present its own readers count, those of them that fit, or all of them when none does.
        none_fits = ir.Not(_either(*(_fits(other) for other in own)))
        narrowed: ir.Expr = _either(fits, none_fits) if version in own else ir.Constant(False)
        consulted.append(_shared(f"consulted_{name}_{place}", ir.If(given, narrowed, fits)))
    answers = [_in(name, version) for version in versions]
    last = _last([answer.value for answer in answers], consulted)
    agree = ir.And(tuple(ir.Or((ir.Not(asked), ir.Equal(answer.value, last))) for answer, asked in zip(answers, consulted, strict=True)))
    value = ir.If(agree, last, UNKNOWN_CONSTANT)
    return Lowered(
        _shared(f"effective_{name}", value),
        _last([answer.source for answer in answers], consulted),
        _told(answers, consulted, last),
    )


def _last(answers: list[ir.Expr], consulted: list[ir.Expr]) -> ir.Expr:
    """The answer of the newest dialect that is consulted."""
    found = answers[0]
    for answer, asked in zip(answers[1:], consulted[1:], strict=True):
        found = ir.If(asked, answer, found)
    return found


def _told(answers: list[Lowered], consulted: list[ir.Expr], last: ir.Expr) -> ir.Expr:
    """The place of the newest answer; of the first that there is when the newest has none."""
    newest = _last([answer.place for answer in answers], consulted)
    first: ir.Expr = _METADATA
    for answer, asked in reversed([*zip(answers, consulted, strict=True)]):
        first = ir.If(ir.And((asked, ir.Present(answer.value))), answer.place, first)
    return ir.If(ir.Present(last), newest, first)


@cache
def _fits(version: Version) -> ir.Expr:
    """Whether no key is there that only newer operators read."""
    tests: list[ir.Expr] = []
    for sort, part in (("annotation", "annotations"), ("label", "labels")):
        keys = {source.get("key", field) for field, listed in FIELDS.items() for source in listed if source["from"] == sort}
        newer = tuple(sorted(f"{DOMAIN}/{key}" for key in keys if (reading := readers(key, sort)) and reading[0] > version))
        if newer:
            entries = ir.Get(_METADATA, ir.Constant(part))
            tests.append(ir.Not(ir.Quantified("exists", "entry", entries, ir.Member(ir.KeyOf("entry"), ir.Constant(newer)))))
    if not tests:
        return ir.Constant(True)
    return _shared("fits_" + "_".join(map(str, version)), ir.And(tuple(tests)))


@cache
def _in(name: str, version: Version) -> Lowered:
    """The field as one operator version sees it."""
    offers = _offers(name, version)
    word = "_".join(map(str, version))
    value: ir.Expr = ir.ABSENT
    origin: ir.Expr = ir.ABSENT
    place: ir.Expr = _METADATA
    for number, offer in reversed([*enumerate(offers)]):
        here = offer.value if isinstance(offer.value, ir.Constant) else _shared(f"offer_{name}_{word}_{number}", offer.value)
        there = ir.Present(here)
        value = ir.If(there, here, value)
        origin = ir.If(there, ir.Constant(offer.source), origin)
        place = ir.If(there, offer.place, place)
    return Lowered(_shared(f"{name}_{word}", value), origin, place)


def _shared(name: str, expr: ir.Expr) -> ir.Expr:
    return expr if isinstance(expr, ir.Constant | ir.Defined) else ir.Defined(name, expr)


def _offers(name: str, version: Version) -> list[Offer]:
    stated = name.startswith(STATED)
    field = name.removeprefix(STATED)
    offers = []
    for source in sources_of(version).get(field, ()):
        offer = _offer(field, source, version, stated)
        if offer is not None:
            offers.append(offer)
    return offers


def _offer(field: str, source: dict[str, Any], version: Version, stated: bool) -> Offer | None:
    """What a source has; None when it never has anything here."""
    offer = _raw(field, source, version, stated)
    if offer is None:
        return None
    value = offer.value
    others = [_in((STATED if stated else "") + other, version).value for other in source.get("without", ())]
    if others:
        known = _either(*(ir.And((ir.Present(other), ir.Not(_unknown(other)))) for other in others))
        value = ir.If(_either(*map(ir.Present, others)), ir.If(known, ir.ABSENT, UNKNOWN_CONSTANT), value)
    for key, wanted in reversed(source.get("when", {}).items()):
        holds = _written("annotation", "gang-enabled") if key == "gang-enabled" else _in(key, version).value
        value = ir.If(_open(holds), UNKNOWN_CONSTANT, ir.If(ir.Equal(holds, ir.Constant(wanted)), value, ir.ABSENT))
    for key in source.get("unless", ()):
        written = _written("annotation", key)
        value = ir.If(_either(_placeholder(written), ir.Present(ir.QuantityOf(written))), ir.ABSENT, value)
    return offer._replace(value=value)


def _raw(field: str, source: dict[str, Any], version: Version, stated: bool) -> Offer | None:
    origin = source["from"]
    match origin:
        case "annotation" | "label":
            written = _written(origin, source.get("key", field))
            return Offer(_taken(written, source["takes"]), origin, written)
        case "profile":
            name = _in("workload-profile", version).value
            given = ir.And((ir.Present(name), ir.Not(ir.Equal(name, ir.Constant("")))))
            return Offer(
                ir.If(ir.And((given, _either(_open(name), ir.IsType(name, "text")))), UNKNOWN_CONSTANT, ir.ABSENT), origin, _METADATA
            )
        case "quota":
            return None if stated else Offer(UNKNOWN_CONSTANT, origin, _METADATA)
        case "pool":
            return Offer(ir.If(ir.Present(_in("gpupool", version).value), UNKNOWN_CONSTANT, ir.ABSENT), origin, _METADATA)
        case "default-pool":
            return Offer(UNKNOWN_CONSTANT, origin, _METADATA)
        case "default":
            return Offer(ir.Constant(source["value"]), origin, _METADATA)
        case "limit":
            limit = _in((STATED if stated else "") + source["field"], version)
            return Offer(limit.value, origin, limit.place)
    return _COMPUTED[origin](version)


def _written(sort: str, key: str) -> ir.Expr:
    part = ir.Get(_METADATA, ir.Constant("labels" if sort == "label" else "annotations"))
    return ir.Get(part, ir.Constant(f"{DOMAIN}/{key}"))


def _taken(value: ir.Expr, takes: str) -> ir.Expr:
    """The value if the source counts it as one."""
    written = ir.If(
        ir.Equal(value, ir.Constant(True)),
        ir.Constant("true"),
        ir.If(ir.Equal(value, ir.Constant(False)), ir.Constant("false"), value),
    )
    counts: ir.Expr
    match takes:
        case "filled":
            counts = ir.Not(ir.Equal(value, ir.Constant("")))
        case "quantity":
            counts = ir.Present(ir.QuantityOf(written))
        case "amount":
            amount = ir.QuantityOf(written)
            counts = ir.And((ir.Present(amount), ir.Not(ir.Equal(amount, ir.Amount(0)))))
        case "count":
            counts = ir.Not(ir.Equal(ir.IntegerOf(written), ir.Constant(0)))
        case "true":
            counts = ir.Member(value, ir.Constant(("true", True)))
        case "boolean":
            counts = ir.Member(value, ir.Constant(("true", "false", True, False)))
        case _:
            return written
    return ir.If(_either(_open(value), counts), written, ir.ABSENT)


def _unknown(value: ir.Expr) -> ir.Expr:
    return ir.Equal(value, UNKNOWN_CONSTANT)


def _placeholder(value: ir.Expr) -> ir.Expr:
    return _either(*(ir.Text("contains", value, ir.Constant(mark)) for mark in ("{{", "${", "$(")))


def _open(value: ir.Expr) -> ir.Expr:
    return _either(_unknown(value), _placeholder(value))


def _either(*parts: ir.Expr) -> ir.Expr:
    flat: list[ir.Expr] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, ir.Or) else (part,))
    return flat[0] if len(flat) == 1 else ir.Or(tuple(flat))


# Sources that are computed.


def _is_native(key: ir.Expr) -> ir.Expr:
    ours = ir.Text("startsWith", key, ir.Constant("nvidia.com/"))
    patterns = [ir.And((ours, ir.Matches(key, ir.Constant(pattern)))) for pattern in TABLE["native_patterns"]]
    return _either(ir.Member(key, ir.Constant(tuple(TABLE["native"]))), *patterns)


def _native_in(container: ir.Expr) -> ir.Quantified:
    limits = ir.Get(ir.Get(container, ir.Constant("resources")), ir.Constant("limits"))
    return ir.Quantified("filter", "amount", limits, _is_native(ir.KeyOf("amount")))


def _native_place() -> ir.Expr:
    """The first native limit of the first container that has one."""
    native = _native_in(ir.Name("container"))
    having = ir.Quantified("filter", "container", _CONTAINERS, ir.Quantified("exists", native.var, native.of, native.body))
    first = ir.Get(having, ir.Constant(0))
    keys = ir.Quantified("map", "native", _native_in(first), ir.KeyOf("native"))
    return ir.Get(ir.Get(ir.Get(first, ir.Constant("resources")), ir.Constant("limits")), ir.Get(keys, ir.Constant(0)))


_NATIVES = ir.Flatten(ir.Quantified("map", "container", _CONTAINERS, _native_in(ir.Name("container"))))
_NATIVE_PLACE = _native_place()


def _dedicated(version: Version) -> Offer:
    dedicated = _in("dedicated-gpu", version)
    counts = ir.And((ir.Present(dedicated.value), ir.Not(ir.Equal(dedicated.value, ir.Constant("false")))))
    return Offer(ir.If(counts, UNKNOWN_CONSTANT, ir.ABSENT), "dedicated", dedicated.place)


def _sidecar(version: Version) -> Offer:
    sidecar = _in("sidecar-worker", version)
    counts = ir.And((ir.Equal(sidecar.source, ir.Constant("annotation")), ir.Equal(sidecar.value, ir.Constant("true"))))
    return Offer(ir.If(counts, ir.Constant("true"), ir.ABSENT), "sidecar-worker", sidecar.place)


def _indices(version: Version) -> Offer:
    listed = _in("gpu-indices", version)
    count = ir.Text("append", ir.Constant(""), ir.Size(ir.Text("split", listed.value, ir.Constant(","))))
    value = ir.If(ir.Present(listed.value), ir.If(_placeholder(listed.value), UNKNOWN_CONSTANT, count), ir.ABSENT)
    return Offer(value, "gpu-indices", listed.place)


def _native_count(version: Version) -> Offer:
    total = ir.Fold("sum", ir.Quantified("map", "amount", _NATIVES, ir.IntegerOf(ir.Name("amount"))))
    open_ = ir.Quantified("exists", "amount", _NATIVES, _placeholder(ir.Name("amount")))
    some = ir.If(ir.Compare(">", total, ir.Constant(0)), ir.Text("append", ir.Constant(""), total), ir.ABSENT)
    return Offer(ir.If(open_, UNKNOWN_CONSTANT, some), "native-count", _NATIVE_PLACE)


def _native_percent(version: Version) -> Offer:
    isolation, count = _in("isolation", version), _in("gpu-count", version)
    counts = ir.And((ir.Equal(count.source, ir.Constant("native-count")), ir.Not(ir.Equal(isolation.value, ir.Constant("shared")))))
    value = ir.If(_open(isolation.value), UNKNOWN_CONSTANT, ir.Constant("100"))
    return Offer(ir.If(counts, value, ir.ABSENT), "native-percent", count.place)


def _native_vendor(version: Version) -> Offer:
    vendors = {*TABLE["native"].values(), *TABLE["native_patterns"].values()}
    assert len(vendors) == 1, "the table names several vendors: lower each with its own keys"
    there = ir.Compare(">", ir.Size(_NATIVES), ir.Constant(0))
    return Offer(ir.If(there, ir.Constant(vendors.pop()), ir.ABSENT), "native-vendor", _NATIVE_PLACE)


def _equal_amounts(version: Version) -> Offer:
    values = [_in(field, version).value for field in ("tflops-request", "tflops-limit", "vram-request", "vram-limit")]
    tflops, tflops_limit, vram, vram_limit = (ir.QuantityOf(value) for value in values)
    filled = [ir.And((ir.Present(amount), ir.Not(ir.Equal(amount, ir.Amount(0))))) for amount in (tflops, vram)]
    equal = ir.And((*filled, ir.Equal(tflops, tflops_limit), ir.Equal(vram, vram_limit)))
    open_ = _either(*map(_open, values))
    return Offer(ir.If(open_, UNKNOWN_CONSTANT, ir.If(equal, ir.Constant("high"), ir.ABSENT)), "equal-request-and-limit", _METADATA)


def _autoscale(version: Version) -> Offer:
    found = _in("autoscale", version)
    counts = ir.Equal(found.source, ir.Constant("annotation"))
    return Offer(ir.If(counts, ir.Constant("all"), ir.ABSENT), "autoscale", found.place)


def _only_container(version: Version) -> Offer:
    name = ir.Get(ir.Get(_CONTAINERS, ir.Constant(0)), ir.Constant("name"))
    one = ir.And((ir.IsType(_CONTAINERS, "list"), ir.Equal(ir.Size(_CONTAINERS), ir.Constant(1)), ir.IsType(name, "text")))
    return Offer(ir.If(one, name, ir.ABSENT), "only-container", name)


_COMPUTED = {
    "dedicated": _dedicated,
    "sidecar-worker": _sidecar,
    "gpu-indices": _indices,
    "native-count": _native_count,
    "native-percent": _native_percent,
    "native-vendor": _native_vendor,
    "equal-request-and-limit": _equal_amounts,
    "autoscale": _autoscale,
    "only-container": _only_container,
}
