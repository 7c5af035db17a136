"""The verifier of structural schemas finds each forbidden construct, and nothing in what is allowed."""

from typing import Any

import pytest

from gpuvet.generate.structural import problems

Schema = dict[str, Any]


def whole(**properties: Schema) -> Schema:
    return {"type": "object", "properties": {"metadata": {"type": "object"}, **properties}}


TEXT: Schema = {"type": "string"}
LIST: Schema = {"type": "array", "items": TEXT}


@pytest.mark.parametrize(
    "schema",
    [
        whole(),
        whole(a={"type": "object", "additionalProperties": TEXT, "maxProperties": 3}),
        whole(a={"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        whole(a={"x-kubernetes-preserve-unknown-fields": True}),
        whole(a={"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+$", "maxLength": 9}),
        whole(a={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        whole(a=LIST | {"x-kubernetes-list-type": "set"}),
        whole(
            a={
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT}},
            }
        ),
        whole(a={"type": "number", "minimum": 0, "exclusiveMinimum": True}),
        whole(a=TEXT, b=TEXT) | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        whole(a=TEXT) | {"not": {"properties": {"a": {"enum": ["x"]}}}},
        whole(a=TEXT | {"x-kubernetes-validations": [{"rule": "self != ''", "message": "must not be empty"}]}),
        {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}}},
    ],
)
def test_allowed(schema: Schema) -> None:
    assert problems(schema) == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {}}, "the root: type is missing"),
        ({"type": "array", "items": TEXT}, "the type of the whole object is object"),
        (whole() | {"nullable": True}, "the whole object cannot be nullable"),
        (whole(a={}), "a: type is missing"),
        (whole(a={"type": ["string", "null"]}), "a: type is"),
        (whole(a={"type": "null"}), "a: type is 'null'"),
        (whole(a={"type": "integer", "x-kubernetes-int-or-string": True}), "type stands beside x-kubernetes-int-or-string"),
        (whole(a={"type": "string", "x-kubernetes-preserve-unknown-fields": True}), "belongs to objects"),
        (whole(a={"type": "object", "x-kubernetes-preserve-unknown-fields": False}), "is true or absent"),
        (whole(a={"type": "string", "x-kubernetes-embedded-resource": True}), "belongs to objects below the root"),
        (whole(a={"$ref": "#/$defs/A"}), "a: $ref is not allowed"),
        (whole() | {"$defs": {}}, "$defs is not allowed"),
        (whole() | {"$schema": "x"}, "$schema is not allowed"),
        (whole(a={"const": 1}), "const is not allowed"),
        (whole(a={"type": "object", "patternProperties": {}}), "patternProperties is not allowed"),
        (whole(a={"type": "array", "items": TEXT, "prefixItems": []}), "prefixItems is not allowed"),
        (whole(a=TEXT | {"deprecated": True}), "deprecated is not allowed"),
        (whole(a=TEXT | {"examples": []}), "examples is not allowed"),
        (whole(a=TEXT | {"readOnly": True}), "readOnly is not allowed"),
        (whole(a={"type": "object", "discriminator": {}}), "discriminator is not allowed"),
        (whole(a={"type": "object", "dependentRequired": {}}), "dependentRequired is not allowed"),
        (whole(a=TEXT | {"if": {}, "then": {}}), "if is not allowed"),
        (whole(a={"type": "object", "properties": {"b": TEXT}, "additionalProperties": TEXT}), "exclude each other"),
        (whole(a={"type": "object", "additionalProperties": False}), "additionalProperties is a schema"),
        (whole(a={"type": "object", "additionalProperties": True}), "additionalProperties is a schema"),
        (whole(a={"type": "string", "properties": {"b": TEXT}}), "belong to objects"),
        (whole(a={"type": "object", "x-kubernetes-map-type": "set"}), "granular or atomic"),
        (whole() | {"required": ["b"]}, "b is required and no property"),
        (whole(a=TEXT) | {"required": ["a", "a"]}, "each once"),
        (whole() | {"required": []}, "required lists members"),
        (whole(a={"type": "array"}), "items is missing"),
        (whole(a={"type": "array", "items": [TEXT]}), "items is one schema"),
        (whole(a=LIST | {"uniqueItems": True}), "uniqueItems"),
        (whole(a=TEXT | {"x-kubernetes-list-type": "set"}), "belongs to arrays"),
        (whole(a=LIST | {"x-kubernetes-list-type": "bag"}), "atomic, set or map"),
        (whole(a=LIST | {"x-kubernetes-list-type": "map"}), "map needs it"),
        (whole(a=LIST | {"x-kubernetes-list-map-keys": ["k"]}), "map needs it"),
        (whole(a={"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}), "scalars or atomic"),
        (whole(a={"type": "array", "items": TEXT | {"nullable": True}, "x-kubernetes-list-type": "set"}), "cannot be nullable"),
        *(
            (
                whole(
                    a={
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["k"],
                        "items": {"type": "object", "properties": properties, "required": ["other"]},
                    }
                ),
                said,
            )
            for properties, said in (
                ({"other": TEXT}, "no property of the items"),
                ({"other": TEXT, "k": {"type": "object"}}, "scalar that is not nullable"),
                ({"other": TEXT, "k": TEXT | {"nullable": True}}, "scalar that is not nullable"),
                ({"other": TEXT, "k": TEXT}, "required or has a default"),
            )
        ),
        (whole(a={"type": "number", "exclusiveMinimum": 0}), "exclusiveMinimum is true or false here"),
        (whole(a={"type": "number", "exclusiveMaximum": 1}), "exclusiveMaximum is true or false here"),
        (whole(a=TEXT | {"enum": []}), "enum is empty"),
        (whole(a=TEXT | {"default": None}), "the default is null"),
        (whole(a=TEXT | {"pattern": "^(?!x)"}), "RE2 knows no"),
        (whole(a=TEXT | {"pattern": r"(a)\1"}), "RE2 knows no"),
        (whole(a=TEXT | {"pattern": "("}), "no regular expression"),
        (whole(a=TEXT | {"description": ""}), "the description is empty"),
        (whole(a={"x-kubernetes-preserve-unknown-fields": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}), "anyOf[0]: type"),
        (whole(a=TEXT) | {"allOf": [{"properties": {"a": TEXT}}]}, "allOf[0].a: type is not allowed there"),
        (whole(a=TEXT) | {"anyOf": [{"properties": {"b": {"enum": [1]}}}]}, "b is not described outside"),
        (whole(a=TEXT | {"oneOf": [{"items": {"enum": [1]}}]}), "items is not described outside"),
        (whole(a=TEXT) | {"not": {"additionalProperties": {"enum": [1]}}}, "additionalProperties is not allowed there"),
        (whole(a=TEXT | {"anyOf": [{"x-kubernetes-list-type": "set"}]}), "x-kubernetes-list-type is not allowed there"),
        (whole(a=TEXT | {"allOf": [{"not": {"default": 1}}]}), "default is not allowed there"),
        (whole(a=TEXT | {"x-kubernetes-validations": [{"message": "no"}]}), "has no rule"),
        (whole(a=TEXT | {"x-kubernetes-validations": [{"rule": "true"}, {"rule": "true"}]}), "stands there twice"),
        (whole(a=TEXT | {"x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]}), "one line"),
        (whole(a=TEXT | {"x-kubernetes-validations": [{"rule": "true\n"}]}), "needs a message"),
        (whole(a=TEXT | {"x-kubernetes-validations": [{"rule": "true", "severity": "x"}]}), "severity is not allowed"),
        (whole(a=TEXT | {"x-kubernetes-validations": [{"rule": "true", "fieldPath": ".b"}]}), "leads to nothing"),
        (whole(a=TEXT | {"x-kubernetes-validations": [{"rule": "true", "fieldPath": "b"}]}), "leads to nothing"),
        ({"type": "object", "properties": {"metadata": {"type": "object", "required": ["name"]}}}, "only name and generateName"),
        ({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}, "only name"),
        ({"type": "object", "properties": {"a": "text"}}, "a schema is a mapping"),
    ],
)
def test_forbidden(schema: Schema, said: str) -> None:
    found = problems(schema)
    assert any(said in problem for problem in found), found


def test_every_problem_is_listed_with_its_place() -> None:
    found = problems(whole(a={"type": "object", "properties": {"b": {}}}, c={"type": "array", "items": {"const": 1}}))
    assert found == ["a.b: type is missing", "c[]: const is not allowed", "c[]: type is missing"]
