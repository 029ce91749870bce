# SPDX-License-Identifier: Apache-2.0
"""Which GPUs a pod wants, and how much a namespace may have; on nodes that nobody runs."""

import contextlib
import json

import chaos
from fixtures import ApiError, case, expect, pod
from cases.test_placement import EXTENDER, allocation, bound, scheduler

# Linked: 0-1 by PCIe, 1-2 by NVLink. NUMA nodes: 0 and 2, 1 and 3.
LINKS = "[[0,1,20],[1,2,112]]"


def gpus(name, types=("NVIDIA A100-SXM4-40GB",) * 4):
    return json.dumps([{"id": i, "type": kind, "uuid": f"GPU-{name}-{i}", "core": 100, "memory": 40000, "number": 10,
                        "numa": i % 2, "mig": False, "busId": f"0000:0{i}:00.0", "capability": 8, "healthy": True}
                       for i, kind in enumerate(types)])


@contextlib.contextmanager
def node(cluster, types=("NVIDIA A100-SXM4-40GB",) * 4, **annotations):
    """One node of four GPUs, scheduled to by vgpu-scheduler; gives its name."""
    name, = cluster.add_nodes(1, {}, prefix=cluster.namespace)
    cluster.patch("v1", "Node", name, {"metadata": {"annotations": {
        "nvidia.com/node-device-register": gpus(name, types), **annotations}}})
    try:
        with scheduler(), cluster.scheduler_config(extenders=EXTENDER):
            yield name
    finally:
        cluster.remove_nodes([name])


def ask(cluster, name, limits, **annotations):
    entry = pod(name, limits=limits)
    entry["metadata"]["annotations"] = annotations
    cluster.create(entry)


def placed(cluster, name):
    """The numbers of the GPUs that a pod got."""
    entry = cluster.wait(f"{name} is bound", lambda: next(
        (entry for entry in bound(cluster) if entry["metadata"]["name"] == name), None), 60)
    return sorted(int(part["uuid"].rpartition("-")[2]) for part in allocation(entry)["containers"]["main"])


def refused(cluster, name, why):
    cluster.wait(f"{name} says why it waits", lambda: any(why in event for event in cluster.events(name)), 60)


@case("pods get GPUs that are near each other, or wait where they insist", profile="light")
def near(cluster):
    two = {"nvidia.com/vgpu": "2", "nvidia.com/gpumem": "100"}
    three = {"nvidia.com/vgpu": "3", "nvidia.com/gpumem": "100"}
    with node(cluster, **{"vgpu.io/node-links": LINKS}):
        for number, (topology, wanted) in enumerate((("numa", [0, 2]), ("numa-strict", [0, 2]), ("link", [1, 2]),
                                                     ("link-strict", [1, 2]))):
            ask(cluster, f"pair-{number}", two, **{"vgpu.io/topology": topology})
            found = placed(cluster, f"pair-{number}")
            expect(found == wanted, f"{topology}: {found}")
        ask(cluster, "loose", three, **{"vgpu.io/topology": "link"})
        expect(len(placed(cluster, "loose")) == 3, "three of them")
        ask(cluster, "strict", three, **{"vgpu.io/topology": "link-strict"})
        refused(cluster, "strict", "no linked GPUs are free together")
        ask(cluster, "local", three, **{"nvidia.com/device-topology-mode": "numa-strict"})
        refused(cluster, "local", "no NUMA-local GPUs are free together")


@case("pods choose GPUs by type and UUID, and memory is in the node's units", profile="light")
def chosen(cluster):
    types = ("NVIDIA A100-SXM4-40GB", "Tesla T4", "NVIDIA L4", "Tesla T4")
    config = {"nvidia.com/node-config-info": '{"deviceSplit":10,"coresScaling":1,"memoryFactor":100,"memoryScaling":1}'}
    small = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "100"}
    with node(cluster, types, **config) as name:
        ask(cluster, "type", small, **{"nvidia.com/use-gputype": "l4"})
        expect(placed(cluster, "type") == [2], placed(cluster, "type"))
        ask(cluster, "avoid", {**small, "nvidia.com/vgpu": "2"},
            **{"vgpu.io/avoid-gpu-type": "a100,l4"})
        expect(placed(cluster, "avoid") == [1, 3], placed(cluster, "avoid"))
        ask(cluster, "uuid", small, **{"nvidia.com/use-gpuuuid": f"GPU-{name}-3"})
        expect(placed(cluster, "uuid") == [3], placed(cluster, "uuid"))
        ask(cluster, "nowhere", small, **{"vgpu.io/use-gpu-type": "H100"})
        refused(cluster, "nowhere", "none of its GPUs is of the wanted type or UUID")
        ask(cluster, "units", {"nvidia.com/vgpu-number": "1", "nvidia.com/vgpu-memory": "30"})
        placed(cluster, "units")
        part, = allocation(cluster.pod("units"))["containers"]["main"]
        expect(part["memory"] == 3000, part)
        whole = {"nvidia.com/vgpu": "1", "nvidia.com/gpucores": "100"}
        ask(cluster, "whole", whole)
        expect(placed(cluster, "whole") == [0], placed(cluster, "whole"))
        ask(cluster, "other", whole)
        refused(cluster, "other", "too few unused GPUs: 0 of 4, 1 needed")


@case("a ResourceQuota on our names holds a namespace to its part of the GPUs", profile="light")
def quota(cluster):
    cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"}, "spec": {"hard": {
        "requests.nvidia.com/gpumem": "30000", "requests.nvidia.com/vgpu": "8"}}})
    cluster.wait("the quota is known", lambda: cluster.get("v1", "ResourceQuota", "gpus", cluster.namespace)
                 ["status"].get("hard"), 60)
    limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "10000"}
    with node(cluster):
        for number in range(3):
            cluster.create(pod(f"pod-{number}", limits=limits))
        try:
            cluster.create(pod("fourth", limits=limits))
            expect(False, "the fourth pod was made")
        except ApiError as error:
            expect(error.code == 403 and "exceeded quota: gpus" in str(error) and
                   "requests.nvidia.com/gpumem=10k" in str(error), error)
        cluster.wait("three are bound", lambda: len(bound(cluster)) == 3, 60)
        cluster.delete("v1", "Pod", "pod-0", cluster.namespace, gracePeriodSeconds=0)

        def fourth():
            try:
                return cluster.create(pod("fourth", limits=limits))
            except ApiError as error:
                return None if error.code == 403 else expect(False, error)
        cluster.wait("what is given back can be had again", fourth, 60)
        placed(cluster, "fourth")


@case("a pod that fits nowhere is placed when a node, a GPU or memory appears", profile="light")
def follows(cluster):
    limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "40000"}
    with node(cluster, types=("NVIDIA A100-SXM4-40GB",)) as name:
        for number in range(3):
            ask(cluster, f"pod-{number}", limits)
        cluster.wait("one is bound", lambda: len(bound(cluster)) == 1, 60)
        cluster.wait("the others say why", lambda: sum(
            "too few GPUs with 40000 MiB and 0 cores free: 0 of 1, 1 needed" in event
            for event in cluster.events()) >= 2, 60)
        cluster.patch("v1", "Node", name, {"metadata": {"annotations": {
            "nvidia.com/node-device-register": gpus(name, ("NVIDIA A100-SXM4-40GB",) * 2)}}})
        cluster.wait("a second follows to the new GPU", lambda: len(bound(cluster)) == 2, 60)
        first = bound(cluster)[0]["metadata"]["name"]
        cluster.delete("v1", "Pod", first, cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("the third follows to what is given back", lambda: len(bound(cluster)) == 2, 60)


def refusals(cluster):
    """How many times kube-scheduler has said that a pod fits nowhere."""
    return sum((entry.get("series") or entry).get("count") or 1
               for entry in cluster.list("v1", "Event", cluster.namespace) if entry["reason"] == "FailedScheduling")


@case("a pod follows to GPUs of which kube-scheduler heard before vgpu-scheduler", profile="light")
def heard_late(cluster):
    line = chaos.Line()
    name, = cluster.add_nodes(1, {}, prefix=cluster.namespace)
    with contextlib.closing(line), cluster.scheduler_config(extenders=EXTENDER):
        late = chaos.scheduler(cluster)
        try:
            ask(cluster, "early", {"nvidia.com/vgpu": "1"})
            refused(cluster, "early", "no GPU is registered")
            with line.held():
                before = refusals(cluster)
                cluster.patch("v1", "Node", name, {"metadata": {"annotations": {
                    "nvidia.com/node-device-register": gpus(name)}}})
                cluster.wait("kube-scheduler has asked again", lambda: refusals(cluster) > before, 30)
            # By itself kube-scheduler would ask after five minutes.
            expect(len(placed(cluster, "early")) == 1, "one GPU")
        finally:
            late.end()
            cluster.remove_nodes([name])
