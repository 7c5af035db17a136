"""CRDs with structural schemas, as the API server wants them. They describe what the vendor's operator accepts."""

from collections.abc import Callable
from typing import Any

from gpuvet.generate.patterns import WRITTEN_QUANTITY
from gpuvet.generate.structural import problems
from gpuvet.generate.tree import Node, tree_of
from gpuvet.generate.wording import GROUPS, member_text
from gpuvet.models.relations import NUMBER_LENGTH, QUANTITY_LENGTH, Relation
from gpuvet.models.structures import CustomResource, Member
from gpuvet.values.quantity import QUANTITY_PATTERN

Schema = dict[str, Any]


def crd(model: type[CustomResource]) -> Schema:
    """The CustomResourceDefinition of a kind. Raises ValueError when its schema is not structural."""
    group, version, kind = model.identity()
    schema = _root(tree_of(model), GROUPS.get(group, ""))
    if wrong := problems(schema):
        raise ValueError(f"{kind}.{group}: " + "; ".join(wrong))
    names: Schema = {"kind": kind, "listKind": f"{kind}List", "plural": model.plural, "singular": kind.lower()}
    if model.short_names:
        names["shortNames"] = list(model.short_names)
    served: Schema = {"name": version, "served": True, "storage": True}
    if model.columns:
        served["additionalPrinterColumns"] = [
            {"name": column.name, "type": column.type, "jsonPath": column.path} | ({"priority": column.priority} if column.priority else {})
            for column in model.columns
        ]
    if model.has_status:
        served["subresources"] = {"status": {}}
    served["schema"] = {"openAPIV3Schema": schema}
    metadata: Schema = {"name": f"{model.plural}.{group}"}
    if model.approval:
        metadata["annotations"] = {"api-approved.kubernetes.io": model.approval}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"group": group, "scope": model.scope, "names": names, "versions": [served]},
    }


def _root(tree: Node, platform: str) -> Schema:
    schema = _Printer(platform).schema(tree)
    properties = schema["properties"]
    # The API server itself describes these three, and lets a CRD say no more about metadata than that it is an object.
    for name in ("apiVersion", "kind"):
        properties[name] = {"type": "string", "description": properties[name]["description"]}
    properties["metadata"] = {"type": "object"}
    schema.pop("required", None)
    if required := [name for name in tree.required if name not in ("apiVersion", "kind", "metadata")]:
        schema["required"] = required
    return schema


class _Printer:
    """Prints nodes; `platform` is whose versions the members count."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.shapes = {"object": self.object, "map": self.map, "list": self.list}

    def schema(self, node: Node) -> Schema:
        member = node.member
        schema: Schema = {}
        if text := member_text(member, self.platform):
            schema["description"] = text
        schema |= self.shapes[member.type](node) if member.type in self.shapes else _SCALARS.get(member.type, _text)(member)
        rules = [_validation(relation) for relation in node.relations]
        if member.type == "number-text":
            rules += _number_bounds(member)
        if rules:
            schema["x-kubernetes-validations"] = rules
        return schema

    def object(self, node: Node) -> Schema:
        schema: Schema = {"type": "object"}
        if node.properties:
            if node.required:
                schema["required"] = node.required
            schema["properties"] = {name: self.schema(child) for name, child in node.properties.items()}
        if node.member.open:
            schema["x-kubernetes-preserve-unknown-fields"] = True
        return schema

    def map(self, node: Node) -> Schema:
        assert node.item is not None
        if node.member.keys:
            return {"type": "object", "properties": {name: self.schema(node.item) for name in node.member.keys}}
        return {"type": "object"} | _given(maxProperties=node.member.max_items) | {"additionalProperties": self.schema(node.item)}

    def list(self, node: Node) -> Schema:
        assert node.item is not None
        member = node.member
        schema: Schema = {"type": "array"} | _given(minItems=member.min_items, maxItems=member.max_items)
        if member.list_type:
            schema["x-kubernetes-list-type"] = member.list_type
        if member.list_keys:
            schema["x-kubernetes-list-map-keys"] = list(member.list_keys)
        return schema | {"items": self.schema(node.item)}


def _integer(member: Member) -> Schema:
    return {"type": "integer"} | _given(format=member.format or None, minimum=member.minimum, maximum=member.maximum)


def _quantity(member: Member) -> Schema:
    pattern = WRITTEN_QUANTITY if member.pattern == QUANTITY_PATTERN else member.pattern
    return {"x-kubernetes-int-or-string": True, "pattern": pattern, "maxLength": QUANTITY_LENGTH}


def _text(member: Member) -> Schema:
    schema: Schema = {"type": "string"}
    if member.type == "timestamp":
        return schema | {"format": "date-time"}
    if member.values and member.type != "words-list":
        return schema | {"enum": list(member.values)}
    longest = NUMBER_LENGTH if member.type == "number-text" else member.max_length or member.cost_length
    return schema | _given(minLength=member.min_length, maxLength=longest, pattern=member.pattern or None)


_SCALARS: dict[str, Callable[[Member], Schema]] = {
    "integer": _integer,
    "boolean": lambda member: {"type": "boolean"},
    "quantity": _quantity,
    "any": lambda member: {"x-kubernetes-preserve-unknown-fields": True},
}
"""How scalars are written; all others are texts."""


def _given(**entries: Any) -> Schema:
    return {name: value for name, value in entries.items() if value is not None}


def _validation(relation: Relation) -> Schema:
    rule = {"rule": relation.cel, "message": relation.message}
    return rule | {"fieldPath": f".{relation.at}"} if relation.at else rule


def _number_bounds(member: Member) -> list[Schema]:
    bounds = []
    if member.above is not None:
        bounds.append((f"double(self) > {member.above}.0", f"above {member.above}"))
    if member.minimum is not None:
        bounds.append((f"double(self) >= {member.minimum}.0", f"at least {member.minimum}"))
    if member.maximum is not None:
        bounds.append((f"double(self) <= {member.maximum}.0", f"at most {member.maximum}"))
    if not bounds:
        return []
    return [{"rule": " && ".join(cel for cel, _ in bounds), "message": "must be " + " and ".join(words for _, words in bounds)}]
