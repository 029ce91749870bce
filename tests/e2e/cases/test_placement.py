# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler with vgpu-scheduler as its extender, on nodes that nobody runs."""

from fixtures import case, expect, pod
from placing import EXTENDER, allocation, bound, nodes, scheduler, used

@case("pods share GPUs until they are full; the one too many says why, and is placed when it fits",
      profile="light")
def fills(cluster):
    with nodes(cluster, 3), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "10000", "nvidia.com/gpucores": "25"}
        for number in range(25):            # 3 nodes × 2 GPUs × 4 pods, and one more
            cluster.create(pod(f"pod-{number}", limits=limits))
        cluster.wait("24 pods are bound", lambda: len(bound(cluster)) == 24, 60)
        cluster.wait("the last says why it waits", lambda: any(
            "3 too few GPUs with 10000 MiB and 25 cores free: 0 of 2, 1 needed" in event
            for event in cluster.events()), 60)
        sums = used(bound(cluster))
        expect(sums == {uuid: (40000, 100) for uuid in sums} and len(sums) == 6, sums)
        for entry in bound(cluster):
            decision = allocation(entry)
            expect((decision["pod"], decision["node"]) ==
                   (entry["metadata"]["uid"], entry["spec"]["nodeName"]), decision)
        cluster.delete("v1", "Pod", bound(cluster)[0]["metadata"]["name"], cluster.namespace,
                       gracePeriodSeconds=0)
        cluster.wait("the last one follows", lambda: len(bound(cluster)) == 24, 30)


@case("a scheduler that is killed and restarted places as if nothing had been", profile="light")
def restarts(cluster):
    limits = {"nvidia.com/vgpu": "2", "nvidia.com/gpumem": "15000"}
    with nodes(cluster, 2), cluster.scheduler_config(extenders=EXTENDER):
        with scheduler() as process:
            for number in range(2):
                cluster.create(pod(f"first-{number}", limits=limits))
            cluster.wait("two are bound", lambda: len(bound(cluster)) == 2, 60)
            process.kill()
            process.wait()
        for number in range(4):             # two more fit
            cluster.create(pod(f"second-{number}", limits=limits))
        with scheduler():
            cluster.wait("two more are bound", lambda: len(bound(cluster)) == 4, 90)
            cluster.wait("the others say why not", lambda: any(
                "too few GPUs with 15000 MiB" in event for event in cluster.events()), 60)
            sums = used(bound(cluster))
            expect(set(sums.values()) == {(30000, 0)} and len(sums) == 4, sums)


@case("a whole GPU is nobody else's", profile="light")
def whole(cluster):
    with nodes(cluster, 1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        cluster.create(pod("small", limits={"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "100"}))
        cluster.wait("the small one is bound", lambda: len(bound(cluster)) == 1, 60)
        cluster.create(pod("whole", limits={"nvidia.com/vgpu": "1", "nvidia.com/gpucores": "100"}))
        cluster.wait("the whole GPU is had", lambda: len(bound(cluster)) == 2, 60)
        expect(len(used(bound(cluster))) == 2, used(bound(cluster)))
        cluster.create(pod("late", limits={"nvidia.com/vgpu": "2", "nvidia.com/gpumem": "100"}))
        cluster.wait("two GPUs are too many", lambda: any(
            "too few GPUs with 100 MiB" in event for event in cluster.events("late")), 60)
