#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tenants BUILD [CASE...]: several containers on one GPU: who gets how much, by the simulator's own counters.

Prints "metric value" lines and draws BUILD/bench/*.svg. `bench/run` calls it.
"""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import picture
import wanted

# Name: [(work, --cores, wanted percent)], both at once.
PAIRS = {
    "30_70": [("async_1ms", 30), ("async_1ms", 70)],
    "25_25": [("async_50us", 25), ("async_5ms", 25)],
    "10_60": [("async_50us", 10), ("async_1ms", 60)],
    "50_50": [("iterations", 50), ("async_1ms", 50)],
    "30_rest": [("async_1ms", 30), ("async_1ms", None)],  # one without a limit
    "1ms_1ms": [("async_1ms", 50), ("async_1ms", 50)],
    "graph8_1ms": [("graph_8ms", 50), ("async_1ms", 50)],
}
# Pieces longer than a time slice: over about ten of them. Name: (seconds, pair).
LONG_PAIRS = {
    "graph40_1ms": (10, [("graph_40ms", 50), ("async_1ms", 50)]),
    "100ms_100ms": (10, [("sync_100ms", 50), ("sync_100ms", 50)]),
    "graph100_50us": (10, [("graph_100ms", 50), ("async_50us", 50)]),
    "500ms_1ms": (10, [("sync_500ms", 50), ("async_1ms", 50)]),
    "heavy_1ms": (10, [("heavy", 50), ("async_1ms", 50)]),
    "2s30_1ms50": (60, [("sync_2s", 30), ("async_1ms", 50)]),
}
# Wake-ups are one to two milliseconds late.
LATE_PAIRS = {
    "late_30_70": (10, PAIRS["30_70"]),
    "late_50_50": (10, PAIRS["50_50"]),
}
# One of the host's cores has other work.
BUSY_PAIRS = {
    "busy_30_70": (10, PAIRS["30_70"]),
    "busy_50_50": (10, PAIRS["50_50"]),
}
MANY = 64
MANY_WORKS = ("async_50us", "async_1ms", "async_5ms", "mixed", "graph_8ms", "iterations", "sync_20ms",
              "graph_40ms")
AT_MOST = {
    "soft_contended_error_points": 2,
    "soft_reclaim_ms": 50,
    "limit_step_up_ms": 100,
    "limit_step_down_ms": 100,
    "latency_request_p99_ms": 4,
    "latency_request_over_ms": 0,
    "latency_request_worst_ms": 20,
    "late_soft_contended_error_points": 2,
    "late_latency_request_p99_ms": 6,
    "short_beside_error_points": 2,
    "screen_error_points": 1,
    "screen_sum_percent": 100,
    "tenants_64_error_points": 0.5,
} | {f"tenants_{name}_error_points": 1.5 for name in (*PAIRS, *LATE_PAIRS, *BUSY_PAIRS)} \
  | {f"tenants_{name}_error_points": 2 for name in LONG_PAIRS}
AT_LEAST = {
    "tenants_30_70_total_percent": 97,
    "tenants_50_50_total_percent": 97,
    "tenants_1ms_1ms_total_percent": 99.5,
    "tenants_graph8_1ms_total_percent": 99.5,
    "tenants_late_30_70_total_percent": 97,
    "tenants_late_50_50_total_percent": 97,
    "tenants_busy_30_70_total_percent": 97,
    "tenants_busy_50_50_total_percent": 97,
    "late_oversubscribed_throughput_ratio": 0.85,
    "late_soft_alone_percent": 99,
    "tenants_64_jain": 0.999,
    "tenants_64_total_percent": 97,
    "soft_alone_percent": 99,
    "tenants_4_jain": 0.995,
    "oversubscribed_throughput_ratio": 0.85,
} | {f"tenants_{name}_total_percent": 0.97 * sum(cores for _, cores in pair)
     for name, (_, pair) in LONG_PAIRS.items()}
SOFT = ["--cores-max", "100"]


@contextlib.contextmanager
def core_busy():
    """One core less for everybody else, about."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as work:
        os.sched_setaffinity(work.pid, {min(os.sched_getaffinity(0))})
        try:
            yield
        finally:
            work.kill()


class Gpu:
    """One simulated GPU, and the tenants on it."""

    def __init__(self, build, folder, *memory_mib, is_late=False):
        build = os.path.abspath(build)
        self.vgpu = os.path.join(build, "bin", "vgpu")
        self.load = os.path.join(build, "bench", "share_load")
        self.late_wakes = os.path.join(build, "bench", "late_wakes.so")
        self.machine = os.path.join(folder, "machine")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=folder)
        self.env.pop("VGPU_SHARE", None)
        if is_late:
            self.env["LD_PRELOAD"] = self.late_wakes
        self.count = 0
        subprocess.run([self.load, "machine", self.machine, *memory_mib], check=True)

    def start(self, work, *options, seconds=120, memory="1Gi", command=None):
        """A tenant at work. Its process is the program's: its pid is the one the GPU counts by."""
        self.count += 1
        name = f"tenant{self.count}"
        command = [self.vgpu, "run", "--machine", self.machine, "--name", name, "--memory", memory,
                   *map(str, options), "--", *(command or (self.load, work, str(seconds)))]
        tenant = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, text=True)
        tenant.name = name
        return tenant

    def watch(self, windows, window_ms, meanwhile=None):
        """[(percent of the whole, {pid: percent})], one per window."""
        watcher = subprocess.Popen([self.load, "watch", self.machine, str(windows), str(window_ms)],
                                   stdout=subprocess.PIPE, text=True)
        if meanwhile:
            meanwhile()
        rows = []
        for line in watcher.communicate()[0].splitlines():
            fields = line.split()
            parts = (field.split("=") for field in fields[2:])
            rows.append((float(fields[1]), {int(pid): float(part) for pid, part in parts}))
        return rows

    @staticmethod
    def stop(*tenants):
        for tenant in tenants:
            tenant.send_signal(signal.SIGKILL)
            tenant.communicate()
        time.sleep(0.3)  # their watchers clean up

    def mean_shares(self, tenants, seconds):
        """Each tenant's part of the GPU, and the whole, once all have begun."""
        time.sleep(1)
        rows = self.watch(seconds, 1000)
        parts = [statistics.mean(row[1].get(tenant.pid, 0) for row in rows) for tenant in tenants]
        return parts, statistics.mean(row[0] for row in rows)


def pair_metrics(gpu, pictures, names):
    metrics, bars = {}, []
    pairs = {name: (4, pair) for name, pair in PAIRS.items()} | LONG_PAIRS | LATE_PAIRS | BUSY_PAIRS
    for name, (seconds, pair) in pairs.items():
        if names and name not in names:
            continue
        if name in LATE_PAIRS:
            gpu.env["LD_PRELOAD"] = gpu.late_wakes
        tenants = [gpu.start(work, "--cores", cores or 0) for work, cores in pair]
        pair = [(work, cores or 100 - sum(c for _, c in pair if c)) for work, cores in pair]
        with core_busy() if name in BUSY_PAIRS else contextlib.nullcontext():
            if seconds > 4:
                time.sleep(seconds / 4)  # what its work takes is learned
            parts, total = gpu.mean_shares(tenants, seconds)
        gpu.stop(*tenants)
        gpu.env.pop("LD_PRELOAD", None)
        errors = [abs(part - cores) for part, (_, cores) in zip(parts, pair)]
        metrics[f"tenants_{name}_error_points"] = max(errors)
        metrics[f"tenants_{name}_total_percent"] = total
        bars += [(f"{name.replace('_', '/')} {work}", part, cores)
                 for part, (work, cores) in zip(parts, pair)]
        if name == "30_70":
            metrics["tenants_30_70_ratio"] = parts[0] / sum(parts)
    if bars:
        picture.bars(pictures, "tenants", "Two containers on one GPU: percent of its time", bars)
    return metrics


def equal_metrics(gpu, _):
    works = ("async_50us", "async_1ms", "async_5ms", "mixed")
    tenants = [gpu.start(work, "--cores", 25, *SOFT) for work in works]
    parts, total = gpu.mean_shares(tenants, 4)
    gpu.stop(*tenants)
    return {"tenants_4_jain": jain_of(parts), "tenants_4_total_percent": total}


def jain_of(parts):
    return sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts))


def many_metrics(gpu, _):
    """Work of all kinds, and each container has the same part."""
    tenants = [gpu.start(MANY_WORKS[i % len(MANY_WORKS)], "--cores", 1, *SOFT) for i in range(MANY)]
    time.sleep(8)
    parts, total = gpu.mean_shares(tenants, 10)
    gpu.stop(*tenants)
    return {"tenants_64_jain": jain_of(parts), "tenants_64_total_percent": total,
            "tenants_64_error_points": max(abs(part - 100 / MANY) for part in parts)}


def first_within(values, wanted, points, span):
    """The first window from which the mean of `span` values is within `points` of what is wanted."""
    for i in range(len(values) - span + 1):
        if abs(statistics.mean(values[i:i + span]) - wanted) <= points:
            return i
    return len(values)


def soft_metrics(gpu, pictures):
    """A borrows what is idle; B, with three times its weight, comes and takes its part back."""
    window_ms, before = 10, []
    first = gpu.start("async_1ms", "--cores", 25, *SOFT)
    alone, _ = gpu.mean_shares([first], 3)
    rows = gpu.watch(300, window_ms,
                      lambda: before.append(gpu.start("async_1ms", "--cores", 75, *SOFT)))
    second = before[0]
    parts, _ = gpu.mean_shares([first, second], 4)
    gpu.stop(first, second)
    lent, taken = ([row[1].get(tenant.pid, 0) for row in rows] for tenant in (first, second))
    begin = next(i for i, part in enumerate(taken) if part > 0)
    reclaim = first_within(taken[begin:begin + 60], 75, 8, 10) * window_ms
    picture.lines(pictures, "soft", "A soft limit: lent while idle, taken back at once (percent)",
                  window_ms, [("cores 25", lent, 25), ("cores 75", taken, 75)])
    return {"soft_alone_percent": alone[0],
            "soft_contended_error_points": max(abs(parts[0] - 25), abs(parts[1] - 75)),
            "soft_reclaim_ms": reclaim}


def step_metrics(gpu, pictures):
    """vgpu set on a tenant at work: when is it inside three points of the new limit?"""
    window_ms, metrics, series = 20, {}, []
    for name, old, new in (("up", 20, 60), ("down", 80, 30)):
        tenant = gpu.start("async_1ms", "--cores", old)
        time.sleep(1.5)
        changed = []

        def change():
            time.sleep(0.5)
            subprocess.run([gpu.vgpu, "set", tenant.name, "--cores", str(new)], check=True,
                           env=gpu.env, stdout=subprocess.DEVNULL)
            changed.append(time.monotonic())

        begin = time.monotonic()
        rows = gpu.watch(100, window_ms, change)
        values = [row[1].get(tenant.pid, 0) for row in rows]
        gpu.stop(tenant)
        window = int((changed[0] - begin) * 1000 / window_ms)
        metrics[f"limit_step_{name}_ms"] = first_within(values[window:], new, 3, 5) * window_ms
        series.append((f"{old} to {new}", values, new))
    picture.lines(pictures, "step", "A limit that changes under a program at work (percent)",
                  window_ms, series)
    return metrics


def request_times(gpu):
    """Milliseconds, of the first requests none."""
    requests = gpu.start("requests", "--cores", 20, "--priority", "high", seconds=10)
    output = requests.communicate()[0]
    return sorted(float(us) / 1000 for us in re.findall(r"request_us ([\d.]+)", output)[5:])


def p99(times):
    return times[int(len(times) * 0.99)]


def latency_metrics(gpu, _):
    """Over: what a request waits beyond a running kernel of a millisecond and 1.3 times what it takes alone."""
    alone = request_times(gpu)
    batch = gpu.start("async_1ms", "--cores", 80, *SOFT)
    times = request_times(gpu)
    gpu.stop(batch)
    return {"latency_request_p50_ms": statistics.median(times),
            "latency_request_p99_ms": p99(times),
            "latency_request_alone_p99_ms": p99(alone),
            "latency_request_over_ms": p99(times) - 1.3 * p99(alone) - 1,
            "latency_request_worst_ms": times[-1]}


def short_metrics(gpu, _):
    """Programs of one kernel of 20 ms, four at a time, beside one that is always busy."""
    programs = os.path.join(os.path.dirname(gpu.load), "share_programs")
    short = gpu.start("", "--cores", 30, memory="4Gi", command=(programs, "lives", "dtoh", "30", "4"))
    steady = gpu.start("async_1ms", "--cores", 50)
    time.sleep(3)
    rows = gpu.watch(2000, 5)  # often: what a process did that has died is lost to who looks later
    gpu.stop(steady)
    short.terminate()
    short.communicate()
    total, beside = (statistics.mean(row) for row in zip(*((row[0], row[1].get(steady.pid, 0)) for row in rows)))
    return {"short_beside_error_points": max(abs(beside - 50), abs(total - beside - 30)),
            "short_beside_total_percent": total}


def screen_metrics(gpu, _):
    """What vgpu ps shows of the last second, and what the GPU did in it, at the worst of ten samples."""
    tenants = [gpu.start("async_1ms", "--cores", 40), gpu.start("async_1ms", "--memory-ratio", 2)]
    time.sleep(3)
    worst, most = 0, 0
    for _ in range(10):
        ((_, parts),) = gpu.watch(1, 1000)
        output = subprocess.run([gpu.vgpu, "ps", "--json"], env=gpu.env, check=True, stdout=subprocess.PIPE, text=True).stdout
        shown = {share["name"]: share["gpus"][0]["cores_used_percent"] for share in json.loads(output)["shares"]}
        worst = max(worst, *(abs(shown[tenant.name] - parts.get(tenant.pid, 0)) for tenant in tenants))
        most = max(most, sum(shown[tenant.name] for tenant in tenants))
    gpu.stop(*tenants)
    return {"screen_error_points": worst, "screen_sum_percent": most}


def memory_metrics(gpu, _):
    """Two tenants whose managed memory, three quarters of the GPU each, is all used every 10 ms; and one
    alone. A while, because memory changes hands every few seconds only."""
    def milliseconds_done(count, seconds):
        both = [gpu.start("managed", "--cores", 50, *SOFT, "--context-memory", "exempt",
                           seconds=seconds, memory="8Gi") for _ in range(count)]
        output = "".join(tenant.communicate()[0].splitlines()[-1] + "\n" for tenant in both)
        return sum(map(int, re.findall(r"done_ms (\d+)", output))) / seconds

    alone = milliseconds_done(1, 6)
    return {"oversubscribed_throughput_ratio": milliseconds_done(2, 24) / alone}


# Name: what measures it, the GPU's memory in MiB.
PARTS = {"equal": (equal_metrics, ()), "soft": (soft_metrics, ()), "step": (step_metrics, ()), "latency": (latency_metrics, ()),
         "short": (short_metrics, ()), "screen": (screen_metrics, ()), "many": (many_metrics, ("131072",)),
         "memory": (memory_metrics, ("10240",))}
# The same with late wake-ups; their figures are called so.
LATE_PARTS = {f"late_{name}": PARTS[name] for name in ("soft", "latency", "memory")}


def metrics_of(build, names=()):
    pictures = os.path.join(build, "bench")
    os.makedirs(pictures, exist_ok=True)
    metrics = {}
    with tempfile.TemporaryDirectory(prefix="vgpu-tenants-", dir="/dev/shm") as folder:
        metrics.update(pair_metrics(Gpu(build, folder), pictures, names))
    for name, (measure, memory_mib) in (PARTS | LATE_PARTS).items():
        if names and name not in names:
            continue
        late = "late_" if name in LATE_PARTS else ""
        with tempfile.TemporaryDirectory(prefix="vgpu-tenants-", dir="/dev/shm") as folder:
            part = measure(Gpu(build, folder, *memory_mib, is_late=bool(late)), os.path.join(pictures, late))
        metrics.update({late + figure: value for figure, value in part.items()})
    return metrics


def target(name, value):
    return wanted.text(name, value, AT_MOST, AT_LEAST)


if __name__ == "__main__":
    wanted.main(__doc__, metrics_of, target)
