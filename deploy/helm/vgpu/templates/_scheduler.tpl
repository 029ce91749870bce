{{- /* kube-scheduler's configuration. All resource names are managed by vgpu-scheduler. If kube-scheduler's own
filter refuses a pod, it checks nodes again and counts even the resources that it must ignore. It finds too little
everywhere and lets the pod wait for minutes. vgpu-scheduler checks kubelet's capacity, too. */ -}}
{{- define "vgpu.schedulerConfiguration" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: {{ .Values.scheduler.kubeScheduler.qps }}, burst: {{ .Values.scheduler.kubeScheduler.burst }}}
leaderElection:
  leaderElect: true
  resourceLock: leases
  resourceName: vgpu-kube-scheduler
  resourceNamespace: {{ .Release.Namespace }}
percentageOfNodesToScore: 100   # a pod may fit on one node of thousands
profiles:
- schedulerName: {{ .Values.scheduler.name }}
extenders:
- urlPrefix: http://127.0.0.1:8444
  filterVerb: filter
  prioritizeVerb: prioritize
  bindVerb: bind
  preemptVerb: preempt
  weight: 10
  nodeCacheCapable: true
  httpTimeout: 10s
  managedResources:
  {{- $domain := .Values.domain }}
  {{- range concat (list "vgpu" "vgpu-number") (ternary (list "gpu") list .Values.nvidiaGpu) }}
  - {name: {{ $domain }}/{{ . }}, ignoredByScheduler: true}
  {{- end }}
  - {name: volcano.sh/vgpu-number, ignoredByScheduler: true}
  {{- range list "gpumem" "gpumem-percentage" "gpucores" "priority" "vgpu-memory" "vgpu-cores" }}
  - {name: {{ $domain }}/{{ . }}, ignoredByScheduler: true}
  {{- end }}
  {{- range list "vgpu-memory" "vgpu-memory-percentage" "vgpu-cores" }}
  - {name: volcano.sh/{{ . }}, ignoredByScheduler: true}
  {{- end }}
{{- end }}
