# SPDX-License-Identifier: Apache-2.0
"""fake_cluster: the API server's side of a node with pods, for tests of vgpu-node that need no kubelet:
answers what vgpu-node asks, keeps what it writes, and delivers pods as they come and go."""

import json
import queue
import threading

from fake_api import GONE, FakeApi, event, page


def allocation(uid, node, parts):
    """parts: (container, device's UUID, MiB, cores)."""
    containers = {}
    for container, uuid, mib, cores in parts:
        containers.setdefault(container, []).append({"uuid": uuid, "memory": mib, "cores": cores})
    return json.dumps({"version": 1, "pod": uid, "node": node, "containers": containers})


def gpu_pod(name, parts, namespace="default", node="n1"):
    uid = f"00000000-0000-4000-8000-{abs(hash(name)) % 10**12:012d}"
    containers = [{"name": container, "image": "i"} for container in dict.fromkeys(p[0] for p in parts)]
    return {"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": "1",
                         "annotations": {"vgpu.io/allocation": allocation(uid, node, parts)}},
            "spec": {"nodeName": node, "containers": containers}, "status": {"phase": "Running"}}


class FakeCluster:
    def __init__(self, pods=(), node="n1", reviews=None):
        self.api = FakeApi()
        self.reviews = reviews      # fake_reviews.Reviews
        self.node = {"metadata": {"name": node, "uid": "u", "resourceVersion": "1", "annotations": {}}}
        self.pods, self.watches, self.version = list(pods), [], 10
        self.lock = threading.Lock()
        threading.Thread(target=self.run, daemon=True).start()

    def write_config(self, path):
        self.api.write_config(path)

    def annotation(self, name):
        return self.node["metadata"]["annotations"].get(name)

    def run(self):
        while True:
            try:
                request = self.api.next(timeout=600)
            except queue.Empty:
                return
            with self.lock:
                try:
                    self.answer(request)
                except GONE:
                    pass

    def answer(self, request):
        if self.reviews and self.reviews.take(request):
            return
        if request.method == "PATCH":
            body = json.loads(request.body)
            self.node["metadata"]["annotations"].update(body.get("metadata", {}).get("annotations", {}))
            request.reply(200, self.node)
        elif request.is_watch():
            request.head()
            if request.path.endswith("/pods"):
                self.watches.append(request)
        elif request.path.endswith("/pods"):
            request.reply(200, page(self.version, self.pods))
        else:
            request.reply(200, page(self.version, [self.node]))

    def tell(self, kind, pod):
        """ADDED, MODIFIED or DELETED."""
        with self.lock:
            self.version += 1
            pod["metadata"]["resourceVersion"] = str(self.version)
            self.pods = [p for p in self.pods if p["metadata"]["uid"] != pod["metadata"]["uid"]]
            if kind != "DELETED":
                self.pods.append(pod)
            for watch in list(self.watches):
                try:
                    watch.data(event(kind, pod))
                except GONE:
                    self.watches.remove(watch)
