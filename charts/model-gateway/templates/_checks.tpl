{{/* What the schema cannot say: values that contradict each other. Renders nothing. */}}
{{- define "model-gateway.checks" -}}
{{- $watch := .Values.watch -}}
{{- if and $watch.allNamespaces $watch.namespaces -}}
{{- fail "watch.namespaces and watch.allNamespaces exclude each other: leave one of them out" -}}
{{- end -}}
{{- if and $watch.namespaceSelector $watch.allNamespaces -}}
{{- fail "watch.namespaceSelector and watch.allNamespaces exclude each other: leave one of them out" -}}
{{- end -}}
{{- if and $watch.secretNamespaces (not (include "model-gateway.isClusterWide" .)) -}}
{{- fail "watch.secretNamespaces is for watch.allNamespaces and watch.namespaceSelector only: otherwise Secrets are granted in the namespaces that are served" -}}
{{- end -}}
{{- if and (or .Values.nodes .Values.apiKeys .Values.masterKeys) (not $watch.allNamespaces) -}}
{{- if not (has .Release.Namespace (include "model-gateway.namespaces" . | fromJsonArray)) -}}
{{- fail (printf "nodes, apiKeys and masterKeys are made in the release's namespace: add %q to watch.namespaces" .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- range $role := list "controller" "gateway" -}}
{{- $account := (index $.Values $role).serviceAccount -}}
{{- if and (not $account.create) (not $account.name) -}}
{{- fail (printf "%s.serviceAccount.create is false: give the name of an account in %s.serviceAccount.name" $role $role) -}}
{{- end -}}
{{- end -}}
{{- if eq (include "model-gateway.serviceAccount" (dict "root" . "role" "controller")) (include "model-gateway.serviceAccount" (dict "root" . "role" "gateway")) -}}
{{- fail "controller and gateway need an account each: give two different names" -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled .Values.tls.secretName -}}
{{- fail "tls.secretName and tls.certManager.enabled exclude each other: cert-manager names its Secret itself" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs: the Gateways that it joins" -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled needs tls.certManager.issuerRef.name" -}}
{{- end -}}
{{- end -}}
