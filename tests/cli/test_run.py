#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu run as a program and its user meet it: test_run.py VGPU VGPU_BURN SOURCE_ROOT."""

import ctypes
import json
import os
import signal
import subprocess
import time

from cli_case import ENVIRONMENT, VGPU, Case, main, vgpu, wait_until


class Run(Case):
    def start(self, *program):
        """Starts a program on a machine of its own; it does not outlive the test."""
        process = subprocess.Popen([VGPU, "run", "--sim=t4-16gb", "--", *program],
                                   env={**ENVIRONMENT, "XDG_RUNTIME_DIR": self.runtime})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def has_begun():
            with open(f"/proc/{process.pid}/comm", encoding="utf-8") as file:
                return file.read() == program[0] + "\n"
        self.assertTrue(wait_until(has_begun))
        return process

    def machines(self):
        return os.listdir(self.runtime)

    def vanishes(self):
        self.assertTrue(wait_until(lambda: not self.machines()), self.machines())

    def test_status_output_and_signals_are_the_programs_own(self):
        done = self.run_sim("--sim=t4-16gb", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "out\n", "err\n"))
        self.assertEqual(self.run_sim("--sim=t4-16gb", "--", "sh", "-c", "kill -9 $$").returncode,
                         -signal.SIGKILL)
        self.assertEqual(self.run_sim("--sim", "t4-16gb", "cat", input="in").stdout, "in")
        self.vanishes()

    def test_what_comes_with_vgpu_is_found_beside_it(self):
        done = self.run_sim("--sim=t4-16gb", "--", "vgpu-burn", "-l")
        self.assertEqual((done.returncode, done.stdout), (0, "GPU 0: Tesla T4 (0000:01:00.0)\n"))

    def test_the_program_keeps_the_process_id_and_has_no_strange_child(self):
        script = "echo $$; cat /proc/$$/task/$$/children; echo; grep ^SigIgn /proc/self/status"
        with subprocess.Popen([VGPU, "run", "--sim=t4-16gb", "--", "bash", "-c", script],
                              stdout=subprocess.PIPE, text=True,
                              env={**ENVIRONMENT, "XDG_RUNTIME_DIR": self.runtime}) as process:
            lines = process.stdout.read().splitlines()
        self.assertEqual(int(lines[0]), process.pid)
        # The shell's own child, cat, is the only one.
        self.assertEqual(len(lines[1].split()), 1, lines)
        self.assertEqual(int(lines[2].split()[1], 16) & (1 << (signal.SIGXFSZ - 1)), 0)
        self.vanishes()

    def test_the_environment_leads_to_the_machine_and_the_libraries(self):
        done = self.run_sim("--sim=a100-40gb:2", "--", "sh", "-c",
                            'echo "$VGPU_SIM"; echo "$LD_LIBRARY_PATH"; "$0" sim show', VGPU)
        path, library, shown = done.stdout.split("\n", 2)
        self.assertTrue(path.startswith(self.runtime), path)
        for name in ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libnvidia-ml.so"):
            self.assertTrue(os.path.exists(os.path.join(library, name)), name)
        self.assertEqual(shown.count("NVIDIA A100-SXM4-40GB"), 2)
        done = vgpu("run", "--sim=t4-16gb", "--", "sh", "-c", 'echo "$LD_LIBRARY_PATH"',
                    environment={"LD_LIBRARY_PATH": "/else", "XDG_RUNTIME_DIR": self.runtime})
        self.assertTrue(done.stdout.endswith("/sim:/else\n"), done.stdout)
        self.vanishes()

    def test_the_machine_lives_as_long_as_a_descendant(self):
        done = self.run_sim("--sim=t4-16gb", "--", "sh", "-c",
                            "setsid sleep 0.7 >/dev/null 2>&1 & exit 0")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(self.machines()), 1)
        time.sleep(0.3)
        self.assertEqual(len(self.machines()), 1)
        self.vanishes()

    def test_a_killed_program_leaves_nothing(self):
        process = self.start("sleep", "60")
        self.assertEqual(len(self.machines()), 1)
        process.kill()
        self.vanishes()

    def watcher(self):
        """The process that waits for the machine in this test's folder to fall idle."""
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{number}/comm", encoding="utf-8") as file:
                    if file.read() != "vgpu-watch\n":
                        continue
                if os.readlink(f"/proc/{number}/fd/3").startswith(self.runtime):
                    return int(number)
            except OSError:
                continue
        return None

    def test_what_a_killed_watcher_leaves_the_next_run_removes(self):
        process = self.start("sleep", "60")
        os.kill(self.watcher(), signal.SIGKILL)
        self.assertEqual(self.run_sim("--sim=t4-16gb", "--", "true").returncode, 0)
        self.assertTrue(wait_until(lambda: len(self.machines()) == 1))  # still in use
        process.kill()
        process.wait()
        self.assertEqual(len(self.machines()), 1)
        self.run_sim("--sim=t4-16gb", "--", "true")
        self.vanishes()

    def test_the_watcher_is_out_of_the_way(self):
        process = self.start("sleep", "61.25")
        watcher = self.watcher()
        with open(f"/proc/{watcher}/cmdline", "rb") as file:
            self.assertNotIn(b"61.25", file.read())
        self.assertNotEqual(os.getsid(watcher), os.getsid(process.pid))
        self.assertEqual(sorted(os.listdir(f"/proc/{watcher}/fd")), ["0", "1", "2", "3"])
        self.assertEqual(os.readlink(f"/proc/{watcher}/fd/1"), "/dev/null")
        self.assertEqual(os.readlink(f"/proc/{watcher}/cwd"), "/")
        process.kill()
        self.vanishes()

    def test_the_machine_is_private(self):
        done = self.run_sim("--sim=t4-16gb", "--", "sh", "-c", 'stat -c %a "$VGPU_SIM"')
        self.assertEqual(done.stdout, "600\n")
        self.vanishes()

    def test_other_folders_when_the_first_cannot_be_used(self):
        done = vgpu("run", "--sim=t4-16gb", "--", "sh", "-c", 'echo "$VGPU_SIM"',
                    environment={"XDG_RUNTIME_DIR": "/nowhere"})
        self.assertRegex(done.stdout, r"^/(dev/shm|tmp)/vgpu-run-")
        self.assertTrue(wait_until(lambda: not os.path.exists(done.stdout.strip())))

    def test_own_failures(self):
        self.refuses(self.run_sim("--sim=t4-16gb", "--", "no-such-program"), 127, "no-such-program")
        self.refuses(self.run_sim("--sim=t4-16gb", "--", "./vgpu-burn"), 127, "./vgpu-burn")
        self.refuses(self.run_sim("--sim=t4-16gb", "--", "/etc/passwd"), 126, "Permission denied")
        self.refuses(self.run_sim("--sim=t4-16gb"), 125, "missing PROGRAM")
        self.refuses(self.run_sim("--sim=t4", "--", "true"), 125, "did you mean 't4-16gb'")
        self.refuses(self.run_sim("--sim=t4-16gb:17", "--", "true"), 125, "from 1 to 16")
        self.refuses(self.run_sim("--sim=t4-16gb:", "--", "true"), 125, "whole number")
        self.refuses(self.run_sim("--sim=t4-16gb", "--machine", "/x", "--", "true"), 125, "one of")
        self.refuses(self.run_sim("--sim=t4-16gb", "--kernel", "x", "--", "true"), 125, "NAME=")
        self.vanishes()

    def test_without_a_driver_it_says_so(self):
        try:
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("there is a real driver here")
        except OSError:
            pass
        self.refuses(self.run_sim("--", "true"), 125, "no GPU driver", "--sim=a100-40gb")

    def test_limits_are_checked_and_never_ignored(self):
        marker = os.path.join(self.folder, "ran")
        for words, part in ((("--memory", "x"), "not a size"), (("--memory", "0"), "more than 0"),
                            (("--cores", "101"), "percentage up to 100"), (("--cores-max", "0.5"), "percentage up to 100"),
                            (("--cores", "50", "--cores-max", "40"), "below --cores 50"),
                            (("--cores", "some"), "percentage up to 100"), (("--priority", "1"), "(expected high or low)"),
                            (("--memory-ratio", "0.5"), "--memory-ratio"),
                            (("--oversold", "--oversold-host-memory", "0"), "more than 0"),
                            (("--oversold-host-memory", "1g"), "--oversold-host-memory needs --oversold"),
                            (("--memory", "-1"), "not a size"), (("--memory",), "needs a value"),
                            (("--context-memory", "maybe", "--memory", "1g"), "'maybe'"),
                            (("--context-memory", "count"), "--memory SIZE"),
                            (("--name", "a b"), "letters")):
            self.refuses(self.run_sim("--sim=t4-16gb", *words, "--", "touch", marker), 125, part)
        self.assertFalse(os.path.exists(marker))
        self.assertEqual(self.machines(), [])

    def test_kernel_times_reach_the_machine(self):
        done = self.run_sim("--sim=t4-16gb", "--kernel", "one=5", "--kernel", "two=2.5", "--", VGPU,
                            "sim", "show", "--json")
        self.assertEqual(json.loads(done.stdout)["kernels"], {"one": 5000, "two": 2500})
        self.create("--kernel", "one=1")
        done = self.run_sim("--machine", self.machine, "--kernel", "one=7", "--kernel", "three=3",
                            "--", VGPU, "sim", "show", "--json")
        self.assertEqual(json.loads(done.stdout)["kernels"], {"one": 7000, "three": 3000})
        words = [word for i in range(128) for word in ("--kernel", f"k{i}=1")]
        self.refuses(self.run_sim("--machine", self.machine, *words, "--", "true"), 125, "cannot hold more")
        self.vanishes()

    def test_an_existing_machine_stays(self):
        self.create("--gpus", "3")
        done = self.run_sim("--machine", self.machine, "--", "sh", "-c", 'echo "$VGPU_SIM"')
        self.assertEqual(done.stdout.strip(), self.machine)
        done = vgpu("run", "--", VGPU, "sim", "show", "--json",
                    environment={"VGPU_SIM": self.machine})
        self.assertEqual(len(json.loads(done.stdout)["gpus"]), 3)
        self.assertTrue(os.path.exists(self.machine))

    def test_the_libraries_may_be_elsewhere(self):
        done = vgpu("run", "--sim=t4-16gb", "--", "true",
                    environment={"VGPU_SIM_LIB": self.folder, "XDG_RUNTIME_DIR": self.runtime})
        self.refuses(done, 125, f"at the path in VGPU_SIM_LIB: '{self.folder}'")
        self.vanishes()


if __name__ == "__main__":
    main("__main__")
