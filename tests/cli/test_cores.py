#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu run --cores and vgpu set --cores, judged by the machine: test_cores.py VGPU VGPU_BURN SOURCE_ROOT."""

import time
import unittest

from cli_case import main
from judge import Load, Window, is_kept, judge
from share_case import Guest, LIBRARY, ShareCase


WARM_MS, RUN_MS = 200, 700     # what an idle container has saved is used before the window


class Cores(ShareCase):
    def setUp(self):
        super().setUp()
        # The kernel takes its time exactly and is not interpreted.
        self.create("--preset", "t4-16gb", "--context-memory", "0", "--kernel", "mark=2000")

    def load(self, task, *guests):
        """Of the machine's GPU, in a window while the guests work."""
        for guest in guests:
            guest.begin(task, WARM_MS + RUN_MS + 1000)
        time.sleep(WARM_MS / 1000)
        window = Window(self.stat, *(guest.process.pid for guest in guests))
        time.sleep(RUN_MS / 1000)
        load = window.end()
        for guest in guests:
            guest.answer()
        return load

    def keeps(self, limit, *guests, task="work"):
        self.assertIsNone(judge(limit, lambda: self.load(task, *guests)))

    def test_a_part_of_the_gpu_s_time(self):
        guest = self.start("--machine", self.machine, "--cores", "20", "--name", "train")
        self.keeps(20, guest)
        share = self.shares()["train"]
        gpu = share["gpus"][0]
        self.assertEqual((gpu["cores_percent"], gpu["cores_max_percent"], gpu["is_latency"]), (20, 20, False))
        self.assertTrue(1 < gpu["cores_used_percent"] < 22, gpu)
        self.assertGreater(gpu["throttled_ns"], 0)
        self.assertEqual(share["processes"][0]["gpus"][0]["gpu_ns"], gpu["gpu_ns"])
        self.assertLess(abs(gpu["gpu_ns"] / self.stat()["gpus"][0]["busy_ns"] - 1), 0.1)
        self.assertRegex(self.vgpu("ps").stdout, r"/20%")

    def test_a_change_while_it_runs(self):
        guest = self.start("--machine", self.machine, "--cores", "1", "--priority=high", "--name", "train")
        self.keeps(1, guest)
        done = self.vgpu("set", "train", "--cores", "30", "--cores-max", "60")
        self.assertEqual((done.stdout, done.stderr), ("train: GPU 0 time: 30% to 60%, high priority\n", ""))
        self.keeps(60, guest)       # what nobody uses is lent
        done = self.vgpu("set", "train", "--cores", "0", "--priority=low")
        self.assertEqual((done.stdout, done.stderr), ("train: GPU 0 time: no limit\n", ""))
        done = self.vgpu("set", "train", "--cores-max", "20", "--cores", "30")
        self.assertEqual((done.returncode, done.stderr), (1, "vgpu: --cores-max 20 is below --cores 30\n"))

    def test_two_programs_of_one_share_have_one_part(self):
        words = ("--machine", self.machine, "--cores", "20", "--name", "both")
        one, two = self.start(*words), self.start(*words)
        self.keeps(20, one, two)
        self.refuses(self.run_sim("--machine", self.machine, "--cores", "30", "--name", "both", "--",
                                  "true"), 125, "20% of each GPU's time", "vgpu set both --cores")

    def test_the_environment_only_tightens(self):
        self.environment["VGPU_CORES"] = "10"
        guest = self.start("--machine", self.machine, "--cores", "80", "--name", "train")
        self.keeps(10, guest)
        self.environment["VGPU_CORES"] = "80"
        guest = self.start("--machine", self.machine, "--cores", "10", "--name", "other")
        self.keeps(10, guest)

    def test_copies_and_fills_count_where_that_is_asked_for(self):
        guest = self.start("--machine", self.machine, "--cores", "10", "--copies=count", "--name", "train")
        self.keeps(10, guest, task="fill")
        self.assertTrue(self.shares()["train"]["gpus"][0]["copies_count"])
        self.refuses(self.run_sim("--machine", self.machine, "--cores", "10", "--name", "train", "--",
                                  "true"), 125, "--copies=count", "vgpu set train --copies")
        done = self.vgpu("set", "train", "--copies=exempt")
        self.assertEqual((done.stdout, done.stderr), ("train: GPU 0 time: 10%\n", ""))
        self.assertGreater(self.load("fill", guest).percent, 35)
        done = self.vgpu("set", "train", "--copies", "count")
        self.assertEqual((done.stdout, done.stderr), ("train: GPU 0 time: 10%, copies count\n", ""))
        self.keeps(10, guest, task="fill")

    def test_the_environment_lets_copies_count_under_a_share(self):
        self.environment["VGPU_COPIES"] = "count"
        guest = self.start("--machine", self.machine, "--cores", "10", "--name", "train")
        self.keeps(10, guest, task="fill")

    def test_what_copies_cannot_be(self):
        self.refuses(self.vgpu("set", "train", "--copies=often"), 2, "invalid value 'often' of --copies (expected count or exempt)")
        self.refuses(self.run_sim("--machine", self.machine, "--copies=count", "--", "true"), 125,
                     "--copies needs --cores PERCENT")

    def test_a_limit_that_cannot_be_means_no_gpu(self):
        environment = {**self.environment, "LD_PRELOAD": LIBRARY, "VGPU_SIM": self.machine,
                       "LD_LIBRARY_PATH": LIBRARY.rpartition("/")[0] + "/sim", "VGPU_CORES": "lots"}
        self.assertNotEqual(Guest(self, [], environment).started, ["ready", "0"])


class Judge(unittest.TestCase):
    def test_a_load_that_is_too_small_is_found_on_a_busy_host_too(self):
        for percent, late, is_good in ((18.1, 0, True), (17.9, 0, False), (21.9, 0, True), (22.1, 0, False),
                                       (22.1, 40, False),       # no CPU is no reason for more
                                       (15, 20, True), (13, 20, False), (10, 80, True), (8, 80, False)):
            self.assertEqual(is_kept(Load(percent, late), 20), is_good, (percent, late))
        self.assertEqual([is_kept(Load(percent, 0), 1) for percent in (0.4, 0.6, 1.4, 1.6)], [False, True, True, False])

    def test_it_is_measured_once_more_where_the_host_was_busy(self):
        for loads, is_wrong, count in (((Load(20, 9),), False, 1), ((Load(9, 0), Load(20, 0)), True, 1),
                                       ((Load(9, 9), Load(20, 0)), False, 2), ((Load(9, 9), Load(9, 9)), True, 2)):
            given = list(loads)
            self.assertEqual(judge(20, lambda left=given: left.pop(0)) is not None, is_wrong)
            self.assertEqual(len(loads) - len(given), count)


if __name__ == "__main__":
    main("__main__")
