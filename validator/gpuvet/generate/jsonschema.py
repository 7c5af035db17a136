"""JSON Schema 2020-12 of objects, of the texts inside annotations, and of the annotation, label and resource maps of a vocabulary."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel

from gpuvet.generate.patterns import WRITTEN_QUANTITY, text_pattern
from gpuvet.generate.tree import Node, tree_of
from gpuvet.generate.wording import GROUPS, key_text, member_text
from gpuvet.models.base import KeyDeclaration
from gpuvet.models.catalogue import SHAPES
from gpuvet.models.placement import COMPANY_DOMAIN
from gpuvet.models.relations import NUMBER_LENGTH, QUANTITY_LENGTH
from gpuvet.models.scalars import INT32, INT64, TIMESTAMP_PATTERN, Scalar
from gpuvet.models.structures import CustomResource, Member
from gpuvet.values.quantity import QUANTITY_PATTERN

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBERS = {"int32": (-INT32 - 1, INT32), "int64": (-INT64 - 1, INT64), "": (None, None)}


def object_schema(model: type[BaseModel]) -> Schema:
    """The schema of an object, a ConfigMap, or what a text holds."""
    platform = GROUPS.get(model.identity()[0], "") if issubclass(model, CustomResource) else ""
    return {"$schema": DIALECT, "title": model.__name__, **node_schema(tree_of(model), platform)}


def map_schema(title: str, keys: Iterable[KeyDeclaration], values: Schema) -> Schema:
    """The schema of a map of annotations, labels or resources: our keys are described, all others are only `values`."""
    return {"$schema": DIALECT, "title": title, "type": "object", **map_of(keys, key_schema), "additionalProperties": values}


def map_of(keys: Iterable[KeyDeclaration], describe: Callable[[KeyDeclaration], Schema]) -> Schema:
    """Keys as properties; families, and keys in a domain that each company chooses, as patterns."""
    properties, patterns = {}, {}
    for key in keys:
        if key.family:
            patterns[f"^{_escaped(key.name)}.+$"] = describe(key)
        elif key.domain == COMPANY_DOMAIN:
            patterns[f"^[^/]+/{_escaped(key.name.rpartition('/')[2])}$"] = describe(key)
        else:
            properties[key.name] = describe(key)
    return {"properties": properties} | ({"patternProperties": patterns} if patterns else {})


def _escaped(text: str) -> str:
    return text.replace(".", r"\.")


def node_schema(node: Node, platform: str = "") -> Schema:
    """The schema of one value and what stands below it."""
    member = node.member
    schema: Schema = _given(description=member_text(member, platform) or None)
    schema |= _SHAPES[member.type](node, platform) if member.type in _SHAPES else _member_schema(member)
    if member.default and (default := _typed(member, member.default)) is not None:
        schema["default"] = default
    if member.example and (example := _typed(member, member.example)) is not None:
        schema["examples"] = [example]
    if rules := [relation.schema for relation in node.relations if relation.schema is not None]:
        schema |= rules[0] if len(rules) == 1 and not set(rules[0]) & set(schema) else {"allOf": rules}
    return schema


def _object(node: Node, platform: str) -> Schema:
    schema: Schema = {"type": "object"}
    if node.properties:
        if node.required:
            schema["required"] = node.required
        schema["properties"] = {name: node_schema(child, platform) for name, child in node.properties.items()}
    return schema if node.member.open else schema | {"additionalProperties": False}


def _map(node: Node, platform: str) -> Schema:
    assert node.item is not None
    item = node_schema(node.item, platform)
    if node.member.keys:
        return {"type": "object", "properties": dict.fromkeys(node.member.keys, item), "additionalProperties": False}
    return {"type": "object"} | _given(maxProperties=node.member.max_items) | {"additionalProperties": item}


def _list(node: Node, platform: str) -> Schema:
    assert node.item is not None
    member = node.member
    schema: Schema = {"type": "array"} | _given(minItems=member.min_items, maxItems=member.max_items)
    if member.list_type == "set":
        schema["uniqueItems"] = True
    return schema | {"items": node_schema(node.item, platform)}


_SHAPES = {"object": _object, "map": _map, "list": _list}


def _member_schema(member: Member) -> Schema:
    match member.type:
        case "any":
            return {}
        case "boolean":
            return {"type": "boolean"}
        case "integer":
            lowest, highest = _NUMBERS[member.format]
            minimum = lowest if member.minimum is None else member.minimum
            return {"type": "integer"} | _given(minimum=minimum, maximum=highest if member.maximum is None else member.maximum)
        case "quantity":
            pattern = WRITTEN_QUANTITY if member.pattern == QUANTITY_PATTERN else member.pattern
            return {"type": ["integer", "string"], "pattern": pattern, "maxLength": QUANTITY_LENGTH}
        case "timestamp":
            return {"type": "string", "format": "date-time", "pattern": TIMESTAMP_PATTERN}
        case "yaml" | "json" if member.shape:
            return {"type": "string", "minLength": 1, **_content(member.type, object_schema(SHAPES[member.shape]))}
    if member.values and member.type != "words-list":
        return {"const": member.values[0]} if len(member.values) == 1 else {"type": "string", "enum": list(member.values)}
    longest = NUMBER_LENGTH if member.type == "number-text" else member.max_length
    return {"type": "string"} | _given(minLength=member.min_length, maxLength=longest, pattern=member.pattern or None)


def key_schema(key: KeyDeclaration) -> Schema:
    """The schema of the value of one annotation, label or resource."""
    schema: Schema = {"description": key_text(key), **scalar_schema(key.scalar)}
    if key.default:
        schema["default"] = key.default
    if key.example:
        schema["examples"] = [key.example]
    if key.deprecated:
        schema["deprecated"] = True
    return schema


def scalar_schema(scalar: Scalar) -> Schema:
    """The schema of a text, or of a text or number, of a kind."""
    if scalar.kind == "whole-quantity":
        return _whole_quantity(scalar)
    pattern = text_pattern(scalar)
    if scalar.bare:
        return {"type": [scalar.bare, "string"], "pattern": pattern, **_given(minimum=scalar.minimum, maximum=scalar.maximum)}
    if scalar.values and scalar.kind != "words-list":
        return {"type": "string", "enum": list(scalar.values)}
    schema: Schema = {"type": "string"} | _given(maxLength=scalar.max_length, pattern=pattern or None)
    if scalar.kind == "timestamp":
        schema["format"] = "date-time"
    if scalar.shape is not None:
        schema |= _content(scalar.kind, object_schema(scalar.shape))
    elif scalar.kind in ("json", "pod-template"):
        schema |= {"contentMediaType": "application/json" if scalar.kind == "json" else "application/yaml"}
    return schema


def _whole_quantity(scalar: Scalar) -> Schema:
    numbers = _given(minimum=scalar.minimum, maximum=scalar.maximum)
    if scalar.step is None and scalar.or_multiple_of is None:
        return {"type": ["integer", "string"], **numbers, "pattern": text_pattern(scalar)}
    if scalar.step not in (None, 1):
        numbers["multipleOf"] = scalar.step
    alternatives = [{"type": "integer", **numbers}]
    if scalar.or_multiple_of is not None:
        alternatives.append({"type": "integer", "minimum": scalar.or_multiple_of, "multipleOf": scalar.or_multiple_of})
    return {"anyOf": [*alternatives, {"type": "string", "pattern": text_pattern(scalar)}]}


def _content(kind: str, schema: Schema) -> Schema:
    schema = {keyword: value for keyword, value in schema.items() if keyword not in ("$schema", "title")}
    return {"contentMediaType": f"application/{kind}", "contentSchema": schema}


def _typed(member: Member, text: str) -> Any:
    """An example or default, which models write as text, as the value that stands in a manifest; None when it is words."""
    if member.type == "integer":
        return int(text) if re.fullmatch(r"-?[0-9]+", text) else None
    if member.type == "boolean":
        return {"true": True, "false": False}.get(text)
    return None if member.type in ("object", "list", "map", "any") else text


def _given(**entries: Any) -> Schema:
    return {name: value for name, value in entries.items() if value is not None}
