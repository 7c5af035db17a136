"""How keys are declared: a `KeySet` is a family of annotation, label, taint or resource keys, and each field is one key.

    class PodAnnotations(AnnotationSet, vocabulary="tensor-fusion", stands=("pod-annotation",)):
        qos: Qos | None = key("tensor-fusion.ai/qos", "Service level of the vGPU.", default="medium", since="1.37.0")

The line is the only place where the key is described: tables, schemas, documents and hints are derived from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from gpuvet.models.scalars import Scalar, ValueType
from gpuvet.values.errors import InputError

Vocabulary = Literal["tensor-fusion", "koordinator", "metax", "qgpu", "placement", "volcano", "native", "foreign"]
"""`native`: whole-card resources of device plugins. `foreign`: keys of other products that people mix in (HAMi, gpu-manager, ...)."""

Where = Literal[
    "pod-annotation",
    "pod-label",
    "owner-annotation",
    "namespace-label",
    "node-annotation",
    "node-label",
    "node-taint",
    "node-status",
    "container-resource",
    "device-annotation",
    "device-label",
    "device-resource",
    "quota-label",
    "quota-annotation",
    "platform-annotation",
    "platform-label",
]
"""Where a key may stand. `pod-*` is the Pod or its template; `owner-*` the workload that holds the template; `device-*` Koordinator's
Device; `platform-*` the vendor's own objects (GPU, GPUNode, GPUPool ...); `node-status` capacity and allocatable."""

Owner = Literal["user", "system"]
"""Who writes the key: people, or the platform alone."""

Dialect = Literal["seed", "mid", "current"]
"""TensorFusion's three annotation contracts: v1.17.0 to v1.34.7, v1.35.0 to v1.47.0, from v1.47.1."""

PLATFORM: dict[Vocabulary, str] = {
    "tensor-fusion": "tensorFusion",
    "koordinator": "koordinator",
    "metax": "koordinator",
    "qgpu": "qgpu",
    "placement": "gpuFeatureDiscovery",
    "volcano": "volcano",
    "native": "",
    "foreign": "",
}
"""The platform whose versions `since` and `until` count, as the configuration file names it."""


@dataclass(frozen=True, kw_only=True)
class KeyDeclaration:
    """Everything that is known about one key."""

    name: str
    """Full name with domain; of a family, everything before the part that varies."""
    description: str
    vocabulary: Vocabulary = "native"
    where: tuple[Where, ...] = ()
    """Where its owner writes it."""
    copied_to: tuple[Where, ...] = ()
    """Where the platform itself writes a copy, which people do not."""
    owner: Owner = "user"
    scalar: Scalar = field(default_factory=lambda: Scalar(kind="text", read=str))
    unit: str = ""
    default: str = ""
    """What counts when the key is absent, as text; empty when nothing does or it depends."""
    example: str = ""
    since: str = ""
    """First version of the platform that reads it; empty when unknown or always."""
    until: str = ""
    """First version that no longer reads it; empty while it does."""
    dialects: tuple[Dialect, ...] = ()
    """Where it has effect; none although its vocabulary has dialects: nowhere."""
    replaced_by: str = ""
    deprecated: str = ""
    """Why it should not be used any more."""
    source: str = ""
    family: bool = False
    """The name is a prefix that many keys share."""

    @property
    def domain(self) -> str:
        """The part before the slash; empty for a key without one."""
        return self.name.rpartition("/")[0]

    @property
    def type(self) -> ValueType:
        """What its value is."""
        return self.scalar.kind


class Problem(NamedTuple):
    """What is wrong with one key or field."""

    key: str
    """Full name of the key, or the path of the field with dots."""
    value: object
    message: str


class ModelError(InputError):
    """A mapping does not fit its model. `problems` lists everything that is wrong."""

    def __init__(self, subject: str, problems: tuple[Problem, ...]) -> None:
        lines = "".join(f"\n  {problem.key}: {problem.message}" for problem in problems)
        super().__init__(f"{subject} is not valid:{lines}")
        self.problems = problems


def key(
    name: str,
    description: str,
    *,
    unit: str = "",
    default: str = "",
    example: str = "",
    since: str = "",
    until: str = "",
    dialects: tuple[Dialect, ...] | None = None,
    owner: Owner | None = None,
    where: tuple[Where, ...] = (),
    copied_to: tuple[Where, ...] = (),
    replaced_by: str = "",
    deprecated: str = "",
    source: str = "",
    family: bool = False,
) -> Any:
    """Declare a key as the field of a `KeySet`; what is not given comes from the set."""
    declared = KeyDeclaration(
        name=name,
        description=description,
        unit=unit,
        default=default,
        example=example,
        since=since,
        until=until,
        dialects=dialects or (),
        owner=owner or "user",
        where=where,
        copied_to=copied_to,
        replaced_by=replaced_by,
        deprecated=deprecated,
        source=source,
        family=family,
    )
    given = frozenset(option for option, value in (("owner", owner), ("dialects", dialects)) if value is not None)
    info: Any = Field(
        default=None,
        alias=name,
        description=description,
        examples=[example] if example else None,
        json_schema_extra={"deprecated": True} if deprecated else None,
    )
    info.metadata.append(_Declared(declared, given))
    return info


class _Declared(NamedTuple):
    """A declaration on its way from the field to the set, with the options that the field itself gave."""

    key: KeyDeclaration
    given: frozenset[str]


class KeySet(BaseModel):
    """A family of keys that stand in the same place. Its fields are typed values, None when the key is absent."""

    model_config = ConfigDict(frozen=True, extra="ignore", validate_by_alias=True, validate_by_name=True, protected_namespaces=())

    _defaults: ClassVar[KeyDeclaration] = KeyDeclaration(name="", description="")

    def __init_subclass__(
        cls,
        *,
        vocabulary: Vocabulary | None = None,
        stands: tuple[Where, ...] | None = None,
        owner: Owner | None = None,
        dialects: tuple[Dialect, ...] | None = None,
        source: str | None = None,
        **config: Any,
    ) -> None:
        """Set what all keys of the set share."""
        super().__init_subclass__(**config)
        above = cls._defaults
        cls._defaults = replace(
            above,
            vocabulary=vocabulary or above.vocabulary,
            where=stands or above.where,
            owner=owner or above.owner,
            dialects=above.dialects if dialects is None else dialects,
            source=source or above.source,
        )

    @classmethod
    def declarations(cls) -> Iterator[KeyDeclaration]:
        """The declarations of all keys, in the order in which they are written."""
        for info in cls.model_fields.values():
            declared, given = next(item for item in info.metadata if isinstance(item, _Declared))
            shared = cls._defaults
            yield replace(
                declared,
                vocabulary=shared.vocabulary,
                where=declared.where or shared.where,
                owner=declared.owner if "owner" in given else shared.owner,
                dialects=declared.dialects if "dialects" in given else shared.dialects,
                source=declared.source or shared.source,
                scalar=scalar_of(info),
            )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> Self:
        """Read the keys of this set out of a mapping that may hold others; raises ModelError with everything that is wrong."""
        try:
            return cls.model_validate({name: value for name, value in mapping.items() if name in cls._names()})
        except ValidationError as error:
            raise ModelError(cls.__name__, problems_of(error)) from None

    @classmethod
    def _names(cls) -> frozenset[str]:
        return frozenset(info.alias for info in cls.model_fields.values() if info.alias is not None)

    def to_mapping(self) -> dict[str, str]:
        """The keys that are set, by full name, as texts for a manifest."""
        return {str(name): str(value) for name, value in self.model_dump(mode="json", by_alias=True, exclude_none=True).items()}


class AnnotationSet(KeySet):
    """Keys that stand in `metadata.annotations`; every value is a text."""

    @classmethod
    def from_annotations(cls, annotations: Mapping[str, object]) -> Self:
        """Read the annotations of this set; raises ModelError with everything that is wrong."""
        return cls.from_mapping(annotations)


class LabelSet(KeySet):
    """Keys that stand in `metadata.labels`, or as taints; every value is a text."""

    @classmethod
    def from_labels(cls, labels: Mapping[str, object]) -> Self:
        """Read the labels of this set; raises ModelError with everything that is wrong."""
        return cls.from_mapping(labels)


class ResourceSet(KeySet):
    """Resource names that stand in `resources.requests` and `.limits`, or in a node's capacity."""

    @classmethod
    def from_resources(cls, resources: Mapping[str, object]) -> Self:
        """Read the resources of this set; raises ModelError with everything that is wrong."""
        return cls.from_mapping(resources)


def problems_of(error: ValidationError) -> tuple[Problem, ...]:
    """Pydantic's errors as problems: the key or path, the value, and the message without pydantic's own prefix."""
    return tuple(problem for item in error.errors(include_url=False) for problem in _problems_in(item))


def _problems_in(item: Any) -> Iterator[Problem]:
    """One problem, or one for each relation between members that does not hold."""
    path = ".".join(str(part) for part in item["loc"] if not str(part).startswith(("function-", "lax-or-strict", "literal[")))
    if item["type"] == "relation":
        for member, message in item["ctx"]["wrong"]:
            yield Problem(".".join(filter(None, (path, member))), item["input"], message)
    else:
        yield Problem(path, item["input"], item["msg"].removeprefix("Value error, "))


def scalar_of(info: FieldInfo) -> Scalar:
    """What the value of a key is, from the annotation of its field."""
    for item in info.metadata:
        if isinstance(item, Scalar):
            return item
    found = _scalar_in(info.annotation)
    if found is None:
        raise TypeError(f"{info.annotation} is no scalar type")
    return found


def _scalar_in(annotation: Any) -> Scalar | None:
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Literal:
        return Scalar(kind="enum", read=str, values=tuple(str(value) for value in arguments))
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, Scalar):
            return item
    for argument in arguments:
        if argument is not NoneType and not isinstance(argument, Scalar) and (found := _scalar_in(argument)) is not None:
            return found
    return None
