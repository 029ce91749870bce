# SPDX-License-Identifier: Apache-2.0
"""programs.py BUILD [CASE...]: whether a limit of compute holds for programs that live for a moment, end in any way,
wait for the host, or change their work, by the simulated machine's own counters.

Prints "metric value" lines and draws BUILD/bench/programs.svg and set.svg. `bench/run` calls it.
"""

import os
import re
import signal
import statistics
import subprocess
import tempfile
import time

import picture
import share
import wanted

LIMIT = 30
WARM_UP_S, WINDOWS, SAMPLES = 1.5, 8, 200
# Name of the case: arguments of share_programs, with the seconds to come.
LOADS = {f"short_programs_{end}": ("lives", end, "{}", "4")
         for end in ("dtoh", "query", "event", "signal", "sleep")}
LOADS |= {"contexts": ("contexts", "{}"), "swapped_graph": ("swapped", "{}"), "heavy_tailed": ("heavy_tailed", "{}")}
# It may get less than its limit, alone: what counts is what it gets without one.
BOUND = {name: (name, "{}") for name in ("callbacks", "callbacks_old", "callbacks_sync", "events", "values", "host_nodes")}
AT_MOST = {f"share_error_points_{name}_at_{LIMIT}": 2 for name in LOADS}
AT_MOST |= {f"share_mae_points_swapped_graph_at_{LIMIT}": 2}
# Pieces of 20 ms and more make each second as coarse as they are: only the mean counts.
UNBOUND = {f"share_mae_points_{name}_at_{LIMIT}" for name in LOADS} - set(AT_MOST)
AT_MOST |= {f"share_short_points_{name}_at_{LIMIT}": 1 for name in BOUND}
AT_MOST |= {"set_up_in_debt_ms": 100, "set_down_in_debt_ms": 100}
AT_MOST |= {"race_end_over_mib": 0}
AT_LEAST = {"share_percent_at_99": 98.5}
AT_LEAST |= {f"share_worst_second_{name}_at_{LIMIT}": 1 for name in BOUND}


class Programs:
    """One simulated GPU, and share_programs on it."""

    def __init__(self, build, folder):
        self.gpu = share.Gpu(build, folder)
        self.rows = []  # of the picture: what, percent of the GPU's time, what is wanted
        self.program = os.path.join(os.path.abspath(build), "bench", "share_programs")

    def start(self, arguments, environment, seconds):
        command = [self.program, *(argument.format(seconds) for argument in arguments)]
        # A group of its own: lives have children.
        return subprocess.Popen(command, env=environment, start_new_session=True)

    def shares(self, arguments, limit, windows=WINDOWS, window_ms=1000):
        """Percent of each window that the GPU was busy, under a limit or (None) without."""
        environment = self.gpu.environment(limit)
        environment.pop("VGPU_COPIES", None)
        load = self.start(arguments, environment, WARM_UP_S + windows * window_ms / 1000 + 1)
        try:
            time.sleep(WARM_UP_S)
            # The GPU's time goes on when somebody looks, and what a process did that died before that is lost.
            parts = self.gpu.watch(windows * SAMPLES, window_ms // SAMPLES)
            return [statistics.mean(parts[i:i + SAMPLES]) for i in range(0, len(parts), SAMPLES)]
        finally:
            os.killpg(load.pid, signal.SIGKILL)
            load.wait()


def error_metrics(programs, name):
    shares = programs.shares(LOADS[name], LIMIT)
    programs.rows.append((f"{name}, limit {LIMIT}", statistics.mean(shares), LIMIT))
    return {f"share_error_points_{name}_at_{LIMIT}": abs(statistics.mean(shares) - LIMIT),
            f"share_mae_points_{name}_at_{LIMIT}": statistics.mean(abs(one - LIMIT) for one in shares)}


def bound_metrics(programs, name):
    """How much less it gets than alone or than its limit, whichever is less; and its worst second."""
    alone = statistics.mean(programs.shares(BOUND[name], None, 3))
    shares = programs.shares(BOUND[name], LIMIT)
    due = min(alone, LIMIT)
    programs.rows.append((f"{name}, limit {LIMIT}", statistics.mean(shares), due))
    return {f"share_alone_percent_{name}": alone,
            f"share_short_points_{name}_at_{LIMIT}": max(due - statistics.mean(shares), 0),
            f"share_over_points_{name}_at_{LIMIT}": max(statistics.mean(shares) - LIMIT, 0),
            f"share_worst_second_{name}_at_{LIMIT}": min(shares)}


def whole_metrics(programs, _):
    percent = statistics.mean(programs.shares(("k1ms", "{}"), 99, 5))
    programs.rows.append(("k1ms, limit 99", percent, 99))
    return {"share_percent_at_99": percent}


def set_metrics(build, folder):
    """vgpu set on a program that waits for a debt: how long until it has its new limit (of 200 ms windows)."""
    metrics, series = {}, []
    pictures = os.path.join(build, "bench")
    build = os.path.abspath(build)
    vgpu, machine = os.path.join(build, "bin", "vgpu"), os.path.join(folder, "machine-set")
    load, watch = (os.path.join(build, "bench", name) for name in ("share_programs", "share_load"))
    environment = dict(os.environ, XDG_RUNTIME_DIR=folder)
    environment.pop("VGPU_SHARE", None)
    subprocess.run([watch, "machine", machine], check=True)
    for name, old, new in (("up", 3, 80), ("down", 80, 10)):
        run = subprocess.Popen([vgpu, "run", "--machine", machine, "--name", f"debt{name}", "--cores", str(old), "--",
                                load, "long_sync" if name == "up" else "k1ms", "20"], env=environment)
        time.sleep(2)
        window_ms = 20
        watcher = subprocess.Popen([watch, "watch", machine, "150", str(window_ms)], stdout=subprocess.PIPE, text=True)
        begin = time.monotonic()
        time.sleep(0.4)
        subprocess.run([vgpu, "set", f"debt{name}", "--cores", str(new)], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
        window = int((time.monotonic() - begin) * 1000 / window_ms)
        busy = [float(line.split()[1]) for line in watcher.communicate()[0].splitlines()]
        series.append((f"{old} to {new}", busy, new))
        busy = busy[window:]
        run.kill()
        run.wait()
        if name == "up":
            felt = next((i for i, one in enumerate(busy) if one > 0), len(busy))
        else:
            felt = next((i for i in range(len(busy) - 5) if abs(statistics.mean(busy[i:i + 5]) - new) <= 4), len(busy))
        metrics[f"set_{name}_in_debt_ms"] = felt * window_ms
    picture.lines(pictures, "set", "vgpu set on a program that waits for a debt (percent)", window_ms, series)
    return metrics


def race_metrics(build):
    """What NVML and the GPU's own sum show over the limit while 16 processes race at it and end, at the most; at once,
    and with a driver that frees their memory 3 ms later."""
    program = os.path.join(os.path.abspath(build), "tests", "soak", "limit")
    environment = dict(os.environ, LD_PRELOAD=os.path.join(build, "lib", "libvgpu.so"),
                       LD_LIBRARY_PATH=os.path.join(build, "lib", "sim"))
    environment = {name: os.path.abspath(value) if name.startswith("LD_") else value for name, value in environment.items()}
    over = 0
    for late_us in ("0", "3000"):
        output = subprocess.run([program, "end", "16", "300", late_us], env=environment, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        found = re.findall(r"while .* \((\d+) of (\d+)\)", output) + re.findall(r"own sum .* \((\d+)\)", output)
        limit = int(found[0][1])
        over = max(over, int(found[0][0]) - limit, int(found[1]) - limit)
    return {"race_end_over_mib": over / 2 ** 20}


def metrics_of(build, names=None):
    metrics = {}
    with tempfile.TemporaryDirectory(prefix="vgpu-programs-", dir="/dev/shm") as folder:
        programs = Programs(build, folder)
        for cases, measure in ((LOADS, error_metrics), (BOUND, bound_metrics), (("limit_99",), whole_metrics)):
            for name in cases:
                if not names or name in names:
                    metrics.update(measure(programs, name))
        if programs.rows:
            picture.bars(os.path.join(build, "bench"), "programs",
                         "percent of the GPU's time, by program: its limit, or what it gets without", programs.rows)
        if not names or "set" in names:
            metrics.update(set_metrics(build, folder))
        if not names or "race" in names:
            metrics.update(race_metrics(build))
    return metrics


def target(name, value):
    return wanted.text(name, value, AT_MOST, AT_LEAST)


if __name__ == "__main__":
    wanted.main(__doc__, metrics_of, target)
