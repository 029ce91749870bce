# SPDX-License-Identifier: Apache-2.0
"""installation: the product as an operator installs it, out of deploy/, for the time of a block."""

import contextlib
import json
import os
import subprocess

import yaml

from kube import ApiError, documents
from fixtures import expect
from paths import KUBERNETES, LOGS, NODE, TOP, tool

NAMESPACE = "vgpu-system"
DEPLOY = os.path.join(TOP, "deploy")
ROLES = "rbac.authorization.k8s.io/v1"
AUDIT = os.path.join(LOGS, "audit.log")
ANNOTATIONS = ("nvidia.com/node-device-register", "nvidia.com/node-config-info", "vgpu.io/node-links", "vgpu.io/capacity-freed")
manifests = tool("manifests")


def kustomized(folder):
    """The objects of a folder of deploy/, as kubectl makes them."""
    done = subprocess.run([os.path.join(KUBERNETES, "kubectl"), "kustomize", os.path.join(DEPLOY, folder)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return documents(done.stdout)


def charted(*words, **options):
    """The objects of the chart with these words to `helm template`."""
    return documents(manifests.template(*words, **options))


def kubectl(*words):
    """kubectl as an operator calls it, in no case's namespace."""
    done = subprocess.run(["kubectl", *words], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=180)
    return done.returncode == 0, done.stdout


def name_of(entry):
    return entry["kind"], entry["metadata"].get("namespace"), entry["metadata"]["name"]


def remove(cluster, entries):
    """Webhooks first, or nobody could make a pod meanwhile; then all else, the namespace with the rest, and what
    was written on the node."""
    for entry in sorted(entries, key=lambda entry: "Webhook" not in entry["kind"]):
        meta = entry["metadata"]
        cluster.delete(entry["apiVersion"], entry["kind"], meta["name"], meta.get("namespace"))
    cluster.wait("nothing of it runs any more", lambda: not cluster.list("v1", "Pod", NAMESPACE))
    cluster.wait("its namespace is gone", lambda: not exists(cluster, "v1", "Namespace", NAMESPACE))
    cluster.patch("v1", "Node", NODE, {"metadata": {"annotations": dict.fromkeys(ANNOTATIONS)}})


def exists(cluster, *what):
    try:
        return cluster.get(*what)
    except ApiError as error:
        if error.code != 404:
            raise
        return None


class Installation:
    """What was applied, and since when."""

    def __init__(self, entries):
        self.entries = entries
        self.start_bytes = os.path.getsize(AUDIT) if os.path.exists(AUDIT) else 0

    def asked(self, account):
        """What an account has asked of the API server, as {(verb, resource, status)}."""
        found = set()
        with open(AUDIT, encoding="utf-8") as log:
            log.seek(self.start_bytes)
            for line in log:
                event = json.loads(line)
                what = event.get("objectRef", {})
                if event["user"]["username"] != f"system:serviceaccount:{NAMESPACE}:{account}" or not what:
                    continue
                resource = "/".join(part for part in (what["resource"], what.get("subresource")) if part)
                found.add((event["verb"], resource, event.get("responseStatus", {}).get("code")))
        return found

    def granted(self, role):
        """What a role of ours lets its account do, as {(verb, resource)}."""
        return {(verb, resource) for entry in self.entries
                if entry["kind"] in ("Role", "ClusterRole") and entry["metadata"]["name"] == role
                for rule in entry["rules"] for verb in rule["verbs"] for resource in rule["resources"]}

    def refused(self, account):
        return sorted(entry for entry in self.asked(account) if entry[2] in (401, 403))

    def unused(self, account):
        return sorted(self.granted(account) - {entry[:2] for entry in self.asked(account)})


@contextlib.contextmanager
def installed(cluster, folder):
    made = Installation(kustomized(folder))
    kubectl("delete", "runtimeclass", "vgpu", "--ignore-not-found")  # of cases that need no more than that
    try:
        is_done, text = kubectl("apply", "-k", os.path.join(DEPLOY, folder))
        expect(is_done and "Warning" not in text, text)
        for kind, name in (("Deployment", "vgpu-webhook"), ("Deployment", "vgpu-scheduler"),
                           ("DaemonSet", "vgpu-node")):
            wait_rolled_out(cluster, kind, name)
        yield made
    finally:
        remove(cluster, made.entries)


def wait_rolled_out(cluster, kind, name, seconds=240):
    """All replicas are there and ready."""
    def is_ready():
        status = cluster.get("apps/v1", kind, name, NAMESPACE)["status"]
        wanted, ready = (("desiredNumberScheduled", "numberReady") if kind == "DaemonSet"
                         else ("replicas", "readyReplicas"))
        return status.get(wanted, 0) > 0 and status.get(wanted) == status.get(ready)
    try:
        cluster.wait(f"{kind} {name} is ready", is_ready, seconds)
    except Exception as error:
        raise AssertionError(f"{error}\n{story(cluster)}") from error


def story(cluster):
    """What the parts say, for a person who asks why one is not ready."""
    lines = []
    for entry in cluster.list("v1", "Pod", NAMESPACE):
        name = entry["metadata"]["name"]
        lines += [f"{name}: {json.dumps(entry['status'].get('containerStatuses', []))[:1500]}",
                  kubectl("-n", NAMESPACE, "logs", name, "--all-containers", "--tail=15")[1]]
    lines.append(kubectl("-n", NAMESPACE, "get", "events")[1][-3000:])
    return "\n".join(lines)


def sorted_lists(value):
    """Lists of things with names in the order of the names: who patches puts his first."""
    if isinstance(value, dict):
        return {key: sorted_lists(entry) for key, entry in value.items()}
    if isinstance(value, list):
        parts = [sorted_lists(entry) for entry in value]
        named = all(isinstance(part, dict) and ("mountPath" in part or "name" in part) for part in parts)
        return sorted(parts, key=yaml.safe_dump) if named else parts
    return value
