# SPDX-License-Identifier: Apache-2.0
"""No pod gets a share that the scheduler has not accounted for. There is no webhook here: this is what holds
when it is down, or passed by."""

import json

from fixtures import ApiError, case, expect, pod
from placing import EXTENDER, allocation, bound, nodes, scheduler, used

LIMITS = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "10000"}


def forged(node, uid="00000000-0000-0000-0000-000000000000", memory=40000):
    return {"vgpu.io/allocation": json.dumps({
        "version": 1, "pod": uid, "node": node,
        "containers": {"main": [{"uuid": f"GPU-{node}-0", "memory": memory, "cores": 0}]}})}


def with_annotations(entry, annotations):
    entry["metadata"]["annotations"] = annotations
    return entry


def decided(cluster):
    """Those for which a decision stands that is their own."""
    return [entry for entry in bound(cluster) if "vgpu.io/allocation" in entry["metadata"].get("annotations", {})
            and allocation(entry)["pod"] == entry["metadata"]["uid"]]


def all_fit(cluster, count):
    """The whole node can be given to others: nothing of it was lost to a forgery."""
    for number in range(count):
        cluster.create(pod(f"honest-{number}", limits=LIMITS))
    cluster.wait(f"{count} honest pods are bound", lambda: sum(
        entry["metadata"]["name"].startswith("honest-") for entry in bound(cluster)) == count, 60)


@case("the scheduler replaces an allocation that a user wrote; it holds no GPU", profile="light")
def written(cluster):
    with nodes(cluster, 1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        node = f"{cluster.namespace}-0"
        cluster.create(with_annotations(pod("forger", limits=LIMITS), forged(node)))
        entry = cluster.wait("it is bound", lambda: bound(cluster), 60)[0]
        decision = allocation(entry)
        expect(decision["pod"] == entry["metadata"]["uid"], decision)
        expect(decision["containers"]["main"][0]["memory"] == 10000, decision)
        all_fit(cluster, 7)
        expect(used(decided(cluster)) == {f"GPU-{node}-{i}": (40000, 0) for i in range(2)}, used(decided(cluster)))


@case("a pod that was put on a node by hand has no decision, also with a copied one, and holds no GPU",
      profile="light")
def by_hand(cluster):
    with nodes(cluster, 1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        node = f"{cluster.namespace}-0"
        cluster.create(pod("honest", limits=LIMITS))
        copied = cluster.wait("it is bound", lambda: decided(cluster), 60)[0]["metadata"]["annotations"]
        cluster.create(pod("plain", limits=LIMITS, nodeName=node))
        cluster.create(with_annotations(pod("invented", limits=LIMITS, nodeName=node), forged(node)))
        cluster.create(with_annotations(pod("copied", limits=LIMITS, nodeName=node), copied))
        all_fit(cluster, 7)
        names = sorted(entry["metadata"]["name"] for entry in decided(cluster))
        expect(names == ["honest"] + [f"honest-{number}" for number in range(7)], names)


@case("what somebody writes on a pod after it was placed, in its own name, counts at once", profile="light")
def later(cluster):
    with nodes(cluster, 1, gpu_count=1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        node = f"{cluster.namespace}-0"
        made = cluster.create(pod("late", limits=LIMITS, nodeName=node))
        cluster.patch("v1", "Pod", "late", {"metadata": {"annotations": forged(
            node, made["metadata"]["uid"], 35000)}}, cluster.namespace)
        cluster.create(pod("next", limits=LIMITS))
        cluster.wait("nothing fits beside it", lambda: any(
            "too few GPUs with 10000 MiB" in event for event in cluster.events("next")), 60)


@case("a pod of another scheduler is not ours: it waits, and holds no GPU", profile="light")
def others(cluster):
    with nodes(cluster, 1, gpu_count=1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        node = f"{cluster.namespace}-0"
        cluster.create(with_annotations(pod("other", limits=LIMITS, schedulerName="nobody"), forged(node)))
        all_fit(cluster, 4)
        expect("nodeName" not in cluster.pod("other")["spec"], cluster.pod("other")["spec"])


POLICY = "admissionregistration.k8s.io/v1"


@case("a Binding that the API server refuses frees its allocation, and is tried again at once when it may be",
      profile="light")
def refused(cluster):
    name = f"{cluster.namespace}-refused"
    cluster.apply({"apiVersion": POLICY, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                                                "operations": ["CREATE"], "resources": ["pods/binding"]}]},
        "validations": [{"expression": "object.metadata.name != 'refused'", "message": "not this one"}]}})
    cluster.apply({"apiVersion": POLICY, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
                   "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": {
                       "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}}}})
    try:
        with nodes(cluster, 1, gpu_count=1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
            cluster.wait("the policy is in force", lambda: denied(cluster), 60)
            cluster.create(pod("refused", limits=LIMITS))
            cluster.wait("it says why it is not bound", lambda: any(
                "not this one" in event for event in cluster.events("refused")), 60)
            all_fit(cluster, 4)             # all of the GPU
            cluster.delete("v1", "Pod", "honest-0", cluster.namespace, gracePeriodSeconds=0)
            cluster.delete(POLICY, "ValidatingAdmissionPolicyBinding", name)
            cluster.wait("then it is bound", lambda: cluster.pod("refused")["spec"].get("nodeName"), 60)
    finally:
        cluster.delete(POLICY, "ValidatingAdmissionPolicyBinding", name)
        cluster.delete(POLICY, "ValidatingAdmissionPolicy", name)


def denied(cluster):
    """Asks with a Binding for a pod that is not there: the policy speaks before anybody looks."""
    try:
        cluster.request("POST", cluster.path("v1", "Pod", cluster.namespace, "refused", "binding"), {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "refused"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "none"}})
    except ApiError as error:
        return "not this one" in str(error)
    return False
