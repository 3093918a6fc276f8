{{/* The name of everything of this release, and the beginning of longer names. */}}
{{- define "model-gateway.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The same for what has no namespace: two releases of one name may live in two namespaces. */}}
{{- define "model-gateway.clusterName" -}}
{{- printf "%s.%s" (include "model-gateway.name" .) .Release.Namespace -}}
{{- end -}}

{{/* Labels that selectors use: they can never change. Takes {root, component}. */}}
{{- define "model-gateway.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component | quote }}
{{- end -}}

{{/* Labels of every object. Takes {root, component}; without a component for what both roles share. */}}
{{- define "model-gateway.labels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . | quote }}
{{- end }}
app.kubernetes.io/part-of: model-gateway
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of an object, below `metadata:`. Takes {root, component, labels, annotations}. */}}
{{- define "model-gateway.metadata" -}}
labels:
  {{- include "model-gateway.labels" . | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Name of the ServiceAccount of a role. Takes {root, role}. */}}
{{- define "model-gateway.serviceAccount" -}}
{{- $own := printf "%s-%s" (include "model-gateway.name" .root) .role -}}
{{- (index .root.Values .role).serviceAccount.name | default $own -}}
{{- end -}}

{{/* The labels by which this release serves an object, as JSON. */}}
{{- define "model-gateway.classLabels" -}}
{{- $labels := dict -}}
{{- with .Values.class -}}
{{- $labels = dict "modelgateway.dev/class" . -}}
{{- end -}}
{{- $labels | toJson -}}
{{- end -}}

{{- define "model-gateway.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{- printf "%s:%s@%s" .Values.image.repository $tag .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end -}}

{{/* The namespaces that are served, as JSON; only where not all are. */}}
{{- define "model-gateway.namespaces" -}}
{{- .Values.watch.namespaces | default (list .Release.Namespace) | uniq | sortAlpha | toJson -}}
{{- end -}}

{{/* Whether the namespaces that are served are not all known here: `true`, or nothing. */}}
{{- define "model-gateway.isClusterWide" -}}
{{- if or .Values.watch.allNamespaces .Values.watch.namespaceSelector -}}true{{- end -}}
{{- end -}}

{{/* Whether the traffic port speaks TLS: the Secret's name, or nothing. */}}
{{- define "model-gateway.tlsSecret" -}}
{{- if .Values.tls.secretName -}}
{{- .Values.tls.secretName -}}
{{- else if .Values.tls.certManager.enabled -}}
{{- printf "%s-tls" (include "model-gateway.name" .) -}}
{{- end -}}
{{- end -}}

{{- define "model-gateway.servicePort" -}}
{{- .Values.gateway.service.port | default (ternary 443 80 (ne (include "model-gateway.tlsSecret" .) "")) -}}
{{- end -}}

{{/* What callers use as base URL, as it is written into key Secrets. */}}
{{- define "model-gateway.url" -}}
{{- if .Values.gatewayURL -}}
{{- .Values.gatewayURL -}}
{{- else -}}
{{- $tls := ne (include "model-gateway.tlsSecret" .) "" -}}
{{- $port := include "model-gateway.servicePort" . -}}
{{- $shown := ternary "" (printf ":%s" $port) (eq $port (ternary "443" "80" $tls)) -}}
{{- printf "%s://%s.%s.svc%s/v1" (ternary "https" "http" $tls) (include "model-gateway.name" .) .Release.Namespace $shown -}}
{{- end -}}
{{- end -}}
