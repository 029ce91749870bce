# SPDX-License-Identifier: Apache-2.0
"""loader: many objects, quickly. What only has to be there is put into etcd as the API server would have
stored it, a hundred to a transaction; what is measured is made through the API server itself."""

import concurrent.futures
import http.client
import json
import os
import ssl
import threading
import time
import uuid

from etcd import Etcd, encoded
from paths import PKI

BATCH = 100
NOW = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def connection():
    context = ssl.create_default_context(cafile=os.path.join(PKI, "ca.crt"))
    context.load_cert_chain(os.path.join(PKI, "admin.crt"), os.path.join(PKI, "admin.key"))
    return http.client.HTTPSConnection("127.0.0.1", context=context, timeout=120)


def send(link, method, path, body=None, kind="application/json"):
    """The answer's body; the connection is used again."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    link.request(method, path, data, {"Content-Type": kind} if data else {})
    answer = link.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
    return text


def store(entries):
    """entries: (key below /registry, object)."""
    etcd = Etcd()
    for begin in range(0, len(entries), BATCH):
        etcd.ask("txn", {"success": [
            {"requestPut": {"key": encoded(f"/registry/{key}"), "value": encoded(json.dumps(entry))}}
            for key, entry in entries[begin:begin + BATCH]]})
    etcd.close()


def gpus(name, count, memory):
    return json.dumps([{"id": i, "type": "NVIDIA A100-SXM4-40GB", "uuid": f"GPU-{name}-{i}", "core": 100,
                        "memory": memory, "number": 10, "numa": i * 2 // count, "mig": False,
                        "busId": f"0000:0{i}:00.0", "capability": 8, "healthy": True}
                       for i in range(count)], separators=(",", ":"))


def node(name, count, memory):
    """A node as kubelet and vgpu-node would have left it. It has what pods ask for under the resources'
    own names too, so that the same pods can be scheduled without an extender."""
    capacity = {"cpu": "256", "memory": "2048Gi", "pods": "250", "nvidia.com/vgpu": str(count * 10),
                "nvidia.com/gpumem": str(count * memory), "nvidia.com/gpucores": str(count * 100)}
    return f"minions/{name}", {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": NOW,
                     "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
                     "annotations": {"nvidia.com/node-device-register": gpus(name, count, memory)}},
        "spec": {},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [
            {"type": "Ready", "status": "True", "reason": "Bare", "lastHeartbeatTime": NOW,
             "lastTransitionTime": NOW}]}}


def pod(name, memory, cores, selector=None):
    spec = {"containers": [{"name": "main", "image": "none", "resources": {"limits": {
        "nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(memory), "nvidia.com/gpucores": str(cores)}}}],
        "terminationGracePeriodSeconds": 0}
    if selector:
        spec["nodeSelector"] = selector
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "scale"}},
            "spec": spec}


def bound_pod(name, where, gpu, memory, cores):
    """A pod that has been placed and runs."""
    entry = pod(name, memory, cores)
    own = str(uuid.uuid4())
    part = {"uuid": f"GPU-{where}-{gpu}", "memory": memory, "cores": cores}
    entry["metadata"].update(
        namespace="default", uid=own, creationTimestamp=NOW,
        annotations={"vgpu.io/allocation": json.dumps(
            {"version": 1, "pod": own, "node": where, "containers": {"main": [part]}}, separators=(",", ":"))})
    limits = entry["spec"]["containers"][0]["resources"]
    limits["requests"] = limits["limits"]
    entry["spec"].update(
        nodeName=where, schedulerName="default-scheduler", dnsPolicy="ClusterFirst", restartPolicy="Always",
        serviceAccountName="default", enableServiceLinks=True, preemptionPolicy="PreemptLowerPriority",
        tolerations=[{"key": f"node.kubernetes.io/{trouble}", "operator": "Exists", "effect": "NoExecute",
                      "tolerationSeconds": 300} for trouble in ("not-ready", "unreachable")])
    entry["status"] = {
        "phase": "Running", "qosClass": "BestEffort", "startTime": NOW,
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": NOW, "lastProbeTime": None}
                       for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")],
        "containerStatuses": [{"name": "main", "image": "none", "imageID": "none", "ready": True,
                               "restartCount": 0, "started": True, "containerID": f"containerd://{own}",
                               "state": {"running": {"startedAt": NOW}}}]}
    return f"pods/default/{name}", entry


def create(pods, workers=4):
    """Through the API server."""
    own = threading.local()

    def one(entry):
        if not hasattr(own, "link"):
            own.link = connection()
        send(own.link, "POST", "/api/v1/namespaces/default/pods", entry)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, [json.dumps(entry).encode() for entry in pods]))


class Watcher(threading.Thread):
    """When each pod was bound, by the API server's own word."""

    def __init__(self):
        super().__init__(daemon=True)
        link = connection()
        version = json.loads(send(link, "GET", "/api/v1/pods?limit=1"))["metadata"]["resourceVersion"]
        link.request("GET", f"/api/v1/pods?watch=1&resourceVersion={version}",
                     headers={"Accept": "application/json"})
        self.answer = link.getresponse()
        self.link = link
        self.bound = {}
        self.start()

    def run(self):
        try:
            for line in self.answer:
                if b'"nodeName"' not in line:
                    continue
                name = line[line.index(b'"name":"') + 8:]
                self.bound.setdefault(name[:name.index(b'"')].decode(), time.monotonic())
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass                # closed

    def wait(self, count, seconds):
        end = time.monotonic() + seconds
        while len(self.bound) < count and time.monotonic() < end:
            time.sleep(0.02)
        return len(self.bound) >= count

    def close(self):
        self.link.sock and self.link.sock.close()
