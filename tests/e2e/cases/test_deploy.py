# SPDX-License-Identifier: Apache-2.0
"""What is in deploy/: the API server takes it as written, and what it starts may do what it does, no more."""

import re
import subprocess
import time

import yaml

from installation import (DEPLOY, NAMESPACE, charted, installed, kubectl, kustomized, manifests, name_of,
                          sorted_lists)
from kube import Kube
from fixtures import ApiError, case, expect, pod
from paths import BUILD, NODE, TOP
from scraping import READER, all_are_read, token_of

# The chart's values for what the overlay of the simulated GPU is.
SIMULATED = ("--set", "simulated.enabled=true", "--set", "node.nodeSelector.vgpu\\.io/node=null")


# What is done only when something has gone wrong, or after weeks: vgpu-scheduler looks at a pod whose Binding nobody
# answered, and renews the nodes' certificate; vgpu-node reports a violation.
SELDOM = {"vgpu-scheduler": {("get", "pods"), ("update", "secrets")}, "vgpu-node": {("create", "events")}}


def by_name(entries):
    return {name_of(entry): sorted_lists(entry) for entry in entries}


@case("the manifests are what the chart says, and so is the overlay of the simulated GPU", profile="outside")
def one_source():
    done = subprocess.run([f"{TOP}/tools/manifests", "--check"], stderr=subprocess.PIPE, text=True, check=False)
    expect(done.returncode == 0, done.stderr)
    overlay = by_name(entry for entry in kustomized("overlays/simulated") if entry["kind"] != "Namespace")
    chart = by_name(charted(*SIMULATED))
    for name in sorted(set(overlay) | set(chart), key=str):
        expect(overlay.get(name) == chart.get(name), f"{name}:\n{yaml.safe_dump(overlay.get(name))}\n"
               f"is not\n{yaml.safe_dump(chart.get(name))}")


@case("a value that the chart does not know, or of the wrong kind, is refused by its name", profile="outside")
def schema():
    for word, text in (("webhook.replica=3", "replica"), ("webhook.replicas=many", "replicas"),
                       ("scheduler.nodePolicy=tight", "nodePolicy"), ("image.architectures={x86_64}", "architectures")):
        done = subprocess.run([manifests.helm_find(), "template", "vgpu", f"{DEPLOY}/helm/vgpu", "--set", word],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        expect(done.returncode != 0 and text in done.stderr, f"{word}: {done.stderr}")


@case("our own parts come up while nobody admits: their pods carry nothing that admission is asked about", profile="outside")
def unasked():
    for entry in charted("--set", "node.perNode[0].name=node-1,node.perNode[0].deviceSplitCount=4"):
        template = entry.get("spec", {}).get("template", {})
        names = template.get("metadata", {}).get("annotations", {})
        expect(not [name for name in names if name.startswith(("vgpu.io/", "volcano.sh/"))], f"{name_of(entry)}: {names}")


@case("the label that README puts on a node is the one that vgpu-node's pods wait for", profile="outside")
def labelled():
    with open(f"{TOP}/README.md", encoding="utf-8") as file:
        name, value = re.search(r"^\$ kubectl label node \S+ (\S+)=(\S+)$", file.read(), re.M).groups()
    (agent,) = [entry for entry in kustomized("manifests") if entry["kind"] == "DaemonSet"]
    wanted = agent["spec"]["template"]["spec"]["nodeSelector"]
    expect(wanted.get(name) == value, wanted)


def processors_of(entries):
    """By the part's name: the processors whose nodes its pods may be put on."""
    found = {}
    for entry in entries:
        spec = entry.get("spec", {}).get("template", {}).get("spec")
        if spec:
            expect("kubernetes.io/arch" not in spec["nodeSelector"], f"{name_of(entry)}: {spec['nodeSelector']}")
            node = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ((rule,),) = [term["matchExpressions"] for term in node["nodeSelectorTerms"]]
            found[entry["metadata"]["name"]] = (rule["key"], rule["operator"], rule["values"])
    return found


@case("an image for both processors is put on nodes of both, one for a single processor on those alone", profile="outside")
def processors():
    for entries, values in ((kustomized("manifests"), ["amd64", "arm64"]),
                            (charted("--set", "image.architectures={arm64}"), ["arm64"])):
        wanted = dict.fromkeys(("vgpu-node", "vgpu-scheduler", "vgpu-webhook"), ("kubernetes.io/arch", "In", values))
        expect(processors_of(entries) == wanted, processors_of(entries))
        # A RuntimeClass can name one alone: it names none.
        (runtime,) = [entry for entry in entries if entry["kind"] == "RuntimeClass"]
        expect("kubernetes.io/arch" not in runtime["scheduling"]["nodeSelector"], runtime["scheduling"])


@case("names that users know are there on request", profile="outside")
def familiar():
    made = by_name(charted("--set", "seedLabels=true", namespace="das-operator"))
    plugin = made["DaemonSet", "kube-system", "vgpu-manager-device-plugin"]["spec"]["template"]
    container = plugin["spec"]["containers"][0]
    expect((container["name"], container["command"][0]) == ("device-plugin", "deviceplugin"), container)
    expect(plugin["metadata"]["labels"]["app.kubernetes.io/name"] == "das-operator-daemonset", plugin["metadata"])
    webhook = made["Deployment", "das-operator", "vgpu-webhook"]["spec"]["template"]
    expect(webhook["metadata"]["labels"]["app.kubernetes.io/name"] == "das-operator-webhook", webhook["metadata"])


@case("the API server takes every object as it is written, field by field", profile="light")
def strict(cluster):
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    kinds = {"plain": kustomized("manifests"), "simulated": kustomized("overlays/simulated"),
             "familiar": charted("--set", "seedLabels=true"), "all GPUs": charted("--set", "nvidiaGpu=true"),
             "volcano": charted("--set", "volcano.enabled=true"),
             "metrics": charted("--set", "serviceMonitor=true"),
             "metrics for all": charted("--set", "serviceMonitor=true,metricsAuth=none"),
             "evicts": charted("--set", "node.violationPolicy=evict"),
             "another domain": charted("--set", "domain=gpu.example.com"),
             "single nodes": charted("--set", "node.perNode[0].name=node-1,node.perNode[0].deviceSplitCount=4"),
             "engines": charted("--set", "node.containerdConfig=/etc/containerd/config.toml",
                                "--set", "node.crioDropIn=/etc/crio/crio.conf.d/vgpu.conf"),
             "mounted certificates": charted("--set", "webhook.certManager.enabled=true",
                                             "--set", "webhook.certManager.issuerName=own")}
    for kind, entries in kinds.items():
        for entry in entries:
            if entry["apiVersion"].startswith(("cert-manager.io/", "monitoring.coreos.com/")):
                continue                # kinds of others, which are not here
            try:
                cluster.request("PATCH", cluster.path_of(entry), entry, "application/apply-patch+yaml",
                                fieldManager="operator", fieldValidation="Strict", dryRun="All", force="true")
            except ApiError as error:
                expect(False, f"{kind}, {name_of(entry)}: {error}")


def admission(cluster, name, **options):
    """What a pod becomes; nothing is made."""
    return cluster.request("POST", cluster.path("v1", "Pod", cluster.namespace), pod(name, **options), dryRun="All")


@case("installed as documented, it admits, places and advertises with the rights it has, all of them used")
def least_privilege(cluster):
    with installed(cluster, "overlays/simulated") as made:
        cluster.wait("the node has vGPUs", lambda: cluster.node(NODE)["status"]["allocatable"].get(
            "nvidia.com/vgpu") == "20")
        spec = admission(cluster, "asks", limits={"nvidia.com/gpumem": "200"})["spec"]
        expect((spec["schedulerName"], spec["runtimeClassName"]) == ("vgpu-scheduler", "vgpu"), spec)
        spec = admission(cluster, "plain")["spec"]
        expect(spec["schedulerName"] == "default-scheduler" and "runtimeClassName" not in spec, spec)
        sized = pod("sized", limits={"nvidia.com/gpumem": "1000"})
        sized["metadata"]["annotations"] = {"vgpu.io/memory-max": "2Gi"}
        cluster.create(sized)
        cluster.wait_phase("sized", "Running")
        # A share that is raised on the node is told to the scheduler, in the pod's annotation.
        done = subprocess.run([f"{BUILD}/bin/vgpu", "set", "sized.main", "--memory", "1100m"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        expect(done.returncode == 0, done.stdout)
        cluster.wait("the scheduler knows of it", lambda: '"memory":1100' in cluster.pod("sized")[
            "metadata"]["annotations"]["vgpu.io/allocation"], 30)
        cluster.delete("v1", "Pod", "sized", cluster.namespace, gracePeriodSeconds=0)
        whole = {"nvidia.com/vgpu": "2"}
        cluster.create(pod("first", limits=whole))
        cluster.wait("the first is placed", lambda: cluster.pod("first")["spec"].get("nodeName"), 60)
        expect("vgpu.io/allocation" in cluster.pod("first")["metadata"]["annotations"], cluster.pod("first"))
        cluster.create(pod("second", limits=whole))
        cluster.wait("the second waits", lambda: any("too few unused GPUs" in text for text in cluster.events("second")), 60)
        cluster.delete("v1", "Pod", "first", cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("it follows", lambda: cluster.pod("second")["spec"].get("nodeName"), 60)
        cluster.delete("v1", "Pod", "second", cluster.namespace, gracePeriodSeconds=0)
        # Two victims: their PodDisruptionBudgets are asked for.
        for name in ("one", "two"):
            cluster.create(pod(name, limits={"nvidia.com/vgpu": "1"}))
        cluster.wait("each has a GPU", lambda: all(cluster.pod(name)["spec"].get("nodeName") for name in ("one", "two")),
                     60)
        cluster.create(pod("urgent", limits=whole, priorityClassName="system-cluster-critical"))
        cluster.wait("they are preempted for a higher one", lambda: cluster.pod("urgent")["spec"].get("nodeName"), 60)
        all_are_read(cluster, token_of(READER))
        for account in ("vgpu-webhook", "vgpu-scheduler", "vgpu-node"):
            expect(not made.refused(account), f"{account} was refused: {made.refused(account)}")
            idle = None
            for _ in range(40):
                idle = set(made.unused(account)) - SELDOM.get(account, set())
                if not idle:
                    break
                time.sleep(0.5)
            expect(not idle, f"{account} may and never does: {sorted(idle)}")
        own_node_alone(cluster)


def own_node_alone(cluster):
    """A token of vgpu-node's account that belongs to no node changes none."""
    token = kubectl("-n", NAMESPACE, "create", "token", "vgpu-node")[1].strip()
    try:
        Kube(token=token).request("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": {"a": "b"}}},
                                  "application/merge-patch+json")
        expect(False, "a token of nowhere changed a Node")
    except ApiError as error:
        expect("vgpu-node may change only its own Node and its pods" in str(error), error)
    expect("a" not in cluster.node(NODE)["metadata"]["annotations"], "the node was changed")
