# SPDX-License-Identifier: Apache-2.0
"""fixtures: what a case works with. A case is a sentence and a function that proves it:

    @case("a pod runs and its log is read")
    def pod_log(cluster):
        cluster.apply(pod("hello", command="echo hello"))
        cluster.wait_phase("hello", "Succeeded")
        expect("hello" in cluster.logs("hello"), cluster.logs("hello"))
"""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading
import time

import yaml

import pki
import process
from kube import ApiError, Kube
from paths import BUILD, DATA, STATE, Trouble, say

BUSYBOX = "docker.io/library/busybox:latest"
CASES = []


class Failed(Exception):
    """A case that did not hold; its text says what was seen."""


def case(sentence, profile="full"):
    """Registers a function of one argument, a Cluster of that profile. In the profile "outside" it has
    no argument and runs beside any cluster."""
    def register(function):
        CASES.append((profile, sentence, function))
        return function
    return register


def expect(is_so, text):
    if not is_so:
        raise Failed(str(text))


def pod(name, image=BUSYBOX, command="sleep 3600", limits=None, env=None, mounts=(), **spec):
    """A pod of one container that runs a shell command, or the image's own if command is None.
    mounts are (path in the container, path on the node) pairs; spec is the rest of the pod's spec."""
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent"}
    if command is not None:
        container["command"] = ["sh", "-c", command]
    if limits:
        container["resources"] = {"limits": limits}
    if env:
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
    container["volumeMounts"] = [{"name": f"m{i}", "mountPath": inside} for i, (inside, _) in enumerate(mounts)]
    volumes = [{"name": f"m{i}", "hostPath": {"path": path}} for i, (_, path) in enumerate(mounts)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [container], "volumes": volumes, "restartPolicy": "Never",
                     "terminationGracePeriodSeconds": 0, **spec}}


class Cluster(Kube):
    """The API server, in a namespace of the case's own, and the components that can be disturbed."""

    namespace = "default"

    # Objects

    def apply(self, what, namespace=None):
        return super().apply(what, namespace or self.namespace)

    def create(self, entry, namespace=None):
        return super().create(entry, namespace or self.namespace)

    def pod(self, name):
        return self.get("v1", "Pod", name, self.namespace)

    def node(self, name):
        return self.get("v1", "Node", name)

    def events(self, name=None):
        """What was reported about an object, oldest first, as "Reason: message"."""
        found = self.list("v1", "Event", self.namespace)
        found = [entry for entry in found if name in (None, entry["involvedObject"]["name"])]
        return [f"{entry['reason']}: {entry['message']}"
                for entry in sorted(found, key=lambda entry: entry["metadata"]["creationTimestamp"])]

    # Waiting

    def wait(self, sentence, condition, seconds=180):
        """Asks until the condition gives something true, which is returned. An API server that is
        away, or has not got the object yet, is asked again."""
        deadline = time.monotonic() + seconds
        last = None
        while True:
            try:
                last = condition()
                if last:
                    return last
            except ApiError as error:
                last = error
            if time.monotonic() > deadline:
                raise Failed(f"after {seconds} s not true that {sentence}: {last}\n{self.story()}")
            time.sleep(0.1)

    def wait_phase(self, name, *phases, seconds=180):
        def reached():
            found = self.pod(name)
            phase = found["status"].get("phase")
            if phase in phases:
                return found
            if phase in ("Failed", "Succeeded"):
                raise Failed(f"pod {name} is {phase}, not {'/'.join(phases)}\n{self.story()}")
            return None
        return self.wait(f"pod {name} is {'/'.join(phases)}", reached, seconds)

    def wait_gone(self, name, seconds=180):
        def is_gone():
            try:
                self.pod(name)
                return False
            except ApiError as error:
                return error.code == 404
        self.wait(f"pod {name} is gone", is_gone, seconds)

    def story(self):
        """The case's pods and events, for a person who asks what went wrong."""
        try:
            lines = [f"pod {entry['metadata']['name']}: {entry['status'].get('phase')} "
                     f"on {entry['spec'].get('nodeName', 'no node')} {entry['status'].get('message', '')}"
                     for entry in self.list("v1", "Pod", self.namespace)]
            return "\n".join(lines + self.events()[-12:])
        except ApiError as error:
            return str(error)

    @contextlib.contextmanager
    def own_namespace(self, name):
        """A namespace for the time of a block. Its pods end at once; nobody waits for the rest."""
        self.namespace = name
        super().apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # Its account must be made, and webhooks must have heard of it.
        self.wait(f"pods can be made in {name}", lambda: self.request(
            "POST", self.path("v1", "Pod", name), pod("probe"), dryRun="All"))
        yield
        try:
            self.request("DELETE", self.path("v1", "Pod", name), gracePeriodSeconds=0)
            self.delete("v1", "Namespace", name)
        except ApiError as error:
            say(f"e2e: {name} stays: {error}")

    # In a pod

    def logs(self, name, container=None):
        query = {"container": container} if container else {}
        return self.request("GET", self.path("v1", "Pod", self.namespace, name, "log"), **query)

    def kubectl(self, *words, check=True, seconds=180):
        done = subprocess.run(["kubectl", "--namespace", self.namespace, *words], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
        if check and done.returncode != 0:
            raise Failed(f"kubectl {' '.join(words)}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def exec(self, name, *words, check=True):
        return self.kubectl("exec", name, "--", *words, check=check)

    # Components

    def start(self, name):
        process.start(name)

    def stop(self, name):
        process.stop(name)

    def kill(self, name):
        process.stop(name, signal.SIGKILL)

    def restart(self, name):
        process.restart(name)

    @contextlib.contextmanager
    def component_config(self, name, **settings):
        """A component with other settings in its file of config/, for the time of a block."""
        path = os.path.join(STATE, "config", f"{name}.yaml")
        with open(path, encoding="utf-8") as file:
            before = file.read()
        try:
            with open(path, "w", encoding="utf-8") as file:
                yaml.safe_dump({**yaml.safe_load(before), **settings}, file)
            process.restart(name)
            yield
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before)
            process.restart(name)

    def scheduler_config(self, **settings):
        """kube-scheduler with other settings (extenders, profiles ...) for the time of a block."""
        return self.component_config("kube-scheduler", **settings)

    def certificate(self, name, **options):
        """Paths of a certificate and a key that the cluster's authority vouches for."""
        return pki.certificate(name, **options)

    # Nodes and GPUs

    def add_nodes(self, count, resources, prefix="bare"):
        """Nodes that nobody runs: they can be scheduled to. Resources are what each one has."""
        capacity = {"cpu": "64", "memory": "512Gi", "pods": "110", **resources}

        def add(name):
            kube = local_kube()
            kube.create({"apiVersion": "v1", "kind": "Node",
                         "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
            kube.patch("v1", "Node", name, {"status": {
                "capacity": capacity, "allocatable": capacity,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Bare"}]}}, sub="status")
            # Every node is born with a taint that kubelet's first word would take away.
            kube.patch("v1", "Node", name, {"spec": {"taints": None}})
            return name
        names = [f"{prefix}-{number}" for number in range(count)]
        local_kube = thread_local(Kube)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return list(pool.map(add, names))

    def remove_nodes(self, names):
        for name in names:
            self.delete("v1", "Node", name)

    def machine(self, preset="a100-40gb", gpus=1):
        """A simulated machine of some GPUs on the node; gives the path of its file."""
        folder = os.path.join(DATA, "machines")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self.namespace}-{len(os.listdir(folder))}")
        vgpu = os.path.join(BUILD, "bin", "vgpu")
        done = subprocess.run([vgpu, "sim", "create", "--machine", path, "--preset", preset, "--gpus", str(gpus)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        expect(done.returncode == 0, done.stdout)
        return path

    def gpu_pod(self, name, machine, **options):
        """A pod that has the simulated driver and a machine, as if the node had given them to it."""
        env = {"VGPU_SIM": "/run/machine", "LD_LIBRARY_PATH": "/usr/lib/nvidia", **options.pop("env", {})}
        mounts = [("/run/machine", machine), ("/usr/lib/nvidia", os.path.join(BUILD, "lib", "sim")),
                  *options.pop("mounts", ())]
        return pod(name, env=env, mounts=mounts, **options)


def thread_local(make):
    """One object per thread."""
    store = threading.local()

    def own():
        if not hasattr(store, "own"):
            store.own = make()
        return store.own
    return own


__all__ = ["ApiError", "BUSYBOX", "Cluster", "Failed", "Trouble", "case", "expect", "pod"]
