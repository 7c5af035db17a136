"""JSON Schemas of gpuvet's own files: `.gpuvet.yaml`, rule files, bundles and the JSON report."""

from typing import Any, get_args

from gpuvet.generate.jsonschema import DIALECT
from gpuvet.language.kinds import KINDS, Kind
from gpuvet.language.rule import RuleText
from gpuvet.language.suite import SuiteText
from gpuvet.settings.schema import FIELDS, OPA_FIELDS, Field
from gpuvet.values.finding import SEVERITIES, Consequence

Schema = dict[str, Any]

REPORT_VERSION = 1
"""The `schemaVersion` of the report that is described here."""

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_PLACE: Schema = {"type": "integer", "minimum": 1}
_SEVERITY: Schema = {"enum": ["off", "on", *SEVERITIES, True, False], "description": "An unquoted on or off is a boolean in YAML."}


def _closed(description: str, properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    schema: Schema = {"description": description, "type": "object"}
    if required:
        schema["required"] = list(required)
    return schema | {"properties": properties, "additionalProperties": False}


def _of_severities(description: str) -> Schema:
    """Severities by rule or FAMILY*."""
    rule = _closed("Severity and parameters of the rule.", {"severity": _SEVERITY, "parameters": {"type": "object"}})
    return {"description": description, "type": "object", "additionalProperties": {"anyOf": [_SEVERITY, rule]}}


def config_schema() -> Schema:
    """The schema of `.gpuvet.yaml`."""
    properties = {name: _config_field(field) for name, field in FIELDS.items()}
    whole = _closed("The configuration of gpuvet for a folder and all below it.", properties)
    return {"$schema": DIALECT, "title": ".gpuvet.yaml", **whole}


_MAPS: dict[str, Schema] = {
    "map": {"type": "string", "minLength": 1},
    "versions": {"type": ["string", "number"], "pattern": r"^v?[0-9]+(\.[0-9]+)*"},
    "context": {"type": ["array", "null"], "items": _TEXT},
}
"""What takes a mapping -> what its values are."""


def _config_field(field: Field) -> Schema:
    text = f"{field.means} For example {field.example}"
    match field.takes:
        case "text":
            return {"description": text, "type": ["string", "null"]}
        case "texts":
            return {"description": text, "type": ["array", "null"], "items": _TEXT}
        case "rules":
            return _of_severities(text) | {"type": ["object", "null"]}
        case "workloads":
            return {"description": text, "type": ["array", "null"], "items": _workload()}
        case "seconds":
            return {"description": text, "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 10}
        case "opa":
            parts = {name: _config_field(part) for name, part in OPA_FIELDS.items()}
            parts["onFailure"] = {"description": parts["onFailure"]["description"], "enum": [*OPA_FIELDS["onFailure"].choices, None]}
            return _closed(text, parts, ("url", "packages")) | {"type": ["object", "null"]}
    value = _MAPS[field.takes]
    schema: Schema = {"description": text, "type": ["object", "null"]}
    if field.choices:
        return schema | {"properties": dict.fromkeys(field.choices, value), "additionalProperties": False}
    return schema | {"additionalProperties": value}


def _workload() -> Schema:
    place = {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_-]*(\[\*\])*(\.[A-Za-z_][A-Za-z0-9_-]*(\[\*\])*)*$"}
    template = _closed(
        "Where Pods are described: one of podTemplate, podSpec, containers.",
        {
            "podTemplate": place | {"description": "A PodTemplateSpec, such as spec.workers[*].template."},
            "podSpec": place | {"description": "A PodSpec."},
            "containers": place | {"description": "A list of containers."},
            "metadata": place | {"description": "Annotations and labels of the Pods, beside podSpec or containers."},
            "label": _TEXT | {"description": "A fixed name."},
            "name": place | {"description": "Where the name stands."},
            "replicas": place | {"description": "Where the number of Pods stands."},
            "defaultReplicas": _COUNT | {"description": "What absent replicas mean."},
            "gangMinimum": place | {"description": "Pods of this template that start together."},
            "partial": {"type": "boolean", "description": "The template is merged over one that stands elsewhere."},
        },
    ) | {"oneOf": [{"required": [name]} for name in ("podTemplate", "podSpec", "containers")]}
    return _closed(
        "A kind that holds Pod templates.",
        {
            "group": _TEXT | {"description": "API group."},
            "version": _TEXT | {"description": "`*`, or versions with | between them."},
            "kind": _TEXT | {"description": "Kind.", "minLength": 1},
            "resource": _TEXT | {"description": "Plural; the kind in lower case with s when absent."},
            "templates": {"type": "array", "minItems": 1, "items": template, "description": "Where its Pods are described."},
            "validated": {"enum": ["api", "webhook", "none"], "description": "Who refuses a wrong template.", "default": "none"},
            "schedulerName": place | {"description": "Where the owner names the scheduler."},
            "gangTotal": place | {"description": "Pods of all templates that start together."},
        },
        ("kind", "templates"),
    )


def bundle_schema() -> Schema:
    """The schema of a bundle, ours or a user's."""
    properties = {
        "name": _TEXT | {"description": "What it is called."},
        "description": _TEXT | {"description": "What it is for."},
        "extends": _TEXT | {"description": "The bundle that this one changes, by name."},
        "severities": {
            "description": "Severity by rule or FAMILY*; off switches it off.",
            "type": "object",
            "additionalProperties": _SEVERITY,
        },
        "parameters": {"description": "Parameters by rule.", "type": "object", "additionalProperties": {"type": "object"}},
    }
    return {"$schema": DIALECT, "title": "Bundle", **_closed("What to enforce.", properties)}


_RULE_FIELDS = {
    "id": "Family letters and three digits; never reused.",
    "name": "What it is called, in kebab-case.",
    "severity": "Severity, unless bundle or configuration say otherwise.",
    "consequence": "What really happens.",
    "on": "The subject: each Pod template, each container, each metadata, or the object.",
    "trigger": "What a subject must show for the rule to be looked at.",
    "sees": "text for rules about how something is written or who wrote it; they run offline only.",
    "let": "Definitions.",
    "each": "Loops: variable and what it runs over.",
    "when": "A precondition.",
    "message": "Replaces what the kind says; expressions in braces.",
    "expected": "Replaces what the kind expects; expressions in braces.",
    "actual": "An expression for what is there.",
    "related": "Other places that the message points at.",
    "fix": "How to mend it.",
    "why": "Why it matters, in a sentence.",
    "implements": "Candidates of the specification.",
    "sources": "Where the fact comes from.",
    "supersedes": "Rules whose findings at the same key are dropped when this one has spoken.",
    "platform": "For which platform versions it holds.",
    "parameters": "Defaults of its parameters.",
}


def rules_schema() -> Schema:
    """The schema of a rule file."""
    whole = RuleText.model_json_schema(mode="validation")
    rule = flattened(whole, whole.get("$defs", {}))
    rule["properties"].pop("constraint")
    for name, text in _RULE_FIELDS.items():
        rule["properties"][name] = {"description": text} | rule["properties"][name]
    for name, kind in sorted(KINDS.items()):
        rule["properties"][name] = _constraint(kind)
    rule["required"] = [name for name in rule["required"] if name != "constraint"]
    rule["oneOf"] = [{"required": [name]} for name in sorted(KINDS)]
    rule["description"] = "One rule. Exactly one of its fields names a constraint kind."
    file = _closed(
        "Rules as data. docs/writing-rules.md explains them.",
        {
            "family": _TEXT | {"description": "Letters that the ids begin with."},
            "title": _TEXT | {"description": "What the rules are about."},
            "let": {"description": "Definitions that every rule may use.", "type": "object", "additionalProperties": _TEXT},
            "rules": {"description": "The rules.", "type": "array", "items": rule},
        },
        ("rules",),
    )
    return {"$schema": DIALECT, "title": "Rule file", **file}


def suite_schema() -> Schema:
    """The schema of a suite of tests for rules."""
    whole = SuiteText.model_json_schema(mode="validation")
    schema: Schema = flattened(whole, whole.get("$defs", {}))
    return {"$schema": DIALECT, "title": "Suite of tests for rules", **schema}


def _constraint(kind: type[Kind]) -> Schema:
    whole = kind.model_json_schema(mode="validation", by_alias=True)
    schema: Schema = flattened(whole, whole.get("$defs", {}))
    schema["description"] = " ".join((kind.__doc__ or "").split())
    if kind.shorthand is None:
        return schema
    short = {name: value for name, value in schema["properties"][kind.shorthand].items() if name != "default"}
    return {"description": schema.pop("description"), "anyOf": [short, schema]}


def flattened(schema: Any, definitions: Schema) -> Any:
    """What Pydantic prints, without references, titles and `anyOf: [X, null]`."""
    if isinstance(schema, list):
        return [flattened(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = definitions[schema["$ref"].rpartition("/")[2]]
        return flattened({**target, **{name: value for name, value in schema.items() if name != "$ref"}}, definitions)
    out: Schema = {}
    for name, value in schema.items():
        if name == "$defs" or (name == "title" and isinstance(value, str)):
            continue
        if name == "default" and value is None:
            continue
        if name == "properties":
            out[name] = {key: flattened(child, definitions) for key, child in value.items()}
        elif name == "description":
            out[name] = " ".join(value.split())
        else:
            out[name] = flattened(value, definitions)
    alternatives = out.get("anyOf")
    if isinstance(alternatives, list) and {"type": "null"} in alternatives:
        rest = [item for item in alternatives if item != {"type": "null"}]
        del out["anyOf"]
        out |= rest[0] if len(rest) == 1 else {"anyOf": rest}
    return out


def report_schema() -> Schema:
    """The schema of the JSON report."""
    span = {"line": _PLACE, "column": _PLACE, "endLine": _PLACE, "endColumn": _PLACE}
    maybe_text: Schema = {"type": ["string", "null"]}
    related = {"file": _TEXT, "line": _PLACE, "column": _PLACE, "message": _TEXT}
    edit = {**span, "text": _TEXT}
    fix = {
        "title": _TEXT,
        "safe": {"type": "boolean", "description": "The edits keep what the author plainly meant."},
        "edits": {"type": "array", "items": _whole("Replace the text of the span.", edit)},
    }
    identity = dict.fromkeys(("apiVersion", "kind", "namespace", "name"), maybe_text)
    finding = {
        "rule": _TEXT | {"description": "Id of the rule, such as QG004."},
        "name": _TEXT | {"description": "Name of the rule."},
        "severity": {"enum": list(SEVERITIES)},
        "consequence": {"enum": list(get_args(Consequence)), "description": "What really happens in the cluster."},
        "message": _TEXT,
        "expected": maybe_text,
        "actual": maybe_text,
        "file": _TEXT,
        **span,
        "path": {"description": "Keys and indexes from the object's root.", "type": "array", "items": {"type": ["string", "integer"]}},
        "pathText": _TEXT | {"description": "The path for people; list items by name."},
        "object": _whole("The Kubernetes object, where it is known.", identity) | {"type": ["object", "null"]},
        "related": {"type": "array", "items": _whole("Another place that has to do with it.", related)},
        "fix": _whole("How to mend it.", fix) | {"type": ["object", "null"]},
        "fingerprint": _TEXT | {"description": "The same for the same mistake, wherever it moves in the file."},
        "url": _TEXT | {"description": "The rule's page."},
    }
    counts = ("files", "documents", "checked", "skipped", "empty", "fragments", "templates", "notCovered")
    summary = {
        **dict.fromkeys(counts, _COUNT),
        "bySeverity": _whole("Findings by severity.", dict.fromkeys(SEVERITIES, _COUNT)),
    }
    report = {
        "schemaVersion": {"const": REPORT_VERSION},
        "summary": _whole("What was and was not looked at.", summary),
        "findings": {"type": "array", "items": _whole("One mistake at one place.", finding)},
    }
    engine = {
        "name": _TEXT,
        "url": _TEXT,
        "rules": _COUNT | {"description": "Rules that it enforces."},
        "cannotSee": {"description": "Rules that it cannot judge, and why.", "type": "object", "additionalProperties": _TEXT},
    }
    whole = _whole("What `gpuvet check --format json` writes.", report)
    whole["properties"] = {**report, "engine": _whole("What judged instead of gpuvet's own rules; only with `gpuvet opa check`.", engine)}
    return {"$schema": DIALECT, "title": "Report", **whole}


def _whole(description: str, properties: Schema) -> Schema:
    """Members may be added later, so others pass; these are always there."""
    return {"description": description, "type": "object", "required": list(properties), "properties": properties}
