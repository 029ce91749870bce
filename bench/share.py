# SPDX-License-Identifier: Apache-2.0
"""How near a container's part of a GPU's time is to its limit, judged by the simulated machine's own
counters, never by our region. Time runs as it does."""

import os
import statistics
import subprocess
import tempfile

import picture

LIMITS = (5, 10, 30, 50, 80)
# name of the case: (kind of load, processes)
CASES = {"async_50us": ("async_50us", 1), "async_1ms": ("async_1ms", 1), "sync_20ms": ("sync_20ms", 1),
         "graph_8ms": ("graph_8ms", 1), "iterations": ("iterations", 1), "mixed": ("mixed", 1),
         "streams": ("streams", 1), "4_processes": ("async_1ms", 4), "fills": ("fills", 1)}
WARM_UP_S = 1.0     # what an idle container has saved up is used, costs are learned
WINDOWS = 5


class Gpu:
    """One simulated GPU, and programs on it."""

    def __init__(self, build, folder):
        self.build = os.path.abspath(build)
        self.program = os.path.join(self.build, "bench", "share_load")
        self.folder = folder
        self.machine = os.path.join(folder, "machine")
        self.count = 0
        subprocess.run([self.program, "machine", self.machine], check=True)

    def environment(self, cores=None):
        """A container of its own: a fresh region."""
        self.count += 1
        environment = {"PATH": os.environ["PATH"], "VGPU_SIM": self.machine,
                       "LD_LIBRARY_PATH": os.path.join(self.build, "lib", "sim")}
        if cores:
            environment.update(LD_PRELOAD=os.path.join(self.build, "lib", "libvgpu.so"),
                               VGPU_CORES=str(cores), VGPU_COPIES="count",
                               VGPU_REGION=os.path.join(self.folder, f"region{self.count}"))
        return environment

    def start(self, kind, seconds, environment, **more):
        return subprocess.Popen([self.program, kind, str(seconds)], env=environment, **more)

    def watch(self, windows, window_ms=1000):
        """Percent of each window that the GPU was busy."""
        output = subprocess.run([self.program, "watch", self.machine, str(windows), str(window_ms)],
                                check=True, text=True, stdout=subprocess.PIPE).stdout
        return [float(line.split()[1]) for line in output.splitlines()]


def share_one(gpu, kind, processes, limit, windows):
    environment = gpu.environment(limit)
    seconds = WARM_UP_S + windows + 0.5
    loads = [gpu.start(kind, seconds, environment) for _ in range(processes)]
    try:
        gpu.watch(1, int(WARM_UP_S * 1000))
        return gpu.watch(windows)
    finally:
        for load in loads:
            load.kill()
            load.wait()


def share_metrics(build, limits=LIMITS, windows=WINDOWS):
    """Error of the mean, and mean absolute error of windows of a second, in points; drawn, too."""
    metrics, rows = {}, []
    with tempfile.TemporaryDirectory(prefix="vgpu-bench-") as folder:
        gpu = Gpu(build, folder)
        for case, (kind, processes) in CASES.items():
            for limit in limits:
                shares = share_one(gpu, kind, processes, limit, windows)
                name = f"{case}_at_{limit}"
                metrics[f"share_error_points_{name}"] = abs(statistics.mean(shares) - limit)
                metrics[f"share_mae_points_{name}"] = statistics.mean(abs(s - limit) for s in shares)
                rows.append((f"{case}, limit {limit}", statistics.mean(shares), limit))
    picture.bars(os.path.join(build, "bench"), "shares", "percent of the GPU's time, by load and limit", rows)
    return metrics


def wake_metrics(build, seconds=6):
    """How long after its time was paid for a launch goes on, and what waiting costs the CPU."""
    with tempfile.TemporaryDirectory(prefix="vgpu-bench-") as folder:
        gpu = Gpu(build, folder)
        load = gpu.start("wakes", seconds, gpu.environment(10), stdout=subprocess.PIPE, text=True)
        lines = load.communicate()[0].splitlines()
    late, waited, spent = zip(*(map(float, line.split()[1:]) for line in lines if line.startswith("wake_us")))
    return {"throttle_wake_us": statistics.median(late),
            "throttled_cpu_percent": sum(spent) / sum(waited) * 100}


def targets(name):
    if name.startswith("share_error_points_"):
        return 1
    return 2 if name.startswith("share_mae_points_") else None
