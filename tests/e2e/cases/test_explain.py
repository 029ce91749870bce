# SPDX-License-Identifier: Apache-2.0
"""vgpu explain pod: every state, told from the real API server."""

import json
import os
import subprocess

from daemons import KUBECONFIG
from fixtures import case, expect, pod
from paths import BUILD
from placing import EXTENDER, bound, nodes, scheduler

# What vgpu-webhook leaves on every pod it has seen.
SEEN = {"vgpu.io/container-uuids": "{}"}


def explain(cluster, name, *words):
    done = subprocess.run([os.path.join(BUILD, "bin", "vgpu"), "explain", "pod", name, "-n", cluster.namespace,
                           "--kubeconfig", KUBECONFIG, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=60)
    return done.returncode, done.stdout


def state(cluster, name):
    code, text = explain(cluster, name, "--json")
    found = json.loads(text)
    return code, found["state"], found


def ask(cluster, name, memory, annotations=None, **spec):
    entry = pod(name, limits={"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(memory)}, **spec)
    entry["metadata"]["annotations"] = annotations or {}
    cluster.create(entry)


@case("vgpu explain pod says why a pod waits, node by node, and where it went", profile="light")
def explains(cluster):
    with nodes(cluster, 3, gpu_count=1), scheduler(), cluster.scheduler_config(extenders=EXTENDER):
        for number in range(3):
            ask(cluster, f"placed-{number}", 30000, SEEN)
        cluster.wait("three are bound", lambda: len(bound(cluster)) == 3, 60)
        code, where, found = state(cluster, "placed-0")
        expect((code, where) == (0, "node"), found)
        part, = found["gpus"]
        expect(part["uuid"].startswith(f"GPU-{found['node']}-") and part["memory_mib"] == 30000, found)
        ask(cluster, "waits", 30000, SEEN)
        cluster.wait("the fourth was tried", lambda: any("too few GPUs" in event for event in cluster.events("waits")), 60)
        code, where, found = state(cluster, "waits")
        expect((code, where) == (3, "full") and "too few GPUs" in found["scheduler_message"], found)
        reasons = {group["reason"]: group["names"] for group in found["nodes"]}
        expect(len(reasons["too few GPUs with 30000 MiB and 0 cores free: 0 of 1, 1 needed"]) == 3, reasons)
        code, text = explain(cluster, "waits")
        expect(code == 3 and "it fits on no node" in text and "too few GPUs with 30000 MiB" in text, text)
        ask(cluster, "gated", 100, SEEN, schedulingGates=[{"name": "somebody/else"}])
        expect(state(cluster, "gated")[:2] == (3, "gated"), explain(cluster, "gated"))
        ask(cluster, "unseen", 100, schedulerName="nobody")
        expect(state(cluster, "unseen")[:2] == (3, "webhook"), explain(cluster, "unseen"))
        ask(cluster, "elsewhere", 100, SEEN, schedulerName="nobody")
        code, where, found = state(cluster, "elsewhere")
        expect((code, where, len(found["fitting"])) == (3, "scheduler", 3), found)
        ask(cluster, "by-hand", 100, SEEN, nodeName=f"{cluster.namespace}-0")
        expect(state(cluster, "by-hand")[:2] == (3, "unaccounted"), explain(cluster, "by-hand"))
        cluster.create(pod("plain"))
        expect(state(cluster, "plain")[:2] == (0, "nothing"), explain(cluster, "plain"))
        code, text = explain(cluster, "absent")
        expect(code == 1 and f"there is no pod 'absent' in namespace '{cluster.namespace}'" in text, text)
        code, text = explain(cluster, "two", "words")
        expect(code == 2 and "takes the name of one pod" in text, text)


@case("vgpu explain pod tells of a quota that keeps pods from being made", profile="light")
def quota(cluster):
    cluster.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"},
                   "spec": {"hard": {"requests.nvidia.com/gpumem": "0"}}})
    cluster.wait("the quota is known", lambda: cluster.get("v1", "ResourceQuota", "gpus", cluster.namespace)
                 ["status"].get("used"), 60)
    code, text = explain(cluster, "never")
    expect(code == 1 and "ResourceQuota 'gpus' is used up (requests.nvidia.com/gpumem: 0 of 0)" in text, text)
