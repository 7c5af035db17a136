"""Walks through structures: every member by its path pattern, `spec.devices[].minor` or `spec.devices[].resources.*`."""

from collections.abc import Iterator
from dataclasses import replace
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from gpuvet.models.scalars import INT32, INT64, Scalar, ValueType
from gpuvet.models.structures import Facts, Member, Removed, Structure, camel_case


def members(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, Member]]:
    """Every member below a model by its path pattern: `spec.devices[].minor`, `spec.devices[].resources.*`."""
    if issubclass(model, RootModel):
        yield from _below(model.model_fields["root"].annotation, path)
        return
    for name, info in model.model_fields.items():
        alias = info.alias or camel_case(name)
        yield from _member(info, f"{path}.{alias}" if path else alias)


def root_member(model: type[BaseModel]) -> Member:
    """What is known about the model itself: an object, or the list or map that it stands for."""
    return replace(_of(model), description=" ".join((model.__doc__ or "").split()))


def structures(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """The model and every model below it by the path pattern at which it stands."""
    yield path, model
    for name, info in model.model_fields.items():
        alias = "" if issubclass(model, RootModel) else info.alias or camel_case(name)
        for below, part in _parts(_plain(info.annotation), ".".join(filter(None, (path, alias)))):
            yield from structures(part, below)


def removals(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, Removed]]:
    """Every removed member below a model by its path pattern."""
    for below, part in structures(model, path):
        if issubclass(part, Structure):
            for name, gone in part.removed.items():
                yield (f"{below}.{name}" if below else name), gone


def _parts(annotation: Any, path: str) -> Iterator[tuple[str, type[BaseModel]]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield path, annotation
    elif get_origin(annotation) is list:
        yield from _parts(_plain(get_args(annotation)[0]), path + "[]")
    elif get_origin(annotation) is dict:
        yield from _parts(_plain(get_args(annotation)[1]), f"{path}.*" if path else "*")


def _member(info: FieldInfo, path: str) -> Iterator[tuple[str, Member]]:
    facts = next((item for item in info.metadata if isinstance(item, Facts)), Facts())
    own = next((item for item in info.metadata if isinstance(item, Scalar)), None)
    found = _bounded(_of_scalar(own) if own is not None else _of(info.annotation), info.metadata)
    yield (
        path,
        replace(
            found,
            description=info.description or "",
            required=info.is_required(),
            needed=facts.needed,
            enforced=facts.enforced and found.enforced,
            narrower=facts.narrower,
            cost_length=facts.cost_length,
            list_type=facts.list_type,
            list_keys=facts.list_keys,
            default=facts.default,
            unit=facts.unit,
            since=facts.since,
            until=facts.until,
            example=facts.example,
            source=facts.source,
        ),
    )
    for below, member in _below(info.annotation, path):
        yield below, member if facts.enforced else replace(member, enforced=False)


def _bounded(member: Member, metadata: list[Any]) -> Member:
    """The member with the bounds of its own line; the range of an integer type is no bound."""
    for item in (part for each in metadata for part in (each.metadata if isinstance(each, FieldInfo) else [each])):
        if isinstance(item, Scalar):
            continue
        lowest, highest, pattern = (getattr(item, name, None) for name in ("ge", "le", "pattern"))
        shortest, longest = (getattr(item, name, None) for name in ("min_length", "max_length"))
        if lowest in _FORMATS:
            member = replace(member, format=_FORMATS[lowest])
        elif lowest is not None:
            member = replace(member, minimum=lowest)
        if highest is not None and highest not in (INT32, INT64):
            member = replace(member, maximum=highest)
        if pattern is not None:
            member = replace(member, pattern=pattern)
        counted = member.type in ("list", "map")
        if shortest is not None:
            member = replace(member, min_items=shortest) if counted else replace(member, min_length=shortest)
        if longest is not None:
            member = replace(member, max_items=longest) if counted else replace(member, max_length=longest)
    return member


_FORMATS: dict[Any, Literal["int32", "int64"]] = {-INT32 - 1: "int32", -INT64 - 1: "int64"}


def _plain(annotation: Any) -> Any:
    """Without `| None` and without `Annotated`."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    arguments = get_args(annotation)
    if NoneType in arguments:
        return _plain(next(argument for argument in arguments if argument is not NoneType))
    return annotation


def _metadata(annotation: Any) -> tuple[Any, ...]:
    """What `Annotated` says, also inside `| None`."""
    if get_origin(annotation) is Annotated:
        return tuple(get_args(annotation)[1:])
    for argument in get_args(annotation) if NoneType in get_args(annotation) else ():
        if found := _metadata(argument):
            return found
    return ()


def _of_scalar(scalar: Scalar) -> Member:
    return Member(
        type=scalar.kind,
        values=scalar.values,
        enforced=scalar.kind not in _UNENFORCED,
        pattern=scalar.pattern,
        minimum=scalar.minimum,
        above=scalar.above,
        maximum=scalar.maximum,
        max_length=scalar.max_length,
        shape=scalar.shape.__name__ if scalar.shape else "",
    )


def _of(annotation: Any) -> Member:
    metadata = _metadata(annotation)
    for item in metadata:
        if isinstance(item, Scalar):
            return _of_scalar(item)
    plain = _plain(annotation)
    origin = get_origin(plain)
    if origin is Literal:
        return Member(type="enum", values=tuple(str(value) for value in get_args(plain)))
    if origin is list:
        return Member(type="list")
    if origin is dict:
        names = _plain(get_args(plain)[0])
        keys = tuple(str(name) for name in get_args(names)) if get_origin(names) is Literal else ()
        return Member(type="object" if get_args(plain)[1] is Any else "map", open=True, keys=keys)
    if isinstance(plain, type) and issubclass(plain, RootModel):
        return _of(plain.model_fields["root"].annotation)
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        return Member(type="object", open=plain.model_config.get("extra") == "allow")
    return _bounded(Member(type=_BARE.get(plain, "any")), list(metadata))


_UNENFORCED = frozenset({"number-text", "duration", "cron", "json", "yaml", "words-list"})
"""Kinds of text that CRD schemas call just a string."""

_BARE: dict[Any, ValueType] = {str: "string", int: "integer", bool: "boolean"}


def _below(annotation: Any, path: str) -> Iterator[tuple[str, Member]]:
    plain = _plain(annotation)
    origin = get_origin(plain)
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        yield from members(plain, path)
    elif origin is list:
        item = get_args(plain)[0]
        yield path + "[]", _of(item)
        yield from _below(item, path + "[]")
    elif origin is dict and get_args(plain)[1] is not Any:
        below = f"{path}.*" if path else "*"
        yield below, _of(get_args(plain)[1])
        yield from _below(get_args(plain)[1], below)
