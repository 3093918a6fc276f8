{{/*
A resource of ours that values declare. Takes {root, kind, name, spec}.

Helm looks up every kind of a release before it installs anything, so one whose definition comes with the same release
would make the first install fail. Where the cluster does not know our kinds yet, no such object can exist either: it is
then made by a hook, after the definitions, and bears the marks by which the next upgrade takes it over. No hook may delete
what is there (before-hook-creation, the default): a key would be revoked.
*/}}
{{- define "model-gateway.resource" -}}
{{- $annotations := dict -}}
{{- if not (.root.Capabilities.APIVersions.Has (printf "modelgateway.dev/v1alpha1/%s" .kind)) -}}
{{- $annotations = dict
  "helm.sh/hook" "post-install,post-upgrade"
  "helm.sh/hook-delete-policy" "hook-failed"
  "meta.helm.sh/release-name" .root.Release.Name
  "meta.helm.sh/release-namespace" .root.Release.Namespace -}}
{{- end -}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: {{ .kind }}
metadata:
  name: {{ .name | quote }}
  namespace: {{ .root.Release.Namespace | quote }}
  {{- include "model-gateway.metadata" (dict "root" .root "annotations" $annotations "labels" (include "model-gateway.classLabels" .root | fromJson)) | nindent 2 }}
spec:
  {{- toYaml .spec | nindent 2 }}
{{ end -}}
