#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hunt BUILD [--seconds N] [--seed S] [--trials N] [--kind KIND]: looks for programs that get another share of the GPU
than promised.

Every fourth trial is about memory (memory_search.py). Each other takes one to three tenants with limits of at most 100 percent in all, makes up a program for each
(hunt_load.c), and watches them for ten seconds, by the simulated GPU's own counters. They start together or one
seconds after the other, and sometimes one more has come and gone. A tenant may not have more
than its limit, plus POINTS. A tenant alone must have at least the lesser of its limit and of what the same program
gets without vgpu, less POINTS; beside others, that holds for programs that keep the GPU busy all the time.

Prints what it found, with the seed of each trial: `--seed S --trials 1` repeats it. Exits 1 if it found anything.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

import memory_search

POINTS = 2.0
MEMORY_EVERY = 4        # trials, of which one is about memory
WARM_UP_S, WATCH_S, ALONE_S = 1.5, 10, 3
BUSY = 97.0             # percent: a program that never lets the GPU idle
LONGEST_US = 300_000    # of a kernel: ten pieces should fit into what is watched
LIVES = ("whole",) * 6 + ("exit", "kill", "sleep", "context")
SHORT = ("exit", "kill", "sleep")


class Program:
    """A made-up program."""

    def __init__(self, rng, durations):
        self.life = rng.choice(LIVES)
        self.processes = rng.choice((1, 1, 1, 2, 4))
        self.shape = ",".join(self.words(rng, [index for index, us in durations.items() if us <= LONGEST_US]))

    def words(self, rng, kernels):
        words = []
        favourites = rng.sample(kernels, rng.randint(1, 3))
        for _ in range(rng.randint(1, 8)):
            kind = rng.choices("kgshwyYqdz", (40, 8, 10, 4, 4, 6, 4, 4, 4, 6))[0]
            if kind == "k":
                words += [f"k{rng.choice(favourites)}"] * rng.choice((1, 1, 2, 5))
            elif kind == "g":
                words.append(f"g{rng.choice((2, 8, 20))}:{rng.choice([k for k in kernels if k < 6])}")
            elif kind in "sw":
                words.append(f"{kind}{rng.randrange(4)}")
            elif kind in "hz":
                words.append(f"{kind}{rng.choice((50, 300, 1000, 5000))}")
            else:
                words.append(kind)
        words.append(f"k{rng.choice(favourites)}")
        # One that neither waits nor is held up by its host would have endless work submitted when it ends.
        return words + [rng.choice("yYqd")] if rng.random() < 0.5 or self.life in SHORT else words

    def __str__(self):
        return f"{self.life} ×{self.processes} {self.shape}"


class Gpu:
    def __init__(self, build, folder):
        self.bench = os.path.join(build, "bench")
        self.build = build
        self.machine = os.path.join(folder, "machine")
        self.env = {"PATH": os.environ["PATH"], "HOME": folder, "XDG_RUNTIME_DIR": folder, "VGPU_SIM": self.machine}
        self.load = os.path.join(self.bench, "hunt_load")
        subprocess.run([self.load, "machine", self.machine], check=True)
        lines = subprocess.run([self.load, "words"], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
        self.durations = {int(line.split()[1]): float(line.split()[2]) for line in lines if line.startswith("kernel")}

    def start(self, program, seconds, limit=None, name=None):
        """A session of its own: all its processes count as the tenant's."""
        command = [self.load, str(seconds), program.life, str(program.processes), program.shape]
        env = self.env
        if limit:
            command = [os.path.join(self.build, "bin", "vgpu"), "run", "--machine", self.machine, "--name", name,
                       "--cores", str(limit), "--memory", "4Gi", "--", *command]
        else:
            env = dict(env, LD_LIBRARY_PATH=os.path.join(self.build, "lib", "sim"))
        return subprocess.Popen(command, env=env, start_new_session=True, stdout=subprocess.DEVNULL)

    def watch(self, seconds, tenants):
        """Percent of the GPU for each tenant, and for all."""
        parts, total, windows = [0.0] * len(tenants), 0.0, seconds * 4
        watcher = subprocess.Popen([os.path.join(self.bench, "share_load"), "watch", self.machine, str(windows), "250"],
                                   stdout=subprocess.PIPE, text=True)
        owner = {}
        for line in watcher.stdout:
            fields = line.split()
            total += float(fields[1])
            for field in fields[2:]:
                pid, part = field.split("=")
                if pid not in owner:
                    owner[pid] = session_of(pid)
                for index, tenant in enumerate(tenants):
                    if owner[pid] == tenant.pid:
                        parts[index] += float(part)
        return [part / windows for part in parts], total / windows


def session_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rsplit(")", 1)[1].split()[3])
    except (OSError, IndexError, ValueError):
        return 0


def end(tenants):
    for tenant in tenants:
        try:
            os.killpg(tenant.pid, 9)
        except ProcessLookupError:
            pass
        tenant.wait()
    time.sleep(0.3)


def measure(gpu, programs, limits, seconds, arrivals=None):
    """One tenant after the other, each as many seconds after the one before as `arrivals` says."""
    arrivals = arrivals or [0] * len(programs)
    tenants = []
    try:
        for index, (program, limit, wait) in enumerate(zip(programs, limits, arrivals)):
            time.sleep(wait)
            left = sum(arrivals[index + 1:]) + WARM_UP_S + seconds + 2
            tenants.append(gpu.start(program, left, limit, f"tenant{index}"))
        time.sleep(WARM_UP_S)
        parts, total = gpu.watch(seconds, tenants)
    finally:
        end(tenants)
    # What died between two looks is nobody's yet: at most one tenant has such processes.
    for index, program in enumerate(programs):
        if program.life in SHORT:
            parts[index] = total - sum(part for other, part in enumerate(parts) if other != index)
    return parts, total


def limits_of(rng, count):
    while True:
        limits = [rng.choice((3, 10, 20, 30, 40, 50, 60, 80, 99)) for _ in range(count)]
        if sum(limits) <= 100:
            return limits


def programs_of(rng, gpu, count):
    while True:
        programs = [Program(rng, gpu.durations) for _ in range(count)]
        if sum(program.life in SHORT for program in programs) <= 1:
            return programs


def visit(gpu, program, limit, seconds):
    """A tenant that has gone before anybody is watched, and must be forgotten."""
    visitor = gpu.start(program, seconds + 2, limit, "visitor")
    time.sleep(seconds)
    end([visitor])


def trial(build, folder, seed, kind):
    """[(points beyond what is promised, sentence)]"""
    kind = kind or ("memory" if seed % MEMORY_EVERY == 0 else "compute")
    if kind == "memory":
        return memory_search.trial(build, folder, random.Random(seed), seed)
    return compute_trial(Gpu(build, folder), seed)


def compute_trial(gpu, seed):
    """[(points beyond what is promised, sentence)] for each tenant."""
    rng = random.Random(seed)
    count = rng.choice((1, 1, 2, 2, 3))
    programs, limits = programs_of(rng, gpu, count), limits_of(rng, count)
    arrivals = [0] + [rng.choice((0, 0, 2, 5)) for _ in programs[1:]]
    alone = [measure(gpu, [program], [None], ALONE_S)[0][0] for program in programs]
    if rng.random() < 0.25:
        visit(gpu, rng.choice(programs), rng.choice((5, 100)), 3)
    parts, total = measure(gpu, programs, limits, WATCH_S, arrivals)
    for program, limit, bare, part in zip(programs, limits, alone, parts):
        least = min(limit, bare) if count == 1 or bare >= BUSY else 0
        error = max(part - limit, least - part)
        yield error, (f"seed {seed}: limit {limit}, alone {bare:.1f}, has {part:.1f} of {total:.1f}"
                      f"{f' beside {count - 1}' if count > 1 else ''}: {program}"
                      f"{f', arrivals {arrivals}' if any(arrivals) else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int, default=3600, help="how long to hunt")
    parser.add_argument("--seed", type=int, default=None, help="of the first trial; the next has the next number")
    parser.add_argument("--trials", type=int, default=10 ** 9, help="at most so many")
    parser.add_argument("--kind", choices=("compute", "memory"), default=None, help="trials of one kind alone")
    options = parser.parse_args()
    seed = random.randrange(10 ** 9) if options.seed is None else options.seed
    until, trials, found, worst = time.monotonic() + options.seconds, 0, 0, 0.0
    print(f"hunt: first seed {seed}", flush=True)
    while trials < options.trials and (trials == 0 or time.monotonic() < until):
        with tempfile.TemporaryDirectory(prefix="vgpu-hunt-", dir="/dev/shm") as folder:
            for error, sentence in trial(os.path.abspath(options.build), folder, seed + trials, options.kind):
                worst = max(worst, error)
                if error > POINTS:
                    found += 1
                    print(f"{error:6.1f} points  {sentence}", flush=True)
        trials += 1
    print(f"hunt: {trials} trials, {found} tenants beyond {POINTS:g} points, worst {worst:.1f}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
