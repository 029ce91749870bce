#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_truth.py VGPU VGPU_BURN SOURCE_ROOT: what every screen says of GPU time, judged by the simulated GPU's counters.

vgpu ps, vgpu top, vgpu-node's API and metrics, and NVML inside a share are compared with `vgpu sim stat`, within a point
over the last second, for each kind of program that once made a figure lie.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import grpc

from cli_case import ENVIRONMENT, SOURCE, VGPU, Case, main, vgpu, wait_until
from peer import Messages
from prometheus import Page

BUILD = os.path.dirname(os.path.dirname(VGPU))
SIM = os.path.join(BUILD, "lib", "sim")
NODE = os.path.join(os.path.dirname(VGPU), "vgpu-node")
INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvml_guest.py")
LOAD, PROGRAMS, DESCRIPTORS = (os.environ[name] for name in ("SHARE_LOAD", "SHARE_PROGRAMS", "DESCRIPTORS"))
KERNELS = {"k20us": 20, "k50us": 50, "k100us": 100, "k300us": 300, "k1ms": 1000, "k5ms": 5000, "k20ms": 20000,
           "k100ms": 100000, "k500ms": 500000, "k2s": 2000000}
POINTS = 1
SAMPLES, TRIES = 3, 3
STALL_MOST = 0.1    # of the time: more is a busy host
# What was sampled by vgpu-node is up to so old; others look now.
SAMPLED_S, NOW_S = 1.25, 0.1


def stalled():
    """Seconds in which some task waited for a CPU. A kernel that does not say counts as busy: it rises always."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            return int(file.readline().rpartition("=")[2]) / 1e6
    except OSError:
        return time.monotonic()


class Truth:
    """The loads of all processes and GPUs, by the GPUs' own counters, several times a second."""

    def __init__(self, machine):
        self.machine, self.past, self.is_ending = machine, [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_ending:
            self.sample()
            time.sleep(0.05)

    def sample(self):
        done = vgpu("sim", "stat", "--machine", self.machine, "--json")
        seen = json.loads(done.stdout)
        units = {(gpu["gpu"], gpu["instance"]): 100 * gpu["load"] for gpu in seen["gpus"]}
        loads = {(process["pid"], held["gpu"], held["instance"]): 100 * held["load"]
                 for process in seen["processes"] for held in process["holds"]}
        self.past = (self.past + [(time.monotonic(), units, loads)])[-100:]

    def end(self):
        self.is_ending = True
        self.thread.join()

    def since(self, begin):
        """One before it, and all later."""
        before = [one for one in self.past if one[0] < begin][-1:]
        return before + [one for one in self.past if one[0] >= begin]


class Screens(Case):
    """One simulated machine with vgpu-node, and shares at work on it."""

    gpus, options = 1, ()

    def setUp(self):
        super().setUp()
        users = os.path.join(self.folder, "users")
        self.runtime = os.path.join(users, str(os.geteuid()))
        os.makedirs(self.runtime, 0o700)
        os.mkdir(os.path.join(self.folder, "containers"))
        self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": self.runtime, "VGPU_RUN_FOLDERS": users}
        self.shares, self.strangers, self.insides = {}, [], {}
        kernels = [word for name, us in KERNELS.items() for word in ("--kernel", f"{name}={us}")]
        self.create("--preset", "a100-40gb", "--gpus", str(self.gpus), *kernels)
        self.cut()
        # A GPU's time goes on when somebody looks: without, what a program did that has ended is lost.
        self.spawn([LOAD, "watch", self.machine, "100000", "5"], ENVIRONMENT)
        self.start_node()
        self.truth = Truth(self.machine)
        self.addCleanup(self.truth.end)

    def cut(self):
        """Into MIG devices, for those who want them."""

    def start_node(self):
        log = open(os.path.join(self.folder, "log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        self.spawn([NODE, "--standalone", f"--run-dir={self.folder}/run", f"--state-dir={self.folder}/state",
                    f"--runtime-state={self.folder}/containers", f"--metrics-listen=unix:{self.folder}/metrics.sock"],
                   {**self.environment, "VGPU_SIM": self.machine, "LD_LIBRARY_PATH": SIM}, stderr=log)
        self.assertTrue(wait_until(lambda: os.path.exists(f"{self.folder}/metrics.sock")), "vgpu-node does not start")
        self.messages = Messages(DESCRIPTORS)
        channel = grpc.insecure_channel(f"unix://{self.folder}/run/node.sock")
        self.addCleanup(channel.close)
        self.list = channel.unary_unary("/vgpu.v1.Shares/List",
                                        request_serializer=lambda message: message.SerializeToString(),
                                        response_deserializer=self.messages.vgpu__v1__ListSharesResponse.FromString)

    def spawn(self, command, environment, **more):
        process = subprocess.Popen(command, env=environment, start_new_session=True,
                                   **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more})

        def end():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.communicate()
        self.addCleanup(end)
        return process

    def work(self, name, options, *words, **environment):
        """A program of the share. Its kind is one of share_load's, or of share_programs'."""
        program = LOAD if subprocess.run([LOAD, "kinds"], check=True, capture_output=True,
                                         text=True).stdout.split().count(words[0]) else PROGRAMS
        command = [VGPU, "run", "--machine", self.machine, "--name", name, *options, "--", program, *words]
        self.shares.setdefault(name, []).append(self.spawn(command, {**self.environment, **environment}))

    def stranger(self, *words, program=LOAD):
        self.strangers.append(self.spawn([program, *words], {**self.environment, "VGPU_SIM": self.machine,
                                                             "LD_LIBRARY_PATH": SIM}))

    def join_inside(self, name):
        """A program that asks NVML, in the share."""
        self.assertTrue(wait_until(lambda: name in self.owners().values()), f"nobody works in {name}")
        process = self.spawn([VGPU, "run", "--machine", self.machine, "--name", name, "--", sys.executable, INSIDE],
                             self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.insides[name] = process

    # What each says of a share on a GPU: {(name, index): percent}, and of what is outside: {index: percent}.

    def screen(self, *words):
        done = vgpu(*words, environment={**self.environment, "VGPU_SIM": self.machine})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        seen = json.loads(done.stdout)
        units = {gpu["uuid"]: (gpu["gpu"], gpu["instance"]) for gpu in seen["gpus"]}
        self.check_four_figures(seen)
        return ({(share["name"], units[gpu["uuid"]]): gpu["cores_used_percent"]
                 for share in seen["shares"] for gpu in share["gpus"]},
                {units[gpu["uuid"]]: gpu["outside_percent"] for gpu in seen["gpus"]})

    def check_four_figures(self, seen):
        for gpu in seen["gpus"]:
            parts = [part for share in seen["shares"] for part in share["gpus"] if part["uuid"] == gpu["uuid"]]
            used = sum(part["cores_used_percent"] or 0 for part in parts)
            self.assertLessEqual(used + (gpu["outside_percent"] or 0), 100.001)
            self.assertAlmostEqual(used, gpu["cores_used_percent"], 3)
            for part in parts:
                self.assertLessEqual(part["throttled_percent"], 100)
                if part["cores_lost_percent"] is not None:
                    self.assertLessEqual(part["cores_lost_percent"], gpu["outside_percent"] + 0.001)

    def units(self):
        seen = json.loads(vgpu("ps", "--json", environment={**self.environment, "VGPU_SIM": self.machine}).stdout)
        return {gpu["uuid"]: (gpu["gpu"], gpu["instance"]) for gpu in seen["gpus"]}

    def api(self):
        units, told = self.units(), self.list(self.messages.vgpu__v1__ListSharesRequest(), timeout=10)
        for gpu in told.gpus:
            used = sum(part.cores_used_percent for share in told.shares for part in share.gpus if part.uuid == gpu.uuid)
            self.assertLessEqual(used + gpu.outside_percent, 100.001)
        return ({(share.name, units[gpu.uuid]): gpu.cores_used_percent if gpu.is_used_known else None
                 for share in told.shares for gpu in share.gpus},
                {units[gpu.uuid]: gpu.outside_percent if gpu.is_split_told else None for gpu in told.gpus})

    def metrics(self):
        units = self.units()
        text = subprocess.run(["curl", "-s", "--unix-socket", f"{self.folder}/metrics.sock", "http://node/metrics"],
                              check=True, capture_output=True).stdout
        page = Page(text)
        self.assertEqual((page.wrong, page.unlisted()), ([], []))
        used = {(labels["name"], units[labels["device_uuid"]]): 100 * value for name, labels, value in page.samples
                if name == "vgpu_container_cores_used_ratio"}
        outside = {units[labels["device_uuid"]]: 100 * value for name, labels, value in page.samples
                   if name == "vgpu_device_outside_ratio"}
        return used, outside

    def inside(self):
        used = {}
        for name, process in self.insides.items():
            process.stdin.write("\n")
            process.stdin.flush()
            for index, word in enumerate(process.stdout.readline().split()):
                used[name, (index, 0)] = None if word == "-" else float(word)
        return used, {}

    # What was true.

    def owners(self):
        """The share's name, of each pid."""
        done = vgpu("ps", "--json", environment={**self.environment, "VGPU_SIM": self.machine})
        return {process["pid"]: share["name"] for share in json.loads(done.stdout)["shares"]
                for process in share["processes"]}

    def real(self, begin, fleeting, owners):
        """The least and the most that each share had of each GPU, by any sample since then; "" is outside. What no living
        process has is that of `fleeting`, whose processes live for a moment."""
        spans = {}
        for _, units, loads in self.truth.since(begin):
            for unit, load in units.items():
                parts = {name: 0 for name in (*self.shares, "")}
                for (pid, *at), part in loads.items():
                    if tuple(at) == unit:
                        parts[owners.get(pid, fleeting or "")] += part
                if fleeting is not None:
                    parts[fleeting] = load - sum(part for name, part in parts.items() if name != fleeting)
                for name, part in parts.items():
                    low, high = spans.get((name, unit), (part, part))
                    spans[name, unit] = min(low, part), max(high, part)
        return spans

    def wrong(self, figures, spans, slack=POINTS):
        """What is further from the truth than it may be."""
        used, outside = figures
        said = {**used, **{("", unit): percent for unit, percent in outside.items()}}
        return [f"{name or 'outside'} on {unit}: {percent:.1f}, the GPU says {spans[name, unit][0]:.1f} to "
                f"{spans[name, unit][1]:.1f}" for (name, unit), percent in said.items() if percent is not None
                and not spans[name, unit][0] - slack <= percent <= spans[name, unit][1] + slack]

    def compare_once(self, fleeting):
        owners, found = self.owners(), {}
        screens = {"ps": (lambda: self.screen("ps", "--json"), NOW_S, POINTS),
                   "top": (lambda: self.screen("top", "--once", "--json", "--interval", "0.1"), NOW_S, POINTS),
                   "NVML inside": (self.inside, NOW_S, POINTS + 0.5),    # a whole percent
                   "API": (self.api, SAMPLED_S, POINTS), "metrics": (self.metrics, SAMPLED_S, POINTS)}
        for name, (ask, age, slack) in screens.items():
            begin = time.monotonic() - age
            self.truth.sample()
            figures = ask()
            self.truth.sample()
            found[name] = self.wrong(figures, self.real(begin, fleeting, {**owners, **self.owners()}), slack)
        return {name: wrong for name, wrong in found.items() if wrong}

    def compare(self, fleeting=None, warm_up_s=2.5):
        """Each comparison is repeated where the host was busy meanwhile: GPU time is not the same in two seconds then."""
        self.truth.sample()
        time.sleep(warm_up_s)
        for _ in range(SAMPLES):
            for attempt in range(TRIES):
                before, begin = stalled(), time.monotonic()
                found = self.compare_once(fleeting)
                is_busy = stalled() - before > STALL_MOST * (time.monotonic() - begin)
                if not found or not (is_busy or attempt == 0):
                    break
                time.sleep(0.5)
            self.assertEqual(found, {}, f"on a host that was {'busy' if is_busy else 'idle enough'}")
            time.sleep(0.3)


class Shares(Screens):
    def test_oversold_neighbours_without_a_limit_of_compute(self):
        self.work("limited", ("--cores", "40"), "async_1ms", "60")
        self.work("virtual", ("--memory", "1g", "--memory-ratio", "2"), "async_1ms", "60")
        self.work("free", ("--memory", "1g"), "async_1ms", "60")
        for name in ("limited", "virtual"):
            self.join_inside(name)
        self.compare()

    def test_short_programs(self):
        self.work("short", ("--cores", "30"), "lives", "dtoh", "60", "4")
        self.work("steady", ("--cores", "50"), "async_1ms", "60")
        self.join_inside("short")
        self.compare("short")

    def test_programs_that_are_killed_or_just_exit(self):
        for name, end in (("killed", "signal"), ):
            self.work(name, ("--cores", "30"), "lives", end, "60", "3")
        self.join_inside("killed")
        self.compare("killed")

    def test_short_programs_without_a_limit_of_compute(self):
        self.work("limited", ("--cores", "40"), "async_1ms", "60")
        self.work("short", ("--memory", "4g"), "lives", "sync", "60", "3")
        self.compare("short")

    def test_contexts_that_come_and_go(self):
        self.work("contexts", ("--cores", "30"), "contexts", "60")
        self.compare()

    def test_graphs_beside_kernels(self):
        self.work("graph", ("--cores", "50"), "graph_40ms", "60")
        self.work("kernels", ("--cores", "50"), "async_1ms", "60")
        self.join_inside("graph")
        self.compare()

    def test_kernels_longer_than_the_second_that_is_shown(self):
        self.work("long", ("--cores", "30"), "sync_2s", "60")
        self.work("short", ("--cores", "50"), "async_1ms", "60")
        self.join_inside("long")
        self.compare()

    def test_callbacks_and_heavy_tails(self):
        self.work("callbacks", ("--cores", "30"), "callbacks", "60")
        self.work("heavy", ("--cores", "30"), "heavy", "60")
        self.compare()

    def test_several_processes(self):
        for _ in range(4):
            self.work("four", ("--cores", "60"), "async_1ms", "60")
        for _ in range(3):
            self.work("free", ("--memory", "4g"), "async_50us", "60")
        for name in ("four", "free"):
            self.join_inside(name)
        self.compare()

    def test_programs_without_a_share(self):
        self.work("limited", ("--cores", "60"), "async_1ms", "60")
        self.stranger("async_1ms", "60")
        self.stranger("sync_20ms", "60")
        self.join_inside("limited")
        self.compare()
        told = self.list(self.messages.vgpu__v1__ListSharesRequest(), timeout=10)
        (gpu,), (share,) = told.gpus, told.shares
        self.assertGreater(share.gpus[0].cores_lost_percent, 1)
        self.assertLessEqual(share.gpus[0].cores_lost_percent, gpu.outside_percent + 0.001)

    def test_short_programs_without_a_share(self):
        self.work("limited", ("--cores", "60"), "async_1ms", "60")
        self.stranger("lives", "sync", "60", "2", program=PROGRAMS)
        self.compare("")

    def test_counters_grow_as_the_gpu_works(self):
        """Used, lost and outside in nanoseconds, of the API, the metrics and vgpu ps, against busy time of the GPU."""
        self.work("limited", ("--cores", "50"), "async_1ms", "60")
        self.work("free", ("--memory", "1g"), "async_1ms", "60")
        self.stranger("async_1ms", "60")
        time.sleep(3)

        def count():
            told = self.list(self.messages.vgpu__v1__ListSharesRequest(), timeout=10)
            (gpu,) = told.gpus
            parts = {share.name: share.gpus[0].cores_used_ns for share in told.shares}
            self.assertLessEqual(abs(sum(parts.values()) - gpu.cores_used_ns), 1e9)
            done = vgpu("ps", "--json", environment={**self.environment, "VGPU_SIM": self.machine,
                                                     "VGPU_NODE_SOCKET": f"{self.folder}/run/node.sock"})
            shown = json.loads(done.stdout)
            self.assertGreaterEqual(shown["gpus"][0]["outside_ns"], gpu.outside_ns)
            for share in shown["shares"]:
                self.assertGreaterEqual(share["gpus"][0]["cores_used_ns"], parts[share["name"]])
            return self.stat()["gpus"][0]["busy_ns"], gpu.cores_used_ns + gpu.outside_ns, gpu.outside_ns
        first = count()
        time.sleep(6)
        busy, counted, outside = (after - before for after, before in zip(count(), first))
        self.assertGreater(outside, 0.1 * busy)
        self.assertLess(abs(counted - busy), 1.2e9, "samples are a second apart")

    def test_work_ahead_of_the_gpu_is_no_wait_for_the_limit(self):
        """A soft limit that has all of the GPU waits for its own work only; a hard one is throttled."""
        self.work("soft", ("--cores", "25", "--cores-max", "100"), "async_1ms", "60")
        time.sleep(2.5)

        def throttled():
            done = vgpu("ps", "--json", environment={**self.environment, "VGPU_SIM": self.machine})
            return {share["name"]: share["gpus"][0]["throttled_percent"] for share in json.loads(done.stdout)["shares"]}
        self.assertLess(throttled()["soft"], 2)
        done = vgpu("set", "soft", "--cores", "20", "--cores-max", "20", environment=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        time.sleep(2)
        self.assertGreater(throttled()["soft"], 60)
        self.assertLessEqual(throttled()["soft"], 100)


class SeveralGpus(Screens):
    gpus = 2

    def test_a_share_on_several_gpus(self):
        self.work("both", ("--cores", "30"), "async_1ms", "60")
        self.work("both", ("--cores", "30"), "sync_20ms", "60", CUDA_VISIBLE_DEVICES="1")
        self.work("other", ("--cores", "60"), "async_1ms", "60", CUDA_VISIBLE_DEVICES="1")
        self.join_inside("both")
        self.compare()


class MigDevices(Screens):
    def cut(self):
        script = ("import ctypes; n = ctypes.CDLL('libnvidia-ml.so.1'); n.nvmlInit_v2()\n"
                  "d, g, c = (ctypes.c_void_p() for _ in range(3)); s = ctypes.c_int()\n"
                  "n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(d))\n"
                  "assert n.nvmlDeviceSetMigMode(d, 1, ctypes.byref(s)) == 0\n"
                  "for i in range(2):\n"
                  "    assert n.nvmlDeviceCreateGpuInstance(d, 19, ctypes.byref(g)) == 0\n"
                  "    assert n.nvmlGpuInstanceCreateComputeInstance(g, 0, ctypes.byref(c)) == 0\n")
        subprocess.run([sys.executable, "-c", script], check=True,
                       env={**self.environment, "VGPU_SIM": self.machine, "LD_LIBRARY_PATH": SIM})

    def real(self, begin, fleeting, owners):
        """`vgpu sim stat` numbers instances from 1, vgpu ps MIG devices."""
        return super().real(begin, fleeting, owners)

    def test_mig_devices(self):
        uuids = [uuid for uuid, (_, instance) in sorted(self.units().items(), key=lambda one: one[1]) if instance]
        self.work("first", ("--cores", "30"), "async_1ms", "60", CUDA_VISIBLE_DEVICES=uuids[0])
        self.work("second", ("--cores", "60"), "sync_20ms", "60", CUDA_VISIBLE_DEVICES=uuids[1])
        self.work("free", ("--memory", "1g"), "async_1ms", "60", CUDA_VISIBLE_DEVICES=uuids[1])
        self.compare()


if __name__ == "__main__":
    main("__main__")
