# SPDX-License-Identifier: Apache-2.0
"""measure NODES PODS RATE_PODS RESULT: in the sandbox of a cluster of profile scale; writes what it finds to RESULT."""

import contextlib
import json
import os
import re
import statistics
import sys
import time
import urllib.request

import loader
import pki
import process
from components import AUDIT_LOG
from daemons import daemon
from etcd import Etcd, encoded
from fixtures import Cluster

ADDRESS = "127.0.0.1:9510"
# Stated with the figures: no client limits itself before the API server does.
CLIENT = {"qps": 5000, "burst": 10000}
EXTENDER = [{
    "urlPrefix": f"http://{ADDRESS}", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 10,
    "bindVerb": "bind", "nodeCacheCapable": True,
    "managedResources": [{"name": f"nvidia.com/{name}", "ignoredByScheduler": True}
                         for name in ("vgpu", "gpumem", "gpucores")]}]
GPUS, MEMORY = 8, 40000
SMALL_NODES = 1000      # of the profile whose rate is measured
ONE_NODE = 40           # pods that go to one node at once
ROUNDS = 3              # of each way, alternately: the machine has other things to do


def say(text):
    print(f"bench-scale: {text}", flush=True)


def nodes_store(begin, end):
    loader.store([loader.node(f"n-{i}", GPUS, MEMORY) for i in range(begin, end)])


def pods_remove(prefix=""):
    etcd = Etcd()
    key = f"/registry/pods/default/{prefix}"
    etcd.ask("deleterange", {"key": encoded(key), "range_end": encoded(key[:-1] + chr(ord(key[-1]) + 1))})
    etcd.close()


@contextlib.contextmanager
def scheduling(cluster, extenders):
    connection = {"kubeconfig": os.path.join(process.RUN, "..", "kube-scheduler.kubeconfig"), **CLIENT}
    with cluster.scheduler_config(clientConnection=connection, extenders=extenders):
        yield


def vgpu_scheduler():
    return daemon("vgpu-scheduler", "--plain", "--listen", ADDRESS, "--kubeconfig",
                  os.path.join(process.RUN, "..", "vgpu-scheduler.kubeconfig"),
                  ready=f"http://{ADDRESS}/readyz", seconds=120)


def rate(count, name):
    """Pods a second that kube-scheduler binds of so many that wait for it, its start apart."""
    process.stop("kube-scheduler")
    loader.create([loader.pod(f"{name}-{i}", 1000, 5) for i in range(count)])
    watcher = loader.Watcher()
    process.start("kube-scheduler")
    is_done = watcher.wait(count, 300)
    watcher.close()
    times = sorted(watcher.bound.values())[count // 20:]
    if not is_done:
        raise SystemExit(f"bench-scale: {len(watcher.bound)} of {count} pods were bound")
    pods_remove(f"{name}-")
    time.sleep(1)
    return (len(times) - 1) / (times[-1] - times[0])


def rates(cluster, count):
    found = {"bare": [], "extender": []}
    for round_number in range(ROUNDS):
        for way, extenders in (("bare", []), ("extender", EXTENDER)):
            with scheduling(cluster, extenders):
                found[way].append(rate(count, f"{way}{round_number}"))
            say(f"{way}: {found[way][-1]:.0f} pods/s")
    return found


def one_node():
    """Seconds from the first request to the last pod that is bound, all on one node."""
    watcher = loader.Watcher()
    began = time.monotonic()
    loader.create([loader.pod(f"one-{i}", 1000, 5, {"kubernetes.io/hostname": "n-7"})
                   for i in range(ONE_NODE)], workers=8)
    if not watcher.wait(ONE_NODE, 60):
        raise SystemExit(f"bench-scale: {len(watcher.bound)} of {ONE_NODE} pods of one node were bound")
    watcher.close()
    pods_remove("one-")
    return max(watcher.bound.values()) - began


def histograms():
    """{(metric, verb): [(step in seconds, how many)]}, as /metrics has them."""
    with urllib.request.urlopen(f"http://{ADDRESS}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = {}
    for metric, verb, step, count in re.findall(r'(\w+)_bucket{verb="(\w+)",le="([^"]+)"} (\d+)', text):
        found.setdefault((metric, verb), []).append((float(step), int(count)))
    return found


def quantile(before, after, wanted):
    """Milliseconds, by interpolation between two steps."""
    counts = [(step, late - early) for (step, late), (_, early) in zip(after, before)]
    target, low_step, low = wanted * counts[-1][1], 0.0, 0
    for step, count in counts:
        if count >= target:
            share = (target - low) / max(count - low, 1)
            return 1000 * (low_step + share * (min(step, 2 * low_step or step) - low_step))
        low_step, low = step, count
    return float("inf")


def verb_times(before, after, name):
    """p50 and p99 of each verb, by the clock and in processor time."""
    found = {}
    for metric, word in (("vgpu_scheduler_verb_seconds", "wall"), ("vgpu_scheduler_verb_cpu_seconds", "cpu")):
        for verb in ("filter", "prioritize"):
            for percent in (50, 99):
                found[f"sched_{name}_{verb}_{word}_p{percent}_ms"] = quantile(
                    before[metric, verb], after[metric, verb], percent / 100)
    return found


def rss_mb(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) / 1024


def ask_all(names, count):
    """All nodes in every question, as with percentageOfNodesToScore 100."""
    import http.client
    link = http.client.HTTPConnection(ADDRESS)
    entry = loader.pod("asked", 1000, 5)
    entry["metadata"].update(uid="asked", namespace="default")
    for i in range(count):
        entry["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpumem"] = str(1000 + i % 20)
        body = json.dumps({"Pod": entry, "Nodes": None, "NodeNames": names}).encode()
        for verb in ("filter", "prioritize"):
            loader.send(link, "POST", f"/{verb}", body)


def writes():
    """What vgpu-scheduler wrote: {verb and resource: how often}."""
    found = {}
    if os.path.exists(AUDIT_LOG):
        with open(AUDIT_LOG, encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                where = event["objectRef"]
                key = f"{event['verb']} {where['resource']}/{where.get('subresource', '')}"
                found[key] = found.get(key, 0) + 1
    return found


def restart_seconds():
    """Until it is ready: by the clock, and of processor time."""
    began = time.monotonic()
    with vgpu_scheduler() as running:
        seconds = time.monotonic() - began
        with open(f"/proc/{running.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return seconds, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def large(nodes, pods, placed):
    """The large profile, vgpu-scheduler being started anew in it."""
    say(f"{nodes} nodes, {pods} pods are put there")
    nodes_store(SMALL_NODES, nodes)
    each = -(-pods // nodes)
    loader.store([loader.bound_pod(f"held-{i}", f"n-{i // each}", i % each % GPUS, 4000, 10)
                  for i in range(pods)])
    starts = [restart_seconds() for _ in range(ROUNDS)]
    with vgpu_scheduler() as running:
        result = {"sched_restart_ready_s": statistics.median(seconds for seconds, _ in starts),
                  "sched_restart_cpu_s": statistics.median(spent for _, spent in starts),
                  "sched_rss_start_mb": rss_mb(running.pid)}
        process.restart("kube-scheduler")
        before, watcher = histograms(), loader.Watcher()
        loader.create([loader.pod(f"more-{i}", 1000 + 100 * (i % 5), 5) for i in range(placed)])
        if not watcher.wait(placed, 300):
            raise SystemExit(f"bench-scale: {len(watcher.bound)} of {placed} pods were bound")
        watcher.close()
        after = histograms()
        result.update(verb_times(before, after, "large"))
        ask_all([f"n-{i}" for i in range(nodes)], 300)
        asked = histograms()
        result.update(verb_times(after, asked, "all_names"))
        result["sched_rss_mb"] = rss_mb(running.pid)
        result["sched_rss_most_mb"] = rss_mb(running.pid, "VmHWM")
    return result


def main(nodes, pods, rate_pods, path):
    cluster = Cluster()
    nodes, pods, rate_pods = int(nodes), int(pods), int(rate_pods)
    pki.kubeconfig("vgpu-scheduler", "vgpu-scheduler", ["system:masters"])
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}, "default")
    result = {}
    nodes_store(0, SMALL_NODES)
    with vgpu_scheduler():
        found = rates(cluster, rate_pods)
        result["sched_bare_pods_per_s"] = statistics.median(found["bare"])
        result["sched_pods_per_s"] = statistics.median(found["extender"])
        # Alternately: what else the machine does disturbs both of a round.
        result["sched_rate_ratio"] = statistics.median(
            own / bare for own, bare in zip(found["extender"], found["bare"]))
        with scheduling(cluster, EXTENDER):
            times = [one_node() for _ in range(ROUNDS)]
            result["sched_one_node_40_s"] = statistics.median(times)
    placed = 500
    with scheduling(cluster, EXTENDER):
        result.update(large(nodes, pods, placed))
    bound = ROUNDS * (rate_pods + ONE_NODE) + placed
    book = writes()
    say(f"writes of vgpu-scheduler for {bound} pods: {book}")
    result["sched_writes_per_pod"] = sum(book.values()) / bound
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
