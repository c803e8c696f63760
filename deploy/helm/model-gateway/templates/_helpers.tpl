{{- define "model-gateway.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "model-gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "model-gateway.labels" -}}
{{ include "model-gateway.selector" . }}
app.kubernetes.io/version: {{ include "model-gateway.tag" . | quote }}
{{- end -}}

{{- define "model-gateway.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* Not with SQLite on a volume, which the job and the pod of another node could not both mount. */}}
{{- define "model-gateway.hasMigrationJob" -}}
{{- if and (eq .Values.migrations "job") (not .Values.persistence.enabled) -}}
true
{{- end -}}
{{- end -}}

{{/* The settings file. Empty values are left out, so that the gateway uses its defaults. */}}
{{- define "model-gateway.settings" -}}
{{- $settings := dict -}}
{{- range $name, $value := .Values.settings -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) -}}
{{- $_ := set $settings $name $value -}}
{{- end -}}
{{- end -}}
{{ $settings | toPrettyJson }}
{{- end -}}

{{/* What the pods of the service and of the migration have in common. */}}
{{- define "model-gateway.pod" -}}
serviceAccountName: {{ include "model-gateway.name" . }}
# It does not call the API of Kubernetes.
automountServiceAccountToken: false
# Variables for a Service of this name would be unknown settings.
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: settings
    configMap:
      name: {{ include "model-gateway.name" . }}
  - name: secrets
    secret:
      secretName: {{ .Values.secretName }}
      defaultMode: 0440
  - name: data
{{- end -}}

{{- define "model-gateway.container" -}}
image: "{{ .Values.image.repository }}:{{ include "model-gateway.tag" . }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  - name: MODEL_GATEWAY_CONFIG
    value: /etc/model-gateway/settings.json
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - name: settings
    mountPath: /etc/model-gateway
    readOnly: true
  - name: secrets
    mountPath: /run/secrets/model-gateway
    readOnly: true
  - name: data
    mountPath: /data
{{- end -}}
