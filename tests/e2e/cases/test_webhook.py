"""vgpu-webhook, asked by the real API server, which believes the authority that it made itself."""

import contextlib
import json

from daemons import KUBECONFIG, daemon
from lab import ApiError, case, expect, pod

PORT = 9520
API = "admissionregistration.k8s.io/v1"
KINDS = {"MutatingWebhookConfiguration": "mutate", "ValidatingWebhookConfiguration": "validate"}
RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]},
         {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]},
         {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"],
          "resources": ["jobs", "cronjobs"]}]


@contextlib.contextmanager
def webhook(cluster, *words):
    """The program and its configurations, for the pods of the case's namespace."""
    for kind, path in KINDS.items():
        cluster.apply({"apiVersion": API, "kind": kind, "metadata": {"name": "vgpu-webhook"}, "webhooks": [{
            "name": f"{path}.vgpu.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": f"https://127.0.0.1:{PORT}/{path}"}, "rules": RULES,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}}]})
    try:
        with daemon("vgpu-webhook", "--listen", f"127.0.0.1:{PORT}", "--kubeconfig", KUBECONFIG,
                    "--namespace", cluster.namespace, *words):
            cluster.wait("the API server believes it", lambda: is_asked(cluster))
            yield
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
        refused(cluster, "nobody accounts for", pod("foreign", runtimeClassName="nvidia"))
        cluster.delete("node.k8s.io/v1", "RuntimeClass", "nvidia")
        refused(cluster, "set by hand", pod("placed", nodeName="n", limits={"nvidia.com/vgpu": "1"}))


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
        expect("not a user's to change" in change("vgpu.io/allocation", "{}"), "the allocation was written")
        expect(change("vgpu.io/memory", "300Mi") == "", "a resize within its ceiling was refused")
        expect("over the ceiling" in change("vgpu.io/memory", "301Mi"), "a resize over its ceiling was let through")
        expect("fixed when the pod is created" in change("vgpu.io/memory-max", "1Gi"), "the ceiling was raised")
