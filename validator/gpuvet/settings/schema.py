"""What `.gpuvet.yaml` may hold, as data: field -> what it takes and means. Generated docs and JSON Schema follow from it."""

from typing import NamedTuple


class Field(NamedTuple):
    """A field of the configuration. `takes` is one of text, texts, map, versions, rules, context, workloads, opa; in `opa` also seconds."""

    takes: str
    means: str
    example: str
    choices: tuple[str, ...] = ()


FIELDS: dict[str, Field] = {
    "bundle": Field("text", "What to enforce: a bundle of policies/bundles/ by name, or the path of a bundle file.", "default"),
    "rules": Field(
        "rules", "Per rule (or FAMILY*): off, on, error, warning, info, or a mapping with severity and parameters.", "{QG004: warning}"
    ),
    "platform": Field(
        "versions",
        "Versions of what runs in the cluster; rules that depend on them become exact.",
        "{tensorFusion: 1.48.4}",
        ("tensorFusion", "koordinator", "qgpu", "kubernetes"),
    ),
    "domains": Field("map", "A vendor's domain as this company renamed it.", "{tensorFusion: gpu.example.com}", ("tensorFusion",)),
    "usageKey": Field("text", "The node usage label and taint key; else any key whose name part is node.usage.", "maip.mxsf.io/node.usage"),
    "productTaints": Field("texts", "Taint keys that keep card-less Pods off GPU nodes.", "[nvidia.com/gpu.product]"),
    "gpuModels": Field("texts", "GPU models of this company's clusters, spelt exactly as the nodes report them.", "[NVIDIA-H20]"),
    "namespace": Field("text", "The namespace of objects that name none.", "default"),
    "exclude": Field("texts", "Files and folders not to read, in gitignore syntax.", "[charts/*/templates/]"),
    "context": Field(
        "context",
        "Objects that are known besides the inputs (paths), and kinds of which there are no others (complete).",
        "{paths: [profiles/], complete: [WorkloadProfile]}",
        ("paths", "complete"),
    ),
    "workloads": Field("workloads", "Further kinds that hold Pod templates.", "[{group: example.com, kind: Trainer, ...}]"),
    "ruleFiles": Field("texts", "Rule files of your own, relative to this file.", "[gpu-rules.yaml]"),
    "opa": Field(
        "opa",
        "An Open Policy Agent whose own packages are asked about every object, too.",
        "{url: 'http://localhost:8181', packages: [company.gpu]}",
    ),
}

OPA_FIELDS: dict[str, Field] = {
    "url": Field("text", "Where the server is.", "https://opa.example.com:8181"),
    "packages": Field("texts", "Rego packages that it serves; their deny, violation, warn and inform are read.", "[company.gpu]"),
    "tokenFile": Field("text", "A file with the bearer token; read anew for each question.", "opa-token"),
    "ca": Field("text", "PEM file of the CA that signed the server's certificate.", "opa-ca.crt"),
    "cert": Field("text", "PEM file of a client certificate.", "client.crt"),
    "key": Field("text", "PEM file of its key.", "client.key"),
    "timeout": Field("seconds", "Seconds for all questions about one object, at most 10.", "2"),
    "onFailure": Field("text", "At admission, what becomes of objects that it cannot be asked about.", "allow", ("allow", "deny")),
}
"""What `opa` takes."""
