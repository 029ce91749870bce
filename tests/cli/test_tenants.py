#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Containers that share one GPU by time slices: test_tenants.py VGPU VGPU_BURN SOURCE_ROOT.

Judged by ratios of the simulator's own counters, which a loaded host does not change much; `make bench`
measures exactly.
"""

import json
import os
import signal
import struct
import sys
import time

from cli_case import SOURCE, VGPU, Case, main, vgpu, wait_until

sys.path.insert(0, os.path.join(SOURCE, "bench"))
import tenants  # noqa: E402

SOFT = ["--cores-max", "100"]


class Tenants(Case):
    def setUp(self):
        super().setUp()
        self.gpu = tenants.Gpu(os.path.dirname(os.path.dirname(VGPU)), self.folder)
        self.started = []
        self.addCleanup(lambda: self.gpu.stop(*self.started))

    def start(self, work, *options):
        self.started.append(self.gpu.start(work, *options))
        return self.started[-1]

    def shares(self, *who, seconds=2):
        """Each one's part of what was used at all."""
        rows = self.gpu.watch(seconds, 1000)
        used = [sum(row[1].get(tenant.pid, 0) for row in rows) for tenant in who]
        self.assertGreater(sum(used), 0, rows)
        return [one / sum(used) for one in used]

    def both_work(self, *who):
        def work():
            row = self.gpu.watch(1, 200)[0][1]
            return all(row.get(tenant.pid, 0) > 0 for tenant in who)
        self.assertTrue(wait_until(work, 30), "one of them does not work")

    def test_two_tenants_split_the_gpu_by_their_limits(self):
        first, second = self.start("async_1ms", "--cores", 30), self.start("async_1ms", "--cores", 70)
        self.both_work(first, second)
        self.assertAlmostEqual(self.shares(first, second, seconds=3)[0], 0.30, delta=0.05)
        listed = json.loads(vgpu("ps", "--json", environment=self.gpu.env).stdout)["shares"]
        for share in listed:
            gpu = share["gpus"][0]
            self.assertGreater(gpu["timeslices"], 10, gpu)
            self.assertGreater(gpu["timeslice_held_ns"], 0, gpu)
            self.assertEqual(gpu["timeslice_swap_ns"], 0, gpu)

    def test_one_that_was_alone_keeps_its_part_when_another_comes(self):
        first = self.start("async_1ms", "--cores", 30)
        self.both_work(first)
        time.sleep(5)
        second = self.start("async_1ms", "--cores", 70)
        self.both_work(second)
        self.assertAlmostEqual(self.shares(first, second, seconds=3)[0], 0.30, delta=0.06)

    def test_one_without_a_limit_leaves_the_other_its_part(self):
        first, second = self.start("async_1ms", "--cores", 30), self.start("async_1ms")
        self.both_work(first, second)
        time.sleep(1)
        self.assertAlmostEqual(self.shares(first, second, seconds=3)[0], 0.30, delta=0.05)
        vgpu("set", first.name, "--cores", "0", environment=self.gpu.env)
        time.sleep(0.5)  # the driver's slices from here on
        self.assertAlmostEqual(self.shares(first, second, seconds=3)[0], 0.50, delta=0.06)

    def test_small_kernels_get_as_much_as_large_ones(self):
        small = self.start("async_50us", "--cores", 50, *SOFT)
        large = self.start("async_5ms", "--cores", 50, *SOFT)
        self.both_work(small, large)
        self.assertAlmostEqual(self.shares(small, large, seconds=3)[0], 0.50, delta=0.06)

    def test_late_wake_ups_take_nothing_from_large_kernels(self):
        self.gpu.env["LD_PRELOAD"] = self.gpu.late_wakes
        small = self.start("async_50us", "--cores", 50, *SOFT)
        large = self.start("async_5ms", "--cores", 50, *SOFT)
        self.both_work(small, large)
        self.assertAlmostEqual(self.shares(small, large, seconds=4)[0], 0.50, delta=0.06)

    def test_what_is_lent_is_taken_back_by_weight(self):
        first = self.start("async_1ms", "--cores", 25, *SOFT)
        self.both_work(first)
        second = self.start("async_1ms", "--cores", 75, *SOFT)
        self.both_work(first, second)
        self.assertAlmostEqual(self.shares(first, second, seconds=3)[0], 0.25, delta=0.06)

    def test_one_that_is_stopped_holds_nobody_up_and_comes_back(self):
        first, second = (self.start("async_1ms", "--cores", 50, *SOFT) for _ in range(2))
        self.both_work(first, second)
        first.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        self.assertGreater(self.shares(first, second)[1], 0.9)
        first.send_signal(signal.SIGCONT)
        self.both_work(first, second)
        time.sleep(2)  # it was left to the driver's slices, and is asked back once a second
        self.assertAlmostEqual(self.shares(first, second, seconds=3)[0], 0.50, delta=0.15)

    def arbiter(self):
        with open(os.path.join(self.folder, "vgpu", ".arbiter"), "rb") as lock:
            return struct.unpack_from("=III", lock.read())[2]

    def test_another_arbiter_takes_over_from_one_that_is_killed_or_stopped(self):
        first, second = self.start("async_1ms", "--cores", 30), self.start("async_1ms", "--cores", 70)
        self.both_work(first, second)
        for number in (signal.SIGKILL, signal.SIGSTOP):
            before = self.arbiter()
            os.kill(before, number)
            self.both_work(first, second)
            self.assertTrue(wait_until(lambda old=before: self.arbiter() != old, 20))
            self.assertAlmostEqual(self.shares(first, second, seconds=3)[0], 0.30, delta=0.06)


if __name__ == "__main__":
    main("__main__")
