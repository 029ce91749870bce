# SPDX-License-Identifier: Apache-2.0
"""placing: vgpu-scheduler beside kube-scheduler, and nodes that nobody runs but that have GPUs."""

import contextlib
import json

import managed
from daemons import KUBECONFIG, daemon

ADDRESS = "127.0.0.1:9510"
EXTENDER = [{
    "urlPrefix": f"http://{ADDRESS}", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 10,
    "bindVerb": "bind", "preemptVerb": "preempt", "nodeCacheCapable": True,
    "managedResources": managed.resources()}]


def scheduler(*words, address=ADDRESS):
    return daemon("vgpu-scheduler", "--plain", "--listen", address, "--kubeconfig", KUBECONFIG, *words,
                  ready=f"http://{address}/readyz")


def gpus(name, count, memory=40000):
    return json.dumps([{"id": i, "type": "NVIDIA A100-SXM4-40GB", "uuid": f"GPU-{name}-{i}", "core": 100,
                        "memory": memory, "number": 10, "numa": 0, "mig": False, "busId": f"0000:0{i}:00.0",
                        "capability": 8, "healthy": True} for i in range(count)])


@contextlib.contextmanager
def nodes(cluster, count, gpu_count=2):
    names = cluster.add_nodes(count, {}, prefix=cluster.namespace)
    for name in names:
        cluster.patch("v1", "Node", name, {"metadata": {"annotations": {
            "nvidia.com/node-device-register": gpus(name, gpu_count)}}})
    try:
        yield names
    finally:
        cluster.remove_nodes(names)


def allocation(entry):
    return json.loads(entry["metadata"]["annotations"]["vgpu.io/allocation"])


def bound(cluster):
    return [entry for entry in cluster.list("v1", "Pod", cluster.namespace) if entry["spec"].get("nodeName")]


def used(entries):
    """MiB and cores by GPU, by what the pods say."""
    sums = {}
    for entry in entries:
        for parts in allocation(entry)["containers"].values():
            for part in parts:
                memory, cores = sums.get(part["uuid"], (0, 0))
                sums[part["uuid"]] = memory + part["memory"], cores + part["cores"]
    return sums
