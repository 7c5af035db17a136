"""Draft-7 schemas for yaml-language-server: our keys are described where they may stand, everything else is left alone.

`gpuvet.json` chooses by apiVersion and kind, so that it fits files of several documents.
"""

from collections.abc import Iterable
from typing import Any

from gpuvet.generate.jsonschema import key_schema, map_of, object_schema
from gpuvet.generate.keys import declared_keys
from gpuvet.generate.own import config_schema
from gpuvet.generate.patterns import UNSIGNED_QUANTITY, WRITTEN_QUANTITY
from gpuvet.generate.wording import deprecation_text
from gpuvet.models.base import KeyDeclaration
from gpuvet.models.catalogue import RESOURCES, SHAPES
from gpuvet.models.members import removals
from gpuvet.models.scalars import (
    CRON_PATTERN,
    DNS_LABEL_PATTERN,
    DNS_SUBDOMAIN_PATTERN,
    DURATION_PATTERN,
    LABEL_VALUE_PATTERN,
    TIMESTAMP_PATTERN,
)

Schema = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"

WORKLOADS: dict[str, tuple[str, str, str]] = {
    "pod": ("v1", "Pod", ""),
    "deployment": ("apps/v1", "Deployment", "spec.template"),
    "statefulset": ("apps/v1", "StatefulSet", "spec.template"),
    "daemonset": ("apps/v1", "DaemonSet", "spec.template"),
    "job": ("batch/v1", "Job", "spec.template"),
    "cronjob": ("batch/v1", "CronJob", "spec.jobTemplate.spec.template"),
}
"""File name -> apiVersion, kind and where the Pod template stands; empty: the object is the Pod."""

TEMPLATES = {
    "VolcanoJob": "spec.tasks.[].template",
    "VolcanoCronJob": "spec.jobTemplate.spec.tasks.[].template",
    "WorkloadProfile": "spec.workerPodTemplate",
    "TensorFusionWorkload": "spec.workerPodTemplate",
    "Reservation": "spec.template",
}
"""Kind -> where it holds a Pod template."""

SHARED = "pod-template"
"""The file that describes Pod templates, once for all kinds."""

OWN_NAMES = {"VolcanoJob": "volcano-job", "VolcanoCronJob": "volcano-cronjob", "GPU": "elasticgpu", "TensorFusionGPU": "tensorfusion-gpu"}
"""File names where the kind in lower case would be taken or unclear."""


def editor_schemas() -> dict[str, Schema]:
    """File name without ending -> schema."""
    schemas = {name: _workload(*row) for name, row in WORKLOADS.items()}
    dispatch: dict[str, Schema] = {
        name: {"apiVersion": {"const": version}, "kind": {"const": kind}} for name, (version, kind, _) in WORKLOADS.items()
    }
    for kind, model in RESOURCES.items():
        name = OWN_NAMES.get(kind, kind.lower())
        group, version, plain = model.identity()
        schema = _draft7(object_schema(model))
        for path, gone in removals(model):
            instead = f"; write {gone.replaced_by}" if gone.replaced_by else ""
            _place(schema, path, {"doNotSuggest": True, "deprecationMessage": f"No field of {plain}: {gone.note}{instead}."})
        if kind in TEMPLATES:
            _set(schema, TEMPLATES[kind], {"$ref": f"{SHARED}.json#/definitions/podTemplate"})
        schemas[name] = schema
        dispatch[name] = {"apiVersion": {"const": f"{group}/{version}"}, "kind": {"const": plain}}
    device_metadata = _metadata("device", "Device")
    schemas["device"]["properties"]["metadata"] = device_metadata
    schemas["node"] = _node()
    dispatch["node"] = {"apiVersion": {"const": "v1"}, "kind": {"const": "Node"}}
    schemas["metax-device-config"] = _draft7(object_schema(SHAPES["MetaxDeviceConfig"]))
    named = {"type": "object", "properties": {"name": {"const": "metax-device-config"}}, "required": ["name"]}
    dispatch["metax-device-config"] = {"apiVersion": {"const": "v1"}, "kind": {"const": "ConfigMap"}, "metadata": named}
    schemas["gpuvet"] = _head("Manifests that ask for shared or virtual GPUs", "Chooses by apiVersion and kind; other kinds pass.") | {
        "type": "object",
        "allOf": [
            {"if": {"properties": choice, "required": list(choice)}, "then": {"$ref": f"{name}.json"}} for name, choice in dispatch.items()
        ],
    }
    schemas[SHARED] = _head("Pod template", "What the schemas of workloads share.") | {"definitions": _definitions()}
    schemas["gpuvet-config"] = _draft7(config_schema())
    return schemas


def _head(title: str, description: str) -> Schema:
    return {"$schema": DRAFT, "title": title, "description": description}


def _workload(version: str, kind: str, template: str) -> Schema:
    schema = _head(kind, f"GPU keys of a {kind}; everything else is left to Kubernetes' own schema.") | {
        "type": "object",
        "properties": {"apiVersion": {"const": version}, "kind": {"const": kind}},
    }
    if not template:
        parts = {"metadata": "podMetadata", "spec": "podSpec"}
        schema["properties"] |= {name: {"$ref": f"{SHARED}.json#/definitions/{part}"} for name, part in parts.items()}
        return schema
    schema["properties"]["metadata"] = _owner_metadata(kind, f"{template}.metadata")
    here = schema
    *way, last = template.split(".")
    for name in way:
        here = here["properties"].setdefault(name, {"type": "object", "properties": {}})
    here["properties"][last] = {"$ref": f"{SHARED}.json#/definitions/podTemplate"}
    return schema


def _definitions() -> Schema:
    resources = _map("container-resource")
    return {
        "podTemplate": {
            "type": "object",
            "properties": {"metadata": {"$ref": "#/definitions/podMetadata"}, "spec": {"$ref": "#/definitions/podSpec"}},
        },
        "podMetadata": _metadata("pod", "Pod"),
        "podSpec": {
            "type": "object",
            "properties": {
                "containers": {"type": "array", "items": {"$ref": "#/definitions/container"}},
                "initContainers": {"type": "array", "items": {"$ref": "#/definitions/container"}},
                "nodeSelector": _map("node-label"),
            },
        },
        "container": {
            "type": "object",
            "properties": {
                "resources": {
                    "type": "object",
                    "properties": {"limits": {"$ref": "#/definitions/resources"}, "requests": {"$ref": "#/definitions/resources"}},
                }
            },
        },
        "resources": resources,
    }


def _metadata(place: str, kind: str) -> Schema:
    return {
        "description": f"Metadata of the {kind}.",
        "type": "object",
        "properties": {"annotations": _map(f"{place}-annotation"), "labels": _map(f"{place}-label")},
    }


def _owner_metadata(kind: str, place: str) -> Schema:
    """Of an object that holds a Pod template: keys of Pods have no effect there."""
    annotations = _map("owner-annotation")
    labels: Schema = {"type": "object", "properties": {}}
    for maps, where, name in ((annotations, "pod-annotation", "annotations"), (labels, "pod-label", "labels")):
        for key in _keys(where):
            if key.owner == "user" and not key.family and key.name not in maps["properties"]:
                text = f"Has no effect on a {kind}: it belongs in {place}.{name}."
                maps["properties"][key.name] = {"description": key.description, "doNotSuggest": True, "deprecationMessage": text}
    return {
        "description": f"Metadata of the {kind}; it never reaches the Pods.",
        "type": "object",
        "properties": {"annotations": annotations, "labels": labels},
    }


def _node() -> Schema:
    resources = _map("node-status")
    return _head("Node", "GPU labels, taints and resources of a node.") | {
        "type": "object",
        "properties": {
            "apiVersion": {"const": "v1"},
            "kind": {"const": "Node"},
            "metadata": _metadata("node", "Node"),
            "status": {"type": "object", "properties": {"capacity": resources, "allocatable": resources}},
        },
    }


def _keys(place: str) -> Iterable[KeyDeclaration]:
    return [key for key in declared_keys().values() if place in key.where]


def _map(place: str) -> Schema:
    """The keys that stand in a place, as a map that lets all others pass."""
    return {"type": "object", **map_of(_keys(place), _key)}


def _key(key: KeyDeclaration) -> Schema:
    schema: Schema = _draft7(key_schema(key))
    if key.type == "integer-text":
        schema["patternErrorMessage"] = _integer_text(key)
    if key.owner == "system":
        schema |= {"doNotSuggest": True}
    if key.deprecated:
        schema |= {"doNotSuggest": True, "deprecationMessage": deprecation_text(key)}
    return schema


_WRONG = {
    WRITTEN_QUANTITY: "No quantity: write a number, then at most one of Ki Mi Gi Ti Pi Ei n u m k M G T P E.",
    UNSIGNED_QUANTITY: "No quantity: write a number from 0, then at most one of Ki Mi Gi Ti Pi Ei n u m k M G T P E.",
    DNS_SUBDOMAIN_PATTERN: "No object name: lower-case letters, digits, '-' and '.'.",
    DNS_LABEL_PATTERN: "No name: lower-case letters, digits and '-'.",
    LABEL_VALUE_PATTERN: "No label value: letters, digits and '-_.', letters or digits at both ends.",
    DURATION_PATTERN: "No duration: write numbers with units, such as 300s, 5m or 1h30m.",
    TIMESTAMP_PATTERN: "No RFC 3339 time such as 2025-03-15T10:00:00Z.",
    CRON_PATTERN: "No cron expression of five fields.",
}
"""What editors say of a text that does not match, instead of the pattern."""


def _integer_text(key: KeyDeclaration) -> str:
    lowest, highest = key.scalar.minimum, key.scalar.maximum
    bounds = f" from {lowest}" if lowest is not None else ""
    return f"No integer{bounds}{f' to {highest}' if highest is not None else ''}."


_LATER = ("contentSchema", "contentMediaType", "deprecated")
"""What draft 7 does not know, or what editors show as text instead."""


def _draft7(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_draft7(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: Schema = {}
    for keyword, value in schema.items():
        if keyword in ("properties", "patternProperties"):
            out[keyword] = {name: _draft7(child) for name, child in value.items()}
        elif keyword not in _LATER:
            out[keyword] = value if keyword in ("default", "examples", "enum", "const") else _draft7(value)
    if "$schema" in out:
        out["$schema"] = DRAFT
    if out.get("pattern") in _WRONG:
        out["patternErrorMessage"] = _WRONG[out["pattern"]]
    return out


def _set(schema: Schema, path: str, value: Schema) -> None:
    *way, last = path.split(".")
    for name in way:
        schema = schema["items"] if name == "[]" else schema["properties"][name]
    text = schema["properties"][last].get("description")
    # Draft 7 ignores what stands beside a reference.
    schema["properties"][last] = {"description": text, "allOf": [value]} if text else value


def _place(schema: Schema, path: str, value: Schema) -> None:
    """Describes a member that the schema does not have, at a path pattern such as `spec.a[].b`."""
    *way, last = path.replace("[]", ".[]").split(".")
    for name in way:
        schema = schema["items"] if name == "[]" else schema["properties"][name] if name != "*" else schema["additionalProperties"]
    schema["properties"][last] = value
