{{- /* kube-scheduler's configuration. Counts are advertised by vgpu-node, so kube-scheduler counts them too and
agrees with kubelet; memory, cores and priority exist in requests only. */ -}}
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
  {{- range list "nvidia.com/vgpu" "nvidia.com/vgpu-number" "volcano.sh/vgpu-number" }}
  - {name: {{ . }}}
  {{- end }}
  {{- if .Values.nvidiaGpu }}
  - {name: nvidia.com/gpu}
  {{- end }}
  {{- range list "nvidia.com/gpumem" "nvidia.com/gpumem-percentage" "nvidia.com/gpucores" "nvidia.com/priority" "nvidia.com/vgpu-memory" "nvidia.com/vgpu-cores" "volcano.sh/vgpu-memory" "volcano.sh/vgpu-memory-percentage" "volcano.sh/vgpu-cores" }}
  - {name: {{ . }}, ignoredByScheduler: true}
  {{- end }}
{{- end }}
