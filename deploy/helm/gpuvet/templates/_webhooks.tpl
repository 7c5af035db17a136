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
{{- $off := get (dict "default" "" "koordinator-metax" "TF QG PL VJ" "placement" "TF KM QG" "qgpu" "TF KM PL VJ" "strict" "" "tensor-fusion" "KM QG PL VJ") $bundle -}}
{{- $files := dict "default" "webhooks/default.yaml" "koordinator-metax" "webhooks/koordinator-metax.yaml" "placement" "webhooks/placement.yaml" "qgpu" "webhooks/qgpu.yaml" "strict" "webhooks/default.yaml" "tensor-fusion" "webhooks/tensor-fusion.yaml" -}}
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
service:
  namespace: {{ .Release.Namespace }}
  name: {{ .Release.Name }}-webhook
  path: /validate
  port: 443
{{- if not $.Values.certManager.enabled }}
caBundle: {{ required "caBundle: the CA of the serving certificate, or certManager.enabled" $.Values.caBundle | b64enc }}
{{- end }}
{{- end -}}

{{- define "gpuvet.selector" -}}
matchExpressions:
- key: kubernetes.io/metadata.name
  operator: NotIn
  values:
  - kube-system
  - {{ .Release.Namespace }}
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
{{- $found = .Files.Get (get (dict "default" "webhooks/default.yaml" "koordinator-metax" "webhooks/koordinator-metax.yaml" "placement" "webhooks/placement.yaml" "qgpu" "webhooks/qgpu.yaml" "strict" "webhooks/default.yaml" "tensor-fusion" "webhooks/tensor-fusion.yaml") $bundle) | fromYaml -}}
{{- $policy = $policy | default (get (dict "default" "Ignore" "koordinator-metax" "Ignore" "placement" "Ignore" "qgpu" "Ignore" "strict" "Fail" "tensor-fusion" "Ignore") $bundle) -}}
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
