#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Virtual memory by vgpu run, set and ps: test_virtual.py VGPU VGPU_BURN SOURCE_ROOT."""

import time

from cli_case import main, vgpu, wait_until
from share_case import MIB, OUT_OF_MEMORY, ShareCase


class Virtual(ShareCase):
    def gpu(self):
        """What the GPU itself says is used, in MiB."""
        return self.stat()["gpus"][0]["used_bytes"] // MIB

    def fill(self, guest, mib):
        """Allocates until it is refused; how much that was, in MiB."""
        held = 0
        while guest.alloc(mib) == 0:
            held += mib
        return held

    def inject(self, *words):
        done = vgpu("sim", "inject", "--machine", self.machine, *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def device(self, name):
        return self.shares()[name]["gpus"][0]

    def begin(self, *words):
        self.create("--preset", "gtx-1050ti", "--context-memory", "0")
        return self.start("--machine", self.machine, "--name", "one", *words)

    def test_a_ratio_halves_what_is_on_the_gpu(self):
        guest = self.begin("--memory", "4096Mi", "--memory-ratio", "2")
        self.assertEqual(self.fill(guest, 128), 4096)
        self.assertLessEqual(self.gpu(), 2048)
        self.assertEqual(guest.ask("info"), [0, 4096 * MIB])
        device = self.device("one")
        self.assertEqual((device["limit_bytes"], device["physical_limit_bytes"], device["virtual_limit_bytes"]),
                         (4096 * MIB, 2048 * MIB, 2048 * MIB))
        self.assertEqual((device["held_bytes"], device["virtual_bytes"]), (4096 * MIB, 2048 * MIB))
        (process,) = self.shares()["one"]["processes"]
        self.assertEqual(process["gpus"][0]["physical_bytes"], 2048 * MIB)
        self.assertEqual(process["gpus"][0]["virtual_bytes"], 2048 * MIB)
        lines = [line.split("\t") for line in self.vgpu("ps", "--columns", "share,held,virtual,limit").stdout.splitlines()]
        self.assertIn(["one", "4GiB", "2GiB", "4GiB"], lines)

    def test_a_whole_gpu_oversold_holds_six_of_four_and_not_eight(self):
        guest = self.begin("--oversold")
        for _ in range(6 * 4):
            self.assertEqual(guest.alloc(256), 0)
        self.assertEqual(guest.touch(), 24)
        gpu = self.gpu()
        self.assertTrue(3072 <= gpu <= 4096, gpu)
        self.assertEqual(self.device("one")["physical_bytes"] // MIB, gpu)
        (process,) = self.shares()["one"]["processes"]
        self.assertEqual(process["gpus"][0]["resident_bytes"] // MIB, gpu)
        self.assertEqual(self.device("one")["virtual_bytes"] // MIB, 6 * 1024 - gpu)
        self.assertLess(6 * 1024 + self.fill(guest, 256), 8 * 1024)
        self.assertEqual(self.gpu(), gpu)

    def test_how_far_it_is_oversold(self):
        guest = self.begin("--memory", "1g", "--oversold", "--oversold-host-memory", "512Mi")
        self.assertEqual(self.fill(guest, 64), 1536)
        self.assertLessEqual(self.gpu(), 1024)
        self.assertEqual(guest.ask("info"), [0, 1024 * MIB])

    def test_two_processes_share_both_parts(self):
        one = self.begin("--memory", "1g", "--memory-ratio", "2")
        two = self.start("--machine", self.machine, "--name", "one")
        for guest in (one, two, one, two, one, two, one):
            self.assertEqual(guest.alloc(128), 0)
        self.assertLessEqual(self.gpu(), 512)
        self.assertEqual((one.touch(), two.touch()), (4, 3))
        self.assertLessEqual(self.gpu(), 512)
        self.assertEqual((two.alloc(128), one.alloc(1), two.alloc(1)), (0, OUT_OF_MEMORY, OUT_OF_MEMORY))
        self.assertLessEqual(self.gpu(), 512)
        one.process.kill()
        one.process.wait()
        self.assertEqual(self.device("one")["held_bytes"], 512 * MIB)
        (process,) = self.shares()["one"]["processes"]
        self.assertEqual(process["gpus"][0]["resident_bytes"], self.gpu() * MIB)
        self.assertEqual(self.fill(two, 128), 512)

    def test_it_changes_while_it_runs(self):
        guest = self.begin("--memory", "1g")
        self.assertEqual(self.fill(guest, 128), 1024)
        done = self.vgpu("set", "one", "--oversold-host-memory", "256Mi")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "one: GPU 0 holds 1GiB of 1280MiB, of these on the GPU 1GiB of 1GiB\n")
        self.assertEqual(self.fill(guest, 128), 256)
        done = self.vgpu("set", "one", "--no-oversold")
        self.assertIn("new memory is refused until it fits", done.stdout)
        self.assertEqual(guest.alloc(1), OUT_OF_MEMORY)
        self.vgpu("set", "one", "--memory", "2g", "--memory-ratio", "4")
        device = self.device("one")
        self.assertEqual((device["physical_limit_bytes"], device["virtual_limit_bytes"]),
                         (512 * MIB, 1536 * MIB))
        self.assertIn("goes to the host", self.vgpu("set", "one", "--memory", "2g").stdout)
        self.assertEqual(self.device("one")["physical_limit_bytes"], 512 * MIB)  # the ratio stays
        gpu = self.gpu()
        self.assertEqual(guest.alloc(512), 0)
        self.assertEqual(self.gpu(), gpu)

    def test_memory_of_two_that_do_not_fit_together_moves_with_their_time_slices(self):
        one = self.begin("--oversold")
        two = self.start("--machine", self.machine, "--name", "two", "--oversold")
        for guest in (one, two):
            self.assertEqual([guest.alloc(256) for _ in range(12)], [0] * 12)
        shares = self.shares()
        for name in ("one", "two"):  # nothing of either is charged to the host
            device = shares[name]["gpus"][0]
            self.assertEqual((device["physical_bytes"], device["virtual_bytes"]), (3072 * MIB, 0))
        for _ in range(2):
            self.assertEqual((one.touch(), two.touch()), (12, 12))
            self.assertLessEqual(self.gpu(), 4096)
        self.assertTrue(wait_until(lambda: self.device("two")["timeslice_swap_ns"] > 0))
        for name in ("one", "two"):
            self.assertGreater(self.device(name)["timeslices"], 0)
        two.process.kill()
        two.process.wait()
        self.assertEqual(one.touch(), 12)
        self.assertEqual(self.gpu(), 3072)  # nothing of the dead one is left there

    def test_what_kernels_use_often_comes_onto_the_gpu(self):
        self.check_that_what_is_used_moves()

    def test_managed_memory_of_the_program_is_exchanged_too(self):
        self.check_that_what_is_used_moves("managed")

    def check_that_what_is_used_moves(self, *kind):
        guest = self.begin("--memory", "4096Mi", "--memory-ratio", "2")
        self.assertEqual([guest.alloc(256, *kind) for _ in range(14)], [0] * 14)
        self.assertEqual(guest.touch(), 14)
        before = self.device("one")

        def seconds_of_use(times):
            begin = time.monotonic()
            self.assertEqual(guest.ask("use", 4, times), [0])
            return time.monotonic() - begin

        over_the_link = seconds_of_use(2)
        seconds_of_use(12)
        self.assertLess(seconds_of_use(2), over_the_link / 2)
        after = self.device("one")
        for key in ("physical_bytes", "virtual_bytes", "held_bytes"):
            self.assertEqual(after[key], before[key])
        self.assertLessEqual(self.gpu(), 2048)
        self.assertEqual(guest.touch(), 14)
        self.assertLessEqual(self.gpu(), 2048)
        self.assertEqual([guest.ask("free") for _ in range(14)], [[0]] * 14)
        self.assertEqual(self.device("one")["held_bytes"], 0)

    def test_ranges_exchanged_on_two_streams_keep_to_the_bound(self):
        guest = self.begin("--memory", "4096Mi", "--memory-ratio", "2")
        self.assertEqual([guest.alloc(256) for _ in range(9)], [0] * 9)
        self.assertEqual([guest.ask("touch"), guest.ask("cross")], [[9], [0]])
        self.assertLessEqual(self.gpu(), self.device("one")["physical_bytes"] // MIB)

    def test_what_a_program_brings_onto_the_gpu_itself_stays_there(self):
        guest = self.begin("--memory", "4096Mi", "--memory-ratio", "2")
        self.assertEqual([guest.alloc(256) for _ in range(8)], [0] * 8)
        self.assertEqual(guest.touch(), 8)
        self.assertEqual(guest.ask("managed", 1920 * MIB, 128 * MIB), [0])
        self.assertEqual(guest.ask("use", 1, 4), [0])
        self.assertEqual(guest.ask("where", 128 * MIB), [-2])

    def test_what_is_freed_while_it_is_evicted_is_not_held_to_the_host(self):
        guest = self.begin("--memory", "4096Mi", "--memory-ratio", "2")
        self.assertEqual([guest.alloc(256) for _ in range(8)], [0] * 8)
        self.assertEqual(guest.touch(), 8)
        self.vgpu("set", "one", "--memory", "4608Mi")
        self.inject("hang", "cuMemAdvise")
        self.assertEqual(guest.ask("begin"), [0])
        self.inject("clear")
        self.assertEqual(guest.ask("end"), [-2])

    def test_what_others_hold_for_good_is_not_pushed_out(self):
        one = self.begin("--memory", "3g")
        self.assertEqual([one.alloc(256) for _ in range(11)], [0] * 11)
        two = self.start("--machine", self.machine, "--name", "two", "--oversold")
        self.assertEqual([two.alloc(256) for _ in range(8)], [0] * 8)
        self.assertEqual((one.touch(), two.touch()), (11, 8))
        self.assertGreaterEqual(self.device("two")["virtual_bytes"], 768 * MIB)
        self.assertLessEqual(self.gpu(), 4096)

    def test_on_gpus_that_are_no_peers_device_memory_is_on_the_gpu(self):
        self.create("--preset", "gtx-1050ti", "--gpus", "2", "--context-memory", "0")
        self.inject("fail", "cuDeviceCanAccessPeer", "--result", "CUDA_ERROR_INVALID_DEVICE")
        guest = self.start("--machine", self.machine, "--name", "one", "--oversold")
        self.assertEqual([guest.alloc(256) for _ in range(4)], [0] * 4)
        self.assertEqual(guest.touch(), 4)
        self.assertGreaterEqual(self.gpu(), 1024)

    def test_a_second_run_must_mean_the_same(self):
        self.begin("--memory", "1g", "--memory-ratio", "2")
        for words, part in ((("--memory-ratio", "4"), "--memory-ratio 2"), (("--memory-ratio", "2", "--oversold"), "--oversold")):
            done = self.vgpu("run", "--machine", self.machine, "--name", "one", "--memory", "1g", *words,
                             "--", "true")
            self.assertEqual(done.returncode, 125)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    main("__main__")
