#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu ps: who holds what: test_ps.py VGPU VGPU_BURN SOURCE_ROOT."""

import contextlib
import os
import pty
import shutil
import socket
import subprocess
import time

from cli_case import BURN, VGPU, main, vgpu, wait_until
from share_case import MIB, OUT_OF_MEMORY, ShareCase

TITLES = "SHARE USER PID PROGRAM GPU MODEL HELD DEVICE MANAGED CONTEXT OTHER VIRTUAL RESIDENT LIMIT CORES THROTTLED LOST".split()


class Ps(ShareCase):
    def rows(self):
        done = self.vgpu("ps", "--wide")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual(lines[0], TITLES)
        # /dev/shm is everybody's: what is seen without this test's folder is not this test's.
        elsewhere = vgpu("ps", "--wide", environment={"XDG_RUNTIME_DIR": self.folder})
        others = {line.split("\t")[2] for line in elsewhere.stdout.splitlines()[1:] if line.split("\t")[0] != "-"}
        return [dict(zip(TITLES, line)) for line in lines[1:] if line[0] != "-" and line[2] not in others]

    def test_nobody(self):
        self.assertEqual(self.rows(), [])

    def test_a_socket_that_a_killed_agent_left_is_nobodys(self):
        path = os.path.join(self.folder, "node.sock")
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(path)
            left.listen()
        around = {"XDG_RUNTIME_DIR": self.runtime, "VGPU_NODE_SOCKET": path}
        for words in (["ps"], ["ps", "--json"], ["top", "--once"]):
            done = vgpu(*words, environment=around)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = vgpu("set", "nobody", "--memory", "1g", environment=around)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("vgpu-node", done.stderr)

    def test_who_holds_what(self):
        self.create("--preset", "t4-16gb", "--gpus", "2")
        context = 102
        one = self.start("--machine", self.machine, "--memory", "1g", "--name", "one")
        two = self.start("--machine", self.machine, "--memory", "1g", "--name", "one")
        other = self.start("--machine", self.machine, "--memory", "2g", "--name", "other")
        one.alloc(100), two.alloc(40), other.alloc(300)
        rows = {row["PID"]: row for row in self.rows()}
        self.assertEqual(set(rows), {str(guest.process.pid) for guest in (one, two, other)})
        row = rows[str(one.process.pid)]
        self.assertTrue(row["PROGRAM"].startswith("python3"), row)
        self.assertEqual((row["SHARE"], row["GPU"], row["LIMIT"]), ("one", "0", "1GiB"))
        self.assertEqual(row["MODEL"], "Tesla T4")
        self.assertEqual((row["DEVICE"], row["CONTEXT"], row["MANAGED"], row["OTHER"], row["HELD"]),
                         ("100MiB", f"{context}MiB", "0B", "0B", f"{100 + context}MiB"))
        self.assertEqual(rows[str(other.process.pid)]["LIMIT"], "2GiB")
        self.assertEqual((row["VIRTUAL"], row["RESIDENT"]), ("0B", row["HELD"]))  # as the driver says
        share = self.shares()["one"]
        self.assertEqual(share["gpus"][0]["held_bytes"], (140 + 2 * context) * MIB)
        self.assertEqual(share["gpus"][1]["held_bytes"], 0)
        held = {process["pid"]: process["gpus"] for process in share["processes"]}
        self.assertEqual(held[two.process.pid][0]["device_bytes"], 40 * MIB)
        # The GPU agrees.
        self.assertEqual(self.stat()["gpus"][0]["used_bytes"], (440 + 3 * context) * MIB)

    def test_what_the_limit_refuses_is_counted(self):
        self.create("--preset", "t4-16gb", "--gpus", "2")
        tight = self.start("--machine", self.machine, "--memory", "1g", "--name", "tight")
        wide = self.start("--machine", self.machine, "--memory", "15g", "--name", "wide")
        tight.alloc(900)
        self.assertEqual([tight.alloc(2000) for _ in range(3)], [OUT_OF_MEMORY] * 3)
        self.assertEqual(wide.alloc(14300), OUT_OF_MEMORY)    # not by its limit: the GPU is full
        shares = self.shares()
        self.assertEqual([gpu["refusals"] for name in ("tight", "wide") for gpu in shares[name]["gpus"]], [3, 0, 0, 0])

    def test_the_dead_are_not_counted(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        one = self.start("--machine", self.machine, "--memory", "1g", "--name", "one")
        two = self.start("--machine", self.machine, "--memory", "1g", "--name", "one")
        one.alloc(100), two.alloc(40)
        one.process.kill()
        one.process.wait()
        share = self.shares()["one"]
        self.assertEqual([process["pid"] for process in share["processes"]], [two.process.pid])
        self.assertEqual(share["gpus"][0]["held_bytes"], 40 * MIB)

    def test_freed_memory_is_not_shown(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        guest = self.start("--machine", self.machine, "--memory", "1g", "--name", "one")
        for _ in range(3):
            guest.alloc(1)
        guest.alloc(100)
        (row,) = self.rows()        # small ones lie together in blocks of 2 MiB
        self.assertEqual((row["HELD"], row["DEVICE"]), ("104MiB", "104MiB"))
        for _ in range(4):
            guest.ask("free")
        (row,) = self.rows()
        self.assertEqual((row["HELD"], row["DEVICE"], row["OTHER"]), ("0B", "0B", "0B"))

    def test_a_share_that_has_not_used_a_gpu(self):
        with subprocess.Popen([VGPU, "run", "--sim=t4-16gb", "--memory", "1g", "--name", "idle", "--",
                               "sleep", "60"], env=self.environment, stderr=subprocess.DEVNULL) as process:
            self.assertTrue(wait_until(self.rows))
            (row,) = self.rows()
            self.assertEqual((row["SHARE"], row["PID"], row["LIMIT"]), ("idle", "-", "1GiB"))
            self.assertEqual(self.shares()["idle"]["processes"], [])
            process.kill()
        self.nothing_is_left()
        self.assertEqual(self.rows(), [])

    def watchers_kill(self):
        """How many there were."""
        count = 0
        for number in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{number}/fd/3").startswith(self.runtime):
                    os.kill(int(number), 9)
                    count += 1
        return count

    def test_what_a_killed_watcher_leaves_is_removed(self):
        guest = self.start("--sim=t4-16gb", "--memory", "1g", "--name", "one")
        self.assertTrue(wait_until(self.watchers_kill))
        # It has a companion, and on a busy host both still run for a moment.
        self.assertTrue(wait_until(lambda: not self.watchers_kill()))
        guest.end()
        self.assertTrue(os.path.exists(f"{self.runtime}/vgpu/one/share"))
        self.assertEqual(self.rows(), [])
        self.assertFalse(os.path.exists(f"{self.runtime}/vgpu"))

    def test_a_damaged_share_is_named(self):
        self.start("--sim=t4-16gb", "--memory", "1g", "--name", "good")
        self.start("--sim=t4-16gb", "--memory", "1g", "--name", "bad")
        with open(f"{self.runtime}/vgpu/bad/share", "r+b") as file:
            file.seek(200)
            file.write(b"\xff" * 16)
        done = self.vgpu("ps")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad/share' is damaged", done.stderr)
        self.assertIn("good\t", done.stdout)
        done = self.vgpu("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is damaged", done.stdout)

    def test_a_region_written_by_hand_is_named(self):
        guest = self.start("--sim=t4-16gb", "--memory", "1g", "--name", "one")
        guest.alloc(16)
        self.assertEqual(self.vgpu("ps").returncode, 0)
        with open(f"{self.runtime}/vgpu/one/region", "r+b") as file:
            file.seek(128)  # the first device's word
            file.write(bytes(8))
        done = self.vgpu("ps")
        self.assertEqual(done.returncode, 1)
        self.assertIn("one/region' was written into", done.stderr)
        self.assertIn("one\t", done.stdout)
        done = self.vgpu("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertIn("was written into", done.stdout)
        time.sleep(0.7)
        self.assertEqual(guest.ask("alloc", 2 * MIB)[0], OUT_OF_MEMORY)

    def test_a_new_program_uses_the_region_of_its_share(self):
        first = self.start("--sim=t4-16gb", "--memory", "1g", "--name", "one")
        first.alloc(700)
        region = f"{self.runtime}/vgpu/one/region"
        os.rename(region, region + ".away")
        for content in (None, bytes(os.path.getsize(region + ".away"))):
            if content is not None:
                with open(region, "wb") as file:
                    file.write(content)
            second = self.start("--name", "one")
            self.assertNotEqual(second.started, ["ready", "0"])
            second.end()
        os.remove(region)

    def programs(self, **commands):
        """By what names `vgpu ps` shows programs that are started in shares."""
        for share, words in commands.items():
            process = subprocess.Popen([VGPU, "run", "--sim=t4-16gb", "--memory", "1g", "--name", share, "--", *words,
                                        "600"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.kill)
            process.stdout.readline()
        return {name: [process["program"] for process in share["processes"]] for name, share in self.shares().items()}

    def copy(self, name):
        return shutil.copy(BURN, os.path.join(self.folder, name))

    def test_a_program_has_its_whole_name(self):
        whole, wide = "program-with-a-very-long-name", "a漢字漢字漢字漢字"
        self.assertEqual(self.programs(long=[self.copy(whole)], wide=[self.copy(wide)]), {"long": [whole], "wide": [wide]})
        self.assertIn(whole, [row["PROGRAM"] for row in self.rows()])

    def test_a_name_that_no_word_of_the_command_line_has_ends_with_a_whole_character(self):
        path = self.copy("a漢字漢字漢字漢字")
        self.assertEqual(self.programs(cut=["bash", "-c", f"exec -a x {path} 600"]), {"cut": ["a漢字漢字"]})

    def test_columns_on_a_terminal(self):
        self.start("--sim=t4-16gb", "--memory", "1g", "--name", "one")
        master, slave = pty.openpty()
        subprocess.run([VGPU, "ps"], env={**self.environment, "NO_COLOR": "1"}, stdout=slave, check=True)
        os.close(slave)
        text = os.read(master, 4096).decode()
        os.close(master)
        self.assertNotIn("\t", text)
        lines = text.replace("\r", "").splitlines()
        (second,) = [line for line in lines if "python3" in line and line.startswith("one ")]
        self.assertEqual(lines[0].index("PROGRAM"), second.index("python3"))

    def test_bad_arguments(self):
        self.refuses(self.vgpu("ps", "one"), 2, "unexpected argument 'one'")
        self.refuses(self.vgpu("ps", "--user", "nosuch"), 2, "there is no user 'nosuch'")
        self.refuses(self.vgpu("top", "--once", "--user", "nosuch"), 2, "there is no user 'nosuch'")
        self.refuses(self.vgpu("ps", "--jsn"), 2, "did you mean '--json'?")


if __name__ == "__main__":
    main("__main__")
