"""The Helm chart, made from what `gpuvet webhook manifests` prints: templates, and the webhook's entries for each shipped bundle."""

import json
import re
from base64 import b64encode
from typing import Any

from gpuvet.admission.install import Plan, manifests, webhook_configuration
from gpuvet.compiled.bundles import BUNDLES
from gpuvet.manifests.written import to_yaml

_NAME, _NAMESPACE, _IMAGE, _REPLICAS = "sentinel-name", "sentinel-namespace", "sentinel-image", 987654
_CA = b"sentinel-ca"
_CONFIGURATION = "ValidatingWebhookConfiguration"


def file_of(document: dict[str, Any]) -> str:
    """Its name: `cluster-role.yaml`, and `issuer-ca.yaml` where there are several of a kind."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", document["kind"]).lower()
    which = document["metadata"]["name"].partition("-webhook-")[2] if document["kind"] in ("Issuer", "Certificate") else ""
    return f"{kind}-{which}.yaml" if which else f"{kind}.yaml"


def render_chart(version: str, watched: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """File name in the chart -> text."""
    plan = Plan(namespace=_NAMESPACE, name=_NAME, image=_IMAGE, replicas=_REPLICAS, failure_policy="Fail", watched=watched)
    chart = {
        "apiVersion": "v2",
        "name": "gpuvet",
        "description": "The validating admission webhook of gpuvet: manifests that ask for shared or virtual GPUs.",
        "type": "application",
        "version": version,
        "appVersion": version,
        "kubeVersion": ">=1.31.0-0",
    }
    entries = _entries(plan)
    files = {entries[bundle]: to_yaml([{"webhooks": _bare(plan, bundle)}]) for bundle in reversed(BUNDLES)}
    return {
        "Chart.yaml": to_yaml([chart]),
        "values.yaml": _VALUES.replace("BUNDLES", ", ".join(BUNDLES)),
        "values.schema.json": _schema(),
        ".helmignore": "*.orig\n",
        **files,
        "templates/_webhooks.tpl": _webhooks(plan, entries),
        "templates/NOTES.txt": _NOTES,
        **{f"templates/{name}": text for name, text in _templates(plan)},
    }


def _bare(plan: Plan, bundle: str) -> list[dict[str, Any]]:
    """The entries for a bundle, without what depends on the installation."""
    entries = webhook_configuration(plan._replace(bundle=bundle))["webhooks"]
    return [{key: value for key, value in entry.items() if key not in ("clientConfig", "namespaceSelector")} for entry in entries]


def _entries(plan: Plan) -> dict[str, str]:
    """Bundle -> file of its entries. Bundles that differ in severities only share one."""
    files: dict[str, str] = {}
    seen: dict[str, str] = {}
    for bundle in BUNDLES:
        text = to_yaml(_bare(plan, bundle))
        files[bundle] = seen.setdefault(text, f"webhooks/{bundle}.yaml")
    return files


def _templates(plan: Plan) -> list[tuple[str, str]]:
    found = {"config-map.yaml": _CONFIG_MAP}
    for document in manifests(plan):
        name = file_of(document)
        if document["kind"] in ("Issuer", "Certificate"):
            found[name] = "{{- if .Values.certManager.enabled }}\n" + _templated(to_yaml([document])) + "{{- end }}\n"
        elif document["kind"] == "Deployment":
            _leave_places(document)
            found[name] = _templated(to_yaml([document]))
        elif document["kind"] in ("ClusterRole", "ClusterRoleBinding"):
            found[name] = "{{- if .Values.cluster }}\n" + _templated(to_yaml([document])) + "{{- end }}\n"
        elif document["kind"] == _CONFIGURATION:
            about = document["metadata"] | {"annotations": "sentinel-annotations"}
            found[name] = _templated(to_yaml([document | {"metadata": about, "webhooks": "sentinel-webhooks"}]))
        elif document["kind"] == "NetworkPolicy":
            document["spec"]["egress"].append("sentinel-opa-egress")
            found[name] = _templated(to_yaml([document]))
        elif document["kind"] != "Namespace":
            found[name] = _templated(to_yaml([document]))
    return sorted(found.items())


def _leave_places(document: dict[str, Any]) -> None:
    """For what only the values can say."""
    pod = document["spec"]["template"]["spec"]
    pod["containers"][0]["args"].append("sentinel-config-argument")
    pod["containers"][0]["volumeMounts"].append("sentinel-config-mount")
    pod["volumes"].append("sentinel-config-volume")


def _webhooks(plan: Plan, entries: dict[str, str]) -> str:
    """Definitions that the templates include."""
    entry = webhook_configuration(plan._replace(ca=_CA))["webhooks"][0]
    off = {
        bundle: " ".join(rule.removesuffix("*") for rule, what in (BUNDLES[bundle].get("severities") or {}).items() if rule.endswith("*"))
        for bundle in BUNDLES
    }
    policies = {bundle: webhook_policy(bundle) for bundle in BUNDLES}
    text = _DEFINITIONS
    for place, value in (
        ("FILES", _dict(entries)),
        ("POLICIES", _dict(policies)),
        ("OFF", _dict(off)),
        ("CLIENT\n", _templated(to_yaml([entry["clientConfig"]]))),
        ("SELECTOR\n", _templated(to_yaml([entry["namespaceSelector"]]))),
    ):
        text = text.replace(place, value)
    return text


def webhook_policy(bundle: str) -> str:
    """What is asked for where the values do not say."""
    policies = {entry["failurePolicy"] for entry in webhook_configuration(Plan(bundle=bundle))["webhooks"]}
    return "Fail" if "Fail" in policies else "Ignore"


def _dict(values: dict[str, str]) -> str:
    """As Helm's templates write it."""
    return "dict " + " ".join(f"{json.dumps(key)} {json.dumps(value)}" for key, value in values.items())


def _templated(text: str) -> str:
    """Sentinels as Helm's expressions."""
    text = text.replace("{{", '{{ "{{" }}')
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip() == f"caBundle: {b64encode(_CA).decode()}":
            ca = '{{ required "caBundle: the CA of the serving certificate, or certManager.enabled" $.Values.caBundle | b64enc }}'
            line = f"{indent}{{{{- if not $.Values.certManager.enabled }}}}\n{indent}caBundle: {ca}\n{indent}{{{{- end }}}}"
        elif line.strip() == "- --cluster":
            line = f"{indent}{{{{- if .Values.cluster }}}}\n{line}\n{indent}{{{{- end }}}}"
        elif (place := line.strip().rpartition(" ")[2]) in _PLACES:
            line = indent + _PLACES[place].replace("\n", f"\n{indent}")
        lines.append(line)
    text = "\n".join(lines) + "\n"
    for old, new in (
        ("automountServiceAccountToken: true", "automountServiceAccountToken: {{ .Values.cluster }}"),
        (f"replicas: {_REPLICAS}", "replicas: {{ .Values.replicas }}"),
        (f"image: {_IMAGE}", 'image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"'),
        (_NAMESPACE, "{{ .Release.Namespace }}"),
        (_NAME, "{{ .Release.Name }}"),
    ):
        text = text.replace(old, new)
    return text


_PLACES = {
    "sentinel-config-argument": '{{- if include "gpuvet.config" . }}\n- --config=/etc/gpuvet/config/.gpuvet.yaml\n{{- end }}',
    "sentinel-config-mount": (
        '{{- if include "gpuvet.config" . }}\n- name: config\n  mountPath: /etc/gpuvet/config\n  readOnly: true\n{{- end }}'
    ),
    "sentinel-config-volume": (
        '{{- if include "gpuvet.config" . }}\n- name: config\n{{- with include "gpuvet.secrets" . }}\n  projected:\n    sources:\n'
        "    - configMap:\n        name: {{ $.Release.Name }}-config\n"
        "    - secret:\n        name: {{ $.Release.Name }}-opa\n        items:\n"
        '        {{- range splitList " " . }}\n        - key: {{ . }}\n          path: {{ . }}\n        {{- end }}\n{{- else }}\n'
        "  configMap:\n    name: {{ .Release.Name }}-config\n{{- end }}\n{{- end }}"
    ),
    "sentinel-opa-egress": '{{- with include "gpuvet.port" . }}\n- ports:\n  - protocol: TCP\n    port: {{ . }}\n{{- end }}',
    "sentinel-annotations": (
        "{{- if .Values.certManager.enabled }}\nannotations:\n"
        "  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ .Release.Name }}-webhook\n{{- end }}"
    ),
    "sentinel-webhooks": '{{ include "gpuvet.webhooks" . }}',
}

_DEFINITIONS = """\
{{/* The bundle in force: the configuration's, else the value, else default. */}}
{{- define "gpuvet.bundle" -}}
{{- $config := fromYaml .Values.config -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "config: no YAML: %s" $config.Error) -}}
{{- end -}}
{{- $named := $config.bundle | default "" -}}
{{- if and .Values.config .Values.bundle (ne .Values.bundle $named) -}}
{{- fail (printf "bundle: with config the bundle is named there: write `bundle: %s` into it, and leave the value out" .Values.bundle) -}}
{{- end -}}
{{- $named | default .Values.bundle | default "default" -}}
{{- end -}}

{{/* The text of the .gpuvet.yaml that the webhook reads; empty without one. */}}
{{- define "gpuvet.config" -}}
{{- if .Values.config -}}
{{- .Values.config -}}
{{- else if and .Values.bundle (ne .Values.bundle "default") -}}
bundle: {{ .Values.bundle }}
{{- end -}}
{{- end -}}

{{/* Files of the secret RELEASE-opa that the configuration names for OPA, in one line; empty without any. */}}
{{- define "gpuvet.secrets" -}}
{{- $opa := (fromYaml .Values.config).opa | default dict -}}
{{- $found := list -}}
{{- range $key := list "tokenFile" "ca" "cert" "key" -}}
{{- with get $opa $key -}}
{{- if contains "/" . -}}
{{- fail (printf "config: opa.%s: %s is mounted beside the configuration, so name it without a folder" $key .) -}}
{{- end -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- $found | uniq | join " " -}}
{{- end -}}

{{/* The port of the OPA that the configuration names; empty without one. */}}
{{- define "gpuvet.port" -}}
{{- with (fromYaml .Values.config).opa -}}
{{- $url := urlParse .url -}}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end -}}
{{- end -}}

{{/* Why the match conditions of the shipped bundles do not do; empty when they do. */}}
{{- define "gpuvet.unfit" -}}
{{- $config := fromYaml .Values.config -}}
{{- $bundle := include "gpuvet.bundle" . -}}
{{- $off := get (OFF) $bundle -}}
{{- $files := FILES -}}
{{- if not (hasKey $files $bundle) -}}
bundle: {{ $bundle }} is none of {{ keys $files | sortAlpha | join ", " }}
{{- else if .Values.ruleFiles -}}
ruleFiles: rules of your own may look for other keys
{{- else -}}
{{- range $key := list "ruleFiles" "workloads" "domains" "usageKey" "opa" -}}
{{- if get $config $key -}}
config: `{{ $key }}` may concern other keys and kinds than the bundle {{ $bundle }};{{ " " }}
{{- end -}}
{{- end -}}
{{- range $rule, $what := $config.rules -}}
{{- if kindIs "map" $what -}}
{{- $what = ternary $what.severity "off" (hasKey $what "severity") -}}
{{- end -}}
{{- if not (has (toString $what) (list "off" "false")) -}}
{{- range $family := splitList " " $off -}}
{{- if and $family (or (eq $rule "*") (hasPrefix $family $rule)) -}}
config: the bundle {{ $bundle }} is made without {{ $family }} rules, and `rules` turns {{ $rule }} on;{{ " " }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpuvet.client" -}}
CLIENT
{{- end -}}

{{- define "gpuvet.selector" -}}
SELECTOR
{{- end -}}

{{/* The entries of the ValidatingWebhookConfiguration. */}}
{{- define "gpuvet.webhooks" -}}
{{- $bundle := include "gpuvet.bundle" . -}}
{{- $found := dict -}}
{{- $policy := .Values.failurePolicy -}}
{{- if .Values.configuration -}}
{{- $found = fromYaml .Values.configuration -}}
{{- if ne (toString $found.kind) "ValidatingWebhookConfiguration" -}}
{{- fail "configuration: is not what `gpuvet webhook manifests --only configuration` prints" -}}
{{- end -}}
{{- if $policy -}}
{{- fail "failurePolicy: with configuration it is printed there: `gpuvet webhook manifests --failure-policy`" -}}
{{- end -}}
{{- else -}}
{{- with include "gpuvet.unfit" . | trimSuffix "; " -}}
{{- $way := "print it with `gpuvet webhook manifests --config FILE --only configuration > configuration.yaml`" -}}
{{- fail (printf "%s. No configuration is shipped for that: %s and add `--set-file configuration=configuration.yaml`" . $way) -}}
{{- end -}}
{{- $found = .Files.Get (get (FILES) $bundle) | fromYaml -}}
{{- $policy = $policy | default (get (POLICIES) $bundle) -}}
{{- end -}}
webhooks:
{{- range $entry := $found.webhooks }}
{{- /* Only what fails closed needs an open entry beside it. */}}
{{- if not (and (eq $policy "Ignore") (contains "-of-controllers." $entry.name)) }}
{{- $tests := list }}
{{- range $test := $entry.matchConditions }}
{{- if not (and (eq $policy "Ignore") (eq $test.name "is-not-made-by-a-controller")) }}
{{- $tests = append $tests $test }}
{{- end }}
{{- end }}
{{- $_ := set $entry "matchConditions" $tests }}
{{- $_ := set $entry "clientConfig" (include "gpuvet.client" $ | fromYaml) }}
{{- $_ := set $entry "namespaceSelector" (include "gpuvet.selector" $ | fromYaml) }}
{{- if and $policy (eq $entry.failurePolicy "Fail") }}
{{- $_ := set $entry "failurePolicy" $policy }}
{{- end }}
- {{ toYaml $entry | indent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}
"""

_CONFIG_MAP = """\
{{- with include "gpuvet.config" . }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-config
  namespace: {{ $.Release.Namespace }}
  labels:
    app.kubernetes.io/name: gpuvet
    app.kubernetes.io/instance: {{ $.Release.Name }}
    app.kubernetes.io/component: webhook
data:
  .gpuvet.yaml: |
{{ . | indent 4 }}
  {{- range $name, $text := $.Values.ruleFiles }}
  {{ $name }}: |
{{ $text | indent 4 }}
  {{- end }}
{{- end }}
"""

_NOTES = """\
The webhook answers for the bundle {{ include "gpuvet.bundle" . }}. Look at the installation with

  gpuvet webhook doctor --namespace {{ .Release.Namespace }} --name {{ .Release.Name }}
"""

_VALUES = """\
image:
  repository: gpuvet
  # The chart's own version by default.
  tag: ""
replicas: 2
# What to enforce: BUNDLES. Empty: default, or what `config` names.
bundle: ""
# Ignore: while the webhook is down, everything is let in. Fail: objects that carry our keys are refused.
# Empty: Fail for the bundle strict, else Ignore.
failurePolicy: ""
# Let the webhook read profiles, nodes and devices of the cluster.
cluster: true
certManager:
  enabled: true
# PEM; without cert-manager. The secret RELEASE-webhook-tls must then exist, with tls.crt and tls.key.
caBundle: ""
# The text of a .gpuvet.yaml.
config: ""
# File name -> text of the files that the configuration names: rule files, a bundle.
ruleFiles: {}
# What `gpuvet webhook manifests --config FILE --only configuration` prints (`--set-file`), for a configuration that looks for other keys or
# kinds than the shipped bundles. The chart says when it is needed.
configuration: ""
"""


def _schema() -> str:
    """Of the values: a misspelt one is refused and not ignored."""

    def fields(**properties: Any) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": False, "properties": properties}

    text, flag = {"type": "string"}, {"type": "boolean"}
    schema = fields(
        image=fields(repository=text, tag=text),
        replicas={"type": "integer", "minimum": 0},
        bundle={"type": "string", "enum": ["", *BUNDLES]},
        failurePolicy={"type": "string", "enum": ["", "Ignore", "Fail"]},
        cluster=flag,
        certManager=fields(enabled=flag),
        caBundle=text,
        config=text,
        ruleFiles={"type": "object", "additionalProperties": text},
        configuration=text,
    )
    schema["properties"]["global"] = {"type": "object"}
    return (
        json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart gpuvet", **schema}, indent=2) + "\n"
    )
