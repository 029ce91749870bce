"""Volcano's scheduler, started for this case only, places a group of pods."""

from lab import case, expect, pod

GROUP = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pair}
spec: {minMember: 2, queue: default}
"""


@case("Volcano's scheduler places a pod group, all of it or none")
def gang(cluster):
    cluster.start("volcano")
    try:
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
    finally:
        cluster.stop("volcano")
