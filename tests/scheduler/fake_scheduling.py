# SPDX-License-Identifier: Apache-2.0
"""fake_scheduling: the API server's and kube-scheduler's sides of vgpu-scheduler, for what a real cluster does
only by accident: answers that are lost, decisions that nobody sees, PDBs that change between two questions."""

import http.client
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_api import GONE, FakeApi, event, page, status  # noqa: E402
from peer import eventually  # noqa: E402

CONFIG = """
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
"""
SUBRESOURCE = re.compile(r"/api/v1/namespaces/d/pods/([^/]+)(?:/(binding|eviction|status))?$")


def node(name, gpu_count=1, memory=40000):
    told = [{"id": i, "type": "NVIDIA A100", "uuid": f"GPU-{name}-{i}", "core": 100, "memory": memory, "number": 10,
             "numa": 0, "mig": False, "healthy": True} for i in range(gpu_count)]
    return {"metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "1", "annotations": {
        "nvidia.com/node-device-register": json.dumps(told)}}}


def pod(name, memory, priority=0, labels=None):
    limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(memory)}
    return {"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "d", "uid": f"u-{name}", "resourceVersion": "1",
                         "labels": labels or {}, "annotations": {}},
            "spec": {"priority": priority, "containers": [{"name": "c", "resources": {"limits": limits}}]},
            "status": {"phase": "Pending"}}


def running(name, memory, on, priority=0, labels=None, gpu=0):
    """A pod that has its share of a GPU of that node, and is ready."""
    made = pod(name, memory, priority, labels)
    made["spec"]["nodeName"] = on
    made["metadata"]["annotations"]["vgpu.io/allocation"] = json.dumps({
        "version": 1, "pod": f"u-{name}", "node": on,
        "containers": {"c": [{"uuid": f"GPU-{on}-{gpu}", "memory": memory, "cores": 0}]}})
    made["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return made


class Api:
    """Answers what vgpu-scheduler asks. `rules` has, by (method, path), functions that answer instead."""

    def __init__(self, nodes, pods=(), pdbs=()):
        self.fake = FakeApi()
        self.nodes, self.pods = list(nodes), {entry["metadata"]["name"]: entry for entry in pods}
        self.pdbs, self.rules, self.asked, self.watches, self.version = list(pdbs), {}, [], {}, 10
        self.lock = threading.RLock()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                request = self.fake.next(timeout=600)
            except queue.Empty:
                return
            with self.lock:
                self.asked.append((request.method, request.path))
                rule = self.rules.get((request.method, request.path), self.answer)
                try:
                    rule(request)
                except GONE:
                    pass

    def count(self, method, path):
        with self.lock:
            return self.asked.count((method, path))

    def answer(self, request):
        found = SUBRESOURCE.match(request.path)
        if request.is_watch():
            request.head()
            self.watches.setdefault(request.path, []).append(request)
        elif request.path == "/api/v1/nodes":
            request.reply(200, page(self.version, self.nodes))
        elif request.path == "/api/v1/pods":
            request.reply(200, page(self.version, list(self.pods.values())))
        elif request.path.endswith("/poddisruptionbudgets"):
            request.reply(200, page(self.version, self.pdbs))
        elif found and found[1] in self.pods:
            self.answer_pod(request, self.pods[found[1]], found[2])
        elif found and request.method == "GET":
            request.reply(404, status(404, "NotFound", "no such pod"))
        else:
            request.reply(201 if request.method == "POST" else 200, {})

    def answer_pod(self, request, entry, part):
        body = json.loads(request.body) if request.body else {}
        if part == "binding":
            self.bind(entry, body)
        elif part == "eviction" and not body["deleteOptions"].get("dryRun"):
            self.tell("DELETED", entry)
        request.reply(201 if part else 200, {} if part else entry)

    def bind(self, entry, body):
        entry["metadata"]["annotations"].update(body["metadata"]["annotations"])
        entry["spec"]["nodeName"] = body["target"]["name"]
        self.tell("MODIFIED", entry)

    def tell(self, kind, entry):
        with self.lock:
            self.version += 1
            entry["metadata"]["resourceVersion"] = str(self.version)
            self.pods[entry["metadata"]["name"]] = entry
            if kind == "DELETED":
                del self.pods[entry["metadata"]["name"]]
            for watch in list(self.watches.get("/api/v1/pods", [])):
                try:
                    watch.data(event(kind, entry))
                except GONE:
                    self.watches["/api/v1/pods"].remove(watch)


class Scheduler:
    """vgpu-scheduler, asked as kube-scheduler asks."""

    def __init__(self, bin_dir, api, *options):
        self.api = api
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name) / "config"
        config.write_text(CONFIG.format(port=api.fake.port), encoding="utf-8")
        self.process = subprocess.Popen(
            [f"{bin_dir}/vgpu-scheduler", "--plain", "--listen=127.0.0.1:0", f"--kubeconfig={config}", *options],
            stderr=subprocess.PIPE, text=True)
        self.said = []
        while not self.said or "serves on port" not in self.said[-1]:
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError(f"vgpu-scheduler did not start: {self.said}")
            self.said.append(line)
        self.port = int(self.said[-1].split()[-1])
        threading.Thread(target=self.said.extend, args=(self.process.stderr,), daemon=True).start()
        if not eventually(lambda: self.ask("GET", "/readyz")[0] == 200):
            raise RuntimeError("vgpu-scheduler is not ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.folder.cleanup()

    def ask(self, method, path, body=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        link.request(method, path, None if body is None else json.dumps(body))
        answer = link.getresponse()
        text = answer.read()
        link.close()
        return answer.status, text

    def filter(self, entry):
        """The nodes that the pod fits on."""
        names = [n["metadata"]["name"] for n in self.api.nodes]
        answer = self.ask("POST", "/filter", {"Pod": entry, "Nodes": None, "NodeNames": names})
        return json.loads(answer[1])["NodeNames"]

    def bind(self, entry, name):
        """What went wrong; "": it is bound."""
        return json.loads(self.ask("POST", "/bind", {
            "PodName": entry["metadata"]["name"], "PodNamespace": "d", "PodUID": entry["metadata"]["uid"],
            "Node": name})[1])["Error"]

    def place(self, entry):
        """As kube-scheduler does: filter, bind. None: it fits on no node."""
        names = self.filter(entry)
        return self.bind(entry, names[0]) if names else None
