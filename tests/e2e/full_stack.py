# SPDX-License-Identifier: Apache-2.0
"""full_stack: webhook, scheduler, agent and runtime together, as on a node in service."""

import contextlib
import json
import os
import re
import signal
import subprocess

import managed
from cases.test_placement import EXTENDER as EXTENDERS
from cases.test_placement import scheduler
from cases.test_webhook import webhook
from fixtures import expect, pod
from paths import BUILD, DATA, LOGS, NODE

RESOURCES = ["nvidia.com/vgpu", "nvidia.com/vgpu-number", "volcano.sh/vgpu-number"]
REGISTER = "nvidia.com/node-device-register"
UBUNTU = "quay.io/jitesoft/ubuntu:24.04"
STATE_FOLDER = os.path.join(DATA, "node")
# Memory and cores are nobody's capacity but the scheduler's.
EXTENDER = [{**EXTENDERS[0], "managedResources": managed.resources()}]
PROFILES = [{"schedulerName": "default-scheduler"}, {"schedulerName": "vgpu-scheduler"}]


class Agent:
    """vgpu-node on a simulated machine."""

    def __init__(self, machine, *options):
        self.machine, self.options = machine, options
        self.start()

    def start(self):
        environment = {**os.environ, "VGPU_SIM": self.machine,
                       "LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "sim")}
        with open(os.path.join(LOGS, "vgpu-node.log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "bin", "vgpu-node"), f"--node-name={NODE}",
                 f"--state-dir={STATE_FOLDER}", f"--sim-driver={os.path.join(BUILD, 'lib', 'sim')}",
                 "--open-kernel-modules",       # as the simulated driver behaves
                 *self.options], env=environment, stdout=log, stderr=log)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()

    def rss_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


@contextlib.contextmanager
def agent(cluster, preset, gpus, *options):
    made = Agent(cluster.machine(preset, gpus), *options)
    try:
        yield made
    finally:
        made.process.terminate()
        made.process.wait(20)
        cluster.patch("v1", "Node", NODE, {"metadata": {"annotations": {
            REGISTER: None, "nvidia.com/node-config-info": None}}})


def registered_gpus(cluster):
    """What the Node says of its GPUs."""
    return json.loads(cluster.node(NODE)["metadata"].get("annotations", {}).get(REGISTER, "[]"))


@contextlib.contextmanager
def full_stack(cluster, preset="gtx-1050ti", gpus=2, *options):
    """All programs; ends when the case's GPU pods have ended. Yields the agent."""
    cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vgpu"},
                   "handler": "vgpu"})
    with webhook(cluster, "--trusted-user", "admin"), scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER, profiles=PROFILES), \
            agent(cluster, preset, gpus, *options) as node:
        cluster.wait("the GPUs are registered", lambda: len(registered_gpus(cluster)) == gpus)
        cluster.wait("kubelet has the vGPUs", lambda: int(
            cluster.node(NODE)["status"]["allocatable"].get(RESOURCES[0], "0")) >= gpus)
        yield node


def gpu_pod(name, command="look; sleep 3600", image=UBUNTU, memory=None, cores=None, number=1, **options):
    """A pod of one container with a GPU, as seed 001 writes it."""
    limits = {"nvidia.com/vgpu": str(number)}
    if memory is not None:
        limits["nvidia.com/gpumem"] = str(memory)
    if cores is not None:
        limits["nvidia.com/gpucores"] = str(cores)
    return pod(name, image=image, command=command, limits=limits, **options)


def allocation(entry):
    return json.loads(entry["metadata"]["annotations"]["vgpu.io/allocation"])["containers"]


def inside(cluster, name, *words, container="main", check=True):
    """What a program that is started in a running container says."""
    return cluster.kubectl("exec", name, "-c", container, "--", *words, check=check)


def sizes_seen(log):
    """What `look` has said last: [(uuid, MiB by CUDA, MiB by NVML)]."""
    found = re.findall(r"^gpu (\S+) cuda (\d+) nvml (\d+)$", log, re.M)
    count = re.findall(r"^(\d+) GPUs$", log, re.M)
    expect(count, f"look has not ended: {log}")
    return [(uuid, int(cuda), int(nvml)) for uuid, cuda, nvml in found[-int(count[-1]):]]


def expect_own(entry, container, log):
    """From inside: exactly what the scheduler gave to this container."""
    given = [(part["uuid"], part["memory"], part["memory"]) for part in allocation(entry)[container]]
    expect(sorted(sizes_seen(log)) == sorted(given), f"{container} sees {log}, was given {given}")


def wait_log(cluster, name, pattern, container=None, seconds=60):
    """Waits until the container says it, and gives all that it has said."""
    return cluster.wait(f"{name} says {pattern}", lambda: re.search(
        pattern, cluster.logs(name, container), re.M) and cluster.logs(name, container), seconds)


def shares_on_disk():
    """The folders of containers' shares."""
    root = os.path.join(STATE_FOLDER, "shares")
    return [os.path.join(root, uid, name) for uid in os.listdir(root) for name in os.listdir(os.path.join(root, uid))]
