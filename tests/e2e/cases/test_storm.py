# SPDX-License-Identifier: Apache-2.0
"""A storm over the scheduler, and a judge of its own."""

import contextlib
import glob
import http.client
import json
import os
import random
import signal
import subprocess
import time

import storm as storm_judge
import chaos
from cases.test_webhook import PORT, webhook
from daemons import KUBECONFIG
from fixtures import case, expect, pod
from paths import HERE, LOGS, NODE, PYTHON
from placing import ADDRESS, EXTENDER, bound, nodes
from full_stack import EXTENDER as WHOLE
from full_stack import PROFILES, STATE_FOLDER, agent, registered_gpus

TRUSTED = ("--trusted-user", "admin", "--trusted-user", "vgpu-scheduler")

SECONDS = int(os.environ.get("VGPU_STORM_SECONDS", "30"))
SEED = int(os.environ.get("VGPU_STORM_SEED", "0")) or random.randrange(1, 1 << 30)


class Judging:
    """storm.py in a process of its own; its word at the end of each stretch."""

    def __init__(self, *node):
        self.path = os.path.join(LOGS, "storm.json")
        self.process = subprocess.Popen([PYTHON, "-B", os.path.join(HERE, "storm.py"), self.path, *node],
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        said, _ = self.process.communicate(timeout=30)
        with open(self.path, encoding="utf-8") as file:
            report = json.load(file)
        expect(self.process.returncode == 0 and not report["wrongs"],
               f"seed {SEED}: {len(report['wrongs'])} wrongs\n" + "\n".join(report["wrongs"][:20]) + said[-500:])
        return report


def fits_on(names, uuid, limits):
    """What the scheduler would answer for a pod that wants this very GPU."""
    entry = pod("asks", limits=limits)
    entry["metadata"].update(uid="asks", namespace="default", annotations={"vgpu.io/use-gpu-uuid": uuid})
    link = http.client.HTTPConnection(ADDRESS, timeout=10)
    link.request("POST", "/simulate", json.dumps({"Pods": [entry], "NodeNames": names}))
    answer = json.loads(link.getresponse().read())
    link.close()
    expect(not answer["Error"], answer)
    return answer["Placements"][0]["Fits"]


def believes(cluster, free):
    """Where the scheduler's belief is not what pods say: memory, cores and parts of every GPU, to the last one."""
    names = [entry["metadata"]["name"] for entry in cluster.list("v1", "Node")]
    wrong = []
    for uuid, (memory, cores, parts) in free.items():
        def ask(mib, percent, uuid=uuid):
            return fits_on(names, uuid, {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(mib),
                                         "nvidia.com/gpucores": str(percent)})
        if not parts:
            answers, wanted = [ask(1, 1)], [False]
        else:
            answers = [memory == 0 or ask(memory, 0), ask(memory + 1, 0)]
            wanted = [True, False]
            if memory > 0 and 0 <= cores < 99:
                answers += [cores == 0 or ask(1, cores), ask(1, cores + 1)]
                wanted += [True, False]
        if answers != wanted:
            wrong.append(f"{uuid}: {memory} MiB, {cores} cores, {parts} parts are free; answers {answers}, not {wanted}")
    return wrong


def settle(cluster):
    """Until nothing changes any more: what could be placed has been."""
    def state():
        return sorted((entry["metadata"]["name"], entry["spec"].get("nodeName", "")) for entry in
                      cluster.list("v1", "Pod", cluster.namespace))
    before = None
    for _ in range(60):
        now = state()
        if now == before:
            return
        before = now
        time.sleep(2)
    expect(False, "it does not settle")


def told_pod(uid, node, memory, cores=10, decided=None):
    """A pod as the API server tells of it, on a node."""
    decision = {"version": 1, "pod": decided or uid, "node": node, "containers": {"main": [
        {"uuid": "GPU-0", "memory": memory, "cores": cores}]}}
    return {"metadata": {"name": uid, "uid": uid, "annotations": {"vgpu.io/allocation": json.dumps(decision)}},
            "spec": {"nodeName": node}, "status": {"phase": "Running"}}


def judged(pods, shares=(), used=None):
    """What the judge finds wrong with a GPU of 1000 MiB on node n."""
    judge = storm_judge.Judge()
    judge.node("ADDED", {"metadata": {"name": "n", "annotations": {"nvidia.com/node-device-register": json.dumps(
        [{"uuid": "GPU-0", "memory": 1000, "core": 100, "number": 3}])}}})
    for entry in pods:
        judge.pod("MODIFIED", entry)
    eye = storm_judge.Eye(judge, None, "", "")
    eye.sure = lambda found, uuid: sum(devices[uuid][0] for _, _, devices in found)
    eye.judged(shares, used or {})
    return "\n".join(judge.wrongs)


def share(uid, mib, most=None):
    return uid, "main", {"GPU-0": (mib << 20, (most or mib) << 20, 10)}


@case("the judge of storms sees what is wrong", profile="outside")
def judge_sees():
    good = [told_pod("a", "n", 600), told_pod("b", "n", 400)]
    expect(judged(good, [share("a", 600), share("b", 300)], {"GPU-0": 900 << 20}) == "", "all is well")
    for wrong, text in (
            (judged([told_pod("a", "n", 600), told_pod("b", "n", 401)]), "hands out 1001 MiB"),
            (judged([told_pod("a", "n", 1, 60), told_pod("b", "n", 1, 60)]), "120 cores"),
            (judged([told_pod(name, "n", 1) for name in "abcd"]), "4 parts"),
            (judged([told_pod("a", "n", 1, 0), told_pod("b", "n", 1, 100)]), "somebody's alone"),
            (judged([told_pod("a", "n", 1, decided="b")]), "for another pod"),
            (judged([told_pod("a", "m", 1)]), "not of its node"),
            (judged([told_pod("a", "n", 1), told_pod("a", "n", 2)]), "its decision was"),
            (judged(good, [share("a", 601)]), "601 MiB, 10 cores"),
            (judged(good, [share("a", 600), share("b", 400), ("b", "x", share("b", 400)[2])]), "shares of 1400 MiB"),
            (judged(good, [share("a", 600)], {"GPU-0": 601 << 20}), "601 MiB are held")):
        expect(text in wrong, f"{text}: {wrong}")


@case(f"in a storm of {SECONDS} s no GPU hands out more than it has, and nothing is lost or leaked", profile="light")
def storm(cluster):
    print(f"# seed {SEED} (VGPU_STORM_SEED)", flush=True)
    line = chaos.Line()
    with nodes(cluster, 3, gpu_count=4), cluster.scheduler_config(extenders=EXTENDER), contextlib.closing(line):
        scheduler = chaos.scheduler(cluster)
        try:
            judging = Judging()
            wind = chaos.Chaos(cluster, line, scheduler, SEED)
            wind.blow(SECONDS, api_restarts=max(1, SECONDS // 120))
            cluster.wait("the API server is back", lambda: cluster.list("v1", "Node"), 60)
            settle(cluster)
            report = judging.end()
            print(f"# {wind.made} pods, {report['instants']} instants, {report['most']} at once; {wind.done}", flush=True)
            expect(report["most"] > 10 and wind.made > SECONDS, f"hardly a storm: {report}")
            wrong = believes(cluster, report["free"])
            expect(not wrong, f"seed {SEED}: the scheduler believes otherwise:\n" + "\n".join(wrong))
            empty(cluster)
        finally:
            scheduler.end()


def resting(cluster, report):
    """With the storm over, each container that runs has its share, as its pod says now."""
    shares = {(uid, container): devices for uid, container, devices in report["shares"]}
    wrong = []
    for entry in bound(cluster):
        if entry["status"].get("phase") != "Running":
            continue
        given = json.loads(entry["metadata"]["annotations"]["vgpu.io/allocation"])["containers"]
        resized = entry["metadata"]["annotations"].get("vgpu.io/memory")
        for container, parts in given.items():
            found = shares.get((entry["metadata"]["uid"], container), {})
            for part in parts:
                wanted = int(resized[:-2]) if resized else part["memory"]
                if found.get(part["uuid"], [0])[0] != wanted << 20:
                    wrong.append(f"{entry['metadata']['name']}: {found}, not {wanted} MiB of {part}")
    return wrong


@case(f"in a storm of {SECONDS} s over a node shares stay within GPUs, memory within shares, and no share is lost or left")
def node_storm(cluster):
    print(f"# seed {SEED} (VGPU_STORM_SEED)", flush=True)
    cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vgpu"}, "handler": "vgpu"})
    line = chaos.Line()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(line))
        admission = stack.enter_context(webhook(cluster, *TRUSTED))
        admission.kill()
        admission = chaos.Daemon("vgpu-webhook", "--listen", f"127.0.0.1:{PORT}", "--kubeconfig", KUBECONFIG,
                                  "--namespace", cluster.namespace, *TRUSTED)
        stack.callback(lambda: admission.end())
        scheduler = chaos.scheduler(cluster)
        stack.callback(lambda: scheduler.end())
        stack.enter_context(cluster.scheduler_config(extenders=WHOLE, profiles=PROFILES))
        node = stack.enter_context(agent(cluster, "a100-40gb", 2))
        cluster.wait("the GPUs are registered", lambda: len(registered_gpus(cluster)) == 2)
        cluster.wait("kubelet has the vGPUs", lambda: int(
            cluster.node(NODE)["status"]["allocatable"].get("nvidia.com/vgpu", "0")) >= 2)
        judging = Judging(os.path.join(STATE_FOLDER, "shares"), node.machine)
        wind = chaos.NodeChaos(cluster, line, scheduler, SEED, node, admission)
        wind.blow(SECONDS, api_restarts=SECONDS // 300)
        settle(cluster)
        cluster.wait("all that are placed run", lambda: all(
            entry["status"].get("phase") in ("Running", "Failed", "Succeeded") for entry in bound(cluster)), 120)
        time.sleep(2)
        report = judging.end()
        print(f"# {wind.made} pods, {report['instants']} instants, {report['samples']} samples, {report['most']} at once; "
              f"{wind.done}", flush=True)
        expect(report["samples"] > SECONDS // 4 and report["most"] > 2, f"hardly a storm: {report}")
        wrong = resting(cluster, report) + believes(cluster, report["free"])
        expect(not wrong, f"seed {SEED}:\n" + "\n".join(wrong))
        cluster.request("DELETE", cluster.path("v1", "Pod", cluster.namespace), gracePeriodSeconds=0)
        cluster.wait("no share is left", lambda: not glob.glob(os.path.join(STATE_FOLDER, "shares", "*", "*")), 90)


def empty(cluster):
    """With all pods gone every GPU is whole again."""
    cluster.request("DELETE", cluster.path("v1", "Pod", cluster.namespace), gracePeriodSeconds=0)
    cluster.wait("all pods are gone", lambda: not bound(cluster), 60)
    names = [entry["metadata"]["name"] for entry in cluster.list("v1", "Node")]
    gpus = [f"GPU-{name}-{i}" for name in names if name.startswith(cluster.namespace) for i in range(4)]
    cluster.wait("nothing is leaked", lambda: all(fits_on(names, uuid, {"nvidia.com/vgpu": "1", "nvidia.com/gpucores": "100"})
                                                  for uuid in gpus), 30)
