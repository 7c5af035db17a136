"""The scalar types that annotations, labels, resources and CRD fields are written in.

Each type is an `Annotated` alias whose metadata is one `Scalar`: it reads the text and says why it cannot, and carries what tables,
schemas and documents need to know (kind of value, pattern, bounds). Enumerations are plain `Literal`s beside the models that use them.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from gpuvet.values.quantity import NANOS, QUANTITY_PATTERN, parse_quantity
from gpuvet.values.version import Version, parse_version

ValueType = Literal[
    "text",
    "boolean-text",
    "integer-text",
    "number-text",
    "quantity",
    "whole-quantity",
    "name",
    "names-list",
    "integers-list",
    "words-list",
    "label-value",
    "enum",
    "duration",
    "timestamp",
    "cron",
    "version",
    "json",
    "yaml",
    "pod-template",
    "string",
    "integer",
    "boolean",
    "object",
    "list",
    "map",
    "any",
]
"""What a value is. Those in `-text` and up to `pod-template` are texts; `integer` and the ones after it are YAML/JSON values of a CRD."""

DNS_SUBDOMAIN_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
"""Object names of most kinds, at most 253 characters (tensor-fusion.md 5.6, koordinator-metax.md 9.3)."""

DNS_LABEL_PATTERN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
"""Container, task and namespace names, at most 63 characters."""

LABEL_VALUE_PATTERN: Final = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
"""A label or taint value, at most 63 characters (koordinator-metax.md 9.3)."""

DURATION_PATTERN: Final = r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"
"""What Go's time.ParseDuration reads: `5m`, `1h30m`, `0`; not `300`, `1d` or ` 5m` (tensor-fusion.md 1.2)."""

TIMESTAMP_PATTERN: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
"""RFC 3339 date-time as the API server wants it (koordinator-metax.md 5)."""

DRIVER_PATTERN: Final = r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"
"""An NVIDIA driver version: two or three decimal parts (qgpu.md 3.5)."""

INT32: Final = 2**31 - 1
INT64: Final = 2**63 - 1


class Amount(NamedTuple):
    """A Kubernetes quantity: the text as written and its value in nanos (1 = 1_000_000_000)."""

    text: str
    nanos: int

    def __str__(self) -> str:
        return self.text


class GoDuration(NamedTuple):
    """A Go duration: the text as written and its length in nanoseconds."""

    text: str
    nanoseconds: int

    def __str__(self) -> str:
        return self.text


class WrittenVersion(NamedTuple):
    """A version: its parts, which decide every comparison, and the text as written."""

    parts: Version
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """How one scalar is read and what is known about it. Bounds count in the value's own unit, `step` from zero."""

    kind: ValueType
    read: Callable[[str], Any]
    """Text to value; raises ValueError that tells people what was expected."""
    write: Callable[[Any], str] = str
    pattern: str = ""
    values: tuple[str, ...] = ()
    minimum: int | None = None
    above: int | None = None
    """Exclusive lower bound."""
    maximum: int | None = None
    step: int | None = None
    or_multiple_of: int | None = None
    """Multiples of this are legal whatever `maximum` and `step` say."""
    max_length: int | None = None
    bare: Literal["", "integer", "number"] = ""
    """Which bare YAML numbers stand beside the text form: none (annotations), integers (CRDs), any (core resources)."""
    shape: type[BaseModel] | None = None
    """The model of a JSON or YAML text."""

    def check(self, value: object) -> Any:
        """The value of what a manifest holds; raises ValueError that says what is wrong and what would be right."""
        if isinstance(value, str):
            text = value
        elif self.bare and isinstance(value, int) and not isinstance(value, bool):
            text = str(value)
        elif self.bare == "number" and isinstance(value, float):
            text = repr(value)
        elif isinstance(value, (Amount, GoDuration, WrittenVersion)):
            text = value.text
        else:
            raise ValueError(f"must be {'a text or an integer' if self.bare else 'a text'}, not {type(value).__name__}")
        if self.max_length is not None and len(text) > self.max_length:
            raise ValueError(f"{text!r} is longer than {self.max_length} characters")
        return self.read(text)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(self.write, when_used="unless-none")
        return core_schema.no_info_plain_validator_function(self.check, serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        text: JsonSchemaValue = {"type": "string"}
        if self.bare:
            text = {"anyOf": [{"type": self.bare}, {"type": "string"}], "x-kubernetes-int-or-string": True}
        if self.pattern:
            text["pattern"] = self.pattern
        if self.values and self.kind != "words-list":
            text["enum"] = list(self.values)
        if self.max_length is not None:
            text["maxLength"] = self.max_length
        if self.kind == "timestamp":
            text["format"] = "date-time"
        return text


def _within(scalar_minimum: int | None, above: int | None, maximum: int | None, nanos: int, text: str) -> None:
    if scalar_minimum is not None and nanos < scalar_minimum * NANOS:
        raise ValueError(f"{text} is below the minimum of {scalar_minimum}")
    if above is not None and nanos <= above * NANOS:
        raise ValueError(f"{text} is not above {above}")
    if maximum is not None and nanos > maximum * NANOS:
        raise ValueError(f"{text} is above the maximum of {maximum}")


_QUANTITY = re.compile(QUANTITY_PATTERN, re.ASCII)


def read_quantity(text: str) -> Amount:
    """A Kubernetes quantity with digits; what only Kubernetes' parser takes (`Gi` as zero) is refused as a plain mistake."""
    nanos = parse_quantity(text) if _QUANTITY.fullmatch(text) else None
    if nanos is None:
        raise ValueError(f"{text!r} is no quantity; write a number, then at most one of Ki Mi Gi Ti Pi Ei n u m k M G T P E")
    return Amount(text, nanos)


def quantity(
    *, minimum: int | None = None, above: int | None = None, maximum: int | None = None, bare: Literal["", "integer", "number"] = ""
) -> Scalar:
    """A quantity, fractions allowed, within bounds."""

    def read(text: str) -> Amount:
        amount = read_quantity(text)
        _within(minimum, above, maximum, amount.nanos, text)
        return amount

    return Scalar(kind="quantity", read=read, pattern=QUANTITY_PATTERN, minimum=minimum, above=above, maximum=maximum, bare=bare)


def whole_quantity(*, minimum: int = 0, maximum: int | None = None, step: int | None = None, or_multiple_of: int | None = None) -> Scalar:
    """The quantity of an extended resource: a whole number, not negative (koordinator-metax.md 9.1)."""

    def read(text: str) -> Amount:
        amount = read_quantity(text)
        number, rest = divmod(amount.nanos, NANOS)
        if rest:
            raise ValueError(f"{text} is no whole number; extended resources are counted in whole units")
        if or_multiple_of is not None and number > 0 and number % or_multiple_of == 0:
            return amount
        _within(minimum, None, maximum, amount.nanos, text)
        if step is not None and number % step:
            raise ValueError(f"{text} is no multiple of {step}")
        return amount

    return Scalar(
        kind="whole-quantity",
        read=read,
        pattern=QUANTITY_PATTERN,
        minimum=minimum,
        maximum=maximum,
        step=step,
        or_multiple_of=or_multiple_of,
        bare="number",
    )


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def integer(*, minimum: int | None = None, maximum: int | None = None) -> Scalar:
    """A base-10 int32 in a text."""

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text) or len(text) > 30:
            raise ValueError(f"{text!r} is no plain base-10 integer")
        lowest, highest = (-INT32 - 1 if minimum is None else minimum), (INT32 if maximum is None else maximum)
        _within(lowest, None, highest, int(text) * NANOS, text)
        return int(text)

    return Scalar(kind="integer-text", read=read, pattern=r"^[+-]?[0-9]+$", minimum=minimum, maximum=maximum)


_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def number(*, minimum: int | None = None, above: int | None = None, maximum: int | None = None) -> Scalar:
    """A decimal number in a text, such as a percentile `0.95`."""

    def read(text: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"{text!r} is no decimal number such as '0.95'")
        value = float(text)
        if (minimum is not None and value < minimum) or (above is not None and value <= above) or (maximum is not None and value > maximum):
            raise ValueError(
                f"{text} lies outside {'(' if above is not None else '['}{above if above is not None else minimum}, {maximum}]"
            )
        return value

    return Scalar(kind="number-text", read=read, pattern=f"^{_NUMBER.pattern}$", minimum=minimum, above=above, maximum=maximum)


def _read_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither 'true' nor 'false'; other spellings are ignored")
    return text == "true"


def _write_boolean(value: Any) -> str:
    return "true" if value else "false"


def matching(kind: ValueType, pattern: str, what: str, max_length: int | None = None) -> Scalar:
    """A text of which the pattern says everything."""
    shape = re.compile(pattern, re.ASCII)

    def read(text: str) -> str:
        if not shape.fullmatch(text):
            raise ValueError(f"{text!r} is no {what}")
        return text

    return Scalar(kind=kind, read=read, pattern=pattern, max_length=max_length)


def _read_text(text: str) -> str:
    return text


def _read_filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _join(value: Any) -> str:
    return ",".join(str(item) for item in value)


def _read_names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    label = re.compile(DNS_LABEL_PATTERN, re.ASCII)
    for name in names:
        if not label.fullmatch(name) or len(name) > 63:
            raise ValueError(f"{name!r} is no container name; write names with commas and no blanks between them")
    if len(set(names)) != len(names):
        raise ValueError(f"{text!r} names a container twice")
    return names


def _read_integers(text: str) -> tuple[int, ...]:
    items = text.split(",")
    if not all(re.fullmatch(r"[0-9]+", item.strip(), re.ASCII) for item in items):
        raise ValueError(f"{text!r} is no comma-separated list of integers from 0")
    numbers = tuple(int(item) for item in items)
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{text!r} holds an integer twice")
    return numbers


def words(*allowed: str) -> Scalar:
    """A comma-separated list of known words, without blanks."""

    def read(text: str) -> tuple[str, ...]:
        found = tuple(text.split(","))
        for word in found:
            if word not in allowed:
                raise ValueError(f"{word!r} is none of {', '.join(allowed)}; write no blanks after commas")
        return found

    word = "|".join(re.escape(item).replace(r"\-", "-") for item in allowed)
    return Scalar(kind="words-list", read=read, write=_join, values=allowed, pattern=f"^({word})(,({word}))*$")


_UNIT = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)


def read_duration(text: str) -> GoDuration:
    """A duration as Go's time.ParseDuration reads it."""
    if not re.fullmatch(DURATION_PATTERN, text, re.ASCII):
        raise ValueError(f"{text!r} is no duration; write a number with a unit, such as 300s, 5m or 1h30m")
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        total += int(whole or "0") * _UNIT[unit] + int(fraction or "0") * _UNIT[unit] // 10 ** len(fraction)
    if total > INT64:
        raise ValueError(f"{text!r} is longer than a duration can be")
    return GoDuration(text, -total if text.startswith("-") else total)


def _read_timestamp(text: str) -> datetime:
    try:
        if not re.fullmatch(TIMESTAMP_PATTERN, text, re.ASCII):
            raise ValueError
        return datetime.fromisoformat(re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text.upper()))
    except ValueError:
        raise ValueError(f"{text!r} is no RFC 3339 time such as 2025-03-15T10:00:00Z") from None


def _write_timestamp(value: Any) -> str:
    return str(value.astimezone(UTC).isoformat()).replace("+00:00", "Z")


_CRON_FIELD = r"[0-9A-Za-z*/,?LW#-]+"
CRON_PATTERN: Final = rf"^{_CRON_FIELD}( +{_CRON_FIELD}){{4}}$"
"""Five fields; macros such as @daily are refused (tensor-fusion.md 3.2)."""


def _read_version(text: str) -> WrittenVersion:
    version = parse_version(text)
    if version is None or not re.fullmatch(DRIVER_PATTERN, text, re.ASCII):
        raise ValueError(f"{text!r} is no version such as 470.161.03 or 525.89.02")
    return WrittenVersion(version, text)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"is no JSON: {error}") from None


def _write_json(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json(by_alias=True, exclude_none=True)
    return json.dumps(value, separators=(",", ":"))


def json_text(shape: type[BaseModel]) -> Scalar:
    """A JSON text that `shape` describes; object keys match in any letter case in Go, here only as written."""

    def read(text: str) -> BaseModel:
        value = _read_json(text)
        try:
            return shape.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"is JSON of the wrong shape{f' at {where}' if where else ''}: {first['msg']}") from None

    return Scalar(kind="json", read=read, write=_write_json, shape=shape)


def yaml_text(shape: type[BaseModel]) -> Scalar:
    """A YAML text that `shape` describes. Only its type is checked here; the reader of manifests parses what is inside."""
    return Scalar(kind="yaml", read=_read_filled, shape=shape)


Text = Annotated[str, Scalar(kind="text", read=_read_text)]
"""Any text, also an empty one."""
BooleanText = Annotated[bool, Scalar(kind="boolean-text", read=_read_boolean, write=_write_boolean, values=("true", "false"))]
"""Exactly `true` or `false`, in quotes."""
IntegerText = Annotated[int, integer()]
"""A base-10 int32 in quotes."""
CountText = Annotated[int, integer(minimum=0)]
"""A base-10 integer from 0 in quotes."""
QuantityText = Annotated[Amount, quantity(minimum=0)]
"""A quantity in quotes, not negative."""
PercentText = Annotated[Amount, quantity(above=0, maximum=100)]
"""A quantity in quotes, above 0 and at most 100: percent of one card."""
WholeQuantity = Annotated[Amount, whole_quantity()]
"""The amount of an extended resource, not negative."""
CrdQuantity = Annotated[Amount, quantity(bare="integer")]
"""A quantity in a CRD: text or bare integer, never a bare decimal; the schema sets no bounds."""
CoreQuantity = Annotated[Amount, quantity(bare="number")]
"""A quantity in a core object: text or bare number."""
ObjectName = Annotated[str, matching("name", DNS_SUBDOMAIN_PATTERN, "object name (lower-case DNS subdomain)", 253)]
"""The name of a Kubernetes object."""
LabelName = Annotated[str, matching("name", DNS_LABEL_PATTERN, "name (lower-case DNS label)", 63)]
"""The name of a container, task or port."""
LabelValue = Annotated[str, matching("label-value", LABEL_VALUE_PATTERN, "label value", 63)]
"""A label value: at most 63 letters, digits and -_. with letters or digits at both ends; may be empty."""
NamesList = Annotated[tuple[str, ...], Scalar(kind="names-list", read=_read_names, write=_join, pattern=r"^[^, ]+(,[^, ]+)*$")]
"""Container names with commas between them."""
IntegersList = Annotated[
    tuple[int, ...], Scalar(kind="integers-list", read=_read_integers, write=_join, pattern=r"^ *[0-9]+ *(, *[0-9]+ *)*$", minimum=0)
]
"""Integers from 0 with commas between them."""
Duration = Annotated[GoDuration, Scalar(kind="duration", read=read_duration, pattern=DURATION_PATTERN)]
"""A Go duration."""
Timestamp = Annotated[datetime, Scalar(kind="timestamp", read=_read_timestamp, write=_write_timestamp, pattern=TIMESTAMP_PATTERN)]
"""An RFC 3339 time."""
CronText = Annotated[str, matching("cron", CRON_PATTERN, "cron expression of five fields")]
"""A cron expression of five fields."""
DriverVersion = Annotated[WrittenVersion, Scalar(kind="version", read=_read_version, pattern=DRIVER_PATTERN)]
"""An NVIDIA driver version, compared part by part."""
PodTemplateText = Annotated[str, Scalar(kind="pod-template", read=_read_filled)]
"""A PodTemplateSpec in YAML or JSON; the reader of manifests parses what is inside."""
JsonText = Annotated[Any, Scalar(kind="json", read=_read_json, write=_write_json)]
"""JSON of any shape."""
Ratio = Annotated[float, number(above=0, maximum=1)]
"""A fraction in (0, 1], in quotes."""
Factor = Annotated[float, number(above=0)]
"""A factor above 0, in quotes."""
