# SPDX-License-Identifier: Apache-2.0
"""What libvgpu.so adds to calls: programs run bare and run with it, alternately; the difference is its own."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time

LIMIT = "16Gi"


def lines_of(command, env=None):
    output = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=env).stdout
    return {name: float(value) for name, value in map(str.split, output.splitlines())}


def library_of(build):
    return os.path.join(os.path.abspath(build), "lib", "libvgpu.so")


class Machine:
    """One simulated machine, and a measuring program run on it: bare, with the library, and with a limit."""

    def __init__(self, build, folder, program, library=None):
        build = os.path.abspath(build)
        self.program = os.path.join(build, "bench", program)
        self.folder = folder
        self.count = 0
        self.bare = {"PATH": os.environ["PATH"], "VGPU_SIM": os.path.join(folder, "machine"),
                     "LD_LIBRARY_PATH": os.path.join(build, "lib", "sim")}
        self.loaded = dict(self.bare, LD_PRELOAD=library or library_of(build))
        os.makedirs(folder, exist_ok=True)
        subprocess.run([self.program, "machine", self.bare["VGPU_SIM"]], check=True)

    def limited(self):
        """A fresh region each time: nothing of an earlier run is in it."""
        self.count += 1
        region = os.path.join(self.folder, f"region{self.count}")
        limits = {"VGPU_CORES": "90"} if self.program.endswith("launch_cost") else {"VGPU_MEMORY_LIMIT": LIMIT}
        return dict(self.loaded, VGPU_REGION=region, VGPU_LOG="warn", **limits)

    def run(self, way, *words):
        """{metric: value} of one run."""
        env = self.limited() if way == "limited" else getattr(self, way)
        # Where a limit is set, refusals are measured, too.
        words = ["limited" if word == "calls" and way == "limited" and self.program.endswith("limit_cost") else word
                 for word in words]
        return lines_of([self.program, *words], env)

    def alternate(self, ways, rounds, *words):
        """{way: {metric: value of each round}}."""
        results = {way: [] for way in ways}
        for _ in range(rounds):
            for way in ways:
                results[way].append(self.run(way, *words))
        return {way: {name: [one[name] for one in all_of] for name in all_of[0]} for way, all_of in results.items()}

    def start_true(self, rounds):
        """Seconds that `true` takes, with the library and without, alternately."""
        spent = {"bare": [], "loaded": []}
        for _ in range(rounds):
            for way, times in spent.items():
                begin = time.monotonic()
                os.waitpid(os.posix_spawn("/bin/true", ["true"], getattr(self, way)), 0)
                times.append(time.monotonic() - begin)
        return {way: statistics.median(times) for way, times in spent.items()}


def median(results, name, way="limited"):
    return statistics.median(results[way][name])


def added(results, name, way="limited"):
    return median(results, name, way) - median(results, name, "bare")


def added_each(results, name, way="limited"):
    """The median of the rounds' differences: what disturbs one round disturbs all of its runs."""
    return statistics.median(one - bare for one, bare in zip(results[way][name], results["bare"][name]))


def alone_figures(results):
    return {
        "alloc_free_added_ns_at_0": added(results, "alloc_free_at_0"),
        "alloc_free_added_ns_at_10k": added(results, "alloc_free_at_10k"),
        "alloc_free_added_ns_at_100k": added(results, "alloc_free_at_100k"),
        "alloc_free_large_added_ns": added(results, "alloc_free_large_at_0"),
        "async_alloc_free_added_ns": added(results, "async_alloc_free"),
        "refusal_ns": median(results, "refusal"),
        "meminfo_ns": median(results, "meminfo"),
    }


def crowd_figures(results):
    return {
        "alloc_free_added_ns_64_processes": added(results, "alloc_free_at_0"),
        "refusal_64_processes_ns": median(results, "refusal"),
    }


def running_figures(results):
    return {"alloc_free_added_ns_64_running": added(results, "alloc_free_running")}


def launch_figures(results):
    return {
        "launch_unlimited_added_ns": added_each(results, "launch", "loaded"),
        "launch_limited_added_ns": added_each(results, "launch"),
        "launch_limited_added_ns_2_threads": added_each(results, "launch_2_threads"),
        "graph_launch_limited_added_ns": added_each(results, "graph_launch"),
        "copy_exempt_added_ns": added_each(results, "fill"),
    }


# (figures, ways, program and words)
ALONE = (alone_figures, ("bare", "limited"), ("limit_cost", "calls", "0"))
CROWD = (crowd_figures, ("bare", "limited"), ("limit_cost", "calls", "64"))
RUNNING = (running_figures, ("bare", "limited"), ("limit_cost", "running", "64"))
LAUNCHES = (launch_figures, ("bare", "loaded", "limited"), ("launch_cost", "calls"))


def metrics(build, rows):
    """The figures of rows, each with its count of rounds."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="vgpu-bench-") as folder:
        machines = {}
        for (figures, ways, (program, *words)), rounds in rows:
            if program not in machines:
                machines[program] = Machine(build, os.path.join(folder, program), program)
            found.update(figures(machines[program].alternate(ways, rounds, *words)))
    return found


def start_metrics(build, rounds):
    with tempfile.TemporaryDirectory(prefix="vgpu-bench-") as folder:
        machine = Machine(build, folder, "limit_cost")
        start = machine.alternate(("bare", "limited"), 3, "start", "512")
        few = machine.alternate(("bare", "limited"), 5, "start", "64")
        true = machine.start_true(rounds * 10)
    return {
        "load_ms": (true["loaded"] - true["bare"]) * 1000,
        "start_true_ratio": true["loaded"] / true["bare"],
        "start_512_s": added(start, "start"),
        "start_64_ratio": median(few, "start") / median(few, "start", "bare"),
    }


def compared(here, row, more=()):
    """A measure for check.py: one run of each build's library, all on the simulated driver and with the program of
    our own build `here`, so that they differ in nothing else. What the bare program takes is measured once."""
    figures, ways, (program, *words) = row

    def measure(builds):
        results = {}
        with tempfile.TemporaryDirectory(prefix="vgpu-bench-") as folder:
            machines = {}
            for number, build in enumerate(builds):
                # By paths of one length: where the stack lies, below the environment, changes some calls by a fifth.
                below = os.path.join(folder, str(number))
                os.mkdir(below)
                library = shutil.copy(library_of(build), os.path.join(below, "libvgpu.so"))
                machines[build] = Machine(here, below, program, library)
            bare = machines[builds[0]].run("bare", *words, *more)
            for way in ways[1:]:
                for build in builds:
                    results.setdefault(build, {"bare": bare})[way] = machines[build].run(way, *words, *more)
        return {build: figures({way: {name: [value] for name, value in one.items()} for way, one in of_build.items()})
                for build, of_build in results.items()}
    return measure


def simulator(builds):
    """The same of each build's simulated driver, by the build's own program, which makes its machine."""
    return {build: lines_of([os.path.join(build, "bench", "sim_cost"), "7"]) for build in builds}
