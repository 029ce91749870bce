# SPDX-License-Identifier: Apache-2.0
"""Kueue holds Jobs back until there is quota for them, also quota of a resource of ours."""

import contextlib
import os
import subprocess
import sys

import yaml

from cases.test_webhook import limits, webhook
from daemons import KUBECONFIG
from fixtures import BUSYBOX, case, expect, pod
from paths import BUILD, HERE, NODE, STATE
from full_stack import agent, wait_log

sys.path.insert(0, os.path.join(HERE, "..", "node"))
import mig  # noqa: E402

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


# As the project's requirements print it, in the older version of the interface.
GPU_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: gpu-cluster-queue
spec:
  resourceGroups:
  - coveredResources: ["cpu", "memory", "gpu.das.com/mem"]
    flavors:
    - name: default
      resources:
      - name: cpu
        nominalQuota: 100
      - name: memory
        nominalQuota: 100Gi
      - name: gpu.das.com/mem
        nominalQuota: 50  # 50GB total GPU memory
"""
# What they leave out, without which nothing is ever admitted.
FORGOTTEN = """
  namespaceSelector: {}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: gpu-queue}
spec: {clusterQueue: gpu-cluster-queue}
"""


GPU_POD = """
apiVersion: v1
kind: Pod
metadata:
  name: gpu-example
spec:
  containers:
  - name: gpu-app
    image: nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubi8
    resources:
      limits:
        nvidia.com/mig-1g.5gb: "2"  # 2 instances of 5GB each
        # Webhook automatically injects: gpu.das.com/mem: "10"
      requests:
        nvidia.com/mig-1g.5gb: "2"
        # Webhook automatically injects: gpu.das.com/mem: "10"
"""
# Another group of the same queue, for shares.
SHARES = """
  - coveredResources: ["vgpu.io/total-number", "vgpu.io/total-memory", "vgpu.io/total-cores"]
    flavors:
    - name: shares
      resources:
      - {name: vgpu.io/total-number, nominalQuota: 10}
      - {name: vgpu.io/total-memory, nominalQuota: 40960}
      - {name: vgpu.io/total-cores, nominalQuota: 100}
"""

SHARE_FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: shares}
"""
DOCUMENTED = GPU_QUEUE + FORGOTTEN.lstrip("\n")


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
    cluster.wait("the second Job starts and ends", lambda: read("second")["status"].get("succeeded"))
    cluster.apply(job("memory", "true", **{"cpu": "100m", "gpu.das.com/mem": "11"}))
    cluster.wait("more memory than the quota is pending with a reason", lambda: any(
        "gpu.das.com/mem" in state["message"]
        for workload in cluster.list("kueue.x-k8s.io/v1beta2", "Workload", cluster.namespace)
        for state in workload.get("status", {}).get("conditions", [])))
    for kind, name in (("ClusterQueue", "small"), ("ResourceFlavor", "plain")):
        cluster.delete("kueue.x-k8s.io/v1beta2", kind, name)


@contextlib.contextmanager
def gpu_queue(cluster, objects):
    """The queues of a case; afterwards they are gone, so that the next case makes its own."""
    cluster.apply(objects)
    try:
        yield
    finally:
        for api, kind in (("batch/v1", "Job"), ("v1", "Pod")):
            cluster.request("DELETE", cluster.path(api, kind, cluster.namespace), gracePeriodSeconds=0,
                            propagationPolicy="Background")
        for kind, name in (("ClusterQueue", "gpu-cluster-queue"), ("ResourceFlavor", "default"),
                           ("ResourceFlavor", "shares")):
            cluster.delete("kueue.x-k8s.io/v1beta2", kind, name)
        for kind in ("ClusterQueue", "ResourceFlavor"):
            cluster.wait(f"each {kind} is gone", lambda kind=kind: not cluster.list("kueue.x-k8s.io/v1beta2", kind))


def workloads(cluster):
    """Kueue's own word on each workload of the case: {owner's name: state}; state is "admitted" or its
    reason to wait."""
    found = {}
    for entry in cluster.list("kueue.x-k8s.io/v1beta2", "Workload", cluster.namespace):
        states = {state["type"]: state for state in entry.get("status", {}).get("conditions", [])}
        owner = entry["metadata"]["ownerReferences"][0]["name"]
        if states.get("Admitted", {}).get("status") == "True":
            found[owner] = "finished" if states.get("Finished", {}).get("status") == "True" else "admitted"
        else:
            found[owner] = states.get("QuotaReserved", {}).get("message", "")
    return found


def admitted(cluster):
    return sorted(name for name, state in workloads(cluster).items() if state == "admitted")


def queue_status(cluster):
    return cluster.get("kueue.x-k8s.io/v1beta2", "ClusterQueue", "gpu-cluster-queue").get("status", {})


def charged(cluster, name="gpu.das.com/mem"):
    """What Kueue says is used of the queue's resource."""
    return [row["total"] for flavor in queue_status(cluster).get("flavorsUsage", [])
            for row in flavor["resources"] if row["name"] == name]


def queued(entry):
    entry["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpu-queue"}
    return entry


def gpu_job(name, **requests):
    made = queued(job(name, "until [ -e /tmp/go ]; do sleep 0.2; done", **requests))
    return made


def follows(cluster, names, fits, free, after="50"):
    """Of what was made, exactly `fits` are admitted, and when one goes the next follows."""
    cluster.wait(f"{fits} are admitted", lambda: len(admitted(cluster)) == fits)
    cluster.wait("one of those that wait says why", lambda: any(
        "insufficient unused quota for gpu.das.com/mem" in state for state in workloads(cluster).values()))
    cluster.wait("Kueue knows of all", lambda: set(names) <= set(workloads(cluster)))
    expect(len(admitted(cluster)) == fits, workloads(cluster))
    cluster.wait("Kueue charges all 50 GB", lambda: charged(cluster) == ["50"])
    gone = admitted(cluster)[0]
    free(gone)
    cluster.wait("the next follows", lambda: len(set(admitted(cluster)) - {gone}) == fits)
    cluster.wait(f"Kueue charges {after} GB then", lambda: charged(cluster) == [after])


@contextlib.contextmanager
def cut_node(cluster, *gpus):
    """vgpu-node on simulated GPUs, each cut into MIG devices of so many slices; what is cut is offered."""
    cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vgpu"},
                   "handler": "vgpu"})
    with agent(cluster, "a100-40gb", len(gpus)) as node:
        for gpu, slices in enumerate(gpus):
            mig.cut(os.path.join(BUILD, "lib", "sim"), node.machine, gpu, slices)
        cluster.wait("the node offers its devices", lambda: cluster.node(NODE)["status"]["allocatable"].get(
            "nvidia.com/mig-1g.5gb") == str(sum(slices.count(1) for slices in gpus)))
        cluster.wait("and their memory", lambda: cluster.node(NODE)["status"]["allocatable"].get(
            "gpu.das.com/mem") == str(40 * len(gpus)))
        yield node


@case("pods of the document wait for 50 GB of GPU memory: as many as fit are admitted, the next follows one that goes")
def gpu_pods(cluster):
    with cut_node(cluster, [1] * 7, [1] * 7), gpu_queue(cluster, DOCUMENTED), \
            webhook(cluster, "--scheduler-name", "default-scheduler"):
        cluster.create(queued(yaml.safe_load(GPU_POD)))     # as it is printed; it is restarted when it ends
        wait_log(cluster, "gpu-example", "Test PASSED")
        cluster.delete("v1", "Pod", "gpu-example", cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("its quota is free", lambda: "gpu-example" not in workloads(cluster))
        names = [f"gpu-example-{number}" for number in range(7)]
        for name in names:
            entry = queued(yaml.safe_load(GPU_POD))
            entry["metadata"]["name"] = name
            entry["spec"]["containers"][0]["command"] = ["sleep", "3600"]   # it would end too soon
            made = cluster.create(entry)
            expect(limits(made)["gpu.das.com/mem"] == "10", limits(made))
        follows(cluster, names, 5, lambda name: cluster.delete("v1", "Pod", name, cluster.namespace,
                                                               gracePeriodSeconds=0))
        for name in admitted(cluster):
            cluster.wait_phase(name, "Running")


@case("Jobs wait for GPU memory too, counted from their templates")
def gpu_jobs(cluster):
    with cut_node(cluster, [3, 3], [1] * 7), gpu_queue(cluster, DOCUMENTED), \
            webhook(cluster, "--scheduler-name", "default-scheduler"):
        names = ["large-1", "large-2", "small-1", "small-2", "small-3"]
        for name in names[:2]:
            cluster.apply(gpu_job(name, **{"nvidia.com/mig-3g.20gb": "1"}))
        for name in names[2:]:
            cluster.wait("those before are admitted", lambda: len(admitted(cluster)) >= 2)
            cluster.apply(gpu_job(name, **{"nvidia.com/mig-1g.5gb": "1"}))
        # 20 + 20 + 5 + 5 are 50; without the first, with the last, 35.
        follows(cluster, names, 4, lambda name: cluster.delete(
            "batch/v1", "Job", name, cluster.namespace, propagationPolicy="Background"), after="35")


@case("'vgpu kueue config' makes a queue that the cluster takes, and 'vgpu kueue check' finds what counts twice")
def config(cluster):
    vgpu = os.path.join(BUILD, "bin", "vgpu")

    def run(*words, code=0):
        done = subprocess.run([vgpu, "kueue", *words, "--kubeconfig", KUBECONFIG, "--namespace", cluster.namespace],
                              text=True, capture_output=True, check=False, timeout=60)
        expect(done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout
    with cut_node(cluster, [2, 2, 2, 1]), \
            webhook(cluster, "--runtime-class", "", "--scheduler-name", "default-scheduler"):
        text = run("config")
        expect("counted by vgpu-webhook" in text and "nvidia.com/mig-" in text, text)
        with gpu_queue(cluster, text):
            made = cluster.get("kueue.x-k8s.io/v1beta2", "ClusterQueue", "gpu-cluster-queue")
            quotas = {row["name"]: row["nominalQuota"]
                      for row in made["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
            expect(quotas["gpu.das.com/mem"] == "40" and int(quotas["cpu"].rstrip("m")) > 0, quotas)
            cluster.wait("Kueue finds the queue in order", lambda: any(
                state["type"] == "Active" and state["status"] == "True"
                for state in queue_status(cluster).get("conditions", [])))
            cluster.create(queued(pod("one", limits={"nvidia.com/mig-2g.10gb": "1"})))
            cluster.wait("a pod is admitted", lambda: admitted(cluster) == ["one"])
            cluster.wait("it is charged for 10 GB", lambda: charged(cluster) == ["10"])
            manager = os.path.join(STATE, "config", "kueue.yaml")
            expect("GPUs count once" in run("check", "--manager-config", manager), "not well")
            # Kueue's own ConfigMap, which this one was not started with, says nothing of profiles.
            text = run("check", code=1)
            expect("workloads that request nvidia.com/mig-2g.10gb are never admitted" in text, text)
            # Kueue is told to count them too: the check says so before anybody waits in vain.
            both = os.path.join(STATE, "kueue-both.yaml")
            with open(both, "w", encoding="utf-8") as file:
                file.write(run("config", "--mode", "transform", "--part", "manager"))
            text = run("check", "--manager-config", both, code=1)
            expect("nvidia.com/mig-1g.5gb counts twice" in text, text)


@case("Kueue counts by the transformations of 'vgpu kueue config', and admission adds nothing then")
def transformed(cluster):
    done = subprocess.run([os.path.join(BUILD, "bin", "vgpu"), "kueue", "config", "--part", "manager", "--mode",
                           "transform", "--resource", "nvidia.com/mig-1g.5gb", "--resource", "nvidia.com/vgpu",
                           *(word for name in ("gpu.das.com/mem", "vgpu.io/total-number", "vgpu.io/total-memory",
                                               "vgpu.io/total-cores") for word in ("--quota", f"{name}=50"))],
                          text=True, capture_output=True, check=True)
    with cluster.component_config("kueue", **yaml.safe_load(done.stdout)), \
            cut_node(cluster, [1] * 7, [1] * 7), \
            gpu_queue(cluster, GPU_QUEUE + SHARES.lstrip("\n") + FORGOTTEN.lstrip("\n") + "---\n" + SHARE_FLAVOR), \
            webhook(cluster, "--runtime-class", "", "--scheduler-name", "default-scheduler",
                    "--leave-memory-units"):
        names = [f"pod-{number}" for number in range(6)]
        for name in names:
            made = cluster.create(queued(pod(name, limits={"nvidia.com/mig-1g.5gb": "2"})))
            expect("gpu.das.com/mem" not in limits(made), limits(made))
        follows(cluster, names, 5, lambda name: cluster.delete("v1", "Pod", name, cluster.namespace,
                                                               gracePeriodSeconds=0))
        # Memory is of each GPU: two of 3001 MiB are 6002.
        cluster.create(queued(pod("share", limits={"nvidia.com/vgpu": "2", "nvidia.com/gpumem": "3001"})))
        cluster.wait("Kueue counts shares in total", lambda: charged(cluster, "vgpu.io/total-memory") == ["6002"])
