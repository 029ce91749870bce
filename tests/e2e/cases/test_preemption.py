# SPDX-License-Identifier: Apache-2.0
"""Pods of higher priority preempt as few others as possible."""

import contextlib
import time

import full_stack
from fixtures import case, expect, pod
from placing import EXTENDER, bound, nodes, scheduler

VALUES = {"low": 10, "middle": 50, "high": 1000, "polite": 1000}


@contextlib.contextmanager
def priorities(cluster):
    names = {}
    for name, value in VALUES.items():
        names[name] = f"{cluster.namespace}-{name}"
        cluster.apply({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value,
                       "preemptionPolicy": "Never" if name == "polite" else "PreemptLowerPriority",
                       "metadata": {"name": names[name]}})
    # The API server's admission hears of them a little later.
    cluster.wait("priorities are known", lambda: cluster.request(
        "POST", cluster.path("v1", "Pod", cluster.namespace),
        pod("probe", priorityClassName=names["high"]), dryRun="All"))
    try:
        yield names
    finally:
        for name in names.values():
            cluster.delete("scheduling.k8s.io/v1", "PriorityClass", name)


def gpu_pod(name, memory, priority, cores=0, labels=None, **spec):
    made = pod(name, limits={"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(memory),
                             "nvidia.com/gpucores": str(cores)}, priorityClassName=priority, **spec)
    made["metadata"]["labels"] = labels or {}
    return made


def placed(cluster):
    return sorted(entry["metadata"]["name"] for entry in bound(cluster)
                  if "deletionTimestamp" not in entry["metadata"])


def fill(cluster, pods):
    """One after another, so that each finds its GPU by what is there."""
    for number, entry in enumerate(pods):
        cluster.create(entry)
        cluster.wait(f"{entry['metadata']['name']} is bound", lambda: len(bound(cluster)) == number + 1, 60)


@case("a pod of higher priority preempts one pod, the least that helps, when only GPU memory is short",
      profile="light")
def least(cluster):
    with nodes(cluster, 1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        # Two GPUs of 40000: 30000+10000 and 20000+20000.
        fill(cluster, [gpu_pod("middle-30", 30000, names["middle"]), gpu_pod("low-10", 10000, names["low"]),
                       gpu_pod("low-20", 20000, names["low"]), gpu_pod("other-20", 20000, names["middle"])])
        cluster.create(gpu_pod("high", 15000, names["high"]))
        cluster.wait("the high one has its place", lambda: "high" in placed(cluster), 60)
        expect(placed(cluster) == ["high", "low-10", "middle-30", "other-20"], placed(cluster))
        expect(any(event.startswith("Preempted: Preempted by pod") for event in cluster.events("low-20")),
               cluster.events("low-20"))
        expect(any(event.startswith("Preempting: Evicts pod") for event in cluster.events("high")),
               cluster.events("high"))


@case("a pod with preemptionPolicy Never waits, and so does one that is not above the others", profile="light")
def never(cluster):
    with nodes(cluster, 1, gpu_count=1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        fill(cluster, [gpu_pod("low", 40000, names["low"])])
        cluster.create(gpu_pod("polite", 1000, names["polite"]))
        cluster.create(gpu_pod("equal", 1000, names["low"]))
        for name in ("polite", "equal"):
            cluster.wait(f"{name} says why it waits", lambda: any(
                "too few GPUs" in event for event in cluster.events(name)), 60)
        expect(placed(cluster) == ["low"], placed(cluster))
        # Were it allowed, it would have been done by the same answer: the next pod shows it.
        cluster.create(gpu_pod("rude", 1000, names["high"]))
        cluster.wait("the one that may preempts", lambda: "rude" in placed(cluster), 60)
        expect("low" not in placed(cluster), placed(cluster))


@case("a PodDisruptionBudget protects its pods: others go, or the pod waits", profile="light")
def budget(cluster):
    with nodes(cluster, 1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        fill(cluster, [gpu_pod("guarded", 40000, names["low"], labels={"app": "guarded"}),
                       gpu_pod("free", 40000, names["middle"])])
        for name in ("guarded", "free"):
            cluster.patch("v1", "Pod", name, {"status": {
                "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
                cluster.namespace, "status")
        cluster.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guard"},
                       "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})
        cluster.wait("the budget is known", lambda: cluster.get(
            "policy/v1", "PodDisruptionBudget", "guard", cluster.namespace)["status"].get("currentHealthy") == 1)
        cluster.create(gpu_pod("first", 30000, names["high"]))
        cluster.wait("the unguarded one goes, though it is worth more", lambda: placed(cluster) ==
                     ["first", "guarded"], 60)
        cluster.create(gpu_pod("second", 30000, names["high"]))
        cluster.wait("the second says who is protected", lambda: any(
            event.startswith("PreemptionBlocked:") for event in cluster.events("second")), 60)
        expect(placed(cluster) == ["first", "guarded"], placed(cluster))
        cluster.delete("policy/v1", "PodDisruptionBudget", "guard", cluster.namespace)
        cluster.wait("without the budget it gets its place", lambda: placed(cluster) == ["first", "second"], 90)


@case("a nomination holds against pods of the same and lower priorities until the victims are evicted",
      profile="light")
def nominated(cluster):
    with nodes(cluster, 1, gpu_count=1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        fill(cluster, [gpu_pod("slow", 30000, names["low"], terminationGracePeriodSeconds=600)])
        node = f"{cluster.namespace}-0"
        cluster.create(gpu_pod("high", 25000, names["high"]))
        cluster.wait("the victim is leaving", lambda: "deletionTimestamp" in cluster.pod("slow")["metadata"], 60)
        cluster.wait("the node is nominated", lambda: cluster.pod("high")["status"].get("nominatedNodeName")
                     == node, 30)
        cluster.create(gpu_pod("thief", 10000, names["middle"]))    # 10000 are free already, but not for it
        cluster.wait("the thief is refused", lambda: any(
            "too few GPUs" in event for event in cluster.events("thief")), 60)
        before = cluster.pod("high")["metadata"]["resourceVersion"]
        time.sleep(3)
        expect(cluster.pod("high")["metadata"]["resourceVersion"] == before, "somebody writes again and again")
        cluster.delete("v1", "Pod", "slow", cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("both have their place", lambda: placed(cluster) == ["high", "thief"], 60)


@case("a nomination outlives a restart of the scheduler", profile="light")
def remembered(cluster):
    with nodes(cluster, 1, gpu_count=1), priorities(cluster) as names, cluster.scheduler_config(extenders=EXTENDER):
        with scheduler() as process:
            fill(cluster, [gpu_pod("slow", 30000, names["low"], terminationGracePeriodSeconds=600)])
            cluster.create(gpu_pod("high", 35000, names["high"]))
            cluster.wait("the node is nominated", lambda: cluster.pod("high")["status"].get(
                "nominatedNodeName"), 60)
            process.kill()
            process.wait()
        with scheduler():
            cluster.create(gpu_pod("thief", 9000, names["middle"]))
            cluster.wait("the thief is refused", lambda: any(
                "too few GPUs" in event for event in cluster.events("thief")), 60)
            cluster.delete("v1", "Pod", "slow", cluster.namespace, gracePeriodSeconds=0)
            cluster.wait("the high one has its place", lambda: placed(cluster) == ["high"], 60)


@case("where CPU is short too, kube-scheduler's victims and those on the GPUs are one set", profile="light")
def together(cluster):
    with nodes(cluster, 1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        def busy(name, memory, cpu, priority):
            made = gpu_pod(name, memory, names[priority])
            made["spec"]["containers"][0]["resources"]["limits"]["cpu"] = str(cpu)
            return made
        # 64 CPUs; GPUs 40000 each: both full of low ones, and one without a GPU has most of the CPU.
        cpu_only = pod("cpu-only", limits={"cpu": "40"}, priorityClassName=names["low"])
        fill(cluster, [cpu_only, busy("a", 40000, 4, "low"), busy("b", 40000, 4, "middle")])
        cluster.create(busy("high", 30000, 40, "high"))
        # kube-scheduler may count on a victim that is on its way out; who has gone does not come back.
        cluster.wait("the high one has its place, and those whom it cost theirs have gone",
                     lambda: placed(cluster) == ["b", "high"], 60)


@case("a pod of still higher priority may take a nominated node; the first gets the next", profile="light")
def overtaken(cluster):
    with nodes(cluster, 1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        fill(cluster, [gpu_pod("slow", 40000, names["low"], terminationGracePeriodSeconds=600),
                       gpu_pod("other", 40000, names["low"], terminationGracePeriodSeconds=600)])
        cluster.create(gpu_pod("middle", 30000, names["middle"]))
        leaving = cluster.wait("one is leaving", lambda: [
            entry["metadata"]["name"] for entry in bound(cluster) if "deletionTimestamp" in entry["metadata"]], 60)
        cluster.create(gpu_pod("high", 40000, names["high"]))
        cluster.wait("the high one waits for the same", lambda: cluster.pod("high")["status"].get(
            "nominatedNodeName"), 60)
        cluster.delete("v1", "Pod", leaving[0], cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("the high one is first", lambda: "high" in placed(cluster), 60)
        remaining = ({"slow", "other"} - set(leaving)).pop()
        cluster.wait("the other must go for the middle one", lambda:
                     "deletionTimestamp" in cluster.pod(remaining)["metadata"], 60)
        cluster.delete("v1", "Pod", remaining, cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("both are placed", lambda: placed(cluster) == ["high", "middle"], 60)


@case("two victims of one budget that spares one: nobody goes who need not", profile="light")
def shared_budget(cluster):
    with nodes(cluster, 1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        labels = {"app": "pair"}
        fill(cluster, [gpu_pod("one", 20000, names["low"], labels=labels),
                       gpu_pod("two", 20000, names["low"], labels=labels),
                       gpu_pod("third", 40000, names["middle"])])
        for name in ("one", "two", "third"):
            cluster.patch("v1", "Pod", name, {"status": {
                "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
                cluster.namespace, "status")
        cluster.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "pair"},
                       "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}})
        cluster.wait("the budget is known", lambda: cluster.get(
            "policy/v1", "PodDisruptionBudget", "pair", cluster.namespace)["status"].get("disruptionsAllowed") == 1)
        cluster.create(gpu_pod("high", 40000, names["high"]))
        cluster.wait("the high one has its place", lambda: "high" in placed(cluster), 60)
        expect(placed(cluster) == ["high", "one", "two"], placed(cluster))


@case("where one node lacks CPU and another GPU memory, pods are evicted from one of them only", profile="light")
def once(cluster):
    with nodes(cluster, 2, gpu_count=1), priorities(cluster) as names, scheduler(), \
            cluster.scheduler_config(extenders=EXTENDER):
        cluster.create(pod("cpu-only", limits={"cpu": "60"}, priorityClassName=names["low"],
                           nodeSelector={"kubernetes.io/hostname": f"{cluster.namespace}-0"}))
        gpu = gpu_pod("gpu-only", 40000, names["low"],
                      nodeSelector={"kubernetes.io/hostname": f"{cluster.namespace}-1"})
        cluster.create(gpu)
        cluster.wait("both are bound", lambda: len(bound(cluster)) == 2, 60)
        high = gpu_pod("high", 30000, names["high"])
        high["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "40"
        cluster.create(high)
        cluster.wait("the high one has its place", lambda: "high" in placed(cluster), 60)
        expect(len(placed(cluster)) == 2, placed(cluster))


@case("on a node that runs, a program is preempted by one of higher priority, which sees its own share then; a neighbour "
      "runs on")
def on_a_kubelet(cluster):
    with full_stack.full_stack(cluster, "gtx-1050ti", 1), priorities(cluster) as names:
        for name, memory in (("large", 2500), ("small", 1000)):
            cluster.apply(full_stack.gpu_pod(name, memory=memory, priorityClassName=names["low"]))
            cluster.wait_phase(name, "Running", seconds=60)
        before = cluster.pod("small")["status"]["containerStatuses"][0]["containerID"]
        cluster.apply(full_stack.gpu_pod("high", memory=2000, priorityClassName=names["high"]))
        entry = cluster.wait_phase("high", "Running", seconds=90)
        full_stack.expect_own(entry, "main", full_stack.wait_log(cluster, "high", "GPUs"))
        cluster.wait_gone("large", seconds=30)
        small = cluster.pod("small")["status"]
        expect(small["phase"] == "Running" and small["containerStatuses"][0]["containerID"] == before, small)
