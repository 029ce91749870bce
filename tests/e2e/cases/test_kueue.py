"""Kueue holds Jobs back until there is quota for them, also quota of a resource of ours."""

from lab import BUSYBOX, case, expect

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: small}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, gpu.das.com/mem]
    flavors:
    - name: plain
      resources: [{name: cpu, nominalQuota: 400m}, {name: gpu.das.com/mem, nominalQuota: 10}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: line}
spec: {clusterQueue: small}
"""


# As the project's requirements have it, in the older version of the interface.
GPU_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: gpu-cluster-queue}
spec:
  resourceGroups:
  - coveredResources: [cpu, memory, gpu.das.com/mem]
    flavors:
    - name: default
      resources:
      - {name: cpu, nominalQuota: 100}
      - {name: memory, nominalQuota: 100Gi}
      - {name: gpu.das.com/mem, nominalQuota: 50}
"""


def job(name, command, **requests):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "line"}},
            "spec": {"suspend": True, "backoffLimit": 0, "template": {"spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": BUSYBOX, "imagePullPolicy": "IfNotPresent",
                                "command": ["sh", "-c", command],
                                "resources": {"requests": requests, "limits": requests}}]}}}}


@case("a Job is queued and admitted by Kueue, and the next one waits for its quota")
def queue(cluster):
    def read(name):
        return cluster.get("batch/v1", "Job", name, cluster.namespace)
    cluster.apply(QUEUES)
    cluster.apply(job("first", "until [ -e /tmp/go ]; do sleep 0.2; done", cpu="100m"))
    cluster.wait("the first Job is let go", lambda: not read("first")["spec"]["suspend"])
    cluster.wait("it runs", lambda: read("first")["status"].get("ready"))
    cluster.apply(job("second", "true", cpu="400m"))
    cluster.wait("the second has a workload", lambda: len(cluster.list(
        "kueue.x-k8s.io/v1beta2", "Workload", cluster.namespace)) == 2)
    expect(read("second")["spec"]["suspend"], "the second Job did not wait")
    cluster.exec(cluster.list("v1", "Pod", cluster.namespace)[0]["metadata"]["name"], "touch", "/tmp/go")
    cluster.wait("the second Job has its turn and ends", lambda: read("second")["status"].get("succeeded"))
    cluster.apply(job("memory", "true", **{"cpu": "100m", "gpu.das.com/mem": "11"}))
    cluster.wait("more memory than the quota is pending with a reason", lambda: any(
        "gpu.das.com/mem" in state["message"]
        for workload in cluster.list("kueue.x-k8s.io/v1beta2", "Workload", cluster.namespace)
        for state in workload.get("status", {}).get("conditions", [])))
    for kind, name in (("ClusterQueue", "small"), ("ResourceFlavor", "plain")):
        cluster.delete("kueue.x-k8s.io/v1beta2", kind, name)


@case("Kueue takes the queue of GPU memory that the requirements show, and converts it")
def gpu_queue(cluster):
    cluster.apply(GPU_QUEUE)
    made = cluster.get("kueue.x-k8s.io/v1beta2", "ClusterQueue", "gpu-cluster-queue")
    quota = made["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]
    expect(quota["name"] == "gpu.das.com/mem" and quota["nominalQuota"] == "50", quota)
    cluster.delete("kueue.x-k8s.io/v1beta2", "ClusterQueue", "gpu-cluster-queue")
