"""A storm over the scheduler, and a judge of its own."""

import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import time

from lab import case, expect, pod
from places import HERE, LOGS, PYTHON
from placing import ADDRESS, EXTENDER, bound, nodes
from tumult import Line, Scheduler, Tumult

SECONDS = int(os.environ.get("VGPU_STORM_SECONDS", "30"))
SEED = int(os.environ.get("VGPU_STORM_SEED", "0")) or random.randrange(1, 1 << 30)


class Judging:
    """storm.py in a process of its own; its word at the end of each stretch."""

    def __init__(self):
        self.path = os.path.join(LOGS, "storm.json")
        self.process = subprocess.Popen([PYTHON, "-B", os.path.join(HERE, "storm.py"), self.path],
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


def has_room(names, uuid, limits):
    """What the scheduler would answer for a pod that wants this very card."""
    entry = pod("asks", limits=limits)
    entry["metadata"].update(uid="asks", namespace="default", annotations={"vgpu.io/use-gpu-uuid": uuid})
    link = http.client.HTTPConnection(ADDRESS, timeout=10)
    link.request("POST", "/simulate", json.dumps({"Pods": [entry], "NodeNames": names}))
    answer = json.loads(link.getresponse().read())
    link.close()
    expect(not answer["Error"], answer)
    return answer["Placements"][0]["Fits"]


def believes(cluster, free):
    """Where the scheduler's belief is not what pods say: memory, cores and parts of every card, to the last one."""
    names = [entry["metadata"]["name"] for entry in cluster.list("v1", "Node")]
    wrong = []
    for uuid, (memory, cores, parts) in free.items():
        def ask(mib, percent, uuid=uuid):
            return has_room(names, uuid, {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(mib),
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


@case(f"in a storm of {SECONDS} s no card hands out more than it has, and nothing is lost or leaked", profile="light")
def storm(cluster):
    print(f"# seed {SEED} (VGPU_STORM_SEED)", flush=True)
    line = Line()
    with nodes(cluster, 3, cards=4), cluster.scheduler_config(extenders=EXTENDER), contextlib.closing(line):
        scheduler = Scheduler(cluster)
        try:
            judging = Judging()
            tumult = Tumult(cluster, line, scheduler, SEED)
            tumult.blow(SECONDS, api_restarts=max(1, SECONDS // 120))
            cluster.wait("the API server is back", lambda: cluster.list("v1", "Node"), 60)
            settle(cluster)
            report = judging.end()
            print(f"# {tumult.made} pods, {report['instants']} instants, {report['most']} at once; {tumult.done}", flush=True)
            expect(report["most"] > 10 and tumult.made > SECONDS, f"hardly a storm: {report}")
            wrong = believes(cluster, report["free"])
            expect(not wrong, f"seed {SEED}: the scheduler believes otherwise:\n" + "\n".join(wrong))
            empty(cluster)
        finally:
            scheduler.end()


def empty(cluster):
    """With all pods gone every card is whole again."""
    cluster.request("DELETE", cluster.path("v1", "Pod", cluster.namespace), gracePeriodSeconds=0)
    cluster.wait("all pods are gone", lambda: not bound(cluster), 60)
    names = [entry["metadata"]["name"] for entry in cluster.list("v1", "Node")]
    cards = [f"GPU-{name}-{i}" for name in names if name.startswith(cluster.namespace) for i in range(4)]
    cluster.wait("nothing is leaked", lambda: all(has_room(names, uuid, {"nvidia.com/vgpu": "1", "nvidia.com/gpucores": "100"})
                                                  for uuid in cards), 30)
