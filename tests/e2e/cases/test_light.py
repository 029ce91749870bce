# SPDX-License-Identifier: Apache-2.0
"""Scheduling to nodes that nobody runs."""

from fixtures import case, expect, pod


@case("pods fill the GPUs of bare nodes, and the one too many says why it waits", profile="light")
def bare_nodes(cluster):
    names = cluster.add_nodes(25, {"nvidia.com/vgpu-number": "8"})
    try:
        expect(len(cluster.list("v1", "Node")) == 25, "nodes are missing")
        fill(cluster)
    finally:
        cluster.remove_nodes(names)         # or other cases' pods would go there


def fill(cluster):
    for number in range(26):
        cluster.create(pod(f"pod-{number}", limits={"nvidia.com/vgpu-number": "8"}))

    def bound():
        return [entry["spec"]["nodeName"] for entry in cluster.list("v1", "Pod", cluster.namespace)
                if entry["spec"].get("nodeName")]
    cluster.wait("every node has its pod", lambda: len(set(bound())) == 25)
    cluster.wait("the last pod waits with a reason", lambda: any(
        "25 Insufficient nvidia.com/vgpu-number" in event for event in cluster.events()))
    expect(len(bound()) == 25, bound())
