# SPDX-License-Identifier: Apache-2.0
"""Volcano's scheduler and controllers, started for these cases only, place pods, also those with vGPUs."""

import contextlib

import yaml

from cases.test_placement import scheduler
from cases.test_webhook import webhook
from fixtures import case, expect, pod
from paths import NODE
from full_stack import EXTENDER, PROFILES, UBUNTU, agent, sizes_seen, wait_log

GROUP = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pair}
spec: {minMember: 2, queue: default}
"""


VGPU = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "3000", "volcano.sh/vgpu-cores": "20"}


def handshake(cluster):
    return cluster.node(NODE)["metadata"].get("annotations", {}).get("volcano.sh/node-vgpu-handshake")


@contextlib.contextmanager
def volcano(cluster, *parts):
    """Volcano's programs for the time of a block."""
    started = []
    try:
        for name in ("volcano", *parts):
            cluster.start(name)
            started.append(name)
        told = handshake(cluster)
        # Volcano reads what a Node tells of its GPUs with the Node's next change, of which there is one soon.
        cluster.wait("the Node has changed since", lambda: not told or handshake(cluster) != told)
        yield
    finally:
        for name in reversed(started):
            cluster.stop(name)


def decision(entry):
    """What Volcano decided: (uuid, MiB, cores) of each GPU, container by container."""
    text = entry["metadata"].get("annotations", {}).get("volcano.sh/vgpu-ids-new", "")
    return [[(gpu.split(",")[0], *map(int, gpu.split(",")[2:])) for gpu in part.split(":") if gpu]
            for part in text.split(";")]


@contextlib.contextmanager
def volcano_node(cluster, gpus=1):
    """vgpu-node that tells Volcano of its GPUs; Volcano finds them. Afterwards the Node is as before."""
    try:
        with agent(cluster, "a100-40gb", gpus, "--volcano") as node:
            cluster.wait("the Node advertises Volcano's resources", lambda: cluster.node(NODE)["status"][
                "allocatable"].get("volcano.sh/vgpu-memory") == str(gpus * 40960))
            cluster.wait("kubelet counts vGPUs", lambda: cluster.node(NODE)["status"]["allocatable"].get(
                "volcano.sh/vgpu-number") == str(gpus * 10))
            yield node
    finally:        # when nobody puts it right any more
        cluster.patch("v1", "Node", NODE, {"metadata": {"annotations": {
            "volcano.sh/node-vgpu-register": None, "volcano.sh/node-vgpu-handshake": None}}})
        names = {name: None for name in ("volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores")}
        cluster.patch("v1", "Node", NODE, {"status": {"capacity": names, "allocatable": names}}, sub="status")


@case("Volcano's scheduler reads vgpu-node's registration and decides on its GPUs, until they are full")
def decides(cluster):
    with volcano_node(cluster), volcano(cluster, "volcano-controllers"):
        annotations = cluster.node(NODE)["metadata"]["annotations"]
        register = annotations["volcano.sh/node-vgpu-register"]
        uuid, number, memory, kind, health, mode = register.rstrip(":").split(",")
        expect((number, memory, health, mode) == ("10", "40960", "true", "hami-core"), register)
        expect(uuid.startswith("GPU-") and "NVIDIA" in kind, register)
        limits = {**VGPU, "volcano.sh/vgpu-memory": "20000", "volcano.sh/vgpu-cores": "50"}
        for name in ("one", "two", "three"):
            cluster.create(pod(name, schedulerName="volcano", limits=limits))

        def placed():
            return [entry for entry in cluster.list("v1", "Pod", cluster.namespace) if entry["spec"].get("nodeName")]
        cluster.wait("two are placed", lambda: len(placed()) == 2)
        for entry in placed():
            expect(decision(entry) == [[(uuid, 20000, 50)]], entry["metadata"])
            expect(entry["metadata"]["annotations"]["volcano.sh/vgpu-node"] == NODE, entry["metadata"])
        expect(handshake(cluster).startswith("Requesting_9999"), handshake(cluster))    # it asked for nothing
        names = [entry["metadata"]["name"] for entry in placed()]
        cluster.delete("v1", "Pod", names[0], cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("the third follows", lambda: {entry["metadata"]["name"] for entry in placed()} ==
                     {"one", "two", "three"} - {names[0]})


def share_pod(name, memory, **options):
    """A pod whose container says which GPUs it has, and holds what it may."""
    limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": str(memory), "volcano.sh/vgpu-cores": "20"}
    return pod(name, image=UBUNTU, command="look; look hold 100000; sleep 3600", limits=limits,
               schedulerName="volcano", **options)


def expect_given(entry, log):
    """From inside: exactly what Volcano gave."""
    given = [(uuid, memory, memory) for uuid, memory, _ in decision(entry)[0]]
    expect(sizes_seen(log) == given, f"sees {log}, was given {given}")
    expect("refused after" in log, log)


JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec: {schedulerName: volcano, queue: default, minAvailable: 2}
"""


@contextlib.contextmanager
def admitted(cluster):
    """Admission that lets Volcano write its own annotations, and nobody else."""
    cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vgpu"},
                   "handler": "vgpu"})
    with webhook(cluster, "--volcano-user", "system:serviceaccount:volcano-system:volcano-scheduler",
                 "--trusted-user", "admin"):
        yield


@case("a pod and a Volcano Job get the shares that Volcano's scheduler decided on, and are held to them")
def shares(cluster):
    # Volcano first: it hears of the GPUs when they are registered, and not at the Node's next change after that.
    with admitted(cluster), volcano(cluster, "volcano-controllers"), volcano_node(cluster, 2):
        cluster.create(share_pod("plain", 3000))
        job = yaml.safe_load(JOB)
        job["spec"]["tasks"] = [{"name": "worker", "replicas": 2, "template": {"spec": share_pod("x", 2000)["spec"]}}]
        cluster.create(job)
        for name, memory in (("plain", 3000), ("train-worker-0", 2000), ("train-worker-1", 2000)):
            cluster.wait(f"{name} is there", lambda name=name: cluster.pod(name))
            entry = cluster.wait_phase(name, "Running", seconds=90)
            expect(decision(entry)[0][0][1:] == (memory, 20), entry["metadata"]["annotations"])
            expect_given(entry, wait_log(cluster, name, "refused after"))
            expect("vgpu.io/allocation" not in entry["metadata"]["annotations"], "two decided")


@case("vgpu-scheduler and Volcano's scheduler see what the other gave, and share a GPU between them")
def beside(cluster):
    with admitted(cluster), volcano(cluster, "volcano-controllers"), volcano_node(cluster), scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER, profiles=PROFILES):
        cluster.create(share_pod("theirs", 20000))
        cluster.wait_phase("theirs", "Running", seconds=90)
        limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "15000"}
        for name in ("ours", "more"):       # 20000 + 15000 fit in 40960; 15000 more do not
            cluster.create(pod(name, limits=limits))
        cluster.wait("one of ours is placed", lambda: any(
            cluster.pod(name)["spec"].get("nodeName") for name in ("ours", "more")), 60)
        cluster.wait("the other says why not", lambda: any(
            "too few GPUs with 15000 MiB" in event for event in cluster.events()), 60)
        placed = next(entry for entry in map(cluster.pod, ("ours", "more")) if entry["spec"].get("nodeName"))
        expect(decision(placed)[0][0][1] == 15000, placed["metadata"]["annotations"])
        cluster.create(share_pod("late", 6000))
        cluster.wait("Volcano counts ours too", lambda: any(
            "late" not in event and "fit" in event.lower() or "Unschedulable" in event
            for event in cluster.events("late") + cluster.events(
                f"podgroup-{cluster.pod('late')['metadata']['uid']}")), 60)
        expect(not cluster.pod("late")["spec"].get("nodeName"), "the GPU was given twice")
        cluster.create(share_pod("small", 5000))
        cluster.wait_phase("small", "Running", seconds=60)


@case("Volcano's scheduler places a pod group, all of it or none")
def gang(cluster):
    with volcano(cluster):
        cluster.apply(GROUP)
        member = pod("one", schedulerName="volcano")
        member["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "pair"}
        cluster.apply(member)
        cluster.wait("one of two waits", lambda: any("Unschedulable" in event or "not ready" in event
                                                     for event in cluster.events()))
        expect("nodeName" not in cluster.pod("one")["spec"], "a lone member was placed")
        member["metadata"]["name"] = "two"
        cluster.apply(member)
        for name in ("one", "two"):
            cluster.wait_phase(name, "Running")
