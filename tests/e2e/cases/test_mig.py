# SPDX-License-Identifier: Apache-2.0
"""MIG devices through webhook, kubelet, agent and runtime; and what the agent's metrics say of containers."""

import os
import re
import sys
import urllib.request

import full_stack
from fixtures import case, expect, pod
from paths import BUILD, HERE, NODE
from full_stack import UBUNTU, wait_log

sys.path[:0] = [os.path.join(HERE, "..", "node"), os.path.join(HERE, "..", "net")]
import mig  # noqa: E402
import prometheus  # noqa: E402

LIB = os.path.join(BUILD, "lib", "sim")
MEMORY = "gpu.das.com/mem"       # admission adds it to a pod with a MIG device: 5 of it for a 1g.5gb
NAMES = ["nvidia.com/mig-1g.5gb", "mig.das.com/1g.5gb"]
METRICS = "127.0.0.1:9394"


def allocatable(cluster, name):
    return int(cluster.node(NODE)["status"]["allocatable"].get(name, "0"))


def metrics():
    with urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=10) as answer:
        page = prometheus.Page(answer.read())
    expect(not page.wrong, page.wrong)
    return page


def mig_pod(name, resource, command="look; sleep 3600"):
    return pod(name, image=UBUNTU, command=command, limits={resource: "1"})


def seen_device(cluster, name):
    """The UUID that CUDA shows, and the memory in MiB."""
    log = wait_log(cluster, name, r"^\d+ GPUs$")
    found = re.findall(r"^gpu (\S+) cuda (\d+)", log, re.M)
    expect(len(found) == 1, log)
    return found[0]


@case("a container has the MIG device that kubelet chose, under either name, and no two have the same")
def devices(cluster):
    with full_stack.full_stack(cluster, "a100-40gb", 2, f"--metrics-listen={METRICS}") as node:
        mig.cut(LIB, node.machine, 1, [1, 1])
        uuids = mig.devices(LIB, node.machine, 1)
        for name in NAMES:
            cluster.wait(f"two of {name}", lambda resource=name: allocatable(cluster, resource) == 2)
        cluster.wait(f"enough of {MEMORY} for two", lambda: allocatable(cluster, MEMORY) >= 10)
        cluster.apply(mig_pod("first", NAMES[0]))
        cluster.wait_phase("first", "Running", seconds=60)
        cluster.wait("what is held is not offered under the other name",
                     lambda: allocatable(cluster, NAMES[1]) == 1)
        cluster.apply(mig_pod("second", NAMES[1]))
        cluster.wait_phase("second", "Running", seconds=60)
        seen = [seen_device(cluster, name) for name in ("first", "second")]
        page = metrics()
        told = [labels["device_uuid"] for name, labels, _ in page.samples
                if name == "vgpu_container_memory_limit_bytes"]
        expect(sorted(told) == sorted(uuids), f"{told}, made were {uuids}")
        expect(all(int(mib) < 6000 for _, mib in seen), seen)
        expect(page.value("vgpu_container_processes", pod="first") is not None, page.samples)


@case("an init container has a MIG device, and the container after it has the same one")
def inits(cluster):
    def device(name, container):
        return [labels["device_uuid"] for sample, labels, _ in metrics().samples
                if sample == "vgpu_container_memory_limit_bytes" and (
                    labels["pod"], labels["container"]) == (name, container)]

    with full_stack.full_stack(cluster, "a100-40gb", 1, f"--metrics-listen={METRICS}") as node:
        mig.cut(LIB, node.machine, 0, [1, 1])
        cluster.wait("two devices", lambda: allocatable(cluster, NAMES[0]) == 2)
        cluster.wait(f"enough of {MEMORY} for two", lambda: allocatable(cluster, MEMORY) >= 10)
        made = {}
        for name in ("one", "two"):     # at the same instant: each has its own
            made[name] = mig_pod(name, NAMES[0])
            made[name]["spec"]["initContainers"] = [
                {**made[name]["spec"]["containers"][0], "name": "first", "command": ["sh", "-c", "look"]},
                {"name": "plain", "image": UBUNTU, "command": ["sh", "-c", "test ! -e /etc/vgpu/share"]}]
        for entry in made.values():
            cluster.apply(entry)
        seen = []
        for name in made:
            cluster.wait_phase(name, "Running", seconds=90)
            early = re.findall(r"^gpu (\S+) cuda (\d+)", cluster.logs(name, "first"), re.M)
            expect(early == [seen_device(cluster, name)], f"first {early}, then {seen_device(cluster, name)}")
            expect(device(name, "first") == device(name, "main"), metrics().samples)
            seen += device(name, "main")
        expect(sorted(seen) == sorted(mig.devices(LIB, node.machine, 0)), seen)


@case("the metrics tell of each container what it may have and what it has")
def figures(cluster):
    with full_stack.full_stack(cluster, "gtx-1050ti", 1, f"--metrics-listen={METRICS}"):
        cluster.apply(full_stack.gpu_pod("user", "look; look hold 300 & sleep 3600", memory=700, cores=30))
        cluster.wait_phase("user", "Running", seconds=60)

        def value(name):
            return metrics().value(f"vgpu_container_{name}", pod="user", container="main",
                                   namespace=cluster.namespace)
        cluster.wait("it holds memory", lambda: (value("memory_used_bytes") or 0) >= 300 << 20)
        expect(value("memory_limit_bytes") == 700 << 20, value("memory_limit_bytes"))
        expect(value("cores_limit_ratio") == 0.3, value("cores_limit_ratio"))
        expect(value("processes") >= 1, value("processes"))
        page = metrics()
        processes = page.named("vgpu_process_memory_used_bytes")
        expect(any(size >= 300 << 20 for _, _, size in processes), processes)
        labels = {"node", "device_uuid", "device_index", "namespace", "pod", "container"}
        own = [found for _, found, _ in page.named("vgpu_container_memory_") if found["pod"] == "user"]
        expect(own and all(labels <= set(found) for found in own), own)
