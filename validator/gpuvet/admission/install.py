"""Everything that runs the webhook in a cluster, as manifests made from the active rules and the workload table."""

import re
from collections.abc import Iterable
from math import ceil
from pathlib import Path as FilePath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gpuvet.admission.review import SHARE, RuleState
from gpuvet.admission.state import load_state
from gpuvet.engine.conditions import NO_NODE, OTHERS, WHOLE, made_by_controller, other_condition, triggers, workload_condition
from gpuvet.engine.context import EmptyContext
from gpuvet.engine.domains import Domains
from gpuvet.engine.judge import kind_name
from gpuvet.manifests.workload_table import Row
from gpuvet.manifests.workloads import INDEX
from gpuvet.settings.config import Settings, load_settings
from gpuvet.values.errors import UsageError

PORT = 8443
_METADATA_OF_RULES = ("object", "metadata")
_TLS, _CONFIG = "/etc/gpuvet/tls", "/etc/gpuvet/config"


class Plan(NamedTuple):
    """What `gpuvet webhook manifests` was told."""

    namespace: str = "gpuvet-system"
    name: str = "gpuvet"
    image: str = "gpuvet:latest"
    replicas: int = 2
    config: str | None = None
    failure_policy: str | None = None
    """None: as the bundle wants it."""
    ca: bytes | None = None
    """The CA bundle; without one cert-manager fills it in."""
    url: str | None = None
    """A webhook outside the cluster."""
    watched: tuple[tuple[str, str], ...] = ()
    """(API group, resource) that the webhook reads from the API; empty without `--cluster`."""
    bundle: str | None = None
    """Wins over the configuration's."""


_LABEL = re.compile("[a-z](?:[a-z0-9-]*[a-z0-9])?", re.ASCII)
_MADE = made_by_controller("object")
_STAYS = {"name": "is-not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"}


def manifests(plan: Plan) -> list[dict[str, Any]]:
    """Every object of an installation, the webhook's configuration last.

    Raises ConfigError when the configuration is wrong, UsageError when the API server would refuse a name.
    """
    _check(plan)
    settings = _settings(plan)
    found = [_namespace(plan), _service_account(plan)]
    if plan.watched:
        found += _roles(plan)
    if plan.config is not None:
        found.append(_config_map(plan, settings))
    if plan.ca is None:
        found += _cert_manager(plan)
    return [*found, _service(plan), _deployment(plan), _disruption_budget(plan), _network_policy(plan), webhook_configuration(plan)]


def webhook_configuration(plan: Plan) -> dict[str, Any]:
    """The ValidatingWebhookConfiguration. Raises ConfigError when the configuration is wrong, UsageError for a wrong name."""
    _check(plan)
    settings = _settings(plan)
    policy = plan.failure_policy or ("Fail" if settings.bundle == "strict" else "Ignore")
    entries = [_entry(plan, *entry) for entry in _entries(plan, settings, policy)]
    metadata: dict[str, Any] = {"name": plan.name, "labels": _labels(plan)}
    if plan.ca is None:
        metadata["annotations"] = {"cert-manager.io/inject-ca-from": f"{plan.namespace}/{plan.name}-webhook"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": metadata,
        "webhooks": entries,
    }


def _check(plan: Plan) -> None:
    for option, value, longest in (("--namespace", plan.namespace, 63), ("--name", plan.name, 63 - len("-webhook-self-signed"))):
        if len(value) > longest or not _LABEL.fullmatch(value):
            raise UsageError(f"{option} {value!r}: is no name of at most {longest} lower-case letters, digits and hyphens, a letter first")
    if plan.replicas < 0:
        raise UsageError(f"--replicas {plan.replicas}: cannot be negative")
    if plan.url is not None and not plan.url.startswith("https://"):
        raise UsageError(f"--url {plan.url}: the API server asks over https only")


def unknown_kinds(config: str | None) -> list[str]:
    """Kinds that active rules are about and that no entry can be made for: gpuvet does not know how the API calls them."""
    plan = Plan(config=config)
    settings, state = _settings(plan), _state(plan)
    known = {other.kind for other in (*OTHERS, *WHOLE)} | {kind_name(group, kind) for group, kind in settings.workloads or INDEX}
    return sorted({kind for rule in state.judge.rules.rules for kind in rule.kinds} - known)


def _settings(plan: Plan) -> Settings:
    return load_settings(FilePath(plan.config) if plan.config else None, plan.bundle)


def _state(plan: Plan) -> RuleState:
    return load_state(FilePath(plan.config) if plan.config else None, EmptyContext(), bundle=plan.bundle)


def _entries(plan: Plan, settings: Settings, policy: str) -> Iterable[tuple[str, str, list[dict[str, Any]], list[dict[str, str]]]]:
    """(name, failurePolicy, rules, match conditions) of each entry."""
    state = _state(plan)
    rules, domains = state.judge.rules.rules, Domains(settings.domains)
    subjects = ("object", "metadata", "pod", "container")
    groups: dict[str | None, list[Row]] = {}
    for rows in (settings.workloads or INDEX).values():
        for row in rows:
            wanted = triggers(rules, (kind_name(row.group, row.kind),), subjects, settings.usage_key, domains)
            if settings.opa is not None:
                # What the users' own packages look at is not known here.
                wanted = wanted._replace(whole=True)
            groups.setdefault(workload_condition(row, wanted), []).append(row)
    for condition, rows_of in groups.items():
        if condition == "false":
            continue
        where = _rules(rows_of)
        name = "-".join(sorted({_word(row.group) for row in rows_of}))[:40].strip("-") + f"-{rows_of[0].resource}"
        tests = [_STAYS] + ([{"name": "concerns-a-rule", "expression": condition}] if condition is not None else [])
        made = policy == "Fail" and any(row.validated == "api" for row in rows_of)
        if made:
            # While the webhook is down, what was let in before must go on running.
            yield f"{name}-of-controllers", "Ignore", where, [*tests, {"name": "is-made-by-a-controller", "expression": _MADE}]
            tests = [*tests, {"name": "is-not-made-by-a-controller", "expression": f"!({_MADE})"}]
        yield name, policy, where, tests
    for other in (*OTHERS, *WHOLE):
        wanted = triggers(rules, (other.kind,), _METADATA_OF_RULES, settings.usage_key, domains)
        if other in WHOLE:
            wanted = wanted._replace(whole=any(other.kind in rule.kinds for rule in rules))
        elif not any(other.kind in rule.kinds for rule in rules):
            continue
        condition = other_condition(other.maps, other.key_lists, wanted)
        if condition == "false":
            continue
        resource, _, group = other.resource.partition(".")
        tests = [_STAYS, NO_NODE] + ([{"name": "concerns-a-rule", "expression": condition}] if condition is not None else [])
        yield _word(other.resource), "Ignore", [_rule(group, [resource], "*")], tests


def _seconds(settings: Settings) -> int:
    """How long the API server waits: OPA is asked about the new object and, for an update, about the old one."""
    return 2 if settings.opa is None else min(30, ceil((1.5 + 2 * settings.opa.timeout) / SHARE))


def _rules(rows: Iterable[Row]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        found.setdefault((row.group, row.version), []).append(row.resource)
    return [_rule(group, resources, version) for (group, version), resources in found.items()]


def _rule(group: str, resources: list[str], version: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": version.split("|"),
        "operations": ["CREATE", "UPDATE"],
        "resources": resources,
        "scope": "*",
    }


def _word(group: str) -> str:
    return group.replace(".", "-") or "core"


def _entry(plan: Plan, name: str, policy: str, rules: list[dict[str, Any]], tests: list[dict[str, str]]) -> dict[str, Any]:
    if plan.url is not None:
        client: dict[str, Any] = {"url": plan.url}
    else:
        client = {"service": {"namespace": plan.namespace, "name": f"{plan.name}-webhook", "path": "/validate", "port": 443}}
    if plan.ca is not None:
        from base64 import b64encode

        client["caBundle"] = b64encode(plan.ca).decode()
    excluded = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": sorted({"kube-system", plan.namespace})}
    return {
        "name": f"{name}.admission.gpuvet",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": policy,
        "matchConditions": tests,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": [excluded]},
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": _seconds(_settings(plan)),
    }


def _labels(plan: Plan) -> dict[str, str]:
    return {"app.kubernetes.io/name": "gpuvet", "app.kubernetes.io/instance": plan.name, "app.kubernetes.io/component": "webhook"}


def _about(plan: Plan, name: str, namespaced: bool = True) -> dict[str, Any]:
    return {"name": name} | ({"namespace": plan.namespace} if namespaced else {}) | {"labels": _labels(plan)}


def _namespace(plan: Plan) -> dict[str, Any]:
    about = _about(plan, plan.namespace, False)
    about["labels"] = about["labels"] | {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": about}


def _service_account(plan: Plan) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _about(plan, f"{plan.name}-webhook"),
        "automountServiceAccountToken": bool(plan.watched),
    }


def _roles(plan: Plan) -> list[dict[str, Any]]:
    name = f"{plan.name}-webhook"
    groups: dict[str, list[str]] = {}
    for group, resource in plan.watched:
        groups.setdefault(group, []).append(resource)
    rules = [
        {"apiGroups": [group], "resources": sorted(resources), "verbs": ["list", "watch"]} for group, resources in sorted(groups.items())
    ]
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": _about(plan, name, False), "rules": rules}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _about(plan, name, False),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": plan.namespace}],
    }
    return [kind, binding]


def _config_map(plan: Plan, settings: Settings) -> dict[str, Any]:
    """The configuration and the files that it names, which must stand beside it."""
    assert plan.config is not None
    names = [*settings.rule_files, *([settings.bundle] if settings.bundle.endswith((".yaml", ".yml")) else [])]
    for name in names:
        if "/" in name:
            raise UsageError(
                f"{plan.config}: {name} stands in another folder; a ConfigMap is one folder, so put it beside the configuration"
            )
    data = {".gpuvet.yaml": FilePath(plan.config).read_text("utf-8")}
    data |= {name: (settings.folder / name).read_text("utf-8") for name in names}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _about(plan, f"{plan.name}-config"), "data": data}


def _cert_manager(plan: Plan) -> list[dict[str, Any]]:
    """A CA that outlives the serving certificates: the API server trusts the old one while a new one is on its way to the Pods."""
    name = f"{plan.name}-webhook"
    key = {"algorithm": "ECDSA", "size": 256, "encoding": "PKCS8", "rotationPolicy": "Always"}
    authority = {
        "secretName": f"{name}-ca",
        "commonName": f"{name}-ca",
        "isCA": True,
        "duration": "87600h",
        "issuerRef": {"kind": "Issuer", "name": f"{name}-self-signed"},
        "privateKey": key,
    }
    serving = {
        "secretName": f"{name}-tls",
        "duration": "2160h",
        "renewBefore": "720h",
        "usages": ["digital signature", "server auth"],
        "dnsNames": [f"{name}.{plan.namespace}.svc", f"{name}.{plan.namespace}.svc.cluster.local"],
        "issuerRef": {"kind": "Issuer", "name": f"{name}-ca"},
        "privateKey": key,
    }
    return [
        {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": _about(plan, called), "spec": spec}
        for kind, called, spec in (
            ("Issuer", f"{name}-self-signed", {"selfSigned": {}}),
            ("Certificate", f"{name}-ca", authority),
            ("Issuer", f"{name}-ca", {"ca": {"secretName": f"{name}-ca"}}),
            ("Certificate", name, serving),
        )
    ]


def _service(plan: Plan) -> dict[str, Any]:
    ports = [{"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP"}]
    about = _about(plan, f"{plan.name}-webhook")
    return {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": {"selector": _labels(plan), "ports": ports}}


def _deployment(plan: Plan) -> dict[str, Any]:
    name = f"{plan.name}-webhook"
    arguments = ["webhook", "serve", f"--port={PORT}", f"--tls-cert={_TLS}/tls.crt", f"--tls-key={_TLS}/tls.key"]
    mounts = [{"name": "tls", "mountPath": _TLS, "readOnly": True}]
    volumes: list[dict[str, Any]] = [{"name": "tls", "secret": {"secretName": f"{name}-tls"}}]
    if plan.config is not None:
        arguments.append(f"--config={_CONFIG}/.gpuvet.yaml")
        mounts.append({"name": "config", "mountPath": _CONFIG, "readOnly": True})
        volumes.append({"name": "config", **_config_volume(plan)})
    if plan.watched:
        arguments.append("--cluster")

    def probe(path: str, seconds: int) -> dict[str, Any]:
        return {"httpGet": {"path": path, "port": "https", "scheme": "HTTPS"}, "periodSeconds": seconds, "timeoutSeconds": 2}

    container = {
        "name": "webhook",
        "image": plan.image,
        "args": arguments,
        "ports": [{"name": "https", "containerPort": PORT, "protocol": "TCP"}],
        "startupProbe": probe("/readyz", 1) | {"failureThreshold": 30},
        "readinessProbe": probe("/readyz", 5),
        "livenessProbe": probe("/healthz", 10) | {"failureThreshold": 6},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _labels(plan)},
    }
    pod = {
        "serviceAccountName": name,
        "automountServiceAccountToken": bool(plan.watched),
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 15,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        "containers": [container],
        "volumes": volumes,
    }
    spec = {
        "replicas": plan.replicas,
        "selector": {"matchLabels": _labels(plan)},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "template": {"metadata": {"labels": _labels(plan)}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _about(plan, name), "spec": spec}


def _config_volume(plan: Plan) -> dict[str, Any]:
    """The ConfigMap, and beside it what `opa:` keeps secret. Raises UsageError when that stands in another folder."""
    settings = _settings(plan)
    opa = settings.opa
    secret = [file for file in (opa.token_file, opa.ca, opa.cert, opa.key) if file is not None] if opa is not None else []
    if not secret:
        return {"configMap": {"name": f"{plan.name}-config"}}
    for file in secret:
        if file.parent != settings.folder:
            raise UsageError(f"{plan.config}: {file} stands in another folder; it is mounted beside the configuration, so name it there")
    items = [{"key": file.name, "path": file.name} for file in dict.fromkeys(secret)]
    sources = [{"configMap": {"name": f"{plan.name}-config"}}, {"secret": {"name": f"{plan.name}-opa", "items": items}}]
    return {"projected": {"sources": sources}}


def _disruption_budget(plan: Plan) -> dict[str, Any]:
    # And not minAvailable, with which a single replica could never be moved.
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": _labels(plan)}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _about(plan, f"{plan.name}-webhook"), "spec": spec}


def _network_policy(plan: Plan) -> dict[str, Any]:
    """In: the API server, which no selector names. Out: name service, with `--cluster` the API server, with `opa:` its port."""
    egress: list[dict[str, Any]] = []
    if plan.watched:
        egress = [
            {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
            {"ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}]},
        ]
    opa = _settings(plan).opa
    if opa is not None:
        parts = urlsplit(opa.url)
        egress.append({"ports": [{"protocol": "TCP", "port": parts.port or (443 if parts.scheme == "https" else 80)}]})
        if not plan.watched:
            egress.insert(0, {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]})
    spec = {
        "podSelector": {"matchLabels": _labels(plan)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [{"protocol": "TCP", "port": PORT}]}],
        "egress": egress,
    }
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": _about(plan, f"{plan.name}-webhook"), "spec": spec}
