{{- define "perf-event-exporter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "perf-event-exporter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "perf-event-exporter.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- /* The job of Prometheus is the first label, and the shipped alerts select it. */}}
{{- define "perf-event-exporter.selectorLabels" -}}
app.kubernetes.io/name: perf-event-exporter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "perf-event-exporter.labels" -}}
{{ include "perf-event-exporter.selectorLabels" . }}
app.kubernetes.io/component: exporter
app.kubernetes.io/part-of: perf-event-exporter
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "perf-event-exporter.image" -}}
{{- .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}
{{- else }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- /* A file of the chart. In the repository they are links, which some tools leave out. */}}
{{- define "perf-event-exporter.file" -}}
{{- $path := index . 1 }}
{{- required (printf "%s is missing or empty: package the chart with helm package first, where links are kept" $path) ((index . 0).Files.Get $path) }}
{{- end }}

{{- /* The text of perf_event_exporter.yaml: `config`, or the file of the preset. */}}
{{- define "perf-event-exporter.config" -}}
{{- $names := dict "kubernetes" (dict "metadata" "log_links") }}
{{- if .Values.config }}
{{- toYaml (ternary (merge (deepCopy .Values.config) $names) .Values.config .Values.podNames) }}
{{- else }}
{{- include "perf-event-exporter.file" (list . (printf "files/%s.yaml" .Values.preset)) | trim }}
{{- if .Values.podNames }}

{{ toYaml $names }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What a probe does; call with (list $ PATH). */}}
{{- define "perf-event-exporter.probe" -}}
{{- $root := index . 0 }}
{{- $web := $root.Values.webConfig }}
{{- if and $web.existingSecret $web.clientCertificates }}
httpGet:
  path: {{ index . 1 }}
  port: health
{{- else }}
httpGet:
  path: {{ index . 1 }}
  port: metrics
  {{- if and $web.existingSecret $web.tls }}
  scheme: HTTPS
  {{- end }}
{{- end }}
{{- end }}

{{- /* recursiveReadOnly of the mount of the node's /sys; empty if it has none. */}}
{{- define "perf-event-exporter.recursiveReadOnly" -}}
{{- if has .Values.recursiveReadOnly (list "IfPossible" "Enabled") }}
{{- .Values.recursiveReadOnly }}
{{- else if and (eq .Values.recursiveReadOnly "auto") (semverCompare ">=1.31.0-0" .Capabilities.KubeVersion.Version) -}}
IfPossible
{{- end }}
{{- end }}
