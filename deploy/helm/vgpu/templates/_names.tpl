{{- /* Names and parts that several templates share. */ -}}

{{- define "vgpu.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "vgpu.nodeNamespace" -}}
{{ .Values.node.namespace | default (ternary "kube-system" .Release.Namespace .Values.seedLabels) }}
{{- end }}

{{- /* The labels that select the pods of a part. */ -}}
{{- define "vgpu.selector.webhook" -}}
app.kubernetes.io/name: {{ ternary "das-operator-webhook" "vgpu-webhook" .Values.seedLabels }}
{{- end }}

{{- define "vgpu.selector.scheduler" -}}
app.kubernetes.io/name: vgpu-scheduler
{{- end }}

{{- define "vgpu.selector.node" -}}
app.kubernetes.io/name: {{ ternary "das-operator-daemonset" "vgpu-node" .Values.seedLabels }}
{{- end }}

{{- define "vgpu.labels" -}}
app.kubernetes.io/part-of: vgpu
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- /* A container without privileges. */ -}}
{{- define "vgpu.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* Root, for files of the node, without root's other privileges. */ -}}
{{- define "vgpu.rootConfined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsUser: 0
runAsGroup: 0
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "vgpu.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The architectures of the image: a nodeSelector can name only one. */ -}}
{{- define "vgpu.affinity" -}}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: kubernetes.io/arch, operator: In, values: {{ .Values.image.architectures | toJson }}}
{{- end }}

{{- /* Prefers different nodes for two replicas. */ -}}
{{- define "vgpu.apart" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- . | nindent 6 }}
{{- end }}

{{- /* Rules of those who ask the API server who may read their metrics. */ -}}
{{- define "vgpu.authorizerRules" -}}
{{- if eq .Values.metricsAuth "kubernetes" -}}
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
{{- end }}
{{- end }}

{{- /* How kubelet asks at the port of metrics. */ -}}
{{- define "vgpu.metricsScheme" -}}
{{ ternary "HTTPS" "HTTP" (eq .Values.metricsAuth "kubernetes") }}
{{- end }}

{{- /* How Prometheus asks there: the Service's name, and whether its certificate is of vgpu-scheduler's CA. */ -}}
{{- define "vgpu.scrape" -}}
{{- if eq (index . 0).Values.metricsAuth "kubernetes" -}}
scheme: https
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
tlsConfig:
{{- if index . 2 }}
  ca: {secret: {name: vgpu-allocations-client, key: ca.crt}}
  serverName: {{ index . 1 }}.{{ (index . 0).Release.Namespace }}.svc
{{- else }}
  insecureSkipVerify: true      # vgpu-node's own certificate: the Secret of the CA is in another namespace
{{- end }}
{{- end }}
{{- end }}

{{- define "vgpu.trustedUsers" -}}
{{- $own := list (printf "system:serviceaccount:%s:vgpu-scheduler" .Release.Namespace) (printf "system:serviceaccount:%s:vgpu-node" (include "vgpu.nodeNamespace" .)) -}}
{{- concat $own .Values.webhook.trustedUsers | toJson -}}
{{- end }}

{{- /* CEL: a container of this pod spec requests a share of a GPU. */ -}}
{{- define "vgpu.cel.requestsGpu" -}}
{{- $spec := index . 0 -}}
{{- $values := index . 1 -}}
{{- $gpu := ternary "|gpu$" "" $values.nvidiaGpu -}}
{{- $names := printf "^(%s/(vgpu|gpumem|gpucores|priority|mig-%s)|volcano[.]sh/vgpu-|gpu[.]das[.]com/|mig[.]das[.]com/)" ($values.domain | replace "." "[.]") $gpu -}}
({{ $spec }}.containers + (has({{ $spec }}.initContainers) ? {{ $spec }}.initContainers : [])).exists(c,
  has(c.resources) && (
    (has(c.resources.limits) && c.resources.limits.exists(k, k.matches('{{ $names }}'))) ||
    (has(c.resources.requests) && c.resources.requests.exists(k, k.matches('{{ $names }}')))))
{{- end }}

{{- /* CEL: the name of a reserved annotation. */ -}}
{{- define "vgpu.cel.decides" -}}
(k.startsWith('vgpu.io/') || k.startsWith('volcano.sh/'))
{{- end }}

{{- /* Common to all webhooks: the Service to call, and no admission without an answer. */ -}}
{{- define "vgpu.hook" -}}
{{- $root := index . 0 -}}
admissionReviewVersions: [v1]
sideEffects: None
failurePolicy: Fail
matchPolicy: Equivalent
timeoutSeconds: {{ $root.Values.webhook.timeoutSeconds }}
clientConfig:
  service: {name: vgpu-webhook, namespace: {{ $root.Release.Namespace }}, port: 443, path: {{ index . 1 }}}
{{- end }}

{{- /* vgpu-node's own pods have the class that hands out every GPU: only the DaemonSet controller may create them. */ -}}
{{- define "vgpu.cel.notOurs" -}}
{{- if and (not .Values.simulated.enabled) (has .Values.node.driverRuntimeClass .Values.webhook.foreignRuntimes) -}}
- name: not-vgpu-node
  expression: >-
    !(request.namespace == '{{ include "vgpu.nodeNamespace" . }}' &&
    request.userInfo.username == 'system:serviceaccount:kube-system:daemon-set-controller')
{{- end }}
{{- end }}
