# SPDX-License-Identifier: Apache-2.0
"""chaos: what happens in a storm. Faults are the real ones: the API server's own 409, 410 and 429, connections
that break, programs that are killed."""

import contextlib
import os
import random
import select
import signal
import socket
import struct
import threading
import time

import daemons
import pki
import process
from etcd import Etcd
from kube import ApiError
from fixtures import pod
from paths import STATE, Trouble, write
from placing import ADDRESS, allocation, bound

BREAKABLE = 6444                # where vgpu-scheduler finds the API server
FLOW = "flowcontrol.apiserver.k8s.io/v1"
SHAPES = (
    {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "3000"},
    {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "12000", "nvidia.com/gpucores": "30"},
    {"nvidia.com/vgpu": "2", "nvidia.com/gpumem": "7000", "nvidia.com/gpucores": "10"},
    {"nvidia.com/vgpu": "1", "nvidia.com/gpumem-percentage": "40", "nvidia.com/gpucores": "45"},
    {"nvidia.com/vgpu": "1", "nvidia.com/gpucores": "100"},
)


class Line(threading.Thread):
    """Connections to the API server that can be broken, or told nothing for a while."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", BREAKABLE))
        self.open = []
        self.tells = threading.Event()
        self.tells.set()
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                inside, _ = self.listener.accept()
                threading.Thread(target=self.carry, args=(inside,), daemon=True).start()

    def carry(self, inside):
        try:
            outside = socket.create_connection(("127.0.0.1", 443), timeout=5)
        except OSError:
            inside.close()
            return
        self.open.append(inside)
        with contextlib.suppress(OSError, ValueError), inside, outside:
            pair = {inside: outside, outside: inside}
            while True:
                for source in select.select(list(pair), [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is outside:
                        self.tells.wait()
                    pair[source].sendall(data)

    @contextlib.contextmanager
    def held(self):
        """What the API server says is told after the block."""
        self.tells.clear()
        try:
            yield
        finally:
            self.tells.set()

    def cut(self):
        """All at once, without a farewell."""
        for link in self.open:
            with contextlib.suppress(OSError):
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                link.shutdown(socket.SHUT_RDWR)
        self.open.clear()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)        # or who waits for a caller would keep the port
        self.listener.close()
        self.cut()


class Daemon:
    """A program of ours that is killed and started again."""

    def __init__(self, name, *words, ready=None):
        self.name, self.words, self.ready = name, words, ready
        self.begin()

    def begin(self):
        self.stack = contextlib.ExitStack()
        self.process = self.stack.enter_context(daemons.daemon(self.name, *self.words, ready=self.ready, seconds=60))

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(20)
        self.stack.close()

    def restart(self, number):
        self.end(number)
        self.begin()


def scheduler(cluster):
    """vgpu-scheduler as a user of its own, who is not exempt from the API server's limits, over the line that breaks."""
    path = pki.kubeconfig("vgpu-scheduler", "vgpu-scheduler")
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("https://127.0.0.1", f"https://127.0.0.1:{BREAKABLE}")
    path = write(os.path.join(STATE, "storm.kubeconfig"), text)
    cluster.apply([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                    "metadata": {"name": "storm"},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                "name": "cluster-admin"},
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                                  "name": "vgpu-scheduler"}]}])
    return Daemon("vgpu-scheduler", "--plain", "--listen", ADDRESS, "--kubeconfig", path,
                  ready=f"http://{ADDRESS}/readyz")


def revive(name):
    """Kills and starts a component. Its last threads may hold its port for a moment after it has ended."""
    process.stop(name, signal.SIGKILL)
    for _ in range(5):
        with contextlib.suppress(Trouble):
            process.start(name)
            return
        time.sleep(0.5)
    process.start(name)


class Chaos:
    """Acts at random; the seed is told, so that it can be had again."""

    def __init__(self, cluster, line, own, seed):
        self.cluster, self.line, self.scheduler = cluster, line, own
        self.random = random.Random(seed)
        self.made = 0
        self.done = {}
        # (how often, what). Rare ones take seconds.
        self.acts = ((60, self.create), (34, self.delete), (14, self.fail), (3, self.intrude), (4, self.cut),
                     (2, self.compact), (2, self.crowd), (2, self.kill), (1, self.stop), (1, self.reschedule))

    def blow(self, seconds, api_restarts=1):
        """Until the time is over. The API server is killed so many times in between."""
        end = time.monotonic() + seconds
        kills = [end - seconds * (i + 1) / (api_restarts + 1) for i in range(api_restarts)]
        while time.monotonic() < end:
            if kills and time.monotonic() > kills[-1]:
                kills.pop()
                self.act(self.kill_api)
            self.act(self.random.choices([act for _, act in self.acts], [weight for weight, _ in self.acts])[0])
        self.calm()

    def act(self, act):
        name = act.__name__
        try:
            act()
        except ApiError as error:       # the API server may be away, and objects too
            name += "!"
            self.last = f"{name} {error}"
        self.done[name] = self.done.get(name, 0) + 1

    def create(self):
        for _ in range(self.random.randint(1, 6)):
            self.made += 1
            self.cluster.create(pod(f"pod-{self.made}", limits=self.random.choice(SHAPES)))

    def some(self, entries):
        return self.random.choice(entries)["metadata"]["name"] if entries else None

    def delete(self):
        for _ in range(self.random.randint(1, 6)):
            name = self.some(self.cluster.list("v1", "Pod", self.cluster.namespace))
            if name:
                self.cluster.delete("v1", "Pod", name, self.cluster.namespace, gracePeriodSeconds=0)

    def fail(self):
        """A pod ends, and its object stays."""
        name = self.some(bound(self.cluster))
        if name:
            self.cluster.patch("v1", "Pod", name, {"status": {"phase": self.random.choice(("Failed", "Succeeded"))}},
                               self.cluster.namespace, sub="status")

    def intrude(self):
        """Somebody binds a pod without asking us: ours gets 409, and the pod no share."""
        self.made += 1
        name = f"pod-{self.made}"
        node = self.random.choice(self.cluster.list("v1", "Node"))["metadata"]["name"]
        self.cluster.create(pod(name, limits=SHAPES[0]))
        self.cluster.request("POST", self.cluster.path("v1", "Pod", self.cluster.namespace, name, "binding"), {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}})

    def cut(self):
        self.line.cut()

    def compact(self):
        """etcd forgets its history: who asks for it gets 410."""
        revision = self.cluster.request("GET", "/api/v1/pods", limit=1)["metadata"]["resourceVersion"]
        with contextlib.closing(Etcd()) as store, contextlib.suppress(Trouble):
            store.ask("compaction", {"revision": revision})
        self.line.cut()

    def crowd(self):
        """For a second vgpu-scheduler gets 429 for everything."""
        self.cluster.apply([
            {"apiVersion": FLOW, "kind": "PriorityLevelConfiguration", "metadata": {"name": "storm"},
             "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 0,
                                                     "borrowingLimitPercent": 0,
                                                     "limitResponse": {"type": "Reject"}}}},
            {"apiVersion": FLOW, "kind": "FlowSchema", "metadata": {"name": "storm"},
             "spec": {"priorityLevelConfiguration": {"name": "storm"}, "matchingPrecedence": 2,
                      "rules": [{"subjects": [{"kind": "User", "user": {"name": "vgpu-scheduler"}}],
                                 "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"],
                                                    "namespaces": ["*"], "clusterScope": True}]}]}}])
        self.line.cut()
        time.sleep(self.random.uniform(0.5, 1.5))
        self.calm()

    def calm(self):
        with contextlib.suppress(ApiError):
            self.cluster.delete(FLOW, "FlowSchema", "storm")
            self.cluster.delete(FLOW, "PriorityLevelConfiguration", "storm")

    def kill(self):
        self.scheduler.restart(signal.SIGKILL)

    def stop(self):
        self.scheduler.restart(signal.SIGTERM)

    def reschedule(self):
        revive("kube-scheduler")

    def kill_api(self):
        revive("kube-apiserver")


class NodeChaos(Chaos):
    """On a node that runs: its agent, kubelet and admission are disturbed too, and pods hold memory and are resized."""

    def __init__(self, cluster, line, own, seed, agent, webhook):
        super().__init__(cluster, line, own, seed)
        self.agent, self.webhook = agent, webhook
        self.acts = ((12, self.create), (9, self.delete), (8, self.resize), (2, self.cut), (1, self.compact),
                     (2, self.kill), (3, self.kill_agent), (1, self.restart_kubelet), (1, self.kill_webhook),
                     (20, self.pause))

    def create(self):
        if len(bound(self.cluster)) > 10:
            return
        self.made += 1
        limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(self.random.choice((2000, 6000, 11000))),
                  "nvidia.com/gpucores": str(self.random.choice((0, 10, 30)))}
        self.cluster.create(pod(f"pod-{self.made}", image="quay.io/jitesoft/ubuntu:24.04", limits=limits,
                                command=f"look hold {self.random.choice((64, 256, 20000))} 600; sleep 600"))

    def resize(self):
        """Within what it was given: down, and up again."""
        entries = [entry for entry in bound(self.cluster) if "vgpu.io/allocation" in entry["metadata"]["annotations"]]
        if not entries:
            return
        entry = self.random.choice(entries)
        given = allocation(entry)["containers"]["main"][0]["memory"]
        self.cluster.patch("v1", "Pod", entry["metadata"]["name"], {"metadata": {"annotations": {
            "vgpu.io/memory": f"{self.random.choice((given, given // 2, given // 3))}Mi"}}}, self.cluster.namespace)

    def kill_agent(self):
        self.agent.kill()
        self.pause()
        self.agent.start()

    def restart_kubelet(self):
        revive("kubelet")

    def kill_webhook(self):
        self.webhook.restart(signal.SIGKILL)

    def pause(self):
        time.sleep(self.random.uniform(0.05, 0.4))
