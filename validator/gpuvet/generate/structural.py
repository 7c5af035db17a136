"""Whether a schema is structural: what the API server demands of a CRD, so that a mistake shows here and not at `kubectl apply`.

Rules: Kubernetes' documentation of CustomResourceDefinition ("Specifying a structural schema") and the validation of
`k8s.io/apiextensions-apiserver`. The API server also type-checks CEL and bounds its cost; only it can do that.
"""

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_STRUCTURE = {"type", "properties", "items", "additionalProperties", "description", "title", "default", "nullable"}
"""What describes the shape, and so may not stand inside anyOf, oneOf, allOf and not."""
_VALUES = {
    *("format", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required", "anyOf", "oneOf", "allOf", "not"),
}
_EXTENSIONS = {
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"),
}
_KEYWORDS = _STRUCTURE | _VALUES | _EXTENSIONS | {"externalDocs", "example"}
_TYPES = ("object", "array", "string", "integer", "number", "boolean")
_LOGIC = ("anyOf", "oneOf", "allOf")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_METADATA = {"type", "description", "properties"}
_METADATA_MEMBERS = {"name", "generateName"}


def problems(schema: Schema) -> list[str]:
    """Everything that keeps a whole object's schema from being structural, with the place of each; none when it is."""
    return [*_node(schema, "", root=True), *_metadata(schema)]


def _metadata(schema: Schema) -> Iterator[str]:
    metadata = (schema.get("properties") or {}).get("metadata", {})
    if set(metadata) - _METADATA or set(metadata.get("properties") or {}) - _METADATA_MEMBERS:
        yield "metadata: only name and generateName may be restricted"


def _node(schema: Any, path: str, root: bool = False) -> Iterator[str]:
    where = path or "the root"
    if not isinstance(schema, dict):
        yield f"{where}: a schema is a mapping, not {type(schema).__name__}"
        return
    for keyword in schema:
        if keyword not in _KEYWORDS:
            yield f"{where}: {keyword} is not allowed"
    yield from _type(schema, where, root)
    yield from _objects(schema, where)
    yield from _lists(schema, where)
    yield from _values(schema, where)
    yield from _logic(schema, where)
    yield from _validations(schema, where)
    for name, child in (schema.get("properties") or {}).items():
        yield from _node(child, f"{path}.{name}".lstrip("."))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _node(schema["additionalProperties"], f"{path}.*".lstrip("."))
    if isinstance(schema.get("items"), dict):
        yield from _node(schema["items"], f"{path}[]")


def _type(schema: Schema, where: str, root: bool) -> Iterator[str]:
    type_ = schema.get("type")
    either, open_ = schema.get("x-kubernetes-int-or-string"), schema.get("x-kubernetes-preserve-unknown-fields")
    for extension in ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(extension) is False and extension != "x-kubernetes-embedded-resource":
            yield f"{where}: {extension} is true or absent"
    if type_ is None:
        if not either and not open_:
            yield f"{where}: type is missing"
    elif either:
        yield f"{where}: type stands beside x-kubernetes-int-or-string"
    elif not isinstance(type_, str) or type_ not in _TYPES:
        yield f"{where}: type is {type_!r}, and must be one of {', '.join(_TYPES)}"
    if root and type_ != "object":
        yield f"{where}: the type of the whole object is object"
    if open_ and type_ not in (None, "object"):
        yield f"{where}: x-kubernetes-preserve-unknown-fields belongs to objects"
    if schema.get("x-kubernetes-embedded-resource") and (type_ != "object" or root):
        yield f"{where}: x-kubernetes-embedded-resource belongs to objects below the root"
    if schema.get("nullable") and root:
        yield f"{where}: the whole object cannot be nullable"


def _objects(schema: Schema, where: str) -> Iterator[str]:
    more = schema.get("additionalProperties")
    if more is not None:
        if schema.get("properties"):
            yield f"{where}: properties and additionalProperties exclude each other"
        if not isinstance(more, dict):
            yield f"{where}: additionalProperties is a schema; leave false out and write x-kubernetes-preserve-unknown-fields for true"
    if ("properties" in schema or more is not None) and schema.get("type") != "object":
        yield f"{where}: properties and additionalProperties belong to objects"
    if schema.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
        yield f"{where}: x-kubernetes-map-type is granular or atomic"
    required = schema.get("required")
    if required is not None and (not required or len(set(required)) < len(required)):
        yield f"{where}: required lists members, each once"
    elif required and "properties" in schema and (missing := [name for name in required if name not in schema["properties"]]):
        yield f"{where}: {', '.join(missing)} is required and no property"


def _lists(schema: Schema, where: str) -> Iterator[str]:
    items, kind, keys = schema.get("items"), schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    if schema.get("type") == "array" and items is None:
        yield f"{where}: items is missing"
    if isinstance(items, list):
        yield f"{where}: items is one schema, not a list"
    if schema.get("uniqueItems"):
        yield f"{where}: uniqueItems costs too much; write x-kubernetes-list-type: set"
    if kind is not None and schema.get("type") != "array":
        yield f"{where}: x-kubernetes-list-type belongs to arrays"
    if kind not in (None, "atomic", "set", "map"):
        yield f"{where}: x-kubernetes-list-type is atomic, set or map"
    if (kind == "map") != bool(keys):
        yield f"{where}: x-kubernetes-list-map-keys belongs to x-kubernetes-list-type: map, and map needs it"
    if not isinstance(items, dict):
        return
    if kind == "set" and items.get("type") in ("object", "array") and not _atomic(items):
        yield f"{where}: the items of a set are scalars or atomic"
    if kind == "set" and items.get("nullable"):
        yield f"{where}: the items of a set cannot be nullable"
    for key in keys or ():
        property_ = (items.get("properties") or {}).get(key)
        if property_ is None:
            yield f"{where}: the map key {key} is no property of the items"
        elif property_.get("type") in ("object", "array") or property_.get("nullable"):
            yield f"{where}: the map key {key} is a scalar that is not nullable"
        elif key not in (items.get("required") or ()) and "default" not in property_:
            yield f"{where}: the map key {key} is required or has a default"


def _atomic(schema: Schema) -> bool:
    return "atomic" in (schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type"))


def _values(schema: Schema, where: str) -> Iterator[str]:
    for bound in ("exclusiveMinimum", "exclusiveMaximum"):
        if bound in schema and not isinstance(schema[bound], bool):
            yield f"{where}: {bound} is true or false here, beside {bound.replace('exclusiveM', 'm')}"
    if "enum" in schema and not schema["enum"]:
        yield f"{where}: enum is empty"
    if "default" in schema and schema["default"] is None and not schema.get("nullable"):
        yield f"{where}: the default is null"
    if isinstance(pattern := schema.get("pattern"), str):
        if look := re.search(r"\(\?(=|!|<=|<!)|\\[1-9]", pattern):
            yield f"{where}: RE2 knows no {look[0]} in {pattern}"
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"{where}: {pattern} is no regular expression: {error}"
    if schema.get("description") == "":
        yield f"{where}: the description is empty"


def _logic(schema: Schema, where: str) -> Iterator[str]:
    for keyword in (*_LOGIC, "not"):
        if keyword not in schema:
            continue
        if keyword == "anyOf" and schema.get("x-kubernetes-int-or-string") and schema["anyOf"] == _INT_OR_STRING:
            continue
        parts = [schema["not"]] if keyword == "not" else schema[keyword]
        for index, part in enumerate(parts):
            yield from _inside_logic(part, f"{where}: {keyword}" + ("" if keyword == "not" else f"[{index}]"), schema)


def _inside_logic(part: Schema, where: str, outside: Schema) -> Iterator[str]:
    """Inside logic only values may be restricted, and only of members that the schema outside describes."""
    for keyword in part:
        if keyword in _EXTENSIONS or keyword in _STRUCTURE - {"properties", "items", "additionalProperties"} or keyword not in _KEYWORDS:
            yield f"{where}: {keyword} is not allowed there"
    if "additionalProperties" in part:
        yield f"{where}: additionalProperties is not allowed there"
    known = outside.get("properties") or {}
    for name, child in (part.get("properties") or {}).items():
        if name not in known:
            yield f"{where}: {name} is not described outside"
        else:
            yield from _inside_logic(child, f"{where}.{name}", known[name])
    if isinstance(part.get("items"), dict):
        if not isinstance(outside.get("items"), dict):
            yield f"{where}: items is not described outside"
        else:
            yield from _inside_logic(part["items"], f"{where}[]", outside["items"])
    for keyword in _LOGIC:
        for index, child in enumerate(part.get(keyword) or ()):
            yield from _inside_logic(child, f"{where}.{keyword}[{index}]", outside)
    if isinstance(part.get("not"), dict):
        yield from _inside_logic(part["not"], f"{where}.not", outside)


def _validations(schema: Schema, where: str) -> Iterator[str]:
    seen: set[str] = set()
    for rule in schema.get("x-kubernetes-validations") or ():
        text = rule.get("rule", "")
        if not text.strip():
            yield f"{where}: a validation has no rule"
        if text in seen:
            yield f"{where}: the validation {text} stands there twice"
        seen.add(text)
        message = rule.get("message")
        if message is not None and (not message.strip() or "\n" in message or len(message) > 2048):
            yield f"{where}: a message is one line, not empty, of at most 2048 characters"
        if "\n" in text and not message:
            yield f"{where}: a rule of several lines needs a message"
        if unknown := set(rule) - {"rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"}:
            yield f"{where}: {', '.join(sorted(unknown))} is not allowed in a validation"
        path = rule.get("fieldPath")
        if path is not None and not _described(schema, path):
            yield f"{where}: fieldPath {path} leads to nothing that is described"


def _described(schema: Schema, path: str) -> bool:
    if not path.startswith((".", "[")):
        return False
    for name in filter(None, path.split(".")):
        below = (schema.get("properties") or {}).get(name, schema.get("additionalProperties"))
        if not isinstance(below, dict):
            return False
        schema = below
    return True
