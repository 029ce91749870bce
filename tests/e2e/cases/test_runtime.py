# SPDX-License-Identifier: Apache-2.0
"""vgpu-runtime behind a real kubelet and containerd: a container's share is found by its identity."""

import contextlib
import os
import subprocess

import grpc

import grpc_client
from fixtures import case, expect, pod
from paths import BUILD, DATA

SOCKET = "/run/vgpu/node.sock"
MESSAGE = grpc_client.ALLOCATIONS
# What a container sees: whose share it was given, and which GPU.
SHOW = ("echo pod $(grep -c -a \"$POD_UID\" /etc/vgpu/share) container $(grep -c -a '{name}' /etc/vgpu/share);"
        " echo visible $NVIDIA_VISIBLE_DEVICES")


class Agent:
    """Makes a share for whoever asks, except for containers called "plain"."""

    def __init__(self, machine):
        self.machine, self.asked = machine, []
        os.makedirs(os.path.dirname(SOCKET), exist_ok=True)
        self.server = grpc_client.serve(SOCKET, "vgpu.v1.Allocations", {
            "Get": (self.get, MESSAGE["GetAllocationRequest"], False)})

    def get(self, request, context):
        who = request.container
        self.asked.append((who.namespace, who.pod, who.container))
        if who.container == "plain":
            context.abort(grpc.StatusCode.NOT_FOUND, "it has no share")
        folder = os.path.join(DATA, "shares", f"{who.pod_uid}-{who.container}-{len(self.asked)}")
        os.makedirs(folder)
        gpu = "1" if who.container == "second" else "0"
        share, region = os.path.join(folder, "share"), os.path.join(folder, "region")
        subprocess.run([os.path.join(BUILD, "tests", "attack", "share_tool"), share, self.machine, "100",
                        "/etc/vgpu/region", who.pod_uid, who.container, gpu], check=True)
        with open(region, "w", encoding="ascii"):
            os.chmod(region, 0o666)
        answer = MESSAGE["GetAllocationResponse"]()
        answer.mounts.add(host_path=share, container_path="/etc/vgpu/share", read_only=True)
        answer.mounts.add(host_path=region, container_path="/etc/vgpu/region")
        return answer


@contextlib.contextmanager
def agent(cluster):
    made = Agent(cluster.machine("a100-40gb", 2))
    try:
        yield made
    finally:
        made.server.stop(0).wait()
        if os.path.exists(SOCKET):
            os.unlink(SOCKET)


def gpu_pod(cluster, name, containers=("first",), command=SHOW, env=()):
    """A pod of the runtime class, whose containers know the pod's UID."""
    cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vgpu"},
                   "handler": "vgpu"})
    made = pod(name, runtimeClassName="vgpu")
    one = made["spec"]["containers"][0]
    uid = {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    made["spec"]["containers"] = [
        {**one, "name": inside, "command": ["sh", "-c", command.replace("{name}", inside)],
         "env": [uid, *({"name": key, "value": value} for key, value in env)]} for inside in containers]
    return made


@case("two pods of two containers, started at one instant, each have their own share")
def identity(cluster):
    with agent(cluster) as node:
        names = ("one", "two")
        for name in names:
            cluster.apply(gpu_pod(cluster, name, ("first", "second")))
        seen = set()
        for name in names:
            cluster.wait_phase(name, "Succeeded")
            for container in ("first", "second"):
                log = cluster.logs(name, container)
                expect("pod 1 container 1\n" in log and "visible GPU-" in log, log)
                seen.add((container, log.split()[-1]))
                expect((cluster.namespace, name, container) in node.asked, node.asked)
        expect(len(seen) == 2, seen)    # a GPU per container name, the same in both pods


@case("a container without a share has no GPU, whatever its image says")
def without(cluster):
    with agent(cluster):
        cluster.apply(gpu_pod(cluster, "none", ("plain",), "echo visible $NVIDIA_VISIBLE_DEVICES; ls /etc/vgpu",
                              (("NVIDIA_VISIBLE_DEVICES", "all"),)))
        cluster.wait_phase("none", "Failed")    # there is no /etc/vgpu
        log = cluster.logs("none")
        expect("visible void\n" in log, log)


@case("without its agent a GPU container does not start, kubectl says why, and it starts when the agent is there")
def agent_down(cluster):
    cluster.apply(gpu_pod(cluster, "wait", ("first",), env=(("NVIDIA_VISIBLE_DEVICES", "all"),)))
    cluster.wait("the reason is told", lambda: any(
        "vgpu-runtime: container 'first' of pod 'wait' gets no GPU: vgpu-node did not answer" in text
        for text in cluster.events("wait")))
    cluster.apply(gpu_pod(cluster, "plain", ("plain",), "echo plain"))
    cluster.wait_phase("plain", "Succeeded")
    with agent(cluster):
        again = gpu_pod(cluster, "again", ("first",), env=(("NVIDIA_VISIBLE_DEVICES", "all"),))
        cluster.apply(again)
        cluster.wait_phase("again", "Succeeded")
        expect("pod 1 container 1\n" in cluster.logs("again"), cluster.logs("again"))
