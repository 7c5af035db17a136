"""What every Pod template will get, as JSON. The shape is a contract; docs/effective.md describes it."""

import json
from typing import Any

from gpuvet.engine.configuration import Configuration, Container, Setting, Source
from gpuvet.report.json import SCHEMA_VERSION, finding_json, summary
from gpuvet.scan.effective import EffectiveResult


def render_effective_json(result: EffectiveResult) -> str:
    """The whole answer as indented JSON."""
    answer = {
        "schemaVersion": SCHEMA_VERSION,
        "summary": summary(result.scan.counts, result.scan.findings),
        "templates": [_template(each) for each in result.templates],
        "findings": [finding_json(finding) for finding in result.scan.findings],
    }
    return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"


def _template(one: Configuration) -> dict[str, Any]:
    reference, gang = one.object, one.gang
    return {
        "object": {
            "apiVersion": reference.api_version,
            "kind": reference.kind,
            "namespace": reference.namespace,
            "name": reference.name,
        },
        "template": one.template,
        "file": one.location.file,
        "line": one.location.span.line,
        "replicas": one.replicas,
        "fields": {name: _setting(setting) for name, setting in one.fields.items()},
        "containers": [_container(container) for container in one.containers],
        "podSum": one.pod_sum,
        "total": one.total,
        "gang": None if gang is None else {"minimum": gang.minimum, "ofAllTemplates": gang.of_all_templates, "total": gang.total},
        "notes": list(one.notes),
    }


def _container(container: Container) -> dict[str, Any]:
    return {
        "name": container.name,
        "init": container.init,
        "requests": {key: _setting(setting) for key, setting in container.requests.items()},
    }


def _setting(setting: Setting) -> dict[str, Any]:
    return {
        "value": setting.value,
        "known": setting.known,
        "note": setting.note,
        "source": _source(setting.source),
        "shadowed": [{"value": each.value, "source": _source(each.source)} for each in setting.shadowed],
    }


def _source(source: Source) -> dict[str, Any]:
    place = source.location
    return {
        "what": source.what,
        "file": None if place is None else place.file,
        "line": None if place is None else place.span.line,
        "column": None if place is None else place.span.column,
    }
