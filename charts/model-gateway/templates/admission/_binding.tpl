{{/* The binding that puts a ValidatingAdmissionPolicy into force. Takes {root, name}. */}}
{{- define "model-gateway.policyBinding" -}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name | quote }}
  {{- include "model-gateway.metadata" (dict "root" .root) | nindent 2 }}
spec:
  policyName: {{ .name | quote }}
  validationActions: [Deny]
{{- end -}}
