{{/*
The pod template of a role. Takes {root, role, args, ports, env, volumes, mounts, graceSeconds}.
*/}}
{{- define "model-gateway.pod" -}}
{{- $values := index .root.Values .role -}}
{{- $selector := include "model-gateway.selector" (dict "root" .root "component" .role) -}}
metadata:
  labels:
    {{- include "model-gateway.labels" (dict "root" .root "component" .role) | nindent 4 }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ .role }}
    {{- with merge (dict) $values.podAnnotations .root.Values.commonAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "model-gateway.serviceAccount" (dict "root" .root "role" .role) | quote }}
  automountServiceAccountToken: true
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with $values.runtimeClassName }}
  runtimeClassName: {{ . | quote }}
  {{- end }}
  {{- with $values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .graceSeconds }}
  enableServiceLinks: false
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  containers:
    - name: {{ .role | quote }}
      image: {{ include "model-gateway.image" .root | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args:
        - {{ .role | quote }}
        {{- range .args }}
        - {{ . | quote }}
        {{- end }}
        {{- with $values.apiConcurrency }}
        - {{ printf "--api-concurrency=%d" (int .) | quote }}
        {{- end }}
        {{- if .root.Values.debug.enabled }}
        - "--admin-debug"
        {{- end }}
        {{- range $values.extraArgs }}
        - {{ . | quote }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: POD_UID
          valueFrom:
            fieldRef:
              fieldPath: metadata.uid
        # The heap follows the memory limit of the container; the rest of it is for buffers. Young objects take 48 MB besides,
        # three times what is said here: by itself Node.js gives them 192, and stops for as much longer to collect them. One
        # thread marks the heap beside the one that serves: the four that Node.js starts leave that one a fifth of a core.
        - name: NODE_OPTIONS
          value: {{ printf "--max-old-space-size-percentage=%v --max-semi-space-size=16 --v8-pool-size=1" $values.heapPercentage | quote }}
        {{- with include "model-gateway.telemetry" .root }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with $values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        {{- range .ports }}
        - name: {{ .name | quote }}
          containerPort: {{ .port }}
          protocol: TCP
        {{- end }}
        - name: admin
          containerPort: 9090
          protocol: TCP
      {{- with $values.startupProbe }}
      startupProbe:
        httpGet:
          path: /livez
          port: admin
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.livenessProbe }}
      livenessProbe:
        httpGet:
          path: /livez
          port: admin
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.readinessProbe }}
      readinessProbe:
        httpGet:
          path: /readyz
          port: admin
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.lifecycle }}
      lifecycle:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml $values.securityContext | nindent 8 }}
      {{- if or .mounts $values.extraVolumeMounts }}
      volumeMounts:
        {{- with .mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
  {{- if or .volumes $values.extraVolumes }}
  volumes:
    {{- with .volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml $values.topologySpreadConstraints | nindent 4 }}
  {{- else if $values.topologySpread }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      matchLabelKeys: [pod-template-hash]
      labelSelector:
        matchLabels:
          {{- $selector | nindent 10 }}
    {{- end }}
  {{- end }}
{{- end -}}

{{/* Where a role may read Secrets, as flags. Takes {root, role}. None where the chart does not know: the role then tries. */}}
{{- define "model-gateway.secretFlags" -}}
{{- $flags := list -}}
{{- $watch := .root.Values.watch -}}
{{- if and (eq .role "gateway") .root.Values.credentials.sealedOnly -}}
{{- $flags = list "--secret-namespace=-" -}}
{{- else if and (include "model-gateway.isClusterWide" .root) (not (has "*" $watch.secretNamespaces)) (or $watch.secretNamespaces .root.Values.rbac.create) -}}
{{- range $watch.secretNamespaces | default (include "model-gateway.namespaces" .root | fromJsonArray) | uniq | sortAlpha -}}
{{- $flags = append $flags (printf "--secret-namespace=%s" .) -}}
{{- end -}}
{{- end -}}
{{- $flags | toJson -}}
{{- end -}}

{{/* The flags that both roles take. */}}
{{- define "model-gateway.flags" -}}
{{- $flags := list (printf "--log-level=%s" .Values.log.level) (printf "--log-format=%s" .Values.log.format) -}}
{{- if .Values.watch.allNamespaces -}}
{{- $flags = append $flags "--all-namespaces" -}}
{{- else -}}
{{- range include "model-gateway.namespaces" . | fromJsonArray -}}
{{- $flags = append $flags (printf "--namespace=%s" .) -}}
{{- end -}}
{{- end -}}
{{- with .Values.watch.namespaceSelector -}}
{{- $flags = append $flags (printf "--namespace-selector=%s" .) -}}
{{- end -}}
{{- with .Values.class -}}
{{- $flags = append $flags (printf "--class=%s" .) -}}
{{- end -}}
{{- $flags | toJson -}}
{{- end -}}

{{/* The variables by which both roles export telemetry. */}}
{{- define "model-gateway.telemetry" -}}
{{- with .Values.telemetry -}}
{{- if .otlpEndpoint -}}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .otlpEndpoint | quote }}
{{- if not .traces }}
- name: OTEL_TRACES_EXPORTER
  value: none
{{- end }}
{{- if not .metrics }}
- name: OTEL_METRICS_EXPORTER
  value: none
{{- end }}
{{- if not (kindIs "invalid" .sampleRatio) }}
- name: OTEL_TRACES_SAMPLER
  value: parentbased_traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .sampleRatio | quote }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}
