# SPDX-License-Identifier: Apache-2.0
"""memory.py BUILD [CASE...]: what programs get done whose memory does not fit the GPU, or not their part of it, and
whether it keeps its contents.

Prints "metric value" lines. `bench/run` calls it, and it draws BUILD/bench/memory.svg.
"""

import os
import subprocess
import tempfile

import picture
import wanted

GPU_MIB, SET_MIB, LIMIT_MIB = 4096, 3072, 3072
WARM_UP_S, PAIR_S, ALONE_S = 6, 24, 4
OVERSOLD = ("--oversold", "--context-memory", "exempt")
CORES = ("--cores", "50", "--cores-max", "100")
# Two tenants, each with three quarters of the GPU, all of it in use. Name: their kinds of memory, their options.
CROWDS = {
    "device": (("device", "device"), ()),
    "managed": (("managed", "managed"), ()),
    "mixed": (("mixed", "mixed"), ()),
    "device_managed": (("device", "managed"), ()),
    "device_cores": (("device", "device"), CORES),
    "managed_cores": (("managed", "managed"), CORES),
}
# Half of the memory is on the GPU. What is used was allocated last. Name: tenants, MiB that each has, MiB in use.
RATIOS = {"hot_fits": (1, 2560, 1152), "hot_beyond": (2, 2560, 2560)}
AT_LEAST = {f"memory_{name}_throughput_ratio": 0.85 for name in CROWDS}
AT_LEAST |= {f"memory_{name}_evenness": 0.9 for name in CROWDS}
AT_LEAST |= {"memory_ratio_hot_fits_throughput_ratio": 0.85, "memory_ratio_hot_beyond_throughput_ratio": 0.95}


class Gpu:
    """One simulated GPU, and the tenants on it."""

    def __init__(self, build, folder):
        self.vgpu, self.load, self.maker = (os.path.join(os.path.abspath(build), *parts) for parts in
                                         (("bin", "vgpu"), ("bench", "share_memory"), ("bench", "share_load")))
        self.machine = os.path.join(folder, "machine")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=folder)
        self.env.pop("VGPU_SHARE", None)
        self.count = 0
        self.make()

    def make(self):
        subprocess.run([self.maker, "machine", self.machine, str(GPU_MIB)], check=True)

    def start(self, kind, mib, hot_mib, options, seconds, *more, warm_up=WARM_UP_S):
        self.count += 1
        return subprocess.Popen([self.vgpu, "run", "--machine", self.machine, "--name", f"tenant{self.count}", *options, "--",
                                 self.load, kind, str(mib), str(hot_mib), str(warm_up), str(seconds), *more],
                                env=self.env, stdout=subprocess.PIPE, text=True)

    def done(self, *tenants):
        """Percent of the time that each had work done."""
        outputs = [tenant.communicate()[0] for tenant in tenants]
        for tenant in tenants:
            if tenant.returncode:
                raise subprocess.CalledProcessError(tenant.returncode, tenant.args)
        return [float(output.split()[1]) for output in outputs]


def crowd_metrics(gpu, name):
    kinds, options = CROWDS[name]
    options = (*OVERSOLD, *options)
    alone = [gpu.done(gpu.start(kind, SET_MIB, SET_MIB, options, ALONE_S))[0] for kind in sorted(set(kinds))]
    parts = gpu.done(*(gpu.start(kind, SET_MIB, SET_MIB, options, PAIR_S) for kind in kinds))
    return {f"memory_{name}_throughput_ratio": sum(parts) / (sum(alone) / len(alone)),
            f"memory_{name}_evenness": min(parts) / max(parts)}


def ratio_metrics(gpu, name):
    """Against the same program with all of its memory on the GPU; beyond, against itself alone."""
    count, mib, hot_mib = RATIOS[name]
    whole = ("--memory", f"{LIMIT_MIB}Mi", "--context-memory", "exempt")
    ratio = (*whole, "--memory-ratio", "2")
    alone = gpu.done(gpu.start("device", mib, hot_mib, whole if count == 1 else ratio, ALONE_S))[0]
    parts = gpu.done(*(gpu.start("device", mib, hot_mib, ratio, PAIR_S) for _ in range(count)))
    return {f"memory_ratio_{name}_throughput_ratio": sum(parts) / alone}


def metrics_of(build, names=()):
    metrics = {}
    for cases, measure in ((CROWDS, crowd_metrics), (RATIOS, ratio_metrics)):
        for name in cases:
            if names and name not in names:
                continue
            with tempfile.TemporaryDirectory(prefix="vgpu-memory-", dir="/dev/shm") as folder:
                metrics.update(measure(Gpu(build, folder), name))
    rows = [(name.removeprefix("memory_").removesuffix("_throughput_ratio"), 100 * value, 100 * AT_LEAST[name])
            for name, value in metrics.items() if name.endswith("_ratio")]
    if rows:
        picture.bars(os.path.join(build, "bench"), "memory", "Too little memory: percent of the work of one alone", rows)
    return metrics


def target(name, value):
    return wanted.text(name, value, {}, AT_LEAST)


if __name__ == "__main__":
    wanted.main(__doc__, metrics_of, target)
