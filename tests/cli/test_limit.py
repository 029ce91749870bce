#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu run --memory and vgpu set, as programs under them see it: test_limit.py VGPU VGPU_BURN SOURCE_ROOT."""

import os
import re
import signal
import subprocess
import sys
import time

from cli_case import BURN, SOURCE, VGPU, main, vgpu, wait_until
from share_case import LIBRARY, MIB, OUT_OF_MEMORY, Guest, ShareCase


class Limit(ShareCase):
    def test_a_gpu_of_the_size_asked_for(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        guest = self.start("--machine", self.machine, "--memory", "200Mi")
        self.assertEqual(guest.started, ["ready", "0"])
        self.assertEqual(guest.ask("info"), [200 * MIB, 200 * MIB])
        self.assertEqual(guest.alloc(150), 0)
        self.assertEqual(guest.alloc(51), OUT_OF_MEMORY)
        self.assertEqual(guest.alloc(50), 0)
        self.assertEqual(guest.ask("info"), [0, 200 * MIB])
        self.assertEqual(guest.ask("free"), [0])
        self.assertEqual(guest.alloc(50), 0)
        self.assertEqual(self.stat()["gpus"][0]["used_bytes"], 200 * MIB)

    def burn(self, gpu, megabytes, *words):
        done = self.run_sim(f"--sim={gpu}", "--memory", "200Mi", *words, "--", BURN, "-m",
                            str(megabytes), "1")
        return done.returncode, done.stdout

    def test_200_mib_hold_a_small_context_and_work(self):
        code, text = self.burn("gtx-1050ti", 50)
        self.assertEqual(code, 0, text)
        code, text = self.burn("gtx-1050ti", 190)
        self.assertNotEqual(code, 0)
        self.assertIn("OUT_OF_MEMORY", text)

    def test_200_mib_on_a_large_gpu_leave_the_context_out(self):
        code, text = self.burn("a100-40gb", 150)
        self.assertNotEqual(code, 0)
        self.assertIn("cannot create a context: CUDA_ERROR_OUT_OF_MEMORY", text)
        code, text = self.burn("a100-40gb", 150, "--context-memory=exempt")
        self.assertEqual(code, 0, text)
        code, text = self.burn("a100-40gb", 220, "--context-memory=exempt")
        self.assertNotEqual(code, 0)
        self.assertIn("OUT_OF_MEMORY", text)

    def test_each_gpu_has_the_limit(self):
        script = ("import ctypes; c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); n = ctypes.c_size_t()\n"
                  "for i in range(3): c.cuDeviceTotalMem_v2(ctypes.byref(n), i); print(n.value >> 20)")
        done = self.run_sim("--sim=t4-16gb:3", "--memory", "1.5g", "--", sys.executable, "-c", script)
        self.assertEqual(done.stdout.split(), ["1536"] * 3, done.stderr)

    def test_processes_of_one_name_share_one_limit(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        words = ("--machine", self.machine, "--memory", "200Mi", "--name", "both")
        one, two = self.start(*words), self.start(*words)
        three = self.start("--machine", self.machine, "--name", "both")
        self.assertEqual((one.alloc(120), two.alloc(120), three.alloc(120)),
                         (0, OUT_OF_MEMORY, OUT_OF_MEMORY))
        one.process.kill()
        one.process.wait()
        time.sleep(0.002)       # the dead are looked for once in a millisecond
        self.assertEqual(two.alloc(120), 0)
        two.end()
        three.end()
        self.nothing_is_left()

    def test_starts_and_ends_of_one_share_race(self):
        self.create("--preset", "t4-16gb")
        script = ('for i in $(seq 12); do "$0" run --machine "$1" --memory 1g --name one -- true || exit 1; '
                  'done')
        loops = [subprocess.Popen(["sh", "-c", script, VGPU, self.machine], env=self.environment,
                                  stderr=subprocess.PIPE, text=True) for _ in range(6)]
        ends = [(loop.communicate()[1], loop.returncode) for loop in loops]
        self.assertEqual(ends, [("", 0)] * 6)
        self.nothing_is_left()

    def test_other_limits_do_not_join(self):
        self.create("--preset", "t4-16gb")
        self.start("--machine", self.machine, "--memory", "200Mi", "--name", "one")
        for words, part in ((("--memory", "300Mi"), "--memory 200MiB"),
                            (("--memory", "200Mi", "--context-memory=exempt"), "=count")):
            done = self.run_sim("--machine", self.machine, "--name", "one", *words, "--", "true")
            self.refuses(done, 125, "share 'one' is in use", part)
        self.refuses(self.run_sim("--sim=t4-16gb", "--memory", "200Mi", "--name", "one", "--",
                                  "true"), 125, "other GPUs")
        self.refuses(self.run_sim("--sim=t4-16gb", "--name", "two", "--", "true"), 125,
                     "no share 'two'", "--memory")
        self.assertTrue(wait_until(lambda: os.listdir(self.runtime) == ["vgpu"]))

    def test_eight_cache_paths_are_one_region_under_a_share(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        guests = []
        for i in range(8):
            self.environment["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = f"{self.folder}/{i}.cache"
            self.environment["CUDA_DEVICE_MEMORY_LIMIT"] = "4g"
            guests.append(self.start("--machine", self.machine, "--memory", "100Mi", "--name", "x"))
        self.assertEqual([guest.alloc(20) for guest in guests], [0] * 5 + [OUT_OF_MEMORY] * 3)
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith("cache")], [])

    def test_the_environment_alone(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")

        def guest(limit, cache):
            environment = {**self.environment, "LD_PRELOAD": LIBRARY, "VGPU_SIM": self.machine,
                           "LD_LIBRARY_PATH": os.path.join(os.path.dirname(LIBRARY), "sim"),
                           "CUDA_DEVICE_MEMORY_LIMIT_0": limit,
                           "CUDA_DEVICE_MEMORY_SHARED_CACHE": os.path.join(self.folder, cache)}
            return Guest(self, [], environment)
        one, same = guest("200m", "a.cache"), guest("200m", "a.cache")
        self.assertEqual((one.alloc(150), same.alloc(100)), (0, OUT_OF_MEMORY))
        # A new shell, a new limit, a new region.
        other = guest("300m", "b.cache")
        self.assertEqual((other.alloc(250), other.alloc(100)), (0, OUT_OF_MEMORY))
        self.assertEqual(other.ask("info"), [50 * MIB, 300 * MIB])
        self.assertEqual(guest("lots", "c.cache").started[0], "ready")
        self.assertNotEqual(guest("lots", "c.cache").started[1], "0")

    def test_set_acts_on_running_programs_at_once(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        guest = self.start("--machine", self.machine, "--memory", "200Mi", "--name", "train")
        self.assertEqual((guest.alloc(150), guest.alloc(100)), (0, OUT_OF_MEMORY))
        done = self.vgpu("set", "train", "--memory", "300Mi")
        begin = time.monotonic()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "train: GPU 0 holds 150MiB of 300MiB\n")
        self.assertEqual(guest.alloc(100), 0)
        self.assertEqual(guest.ask("info"), [50 * MIB, 300 * MIB])
        self.assertLess(time.monotonic() - begin, 0.1)

    def test_shrinking_takes_nothing_away(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        guest = self.start("--machine", self.machine, "--memory", "300Mi", "--name", "train")
        self.assertEqual((guest.alloc(150), guest.alloc(100)), (0, 0))
        done = self.vgpu("set", "train", "--memory", "200Mi")
        self.assertEqual(done.returncode, 0)
        self.assertIn("holds 250MiB of 200MiB; nothing is taken away", done.stdout)
        self.assertEqual(guest.alloc(2), OUT_OF_MEMORY)
        self.assertEqual(guest.ask("info"), [0, 200 * MIB])
        self.assertEqual((guest.ask("free"), guest.alloc(40), guest.alloc(20)),
                         ([0], 0, OUT_OF_MEMORY))
        self.assertIsNone(guest.process.poll())

    def test_completion_knows_the_shares(self):
        self.start("--sim=t4-16gb", "--memory", "1g", "--name", "train")
        script = vgpu("completion", "bash").stdout
        done = subprocess.run(["bash", "-c", script + 'COMP_WORDS=(vgpu set tr); COMP_CWORD=2; _vgpu\n'
                               'echo "${COMPREPLY[*]}"'], capture_output=True, text=True, check=False,
                              env={**self.environment, "PATH": os.path.dirname(VGPU) + ":"
                                   + os.environ["PATH"]})
        self.assertEqual((done.stdout, done.stderr), ("train\n", ""))

    def test_set_says_what_is_wrong(self):
        self.create("--preset", "t4-16gb")
        self.start("--machine", self.machine, "--memory", "1g", "--name", "train")
        self.refuses(self.vgpu("set", "trian", "--memory", "2g"), 1, "did you mean 'train'?")
        self.refuses(self.vgpu("set", "other", "--memory", "2g"), 1, "no share 'other'", "vgpu ps")
        self.refuses(self.vgpu("set", "../train", "--memory", "2g"), 1, "no share")
        self.refuses(self.vgpu("set", "train", "--memory", "lots"), 2, "lots")
        self.refuses(self.vgpu("set", "train", "--memory", "0"), 2, "more than 0")
        self.refuses(self.vgpu("set", "train"), 2, "--memory SIZE")
        self.refuses(self.vgpu("set", "--memory", "1g"), 2, "missing NAME")
        self.refuses(self.vgpu("set", "a", "b", "--memory", "1g"), 2, "unexpected argument 'b'")
        self.refuses(self.vgpu("set", "train", "--cores", "500"), 2, "0 (no limit) or a percentage up to 100")
        self.refuses(self.vgpu("set", "train", "--core", "5"), 2, "no option '--core'")
        self.assertEqual(self.shares()["train"]["gpus"][0]["limit_bytes"], 1 << 30)

    def test_the_share_goes_with_its_last_process(self):
        done = self.run_sim("--sim=t4-16gb", "--memory", "1g", "--", "sh", "-c",
                            'stat -c %a "${VGPU_SHARE%/*}" "${VGPU_SHARE%/*/*}"; '
                            'setsid sleep 600 >/dev/null 2>&1 & echo $!')
        *modes, last = done.stdout.split()
        self.assertEqual(modes, ["700", "700"])
        time.sleep(0.2)
        self.assertIn("vgpu", os.listdir(self.runtime))
        os.kill(int(last), signal.SIGKILL)
        self.nothing_is_left()

    def test_the_share_goes_with_a_program_that_is_killed_at_work(self):
        guest = self.start("--sim=t4-16gb", "--memory", "1g")
        guest.process.send_signal(signal.SIGKILL)
        self.nothing_is_left()

    def arbiters(self):
        """Those who keep turns, or would, between this test's shares."""
        found = []
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{number}/comm", encoding="utf-8") as file:
                    if file.read().strip() in ("vgpu-arbiter", "vgpu-candidate") and os.readlink(
                            f"/proc/{number}/fd/3").startswith(self.runtime):
                        found.append(int(number))
            except OSError:
                continue
        return found

    def test_a_candidate_that_is_late_does_not_outlive_its_watcher(self):
        late = os.path.join(os.path.dirname(os.path.dirname(VGPU)), "tests", "cli", "late_child.so")
        words = ("--sim=t4-16gb", "--memory", "1g", "--name", "same")
        done = vgpu("run", *words, "--", "true",
                    environment={"XDG_RUNTIME_DIR": self.runtime, "LD_PRELOAD": late})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.nothing_is_left()
        guest = self.start(*words)      # a share of that name again: it would stand for this one
        time.sleep(1)
        self.assertEqual(len(self.arbiters()), 1)
        guest.end()
        self.nothing_is_left()
        self.assertTrue(wait_until(lambda: not self.arbiters()), self.arbiters())

    def test_a_failed_start_leaves_nothing(self):
        self.run_sim("--sim=t4-16gb", "--memory", "1g", "--", "no-such-program")
        self.nothing_is_left()
        done = vgpu("run", "--sim=t4-16gb", "--memory", "1g", "--", "true",
                    environment={"XDG_RUNTIME_DIR": self.runtime, "VGPU_LIB": "/nowhere"})
        self.refuses(done, 125, "cannot find libvgpu.so at the path in VGPU_LIB: '/nowhere'")
        self.nothing_is_left()

    def test_names(self):
        done = self.run_sim("--sim=t4-16gb", "--memory", "1g", "--", "sh", "-c", 'echo "$VGPU_SHARE"')
        self.assertRegex(done.stdout, r"/vgpu/sh-[0-9a-f]{4}/share\n$")
        for name in ("a b", "", ".", "..", "-x", "a/b", "é", "x" * 64):
            self.refuses(self.run_sim("--sim=t4-16gb", "--memory", "1g", f"--name={name}", "--",
                                      "true"), 125, "name")
        self.nothing_is_left()

    def test_preloads_of_others_are_kept_behind_ours(self):
        done = vgpu("run", "--sim=t4-16gb", "--memory", "1g", "--", "sh", "-c", 'echo "$LD_PRELOAD"',
                    environment={"XDG_RUNTIME_DIR": self.runtime, "LD_PRELOAD": "libm.so.6"})
        self.assertEqual(done.stdout, LIBRARY + ":libm.so.6\n")
        self.nothing_is_left()

    def test_shares_do_not_nest(self):
        done = self.run_sim("--sim=t4-16gb", "--memory", "1g", "--", VGPU, "run", "--memory", "2g", "--",
                            "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("do not nest", done.stderr)

    def test_a_folder_of_somebody_else_is_not_used(self):
        os.mkdir(os.path.join(self.runtime, "vgpu"), 0o777)
        os.chmod(os.path.join(self.runtime, "vgpu"), 0o777)
        done = self.run_sim("--sim=t4-16gb", "--memory", "1g", "--", "sh", "-c", 'echo "$VGPU_SHARE"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^/(dev/shm|tmp)/vgpu-\d+/sh-")

    def cut(self, instances):
        """An A100 in MIG mode with so many instances of 5 GB; their UUIDs."""
        self.create("--preset", "a100-40gb", "--context-memory", "0")
        done = subprocess.run([sys.executable, "-c", (
            "import ctypes, sys; n = ctypes.CDLL('libnvidia-ml.so.1'); n.nvmlInit_v2()\n"
            "d, g, c, m = (ctypes.c_void_p() for _ in range(4)); s = ctypes.c_int(); u = bytes(96)\n"
            "n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(d))\n"
            "assert n.nvmlDeviceSetMigMode(d, 1, ctypes.byref(s)) == 0\n"
            f"for i in range({instances}):\n"
            "    assert n.nvmlDeviceCreateGpuInstance(d, 19, ctypes.byref(g)) == 0\n"
            "    assert n.nvmlGpuInstanceCreateComputeInstance(g, 0, ctypes.byref(c)) == 0\n"
            f"for i in range({instances}):\n"
            "    assert n.nvmlDeviceGetMigDeviceHandleByIndex(d, i, ctypes.byref(m)) == 0\n"
            "    assert n.nvmlDeviceGetUUID(m, u, 96) == 0\n"
            "    print(u.partition(bytes(1))[0].decode())")], text=True, check=True,
            capture_output=True, env={**self.environment, "VGPU_SIM": self.machine,
                                      "LD_LIBRARY_PATH": os.path.join(os.path.dirname(LIBRARY), "sim")})
        return done.stdout.split()

    def test_each_mig_device_has_the_limit(self):
        uuids = self.cut(2)
        guests = []
        for uuid in uuids:
            self.environment["CUDA_VISIBLE_DEVICES"] = uuid
            guests.append(self.start("--machine", self.machine, "--memory", "1g", "--name", "cut"))
        for guest in guests:
            self.assertEqual(guest.started, ["ready", "0"])
            self.assertEqual(guest.ask("info"), [1024 * MIB, 1024 * MIB])
            self.assertEqual(guest.alloc(1026), OUT_OF_MEMORY)
            self.assertEqual(guest.alloc(1024), 0)
            self.assertEqual(guest.alloc(2), OUT_OF_MEMORY)
        share = self.shares()["cut"]
        self.assertEqual({gpu["uuid"]: gpu["held_bytes"] for gpu in share["gpus"]},
                         {uuid: 1024 * MIB for uuid in uuids})
        self.assertEqual([unit["used_bytes"] for unit in self.stat()["gpus"] if unit["instance"]],
                         [1024 * MIB] * 2)
        # Two programs on one of them share what it has; a larger limit is larger for both.
        second = self.start("--machine", self.machine, "--memory", "1g", "--name", "cut")
        self.assertEqual(second.alloc(2), OUT_OF_MEMORY)
        self.assertEqual(self.vgpu("set", "cut", "--memory", "2g").returncode, 0)
        self.assertEqual(second.alloc(1024), 0)
        self.assertEqual(second.alloc(2), OUT_OF_MEMORY)

    def test_a_mig_device_by_default(self):
        self.cut(1)
        guest = self.start("--machine", self.machine, "--memory", "1g")
        self.assertEqual((guest.started, guest.alloc(1026), guest.alloc(1024)),
                         (["ready", "0"], OUT_OF_MEMORY, 0))

    def test_nvidia_smi_s_view_of_a_mig_device_is_the_share(self):
        uuid, = self.cut(1)
        script = ("import ctypes; n = ctypes.CDLL('libnvidia-ml.so.1'); n.nvmlInit_v2(); d = ctypes.c_void_p()\n"
                  f"m = (ctypes.c_ulonglong * 3)(); n.nvmlDeviceGetHandleByUUID(b'{uuid}', ctypes.byref(d))\n"
                  "print(n.nvmlDeviceGetMemoryInfo(d, m), m[0] >> 20)")
        done = self.run_sim("--machine", self.machine, "--memory", "1g", "--", sys.executable, "-c", script)
        self.assertEqual(done.stdout, "0 1024\n", done.stderr)

    def test_a_gpu_that_is_cut_into_nothing_is_no_gpu(self):
        self.cut(0)
        self.refuses(self.run_sim("--machine", self.machine, "--memory", "1g", "--", "true"), 125, "MIG")

    def test_what_is_not_held_is_said_once(self):
        def read(*names):
            with open(os.path.join(SOURCE, *names), encoding="utf-8") as file:
                return file.read()
        statement = read("src", "preload", "real", "meson.build").split("cuda_families = ")[1]
        held = set(re.findall(r"\w+", " ".join(re.findall(r"'([^']*)'", statement.split("nvml_")[0]))))
        self.assertIn("memory", held)
        hooked = set(re.findall(r"^(?:hook|deny) +(\w+)", read("api", "cuda.tbl"), re.M))
        missing = (hooked - held) & {"ipc", "graphmem", "vmm", "pool", "managed", "library", "green"}
        done = self.run_sim("--sim=t4-16gb", "--memory", "1g", "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("not limited"), 1 if missing else 0, missing)
        self.assertLessEqual(done.stderr.count("\n"), 1)
        self.nothing_is_left()


if __name__ == "__main__":
    main("__main__")
