"""CRDs without their prose: what each field may be, by path. Also the vendors' CRDs in that form, as a committed table.

As a script it writes the table anew from CRD files of the vendors' repositories: `python tests/schemas/skeleton.py FOLDER`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).resolve().parent.parent / "fixtures" / "vendor-crds.json"

VENDORS = {
    "tensor-fusion.ai": "NexusGPU/tensor-fusion 3e0a4901 config/crd/bases",
    "scheduling.koordinator.sh": "koordinator-sh/koordinator a7a1b76b config/crd/bases",
    "config.koordinator.sh": "koordinator-sh/koordinator a7a1b76b config/crd/bases",
    "scheduling.sigs.k8s.io": "koordinator-sh/koordinator a7a1b76b config/crd/bases",
    "batch.volcano.sh": "volcano-sh/volcano ed72c7c8 config/crd/volcano/bases",
    "elasticgpu.io": "elastic-ai/elastic-gpu 94fc37ef manifests",
}
"""Where the table was read, by API group: repository, commit, folder."""

KEPT = (
    *(
        "type",
        "format",
        "enum",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "maxProperties",
        "required",
    ),
    *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
)
OPAQUE = ("spec.template", "spec.tasks[].template", "workerPodTemplate", "nodeAffinity", "volumeClaim", "podTemplate", "Rules[].selector")
"""Ends of paths below which Kubernetes' own types stand, which are not compared."""


def skeleton(crd: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Path -> what the field may be, of a CRD's stored version."""
    (version,) = (each for each in crd["spec"]["versions"] if each.get("storage"))
    fields: dict[str, dict[str, Any]] = {}
    _walk(version["schema"]["openAPIV3Schema"], "", fields)
    return fields


def _walk(schema: dict[str, Any], path: str, fields: dict[str, dict[str, Any]]) -> None:
    fields[path] = {name: schema[name] for name in KEPT if name in schema}
    if "x-kubernetes-validations" in schema:
        fields[path]["validations"] = [rule["rule"] for rule in schema["x-kubernetes-validations"]]
    if path == "metadata" or path.endswith(OPAQUE):
        return
    for name, child in (schema.get("properties") or {}).items():
        _walk(child, f"{path}.{name}" if path else name, fields)
    if isinstance(schema.get("additionalProperties"), dict):
        _walk(schema["additionalProperties"], f"{path}.*", fields)
    if isinstance(schema.get("items"), dict):
        _walk(schema["items"], f"{path}[]", fields)


if __name__ == "__main__":
    table = {}
    for file in sorted(Path(sys.argv[1]).glob("*.yaml")):
        crd = yaml.safe_load(file.read_text(encoding="utf-8"))
        if crd["spec"]["group"] in VENDORS:
            table[crd["metadata"]["name"]] = {
                "source": VENDORS[crd["spec"]["group"]],
                "scope": crd["spec"]["scope"],
                "names": {name: crd["spec"]["names"][name] for name in ("kind", "plural", "shortNames") if name in crd["spec"]["names"]},
                "fields": skeleton(crd),
            }
    lines = []
    for name, entry in table.items():
        fields = ",\n".join(f"      {json.dumps(path)}: {json.dumps(facts)}" for path, facts in entry.pop("fields").items())
        head = json.dumps(entry)[1:-1]
        lines.append(f'  {json.dumps(name)}: {{\n    {head},\n    "fields": {{\n{fields}\n    }}\n  }}')
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
