"""schemas/README.md: what lies there and how other people's tools use it."""

from gpuvet.models.catalogue import RESOURCES

TEXT = """\
# Schemas

Generated from the models in `validator/gpuvet/models/` by `gpuvet generate schemas`; do not edit. The same facts as tables for people:
[docs/reference](../docs/reference/README.md).

| Folder | What | For |
|---|---|---|
| `crd/` | CustomResourceDefinitions with structural schemas | validators, tests and CI clusters |
| `jsonschema/GROUP/KIND_VERSION.json` | the same kinds as JSON Schema 2020-12 | kubeconform, check-jsonschema, any validator |
| `jsonschema/vocabularies/` | annotation, label and resource maps of each vocabulary | validators of `metadata` and `resources` |
| `jsonschema/configmaps/`, `texts/`, `values/` | `metax-device-config`; the YAML and JSON inside texts; Helm values | the same |
| `jsonschema/gpuvet/` | `.gpuvet.yaml`, rule files, bundles, suites of tests, the JSON report | those who write or read them |
| `editor/` | draft 7, with texts for hovering | [VS Code, Neovim, JetBrains](../docs/editors.md) |
| `catalog.json` | a catalog in the form of JSON Schema Store | editors |

The CRDs describe what the vendor's operator accepts; they are not meant to be installed over the vendor's own.
[DIFFERENCES.md](crd/DIFFERENCES.md) lists where they say more, and why.

```console
$ kubeconform -strict -schema-location default \\
    -schema-location 'schemas/jsonschema/{{ .Group }}/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json' deploy/
$ check-jsonschema --schemafile schemas/jsonschema/tensor-fusion.ai/workloadprofile_v1.json profile.yaml
$ kubectl apply --server-side -f schemas/crd/tensor-fusion.ai_workloadprofiles.yaml    # in a test cluster
```

What JSON Schema cannot say (a request above its limit, two devices with one id), the CRDs say in CEL, and `gpuvet check` in general.

| Kind | Group | CRD | JSON Schema |
|---|---|---|---|
"""


def render_about() -> str:
    """The text of schemas/README.md."""
    rows = []
    for model in RESOURCES.values():
        group, version, kind = model.identity()
        crd, schema = f"crd/{group}_{model.plural}.yaml", f"jsonschema/{group}/{kind.lower()}_{version}.json"
        rows.append(f"| {kind} | `{group}/{version}` | [{model.plural}.{group}]({crd}) | [{kind.lower()}_{version}.json]({schema}) |\n")
    return TEXT + "".join(rows)
