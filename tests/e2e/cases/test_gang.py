# SPDX-License-Identifier: Apache-2.0
"""Members of a gang: one that cannot be bound is tried again soon, and holds nothing meanwhile."""

import contextlib

from kube import ApiError
from fixtures import case, expect, pod
from placing import EXTENDER, bound, nodes, scheduler, used

POLICY = "admissionregistration.k8s.io/v1"


@contextlib.contextmanager
def refusing(cluster, start):
    """The API server takes no Binding of pods whose names begin so."""
    name = f"{cluster.namespace}-refusing"
    cluster.apply([
        {"apiVersion": POLICY, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                                                    "resources": ["pods/binding"]}]},
            "validations": [{"expression": f"request.namespace != '{cluster.namespace}' || "
                                           f"!object.metadata.name.startsWith('{start}')",
                             "message": "not this member"}]}},
        {"apiVersion": POLICY, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
         "spec": {"policyName": name, "validationActions": ["Deny"]}}])
    probe = f"{start}probe"
    cluster.create(pod(probe, schedulerName="nobody"))

    def is_refused():
        try:
            cluster.request("POST", f"/api/v1/namespaces/{cluster.namespace}/pods/{probe}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": probe},
                "target": {"kind": "Node", "name": f"{cluster.namespace}-0"}}, dryRun="All")
        except ApiError as error:
            return "not this member" in str(error)
        return False
    try:
        cluster.wait("the policy holds", is_refused, 60)
        cluster.delete("v1", "Pod", probe, cluster.namespace, gracePeriodSeconds=0)
        yield
    finally:
        for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
            cluster.delete(POLICY, kind, name)


def gang(members, memory):
    limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(memory)}
    template = pod("unused", limits=limits, restartPolicy="Never")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "gang"}, "spec": {
        "completions": members, "parallelism": members, "completionMode": "Indexed", "backoffLimit": 0,
        "template": {"spec": template["spec"]}}}


def member_names(cluster):
    return [entry["metadata"]["name"] for entry in cluster.list("v1", "Pod", cluster.namespace)
            if entry["metadata"]["name"].startswith("gang-")]


@case("a gang's member whose Binding is refused is tried again soon: the others stay, and its share is free meanwhile",
      profile="light")
def retried(cluster):
    with nodes(cluster, 1, gpu_count=1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        with refusing(cluster, "gang-1-"):
            cluster.create(gang(4, 10000))
            cluster.wait("three have their places", lambda: len(bound(cluster)) == 3, 60)
            refused = next(name for name in member_names(cluster) if name.startswith("gang-1-"))
            cluster.wait("the fourth says why it has none", lambda: any(
                "not this member" in event for event in cluster.events(refused)), 60)
            expect(not cluster.pod(refused)["spec"].get("nodeName"), "it is bound all the same")
            # It is tried again and again, and each time what it was given is given back: another finds it free.
            cluster.create(pod("guest", limits={"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "10000"}))
            cluster.wait("a guest gets what it cannot have", lambda: cluster.pod("guest")["spec"].get("nodeName"), 60)
            cluster.delete("v1", "Pod", "guest", cluster.namespace, gracePeriodSeconds=0)
        # Far less than the five minutes after which kube-scheduler looks at pods that it has given up.
        cluster.wait("the fourth is bound soon", lambda: len(bound(cluster)) == 4, 60)
        sums = used(bound(cluster))
        expect(list(sums.values()) == [(40000, 0)], f"the members hold {sums}")
        cluster.delete("batch/v1", "Job", "gang", cluster.namespace, propagationPolicy="Background")
        for name in member_names(cluster):
            cluster.delete("v1", "Pod", name, cluster.namespace, gracePeriodSeconds=0)
        cluster.create(pod("whole", limits={"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "40000"}))
        cluster.wait("nothing is left of them: the GPU is whole", lambda: cluster.pod("whole")["spec"].get("nodeName"),
                     60)
