#!/usr/bin/env python3
"""vgpu top: what the shares use: test_top.py VGPU VGPU_BURN SOURCE_ROOT."""

import json
import os
import sys

from cli_case import VGPU, main
from share_case import MIB, ShareCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import terminal  # noqa: E402


class Top(ShareCase):
    def once(self, *words):
        done = self.vgpu("top", "--once", "--interval", "0.1", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def screen(self, keys, *words):
        return terminal.run([VGPU, "top", "--interval", "0.2", *words], self.environment, 1.5, keys)

    def two_shares(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        one = self.start("--machine", self.machine, "--memory", "1g", "--name", "one")
        two = self.start("--machine", self.machine, "--memory", "2g", "--name", "two")
        one.alloc(100), two.alloc(40)

    def test_json(self):
        self.two_shares()
        seen = json.loads(self.once("--json"))
        rows = {row["share"]: row for row in seen["shares"]}
        self.assertEqual(rows["one"]["held_bytes"], 100 * MIB)
        self.assertEqual(rows["two"]["limit_bytes"], 2048 * MIB)
        self.assertEqual(rows["two"]["processes"], 1)
        (gpu,) = seen["gpus"]
        self.assertEqual(gpu["held_bytes"], 140 * MIB)
        self.assertEqual(gpu["uuid"], rows["one"]["uuid"])

    def test_table_order_and_filter(self):
        self.two_shares()
        names = [line.split("\t")[0] for line in self.once("--sort", "memory").splitlines()]
        self.assertEqual(names, ["SHARE", "one", "two"])
        names = [line.split("\t")[0] for line in self.once("--filter", "tw").splitlines()]
        self.assertEqual(names, ["SHARE", "two"])

    def test_screen(self):
        self.two_shares()
        status, text = self.screen(b"m/tw\n?q")
        self.assertEqual(status, 0)
        for part in ("vgpu top", "one", "two", "100M/1024M", "sorted by", "filter: ", "leave"):
            self.assertIn(part, text)

    def test_screen_without_shares(self):
        status, text = self.screen(b"q")
        self.assertEqual(status, 0)
        self.assertIn("no shares", text)

    def test_bad_words(self):
        self.refuses(self.vgpu("top"), 2, "use --once or --json")
        self.refuses(self.vgpu("top", "--once", "--interval", "0"), 2, "interval")
        self.refuses(self.vgpu("top", "--once", "--sort", "age"), 2, "cores, memory or name")
        self.refuses(self.vgpu("top", "one"), 2, "takes no 'one'")


if __name__ == "__main__":
    main("__main__")
