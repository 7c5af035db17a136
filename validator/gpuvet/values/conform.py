"""Judges a value by a JSON Schema, for the constraint kind `conforms_to`. The package `jsonschema` is imported when it is first needed."""

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuvet.values.total import UNKNOWN, nearest, text

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} members",
    "maxProperties": "at most {} members",
    "const": "{}",
    "pattern": "a text that matches {}",
    "format": "{}",
}


def violations(place: tuple[Any, ...], value: Any, schema: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Each thing that the schema (JSON text) refuses in a value: its place, and what to say of it.

    `about` is `value`, `key` (a member that should not be there) or `absence`; `leaf` is what the finding rests on.
    """
    if value is None or value is UNKNOWN:
        return []
    found = []
    for error in sorted(_validator(schema).iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path]):
        found += _described(place, _leaf(error))
    return found


def schema_problem(schema: Any) -> str | None:
    """What is wrong with a JSON Schema, or None."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    if not isinstance(schema, dict):
        return "a JSON Schema is a mapping"
    if (outside := _outside(schema)) is not None:
        return f"$ref {outside} leads out of the file; put what it means under $defs"
    try:
        validator_for(schema, default=_latest()).check_schema(schema)
    except SchemaError as error:
        return f"at {'.'.join(map(str, error.absolute_path)) or 'the root'}: {error.message}"
    return None


def _outside(schema: Any) -> str | None:
    """A reference that another file would have to answer."""
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            return reference
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return next((found for part in parts if (found := _outside(part)) is not None), None)


def _latest() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator


@lru_cache(maxsize=32)
def _validator(schema: str) -> "Validator":
    from jsonschema.validators import validator_for

    loaded = json.loads(schema)
    made: Validator = validator_for(loaded, default=_latest())(loaded)
    return made


def _leaf(error: "ValidationError") -> "ValidationError":
    """Of alternatives that all fail, the failure that lies deepest: in the one that the author most likely meant."""
    while error.context:
        deepest = max(error.context, key=lambda each: len(each.absolute_path))
        if len(deepest.absolute_path) == len(error.absolute_path):
            break
        error = deepest
    return error


def _described(place: tuple[Any, ...], error: "ValidationError") -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    at = (*place, *error.absolute_path)
    name = str(error.absolute_path[-1]) if error.absolute_path else "the value"
    instance: Any = error.instance
    wanted: Any = error.validator_value
    if error.validator == "required":
        absent = [key for key in wanted if key not in instance and repr(key) in error.message]
        return [((*at, key), _said("absence", None, f"{key} is missing", None)) for key in absent]
    if error.validator in ("anyOf", "oneOf"):
        types = [str(part.validator_value) for part in error.context or () if part.validator == "type"]
        how = "fits none of the alternatives" if error.context else "fits more than one of the alternatives"
        return [(at, _said("value", instance, f"{name} {how}", " or ".join(types) if len(types) == len(wanted) else None))]
    if error.validator in ("additionalProperties", "unevaluatedProperties"):
        known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
        unknown = [key for key in instance if key not in known and repr(key) in error.message]
        return [((*at, key), _unknown(key, tuple(known))) for key in unknown]
    if error.validator == "type":
        types = wanted if isinstance(wanted, list) else [wanted]
        return [(at, _said("value", instance, f"{name} has the wrong type", " or ".join(types)))]
    if error.validator == "enum":
        return [(at, _said("value", instance, f"{name} is {text(instance)}, which is none of its values", f"one of {text(wanted)}"))]
    if error.validator in _BOUNDS:
        bound = _BOUNDS[str(error.validator)].format(text(wanted))
        is_ = f"has {len(instance)}" if isinstance(instance, list | dict) else f"is {text(instance)}"
        return [(at, _said("value", instance, f"{name} {is_}", bound))]
    return [(at, _said("value", instance, error.message, None))]


def _unknown(key: str, known: tuple[str, ...]) -> dict[str, Any]:
    near = nearest(key, known)
    return _said(
        "key", key, f"{key} is no member that the schema knows", f"{near}, perhaps" if near else f"one of {text(known)}" if known else None
    )


def _said(about: str, leaf: Any, message: str, expected: str | None) -> dict[str, Any]:
    return {"about": about, "leaf": leaf if type(leaf) is str or leaf is None else True, "message": message, "expected": expected}
