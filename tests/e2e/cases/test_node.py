# SPDX-License-Identifier: Apache-2.0
"""vgpu-node and the real kubelet: vGPUs are advertised, through restarts of either."""

import time

import grpc

import grpc_client
from fixtures import case, expect, pod
from paths import NODE
from full_stack import RESOURCES, agent, registered_gpus, full_stack

# The name of memory that goes with each name of a count.
MEMORY = ["nvidia.com/gpumem", "nvidia.com/vgpu-memory", "volcano.sh/vgpu-memory"]


def allocatable(cluster):
    status = cluster.node(NODE)["status"]["allocatable"]
    return [status.get(name, "0") for name in RESOURCES]


def is_same_container(before, after):
    return all(before["status"]["containerStatuses"][0][field] ==
               after["status"]["containerStatuses"][0][field] for field in ("containerID", "restartCount"))


def ids_of_kubelet(*resources):
    """What kubelet itself has at this moment: the Node may still tell of the time before a restart."""
    try:
        found = grpc_client.call("/var/lib/kubelet/pod-resources/kubelet.sock",
                          "/v1.PodResourcesLister/GetAllocatableResources",
                          grpc_client.PODS["AllocatableResourcesRequest"](),
                          grpc_client.PODS["AllocatableResourcesResponse"])
    except grpc.RpcError:
        return []
    return [name for entry in found.devices if entry.resource_name in resources
            for name in entry.device_ids]


def slots_of_kubelet():
    return len(ids_of_kubelet(*RESOURCES))


def wait_ready(cluster, count):
    cluster.wait(f"kubelet has {count} vGPUs under each name", lambda: slots_of_kubelet() == 3 * count)
    cluster.wait("the Node tells of them", lambda: allocatable(cluster) == [str(count)] * 3)


def small(number, name, **options):
    """A pod with a small part of a GPU, in any family of names."""
    return pod(name, limits={RESOURCES[number % 3]: "1", MEMORY[number % 3]: "100"}, **options)


@case("kubelet takes vgpu-node's resources, and a pod that counts them starts")
def advertised(cluster):
    with full_stack(cluster, "a100-40gb", 2) as node:
        wait_ready(cluster, 20)
        for number in range(3):
            cluster.apply(small(number, f"user-{number}", command="ls /dev; sleep 3600"))
        for number in range(3):
            cluster.wait_phase(f"user-{number}", "Running")
        expect("nvidia" not in cluster.logs("user-0"), cluster.logs("user-0"))
        expect(node.rss_kb() < 8000, f"VmRSS {node.rss_kb()} kB")
        print(f"e2e: vgpu-node has {node.rss_kb()} kB", flush=True)


@case("the Node tells of its GPUs in the annotations that users know, with memory scaled")
def registered(cluster):
    with agent(cluster, "gtx-1050ti", 1, "--device-memory-scaling=2.0"):
        cluster.wait("a GPU of 4096 MiB is registered with 8192",
                     lambda: [entry["memory"] for entry in registered_gpus(cluster)] == [8192])


@case("after every restart of kubelet vgpu-node's resources are back within seconds")
def kubelet_restarts(cluster):
    with full_stack(cluster, "a100-40gb", 1):
        wait_ready(cluster, 10)
        cluster.apply(small(0, "stays"))
        before = cluster.wait_phase("stays", "Running")
        slowest = 0
        for _ in range(20):
            cluster.kill("kubelet")
            cluster.start("kubelet")
            began = time.monotonic()
            cluster.wait("kubelet has the vGPUs again", lambda: slots_of_kubelet() == 30)
            slowest = max(slowest, time.monotonic() - began)
        print(f"e2e: capacity back at most {slowest:.1f} s after kubelet", flush=True)
        wait_ready(cluster, 10)
        expect(slowest < 5, f"{slowest:.1f} s")
        cluster.apply(small(1, "next", command="true"))
        cluster.wait_phase("next", "Succeeded")
        expect(is_same_container(before, cluster.pod("stays")), cluster.pod("stays")["status"])


@case("vgpu-node killed and started again: what runs runs on, and new pods start")
def killed(cluster):
    with full_stack(cluster, "a100-40gb", 1) as node:
        wait_ready(cluster, 10)
        cluster.apply(small(0, "stays"))
        before = cluster.wait_phase("stays", "Running")
        slowest = 0
        for attempt in range(10):
            node.kill()
            node.start()
            # In between, kubelet takes no pod that asks for a vGPU: a Job's or a Deployment's comes again.
            began = time.monotonic()
            cluster.wait("kubelet has the vGPUs again", lambda: slots_of_kubelet() == 30)
            slowest = max(slowest, time.monotonic() - began)
            wait_ready(cluster, 10)
            cluster.apply(small(attempt, f"attempt-{attempt}", command="true"))
            cluster.wait_phase(f"attempt-{attempt}", "Succeeded")
        print(f"e2e: back at most {slowest:.2f} s after its start", flush=True)
        expect(is_same_container(before, cluster.pod("stays")), cluster.pod("stays")["status"])
