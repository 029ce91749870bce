# SPDX-License-Identifier: Apache-2.0
"""cluster_scene: vgpu-scheduler and vgpu-webhook between the API server and those who ask them."""

import base64
import http.client
import json
import pathlib
import socket
import ssl
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent.parent / name) for name in ("net", "scheduler", "webhook")]
from fake_scheduling import Api, node, pod  # noqa: E402
from fake_store import Store  # noqa: E402
from peer import eventually  # noqa: E402

from scene import Refused, Scene, ask_http  # noqa: E402

GPU_MIB = 40000


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Scheduler(Scene):
    """A GPU for one pod at a time; it comes, another finds no space, it goes."""

    object = "vgpu-scheduler"

    def __init__(self, folder, build):
        super().__init__(folder)
        self.build, self.port = pathlib.Path(build), free_port()
        self.api = Api([node("n"), node("m", memory=1000)])
        self.api.fake.write_config(self.folder / "config")
        self.most = 0       # of the GPU, that pods had at once

    def doors(self):
        return [("127.0.0.1", self.port)]

    def command(self):
        return [self.build / "bin/vgpu-scheduler", "--plain", f"--listen=127.0.0.1:{self.port}",
                f"--kubeconfig={self.folder}/config", "--assume-for=1"]

    def ask(self, method, path, body=None):
        status, text = ask_http(http.client.HTTPConnection("127.0.0.1", self.port, timeout=5), method, path,
                                None if body is None else json.dumps(body))
        if status != 200:
            raise Refused(f"{status}: {text!r}")
        return json.loads(text) if body is not None else text

    def is_up(self):
        try:
            return self.ask("GET", "/readyz") is not None
        except Refused:
            return False

    def filter(self, entry):
        answer = self.ask("POST", "/filter", {"Pod": entry, "Nodes": None, "NodeNames": ["n", "m"]})
        if answer.get("Error"):
            raise Refused(answer["Error"])
        return answer["NodeNames"]

    def bind(self, entry):
        error = self.ask("POST", "/bind", {"PodName": entry["metadata"]["name"], "PodNamespace": "d",
                                           "PodUID": entry["metadata"]["uid"], "Node": "n"})["Error"]
        if error:
            raise Refused(error)

    def held(self):
        """What the API server's pods have of the GPU."""
        with self.api.lock:
            texts = [entry["metadata"]["annotations"].get("vgpu.io/allocation") for entry in self.api.pods.values()]
        return [share["memory"] for text in texts if text
                for shares in json.loads(text)["containers"].values() for share in shares]

    def placed(self):
        """(nodes, memory bound, nodes of a second pod meanwhile, nodes of that when the first is gone)"""
        first, second = (pod(name, 30000) for name in ("first", "second"))
        for entry in (first, second):
            self.api.tell("ADDED", entry)
        try:
            nodes = self.filter(first)
            self.bind(first)
            others = self.filter(second)
            if others:      # by mistake: then the second is bound, too, if nobody holds it up
                self.bind(second)
            self.most = max(self.most, sum(self.held()))
            held = self.held()
        finally:
            for entry in (first, second):
                if entry["metadata"]["name"] in self.api.pods:
                    self.api.tell("DELETED", entry)
        if not eventually(lambda: self.filter(second) == ["n"], 3):
            raise Refused("its memory is not free")
        return nodes, held, others

    def asks(self):
        return {"a pod that is placed": self.placed, "the metrics": lambda: bool(self.ask("GET", "/metrics"))}

    def lost(self):
        return [] if self.most <= GPU_MIB else [f"pods had {self.most} MiB of a GPU of {GPU_MIB}"]


class Webhook(Scene):
    """Asked over TLS, with the authority that it has put into its Secret."""

    object = "vgpu-webhook"

    def __init__(self, folder, build):
        super().__init__(folder)
        self.build, self.port, self.store = pathlib.Path(build), free_port(), Store()
        self.store.api.write_config(self.folder / "config", namespace="vgpu-system")

    def doors(self):
        return [("127.0.0.1", self.port)]

    def command(self):
        return [self.build / "bin/vgpu-webhook", f"--listen=127.0.0.1:{self.port}", "--kubeconfig",
                self.folder / "config"]

    def is_up(self):
        try:
            return self.ask("GET", "/readyz") is not None
        except Refused:
            return False

    def ask(self, method, path, body=None):
        bundles = {hook["clientConfig"].get("caBundle") for configuration in self.store.configurations.values()
                   for hook in configuration["webhooks"]}
        if len(bundles) != 1 or not (bundle := bundles.pop()):
            raise Refused("the API server does not know it")
        context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
        status, text = ask_http(http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=5),
                                method, path, body)
        if status != 200:
            raise Refused(f"{status}: {text!r}")
        return text

    def review(self, side, entry):
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"kind": "Pod"}, "operation": "CREATE", "namespace": "n", "object": entry}})
        return json.loads(self.ask("POST", f"/{side}", body))["response"]

    @staticmethod
    def entry(limits):
        return {"metadata": {}, "spec": {"containers": [
            {"name": name, "resources": {"limits": limits}} for name in ("c", "d")]}}

    def mutated(self):
        """What it changes, without what is another each time; a refusal admits nothing, which is safe."""
        answer = self.review("mutate", self.entry({"nvidia.com/gpumem": "200", "nvidia.com/gpucores": "30"}))
        if not answer["allowed"]:
            raise Refused(str(answer))
        patch = json.loads(base64.b64decode(answer.get("patch", "W10=")))
        return sorted((change["op"], change["path"], sorted(change["value"]) if "annotations" in change["path"] and
                       isinstance(change["value"], dict) else "…" if "annotations" in change["path"] else
                       json.dumps(change.get("value"), sort_keys=True)) for change in patch)

    def validated(self):
        return self.review("validate", self.entry({"nvidia.com/vgpu": "1", "nvidia.com/gpucores": "200"}))["allowed"]

    def asks(self):
        return {"a pod that is completed": self.mutated, "a pod that cannot be": self.validated,
                "the metrics": lambda: bool(self.ask("GET", "/metrics"))}

    def begin(self, faults=None):
        self.secret = json.dumps(self.store.secret)
        super().begin(faults)

    def lost(self):
        """A Secret that was good is not exchanged: other replicas use it."""
        return [] if self.secret in ("null", json.dumps(self.store.secret)) else ["its Secret was made anew"]

    def anew(self):
        self.store.secret = None
