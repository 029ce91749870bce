# SPDX-License-Identifier: Apache-2.0
"""vgpu-webhook, asked by the real API server, which believes the authority that it made itself."""

import base64
import contextlib
import json
import os
import time

from cases.test_admission import authority
from daemons import KUBECONFIG, daemon
from kube import documents
from fixtures import ApiError, case, expect, pod
from paths import TOP
from servers import json_server

PORT = 9520
API = "admissionregistration.k8s.io/v1"
KINDS = {"MutatingWebhookConfiguration": "mutate", "ValidatingWebhookConfiguration": "validate"}
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]},
         {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]},
         {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
          "resources": ["jobs", "cronjobs"]},
         {"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
          "resources": ["jobsets"]}]
# As much of JobSet as admission sees.
JOBSET = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
          "metadata": {"name": "jobsets.jobset.x-k8s.io"}, "spec": {
              "group": "jobset.x-k8s.io", "scope": "Namespaced",
              "names": {"kind": "JobSet", "plural": "jobsets", "singular": "jobset"},
              "versions": [{"name": "v1alpha2", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                  "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


@contextlib.contextmanager
def webhook(cluster, *words, again=False):
    """The program and its configurations, for the pods of the case's namespace; asked again if need be."""
    for kind, path in KINDS.items():
        cluster.apply({"apiVersion": API, "kind": kind, "metadata": {"name": "vgpu-webhook"}, "webhooks": [{
            "name": f"{path}.vgpu.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": f"https://127.0.0.1:{PORT}/{path}"}, "rules": RULES,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}},
            **({"reinvocationPolicy": "IfNeeded"} if again and path == "mutate" else {})}]})
    try:
        with daemon("vgpu-webhook", "--listen", f"127.0.0.1:{PORT}", "--kubeconfig", KUBECONFIG,
                    "--namespace", cluster.namespace, *words) as process:
            cluster.wait("the API server believes it", lambda: is_asked(cluster))
            yield process
    finally:
        for kind in KINDS:
            cluster.delete(API, kind, "vgpu-webhook")


def is_asked(cluster):
    """A pod that cannot be is refused by us, not by a failing call."""
    try:
        cluster.create(pod("probe", limits={"nvidia.com/gpucores": "101"}))
    except ApiError as error:
        return "not between 0 and 100" in str(error)
    cluster.delete("v1", "Pod", "probe", cluster.namespace, gracePeriodSeconds=0)
    return False


def limits(entry, container=0):
    return entry["spec"]["containers"][container]["resources"]["limits"]


def refused(cluster, sentence, entry):
    try:
        cluster.create(entry)
        expect(False, f"made: {entry['metadata']['name']}")
    except ApiError as error:
        expect(sentence in str(error), error)


@case("the seeds' requests are made explicit, and what cannot be is refused with a sentence", profile="light")
def requests(cluster):
    with webhook(cluster, "--foreign-runtime", "nvidia", "--runtime-class", ""):
        made = cluster.create(pod("seed-000", limits={"nvidia.com/vgpu-number": "1"}))
        expect(limits(made) == {"nvidia.com/vgpu-number": "1", "nvidia.com/vgpu-cores": "100"}, limits(made))
        expect(made["spec"]["schedulerName"] == "vgpu-scheduler", made["spec"]["schedulerName"])
        expect(set(json.loads(made["metadata"]["annotations"]["vgpu.io/container-uuids"])) == {"main"},
               made["metadata"])
        made = cluster.create(pod("seed-001", limits={
            "nvidia.com/gpucores": "0", "nvidia.com/gpumem": "200", "nvidia.com/vgpu": "1"}))
        expect(limits(made) == {"nvidia.com/gpucores": "0", "nvidia.com/gpumem": "200", "nvidia.com/vgpu": "1"},
               limits(made))
        made = cluster.create(pod("seed-004", limits={"nvidia.com/mig-1g.5gb": "2"}))
        expect(limits(made)["gpu.das.com/mem"] == "10", limits(made))
        refused(cluster, "is not a whole number", pod("half", limits={"nvidia.com/vgpu": "500m"}))
        cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"},
                       "handler": "nvidia"})
        refused(cluster, "hands out GPUs without vgpu", pod("foreign", runtimeClassName="nvidia"))
        cluster.delete("node.k8s.io/v1", "RuntimeClass", "nvidia")
        refused(cluster, "only the scheduler may place", pod("placed", nodeName="n", limits={"nvidia.com/vgpu": "1"}))


@case("a Job's template gets its memory for queues; pods it makes are left as they are", profile="light")
def templates(cluster):
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": {
        "spec": {**pod("x", limits={"nvidia.com/mig-2g.10gb": "1"})["spec"]}}}}
    with webhook(cluster, "--runtime-class", ""):
        made = cluster.create(job)
        expect(limits(made["spec"]["template"])["gpu.das.com/mem"] == "10", made["spec"]["template"])

        def of_job():
            return [entry for entry in cluster.list("v1", "Pod", cluster.namespace)
                    if entry["metadata"].get("ownerReferences")]
        cluster.wait("its pod is made", of_job)
        expect(limits(of_job()[0])["gpu.das.com/mem"] == "10", of_job()[0]["spec"])


@case("forged annotations are stripped, and nobody writes them later", profile="light")
def forged(cluster):
    entry = pod("forged", limits={"nvidia.com/gpumem": "200"})
    entry["metadata"]["annotations"] = {"vgpu.io/allocation": "{}", "team": "a", "vgpu.io/memory-max": "300Mi"}
    with webhook(cluster, "--runtime-class", ""):
        annotations = cluster.create(entry)["metadata"]["annotations"]
        expect("vgpu.io/allocation" not in annotations and annotations["team"] == "a", annotations)

        def change(name, value):
            try:
                cluster.patch("v1", "Pod", "forged", {"metadata": {"annotations": {name: value}}},
                              cluster.namespace)
                return ""
            except ApiError as error:
                return str(error)
        expect("users may not change" in change("vgpu.io/allocation", "{}"), "the allocation was written")
        expect(change("vgpu.io/memory", "300Mi") == "", "a resize within its ceiling was refused")
        expect("over the ceiling" in change("vgpu.io/memory", "301Mi"), "a resize over its ceiling was let through")
        expect("fixed when the pod is created" in change("vgpu.io/memory-max", "1Gi"), "the ceiling was raised")


@case("a Deployment older than the webhook rolls out once, not for ever", profile="light")
def older(cluster):
    labels = {"app": "older"}
    entry = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "older"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {**pod("x", limits={"nvidia.com/vgpu-number": "1"})["spec"],
                                                     "restartPolicy": "Always"}}}}

    def sets():
        return cluster.list("apps/v1", "ReplicaSet", cluster.namespace)

    def pods():
        return [entry for entry in cluster.list("v1", "Pod", cluster.namespace)
                if entry["metadata"].get("labels") == {**labels, **entry["metadata"].get("labels", {})}
                and not entry["metadata"].get("deletionTimestamp")]
    cluster.create(entry)
    before = cluster.wait("its pod is made without us", pods)[0]
    expect("nvidia.com/vgpu-cores" not in limits(before), limits(before))
    with webhook(cluster, "--runtime-class", ""):
        cluster.delete("v1", "Pod", before["metadata"]["name"], cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("the next pod is completed", lambda: [
            entry for entry in pods() if limits(entry).get("nvidia.com/vgpu-cores") == "100"])
        expect(len(sets()) == 1, sets())
        cluster.patch("apps/v1", "Deployment", "older", {"spec": {"template": {"metadata": {
            "annotations": {"version": "2"}}}}}, cluster.namespace)
        cluster.wait("it rolls out", lambda: len(sets()) == 2)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            expect(len(sets()) == 2, [entry["metadata"]["name"] for entry in sets()])
            time.sleep(0.5)
        now = cluster.get("apps/v1", "Deployment", "older", cluster.namespace)
        expect(now["status"]["observedGeneration"] == now["metadata"]["generation"], now["status"])
        expect(now["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2", now["metadata"])
        expect(limits(now["spec"]["template"]) == {"nvidia.com/vgpu-number": "1"}, now["spec"]["template"])


@case("templates of CronJob and JobSet are completed, and a Job older than the webhook can still be let go",
      profile="light")
def more_templates(cluster):
    spec = {**pod("x", limits={"nvidia.com/mig-1g.5gb": "2"})["spec"]}
    cluster.install([JOBSET])
    cluster.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "older"}, "spec": {
        "suspend": True, "template": {"spec": spec}}})
    with webhook(cluster, "--runtime-class", ""):
        made = cluster.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}, "spec": {
            "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": spec}}}}})
        expect(limits(made["spec"]["jobTemplate"]["spec"]["template"])["gpu.das.com/mem"] == "10", made["spec"])
        made = cluster.create({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set"},
                               "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {
                                   "template": {"spec": spec}}}}], "futureField": {"kept": [1, 2.5]}}})
        expect(limits(made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"])["gpu.das.com/mem"] == "10",
               made["spec"])
        expect(made["spec"]["futureField"] == {"kept": [1, 2.5]}, made["spec"])
        made = cluster.patch("batch/v1", "Job", "older", {"spec": {"suspend": False}}, cluster.namespace)
        expect("gpu.das.com/mem" not in limits(made["spec"]["template"]), made["spec"])
        owned = cluster.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {
            "name": "owned", "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "cron",
                                                  "uid": "00000000-0000-0000-0000-000000000000",
                                                  "controller": True}]}, "spec": {
                "suspend": True, "template": {"spec": spec}}})
        expect("gpu.das.com/mem" not in limits(owned["spec"]["template"]), owned["spec"])
    cluster.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "jobsets.jobset.x-k8s.io")


@case("UUIDs of containers stay when the API server asks again after another webhook", profile="light")
def asked_again(cluster):
    seen = []

    def other(_path, review):
        """Another webhook, after ours: it adds a label, for which the API server asks ours again."""
        thing = review["request"]["object"]
        seen.append(thing["metadata"].get("annotations", {}).get("vgpu.io/container-uuids"))
        patch = [{"op": "add", "path": "/metadata/labels", "value": {"other": "was-here"}}]
        answer = {"uid": review["request"]["uid"], "allowed": True}
        if thing["metadata"].get("labels", {}).get("other") is None:
            answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": answer}
    with json_server(9502, cluster.certificate("other-webhook"), other), \
            webhook(cluster, "--runtime-class", "", again=True):
        # Configurations are asked in the order of their names: this one comes after ours.
        cluster.apply({"apiVersion": API, "kind": "MutatingWebhookConfiguration", "metadata": {"name": "zz-other"},
                       "webhooks": [{
                           "name": "other.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                           "clientConfig": {"url": "https://127.0.0.1:9502/mutate", "caBundle": authority()}, "rules": RULES[:1],
                           "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}}]})
        try:
            def is_after():
                made = cluster.create(pod("twice", limits={"nvidia.com/gpumem": "200"}))
                cluster.delete("v1", "Pod", "twice", cluster.namespace, gracePeriodSeconds=0)
                return made if made["metadata"].get("labels", {}).get("other") else None
            made = cluster.wait("both are asked", is_after)
            expect(made["metadata"]["annotations"]["vgpu.io/container-uuids"] == seen[-1], (made["metadata"], seen))
        finally:
            cluster.delete(API, "MutatingWebhookConfiguration", "zz-other")


@case("while the webhook is down no pod with a GPU is made, and all others are", profile="light")
def down(cluster):
    with open(os.path.join(TOP, "deploy", "manifests", "admission.yaml"), encoding="utf-8") as file:
        entries = [entry for entry in documents(file.read()) if entry["kind"] in KINDS]
    for entry in entries:
        entry["metadata"]["name"] = "vgpu-webhook-down"
        for hook in entry["webhooks"]:
            hook["clientConfig"] = {"url": "https://127.0.0.1:9599/nobody", "caBundle": authority()}
            hook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    cluster.apply(entries)
    try:
        def is_refused():
            try:
                cluster.request("POST", cluster.path("v1", "Pod", cluster.namespace),
                                pod("probe", limits={"nvidia.com/gpumem": "1"}), dryRun="All")
                return False
            except ApiError as error:
                return "failed calling webhook" in str(error)
        cluster.wait("a pod with a GPU is refused", is_refused)
        for resource in ("nvidia.com/vgpu-number", "volcano.sh/vgpu-memory", "nvidia.com/mig-1g.5gb"):
            refused(cluster, "failed calling webhook", pod("gpu", limits={resource: "1"}))
        cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"},
                       "handler": "nvidia"})
        refused(cluster, "failed calling webhook", pod("foreign", runtimeClassName="nvidia"))
        cluster.delete("node.k8s.io/v1", "RuntimeClass", "nvidia")
        cluster.create(pod("plain", limits={"cpu": "1"}))
        cluster.patch("v1", "Pod", "plain", {"metadata": {"labels": {"changed": "yes"}}}, cluster.namespace)
        cluster.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "plain"}, "spec": {
            "template": {"spec": pod("x")["spec"]}}})
    finally:
        for kind in KINDS:
            cluster.delete(API, kind, "vgpu-webhook-down")
