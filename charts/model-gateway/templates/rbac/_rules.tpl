{{/* What the controller does with our kinds in a namespace that it serves. */}}
{{- define "model-gateway.controllerRules" -}}
- apiGroups: [modelgateway.dev]
  resources: [upstreamnodes, apikeys, masterkeys]
  verbs: [get, list, watch]
- apiGroups: [modelgateway.dev]
  resources: [upstreamnodes/status, apikeys/status, masterkeys/status]
  verbs: [patch]
{{- if .Values.rbac.ownerReferences }}
# For the admission plugin OwnerReferencesPermissionEnforcement: generated Secrets belong to their key.
- apiGroups: [modelgateway.dev]
  resources: [apikeys/finalizers, masterkeys/finalizers]
  verbs: [update]
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# The claim of the namespace. Creating cannot be limited by name.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "model-gateway.claim" . | quote }}]
  verbs: [get, update]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
{{- end -}}

{{/* The Lease by which one of several installations serves the objects of a class in a namespace. */}}
{{- define "model-gateway.claim" -}}
{{- with .Values.class -}}
{{- printf "model-gateway.%s" . -}}
{{- else -}}
model-gateway
{{- end -}}
{{- end -}}

{{/* Names and labels of namespaces, for selectors. */}}
{{- define "model-gateway.namespaceRules" -}}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end -}}

{{/* Credentials that nodes name, and the Secrets of generated keys. */}}
{{- define "model-gateway.controllerSecretRules" -}}
{{- /* `update` is for the controller of the version before, which runs until an upgrade has replaced it. */}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch, create, update, patch]
{{- end -}}

{{/* What the gateway does with our kinds: read them, and POST and DELETE /v1/keys. */}}
{{- define "model-gateway.gatewayRules" -}}
- apiGroups: [modelgateway.dev]
  resources: [upstreamnodes, apikeys, masterkeys]
  verbs: [get, list, watch]
- apiGroups: [modelgateway.dev]
  resources: [apikeys]
  verbs: [create, delete]
{{- end -}}

{{/* Credentials that nodes name; nothing where every credential is sealed. */}}
{{- define "model-gateway.gatewaySecretRules" -}}
{{- if not .Values.credentials.sealedOnly -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
{{- end -}}
{{- end -}}

{{/* A Role, or ClusterRole where no namespace is given, and its binding to the ServiceAccount of a role.
Takes {root, role, name, namespace, rules}. */}}
{{- define "model-gateway.grant" -}}
{{- $kind := ternary "Role" "ClusterRole" (ne .namespace "") -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ .name | quote }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  {{- include "model-gateway.metadata" (dict "root" .root "component" .role) | nindent 2 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ .name | quote }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  {{- include "model-gateway.metadata" (dict "root" .root "component" .role) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name | quote }}
subjects:
  - kind: ServiceAccount
    name: {{ include "model-gateway.serviceAccount" (dict "root" .root "role" .role) | quote }}
    namespace: {{ .root.Release.Namespace | quote }}
{{ end -}}

{{/* Beside it, in the release's namespace: the lease, and the sealing pair. Creating cannot be limited by name. */}}
{{- define "model-gateway.controllerHomeRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [model-gateway-controller]
  verbs: [get, update]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [model-gateway-sealing]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [model-gateway-sealing]
  verbs: [get, patch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
# Events of the installation itself: which namespaces another one serves.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# What the gateways report, and which of them run: proves that a key is revoked.
- apiGroups: [modelgateway.dev]
  resources: [gatewayreports]
  verbs: [get, list, watch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
{{- end -}}

{{/* Opens sealed credentials, and reports. */}}
{{- define "model-gateway.gatewayHomeRules" -}}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [model-gateway-sealing]
  verbs: [get, list, watch]
- apiGroups: [modelgateway.dev]
  resources: [gatewayreports]
  verbs: [create, get, update, patch]
{{- end -}}
