#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu top: what the shares use: test_top.py VGPU VGPU_BURN SOURCE_ROOT."""

import json
import os
import pwd
import re
import signal
import subprocess
import sys

from cli_case import SOURCE, VGPU, main, vgpu, wait_until
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
        rows = {share["name"]: share["gpus"][0] for share in seen["shares"]}
        self.assertEqual(rows["one"]["held_bytes"], 100 * MIB)
        self.assertEqual(rows["two"]["limit_bytes"], 2048 * MIB)
        (gpu,) = [gpu for gpu in seen["gpus"] if gpu["uuid"] == rows["one"]["uuid"]]
        self.assertEqual((gpu["held_bytes"], gpu["used_bytes"], gpu["name"]), (140 * MIB, 140 * MIB, "Tesla T4"))

    def test_a_stream_has_an_object_per_line_with_its_time(self):
        self.two_shares()
        with subprocess.Popen([VGPU, "top", "--json", "--interval", "0.1"], env=self.environment, text=True,
                              stdout=subprocess.PIPE) as stream:
            samples = [json.loads(stream.stdout.readline()) for _ in range(3)]
            stream.send_signal(signal.SIGINT)
            stream.stdout.read()
            self.assertEqual(stream.wait(), 0)
        times = [sample["time_ns"] for sample in samples]
        self.assertEqual(times, sorted(set(times)))
        self.assertRegex(samples[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        listed = json.loads(self.vgpu("ps", "--json").stdout)
        self.assertEqual(self.names(listed), self.names(samples[0]))

    def names(self, value, path=""):
        """The names of all members, wherever they are."""
        if isinstance(value, dict):
            return set().union(*({f"{path}.{key}"} | self.names(item, f"{path}.{key}") for key, item in value.items()))
        return set().union(*(self.names(item, path) for item in value)) if isinstance(value, list) else set()

    def documented(self):
        """Of docs/reference/json.md: by object the names, those that the API lacks, and those that only the API has."""
        objects = {"The object": "", "In `gpus`": ".gpus", "In `shares`": ".shares", "In `gpus` of a share": ".shares.gpus",
                   "In `processes`": ".shares.processes", "In `gpus` of a process": ".shares.processes.gpus",
                   "In `strangers`": ".strangers", "Only in the API": None}
        names, lacking, further = ({path: set() for path in objects.values()} for _ in range(3))
        with open(f"{SOURCE}/docs/reference/json.md", encoding="utf-8") as page:
            for line in page:
                title = re.match(r"(?:## )?(.*?):?$", line).group(1)
                if title in objects:
                    path = objects[title]
                elif line.startswith("| `"):
                    first, second = line.split(" | ")[:2]
                    found = set(re.findall(r"`(\w+)`", first))
                    table = further[objects["In " + second]] if path is None else names[path]
                    self.assertEqual(table & found, set(), f"listed twice: {line}")
                    table.update(found)
                    lacking[path].update(found if "not in the API" in line else ())
        return names, lacking, further

    def test_docs_name_what_is_printed(self):
        """docs/reference/json.md has, of every object, the names that are printed, or that the API has, and no other."""
        self.two_shares()
        self.start("--sim=t4-16gb").alloc(64)       # a stranger
        printed = {}
        for name in self.names(json.loads(self.once("--json"))):
            printed.setdefault(name.rpartition(".")[0], set()).add(name.rpartition(".")[2])
        names, lacking, further = self.documented()
        self.assertEqual({path: found for path, found in names.items() if found}, printed)
        with open(f"{SOURCE}/api/proto/vgpu.proto", encoding="utf-8") as proto:
            messages = dict(re.findall(r"^message (\w+) \{\n(.*?)^\}", proto.read(), re.M | re.S))
        for path, parts in (("", ["ListSharesResponse"]), (".shares", ["Share", "Container"]),
                            (".gpus", ["Gpu"]), (".shares.gpus", ["DeviceShare"]), (".shares.processes", ["Process"]),
                            (".shares.processes.gpus", ["ProcessDevice"])):
            fields = {name for part in parts for name in re.findall(r"^  [\w ]+ (\w+) = \d+;", messages[part], re.M)}
            self.assertEqual(fields, names[path] - lacking[path] | further[path], path)
        self.assertEqual([name for name in set().union(*names.values()) if re.search("_(mib|ratio|seconds|ms)$", name)], [])

    def lines(self, *words):
        """The shares' table: it comes first."""
        text = self.once(*words).split("\n\n")[0]
        return [line.split("\t")[0] for line in text.splitlines() if line.split("\t")[0] in ("SHARE", "one", "two")]

    def test_table_order_and_filter(self):
        self.two_shares()
        self.assertEqual(self.lines("--sort", "memory"), ["SHARE", "one", "two"])
        self.assertEqual(self.lines("--filter", "tw"), ["SHARE", "two"])

    def test_not_on_a_terminal_there_is_one_table(self):
        self.two_shares()
        done = self.vgpu("top", "--interval", "0.1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("one\t", done.stdout)
        self.assertNotIn("\033", done.stdout)

    def test_a_program_without_a_share_is_named(self):
        guest = self.start("--sim=t4-16gb")
        guest.alloc(64)
        pid = guest.process.pid
        seen = json.loads(self.once("--json"))
        (stranger,) = [one for one in seen["strangers"] if one["pid"] == pid]
        self.assertIn("guest.py", stranger["program"])
        self.assertEqual(stranger["user"], pwd.getpwuid(os.geteuid()).pw_name)
        self.assertGreaterEqual(stranger["used_bytes"], 64 * MIB)
        (gpu,) = [gpu for gpu in seen["gpus"] if gpu["uuid"] == stranger["uuid"]]
        self.assertEqual((gpu["name"], gpu["held_bytes"]), ("Tesla T4", 0))
        self.assertGreaterEqual(gpu["used_bytes"], stranger["used_bytes"])
        self.assertIn(f"\t{pid}\t", self.vgpu("ps", "--all").stdout)

    def test_a_share_of_another_machine_than_the_named_is_under_its_gpu(self):
        self.create("--preset", "t4-16gb")
        with subprocess.Popen([VGPU, "run", "--sim=a100-40gb", "--memory", "3g", "--name", "eph", "--", "sleep", "60"],
                              env=self.environment, stderr=subprocess.DEVNULL) as process:
            self.addCleanup(process.kill)
            self.assertTrue(wait_until(self.shares))
            self.start("--sim=h200-141gb")      # a machine without a share is not asked for
            done = vgpu("top", "--once", "--json", "--interval", "0.1",
                        environment={"XDG_RUNTIME_DIR": self.runtime, "VGPU_SIM": self.machine})
            seen = json.loads(done.stdout)
            names = {gpu["uuid"]: gpu["name"] for gpu in seen["gpus"]}
            (share,) = [share for share in seen["shares"] if share["name"] == "eph"]
            self.assertEqual(names[share["gpus"][0]["uuid"]], "NVIDIA A100-SXM4-40GB")
            self.assertIn("Tesla T4", names.values())
            self.assertFalse([name for name in names.values() if "H200" in (name or "")])
            process.kill()

    def test_a_lost_gpu_has_no_figures(self):
        self.create("--preset", "t4-16gb", "--gpus", "2")
        self.assertEqual(self.vgpu("sim", "inject", "--machine", self.machine, "lose", "1").returncode, 0)
        done = vgpu("top", "--once", "--interval", "0.1",
                    environment={"XDG_RUNTIME_DIR": self.runtime, "VGPU_SIM": self.machine})
        lost = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("1\tTesla T4")]
        self.assertEqual([(line[2], line[5], line[6]) for line in lost], [("-", "-", "unhealthy")])

    def test_screen(self):
        self.two_shares()
        status, text = self.screen(b"m/tw\n?q")
        self.assertEqual(status, 0)
        for part in ("vgpu top", "one", "two", "100/1024M", "by memory", "filter: ", "leave", "Tesla T4"):
            self.assertIn(part, text)

    def test_bad_arguments(self):
        self.refuses(self.vgpu("top", "--once", "--interval", "0"), 2, "interval")
        self.refuses(self.vgpu("top", "--once", "--sort", "age"), 2, "cores, memory or name")
        self.refuses(self.vgpu("top", "--once", "--color", "blue"), 2, "auto, always or never")
        self.refuses(self.vgpu("top", "one"), 2, "unexpected argument 'one'")


if __name__ == "__main__":
    main("__main__")
