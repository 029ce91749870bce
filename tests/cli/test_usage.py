#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What vgpu ps and top say of GPU time, judged by the machine: test_usage.py VGPU VGPU_BURN SOURCE_ROOT."""

import json
import os
import time

from cli_case import VGPU, main
from share_case import Guest, ShareCase

SIM = os.path.join(os.path.dirname(os.path.dirname(VGPU)), "lib", "sim")
# Points, on average of so many samples at a second.
APART, SAMPLES = 2.5, 6


class Usage(ShareCase):
    def setUp(self):
        super().setUp()
        self.create("--preset", "t4-16gb", "--context-memory", "0", "--kernel", "mark=2000")
        self.guests = {}

    def work(self, name, *options):
        self.guests[name] = guest = self.start("--machine", self.machine, "--name", name, *options)
        self.go(guest)
        return guest

    def stranger(self):
        guest = Guest(self, [], {**self.environment, "VGPU_SIM": self.machine, "LD_LIBRARY_PATH": SIM})
        self.go(guest)
        return guest

    def go(self, guest):
        self.assertEqual(guest.started, ["ready", "0"], guest.process.stderr.read() if not guest.started else "")
        guest.process.stdin.write("work 60000\n")
        guest.process.stdin.flush()

    def loads(self):
        """Of each process, in percent, by the machine."""
        return {process["pid"]: 100 * process["holds"][0]["load"] for process in self.stat()["processes"]}

    def seen(self, words=("ps", "--json")):
        done = self.vgpu(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def sample(self, *words):
        """The shares' figures and how far they are from the GPU's own, as near in time as can be."""
        before, seen, after = self.loads(), self.seen(*words), self.loads()
        parts = {share["name"]: share["gpus"][0] for share in seen["shares"]}
        # This host may have other machines at work.
        (gpu,) = [one for one in seen["gpus"] if one["uuid"] == parts["limited"]["uuid"]]
        apart = {"total": -gpu["busy_percent"] + gpu["outside_percent"]}
        for share in seen["shares"]:
            used = parts[share["name"]]["cores_used_percent"]
            real = sum(sample[process["pid"]] for process in share["processes"] for sample in (before, after)) / 2
            apart[share["name"]] = used - real
            apart["total"] += used
        self.assertLessEqual(apart["total"] + gpu["busy_percent"], 100.01)
        return gpu, parts, apart

    def compare(self, *words):
        """On a host that is busy each second differs: on average they agree."""
        samples = [self.sample(*words) for _ in range(SAMPLES)]
        gpu, parts, _ = samples[-1]
        for name in samples[-1][2]:
            apart = [sample[2][name] for sample in samples]
            self.assertLess(abs(sum(apart) / SAMPLES), APART, (name, apart))
        return gpu, parts

    def test_a_neighbour_without_a_limit_is_not_counted_as_the_limited_one_s(self):
        self.work("limited", "--cores", "40"), self.work("free", "--memory", "1g"), self.work("other", "--memory", "1g", "--memory-ratio", "2")
        time.sleep(2)
        gpu, parts = self.compare()
        self.assertEqual(gpu["outside_percent"], 0)
        self.assertEqual(parts["limited"]["cores_percent"], 40)
        self.assertEqual(parts["limited"]["cores_lost_percent"], 0)

    def test_what_a_stranger_takes_is_outside_and_lost(self):
        self.work("limited", "--cores", "60"), self.stranger(), self.stranger()
        time.sleep(2)
        gpu, parts = self.compare()
        self.assertGreater(gpu["outside_percent"], 20)
        self.assertGreater(parts["limited"]["cores_lost_percent"], 1)
        self.assertLessEqual(parts["limited"]["cores_lost_percent"], gpu["outside_percent"])

    def test_top_says_the_same(self):
        self.work("limited", "--cores", "40"), self.work("free", "--memory", "1g"), self.work("other", "--memory", "1g")
        time.sleep(2)
        _, parts = self.compare(("top", "--once", "--json", "--interval", "0.5"))
        self.assertIsNotNone(parts["limited"]["throttled_percent"])

    def test_one_alone_shows_what_the_gpu_did(self):
        self.work("limited", "--cores", "30")
        time.sleep(2)
        gpu, parts = self.compare()
        self.assertEqual((gpu["outside_percent"], parts["limited"]["cores_lost_percent"]), (0, 0))


if __name__ == "__main__":
    main("__main__")
