"""How objects are declared: a `Structure` is a mapping with known members, and each attribute is one of them.

`Structure`s are CRDs and their parts, ConfigMaps with known data, and the JSON or YAML that some annotations hold.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError, PydanticUndefined

from gpuvet.models.base import ModelError, Problem, problems_of
from gpuvet.models.relations import Relation, value_at
from gpuvet.models.scalars import INT32, INT64, LabelValue, Text, ValueType

Scope = Literal["Namespaced", "Cluster"]

ListType = Literal["", "set", "map"]
"""`set`: no item twice. `map`: no two items with the same keys."""


class Column(NamedTuple):
    """A column that kubectl prints."""

    name: str
    type: Literal["string", "integer", "date"]
    path: str
    """From the object, as in `.spec.queue`."""
    priority: int = 0
    """Above 0: only with `-o wide`."""


class Removed(NamedTuple):
    """A member that people still write although the schema has it no more, or never had it."""

    replaced_by: str
    """Member to write instead: its name when it stands beside, else its path from `spec.`; empty when nothing replaces it."""
    note: str
    since: str = ""
    """First version that had it; empty when none ever did."""
    until: str = ""
    """First version without it."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """What is known about one member of a structure."""

    type: ValueType
    description: str = ""
    required: bool = False
    """The schema demands it wherever its parent stands."""
    needed: bool = False
    """The schema lets it be missing, yet what reads it fails then."""
    enforced: bool = True
    """The API server checks values, pattern and bounds; otherwise only that it is a text or number at all."""
    values: tuple[str, ...] = ()
    pattern: str = ""
    minimum: int | None = None
    above: int | None = None
    """Exclusive lower bound."""
    maximum: int | None = None
    max_length: int | None = None
    min_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    """Of a list or a map."""
    narrower: bool = False
    """The vendor's schema takes values that are none of `values`, and its software refuses them later."""
    cost_length: int | None = None
    """Longest text in our CRDs, so that the API server can bound the cost of a validation."""
    list_type: ListType = ""
    list_keys: tuple[str, ...] = ()
    format: Literal["", "int32", "int64"] = ""
    open: bool = False
    """Members of any name may stand below."""
    keys: tuple[str, ...] = ()
    """Legal names in a map; none: any."""
    default: str = ""
    unit: str = ""
    since: str = ""
    until: str = ""
    example: str = ""
    source: str = ""
    shape: str = ""
    """Name of the structure that a JSON or YAML text holds."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What an attribute's own line says beyond its type."""

    needed: bool = False
    enforced: bool = True
    narrower: bool = False
    cost_length: int | None = None
    list_type: ListType = ""
    list_keys: tuple[str, ...] = ()
    default: str = ""
    unit: str = ""
    since: str = ""
    until: str = ""
    example: str = ""
    source: str = ""


def attribute(
    description: str,
    alias: str = "",
    *,
    required: bool = False,
    needed: bool = False,
    enforced: bool = True,
    narrower: bool = False,
    minimum: int | None = None,
    maximum: int | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    min_items: int | None = None,
    max_items: int | None = None,
    cost_length: int | None = None,
    list_type: ListType = "",
    list_keys: tuple[str, ...] = (),
    pattern: str = "",
    default: str = "",
    unit: str = "",
    since: str = "",
    until: str = "",
    example: str = "",
    source: str = "",
) -> Any:
    """Declare a member of a `Structure`. Without `alias` its name is the attribute's in camelCase."""
    bounds: dict[str, Any] = {"ge": minimum, "le": maximum, "pattern": pattern or None}
    bounds["min_length"] = min_items if min_items is not None else min_length
    bounds["max_length"] = max_items if max_items is not None else max_length
    info: Any = Field(
        default=PydanticUndefined if required else None,
        alias=alias or None,
        description=description,
        **{name: value for name, value in bounds.items() if value is not None},
    )
    info.metadata.append(
        Facts(
            needed=needed,
            enforced=enforced,
            narrower=narrower,
            cost_length=cost_length,
            list_type=list_type,
            list_keys=list_keys,
            default=default,
            unit=unit,
            since=since,
            until=until,
            example=example,
            source=source,
        )
    )
    return info


def camel_case(name: str) -> str:
    """`min_available` to `minAvailable`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in rest)


Integer32 = Annotated[int, Field(ge=-INT32 - 1, le=INT32)]
"""An int32 of a CRD: a bare YAML integer."""
Integer64 = Annotated[int, Field(ge=-INT64 - 1, le=INT64)]
"""An int64 of a CRD: a bare YAML integer."""
Opaque = dict[str, Any]
"""An object that Kubernetes' own types describe (Pod templates, affinities): not looked into here."""


class Structure(BaseModel):
    """A mapping with known members; unknown ones are refused, and those that were removed are explained."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=camel_case,
        validate_by_alias=True,
        validate_by_name=True,
        protected_namespaces=(),
    )

    removed: ClassVar[dict[str, Removed]] = {}
    """Members that people still write, by name."""
    relations: ClassVar[tuple[Relation, ...]] = ()
    """What its members must be to each other."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        wrong = [(name, f"is missing: {what}") for name, what in self._missing()]
        wrong += [(relation.at, relation.message) for relation in self.relations if not relation.holds(self)]
        wrong += [(name, "holds two items that must differ") for name in self._repeated()]
        if wrong:
            raise PydanticCustomError("relation", "{text}", {"text": "; ".join(message for _, message in wrong), "wrong": wrong})
        return self

    def _missing(self) -> Iterator[tuple[str, str]]:
        for name, info in type(self).model_fields.items():
            if getattr(self, name) is None and any(isinstance(item, Facts) and item.needed for item in info.metadata):
                yield info.alias or camel_case(name), info.description or ""

    def _repeated(self) -> Iterator[str]:
        for name, info in type(self).model_fields.items():
            facts = next((item for item in info.metadata if isinstance(item, Facts)), Facts())
            if facts.list_type:
                items = getattr(self, name) or ()
                keys = [item if facts.list_type == "set" else tuple(value_at(item, key) for key in facts.list_keys) for item in items]
                if len(set(keys)) < len(keys):
                    yield info.alias or camel_case(name)

    @classmethod
    def from_manifest(cls, document: Mapping[str, object]) -> Self:
        """Read a document; raises ModelError with everything that is wrong."""
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise ModelError(cls.__name__, tuple(_explained(cls, problem) for problem in problems_of(error))) from None


class OpenStructure(Structure):
    """A mapping of which only the members that matter here are known; others pass."""

    model_config = ConfigDict(extra="allow")


def _explained(model: type[BaseModel], problem: Problem) -> Problem:
    if problem.message != "Extra inputs are not permitted":
        return problem
    name = problem.key.rpartition(".")[2]
    gone = next((structure.removed[name] for structure in _structures(model, set()) if name in structure.removed), None)
    if gone is None:
        return problem._replace(message="is no field of this object")
    return problem._replace(
        message=f"is no field of this object: {gone.note}" + (f"; write {gone.replaced_by}" if gone.replaced_by else "")
    )


class ObjectMeta(OpenStructure):
    """The part of Kubernetes' ObjectMeta that is judged here; other members pass."""

    name: Text | None = attribute("Name of the object.")
    namespace: Text | None = attribute("Namespace of the object.")
    labels: dict[str, LabelValue] | None = attribute("Labels; values are texts.")
    annotations: dict[str, Text] | None = attribute("Annotations; values are texts.")


class CustomResource(Structure):
    """An object of a CRD. Subclasses narrow `api_version` and `kind` to the one text that is right."""

    plural: ClassVar[str] = ""
    scope: ClassVar[Scope] = "Namespaced"
    short_names: ClassVar[tuple[str, ...]] = ()
    approval: ClassVar[str] = ""
    """Where Kubernetes approved an API in a group of its own (`*.k8s.io`); the API server demands it there."""
    has_status: ClassVar[bool] = True
    """The status is a subresource: what manifests say there is dropped."""
    columns: ClassVar[tuple[Column, ...]] = ()

    api_version: str = attribute("API group and version.", required=True)
    kind: str = attribute("Kind of the object.", required=True)
    metadata: ObjectMeta | None = attribute("Object metadata.")

    def __init_subclass__(cls, *, plural: str = "", scope: Scope = "Namespaced", **config: Any) -> None:
        """Set what the kind's CRD says about its name and scope."""
        super().__init_subclass__(**config)
        cls.plural, cls.scope = plural, scope

    @classmethod
    def identity(cls) -> tuple[str, str, str]:
        """API group, version and kind."""
        group, _, version = str(get_args(cls.model_fields["api_version"].annotation)[0]).rpartition("/")
        return group, version, str(get_args(cls.model_fields["kind"].annotation)[0])


def _structures(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[type[Structure]]:
    """All structures that a model is made of, itself first."""
    if model in seen:
        return
    seen.add(model)
    if issubclass(model, Structure):
        yield model
    for info in model.model_fields.values():
        for part in _models_in(info.annotation):
            yield from _structures(part, seen)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
