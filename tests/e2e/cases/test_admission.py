# SPDX-License-Identifier: Apache-2.0
"""The API server asks a webhook, and kube-scheduler asks an extender."""

import base64
import json

from fixtures import ApiError, case, expect, pod
from pki import CA
from servers import json_server


def authority():
    with open(CA, "rb") as file:
        return base64.b64encode(file.read()).decode()


def webhook_answer(_path, review):
    """Labels every pod that it sees, and refuses those called bad."""
    request = review["request"]
    response = {"uid": request["uid"], "allowed": request["object"]["metadata"]["name"] != "bad"}
    if response["allowed"]:
        patch = [{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]
        response.update(patchType="JSONPatch", patch=base64.b64encode(json.dumps(patch).encode()).decode())
    else:
        response["status"] = {"message": "no pod is called bad"}
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}


@case("a mutating webhook is called over TLS, changes a pod and refuses another")
def webhook(cluster):
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "e2e"},
        "webhooks": [{
            "name": "pods.e2e.vgpu.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:9500/mutate", "caBundle": authority()},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }]}
    with json_server(9500, cluster.certificate("webhook"), webhook_answer) as asked:
        cluster.apply(configuration)
        try:
            cluster.wait("the webhook is asked", lambda: cluster.create(pod("probe"), None) and asked or
                         cluster.delete("v1", "Pod", "probe", cluster.namespace, gracePeriodSeconds=0) and None)
            made = cluster.create(pod("good"))
            expect(made["metadata"].get("labels") == {"seen": "yes"}, made["metadata"])
            try:
                cluster.create(pod("bad"))
                expect(False, "the pod called bad was made")
            except ApiError as error:
                expect("no pod is called bad" in str(error), error)
            expect(asked[-1][0] == "/mutate?timeout=10s", asked[-1][0])
        finally:
            cluster.delete("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "e2e")


def extender_answer(path, body):
    if path.endswith("/prioritize"):
        return [{"Host": name, "Score": 7} for name in body["NodeNames"]]
    if body["Pod"]["metadata"]["name"] == "unwanted":
        return {"NodeNames": [], "FailedNodes": {name: "the extender refuses the node" for name in body["NodeNames"]}}
    return {"NodeNames": body["NodeNames"], "FailedNodes": {}}


@case("kube-scheduler asks an extender over TLS, which lets one pod through and holds another")
def extender(cluster):
    settings = [{"urlPrefix": "https://127.0.0.1:9501/scheduler", "filterVerb": "filter",
                 "prioritizeVerb": "prioritize", "weight": 1, "enableHTTPS": True, "nodeCacheCapable": True,
                 "tlsConfig": {"caFile": CA}, "managedResources": [
                     {"name": "e2e.vgpu.io/share", "ignoredByScheduler": True}]}]
    with json_server(9501, cluster.certificate("extender"), extender_answer) as asked, \
            cluster.scheduler_config(extenders=settings):
        limits = {"e2e.vgpu.io/share": "1"}
        cluster.apply(pod("wanted", limits=limits))
        cluster.apply(pod("unwanted", limits=limits))
        cluster.wait("the pod is bound", lambda: cluster.pod("wanted")["spec"].get("nodeName"))
        cluster.wait("the other says why it is not",
                     lambda: any("the extender refuses the node" in event for event in cluster.events("unwanted")))
        expect({"Pod", "Nodes", "NodeNames"} <= set(asked[0][1]), asked[0][1].keys())
        expect(asked[0][1]["Nodes"] is None, "nodeCacheCapable, but nodes are sent")
