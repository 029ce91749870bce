#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu-burn on simulated machines: test_burn.py VGPU VGPU_BURN SOURCE_ROOT."""

import os
import subprocess
import time

from cli_case import BURN, ENVIRONMENT, VGPU, Case, main, vgpu, wait_until


class Burn(Case):
    def burn(self, *words, sim="--sim=t4-16gb"):
        done = self.run_sim(sim, "--", BURN, *words)
        self.assertTrue(wait_until(lambda: not os.listdir(self.runtime)))
        return done

    def test_every_gpu_is_ok(self):
        done = self.burn("1", sim="--sim=l4-24gb:2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Tested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n", done.stdout)
        self.assertIn("100.0%  proc'd: ", done.stdout)
        self.assertRegex(done.stdout, r"errors: 0 - 0   temps: \d+ C - \d+ C")

    def test_doubles_and_one_gpu(self):
        done = self.burn("-d", "-m", "10%", "-i", "1", "1", sim="--sim=l4-24gb:2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Tested 1 GPU:\n\tGPU 1: OK\n", done.stdout)

    def test_a_machine_that_is_not_there_is_named(self):
        library = os.path.join(os.path.dirname(VGPU), "..", "lib", "sim")
        done = subprocess.run([BURN, "-l"], text=True, capture_output=True, check=False, timeout=60,
                              env={**ENVIRONMENT, "VGPU_SIM": "/no/where", "LD_LIBRARY_PATH": library})
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot open machine '/no/where': No such file", done.stderr)
        self.assertIn("CUDA_ERROR_NO_DEVICE", done.stderr)

    def test_list(self):
        self.assertEqual(self.burn("-l").stdout, "GPU 0: Tesla T4 (0000:01:00.0)\n")

    def test_memory_and_load_are_seen_from_outside(self):
        self.create("--preset", "a100-40gb", "--kernel", "vgpu_burn=5000")
        with subprocess.Popen([VGPU, "run", "--machine", self.machine, "--", BURN, "-m", "50%",
                               "3"], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
            self.assertTrue(wait_until(lambda: self.stat()["gpus"][0]["used_bytes"] > 10 << 30, 3))
            time.sleep(1.5)
            now = self.stat()
            output = process.stdout.read()
        self.assertEqual(process.returncode, 0, output)
        used = now["gpus"][0]["used_bytes"]
        self.assertAlmostEqual(used / (40338 << 20), 0.5, delta=0.02)
        self.assertGreater(now["gpus"][0]["load"], 0.8)
        (one,) = now["processes"]
        self.assertEqual(one["program"], BURN)
        self.assertEqual(one["holds"][0]["device_bytes"], used)
        self.assertEqual(one["holds"][0]["contexts"], 1)
        after = self.stat()
        self.assertEqual((after["processes"], after["gpus"][0]["used_bytes"]), ([], 0))
        self.refuses(vgpu("sim", "destroy", "--machine", "/nowhere"), 1)

    def test_a_users_own_time_of_the_load_holds(self):
        def busy_ns(*options):
            self.create("--preset", "t4-16gb", *options)
            vgpu("run", "--machine", self.machine, "--", BURN, "1")
            now = self.stat()
            vgpu("sim", "destroy", "--machine", self.machine)
            return now["gpus"][0]["busy_ns"] / now["counters"]["launches"]
        self.assertGreater(busy_ns(), 1e6)
        self.assertLess(busy_ns("--kernel", "vgpu_burn=100"), 1e6)

    def test_a_machine_in_use_is_not_destroyed(self):
        self.create("--preset", "t4-16gb")
        with subprocess.Popen([VGPU, "run", "--machine", self.machine, "--", BURN, "30"],
                              env=ENVIRONMENT, stdout=subprocess.DEVNULL) as process:
            self.assertTrue(wait_until(lambda: self.stat()["processes"]))
            self.refuses(vgpu("sim", "destroy", "--machine", self.machine), 1, "in use by 1 process")
            self.assertTrue(os.path.exists(self.machine))
            done = vgpu("sim", "destroy", "--machine", self.machine, "--force")
            self.assertEqual((done.returncode, os.path.exists(self.machine)), (0, False))
            process.terminate()

    def test_wrong_results_and_lost_gpus_are_faulty(self):
        self.create("--preset", "t4-16gb", "--kernel", "vgpu_burn_sample=1")  # computes nothing
        done = vgpu("run", "--machine", self.machine, "--", BURN, "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("GPU 0: FAULTY", done.stdout)
        vgpu("sim", "inject", "--machine", self.machine, "fail", "cuMemAlloc", "--result",
             "CUDA_ERROR_OUT_OF_MEMORY")
        done = vgpu("run", "--machine", self.machine, "--", BURN, "1")
        self.assertIn("GPU 0: FAULTY (cannot allocate: CUDA_ERROR_OUT_OF_MEMORY)", done.stdout)

    def test_a_gpu_that_falls_off_ends_the_run(self):
        self.create("--gpus", "2", "--kernel", "vgpu_burn=2000")
        # A driver that lost its GPU refuses to destroy what was made on it: no leak of ours.
        environment = {**ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"}
        with subprocess.Popen([VGPU, "run", "--machine", self.machine, "--", BURN, "60"],
                              env=environment, stdout=subprocess.PIPE, text=True) as process:
            self.assertTrue(wait_until(lambda: self.stat()["gpus"][1]["used_bytes"] > 10 << 30))
            vgpu("sim", "inject", "--machine", self.machine, "lose", "1")
            time.sleep(0.5)
            process.terminate()         # GPU 0 would go on for a minute
            output, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, output)
        self.assertRegex(output, r"GPU 0: OK\n\tGPU 1: FAULTY \(cannot .*: CUDA_ERROR_\w+\)")

    def test_a_hang_ends_with_clear(self):
        self.create("--preset", "t4-16gb")
        vgpu("sim", "inject", "--machine", self.machine, "hang", "cuMemGetInfo")
        with subprocess.Popen([VGPU, "run", "--machine", self.machine, "--", BURN, "1"],
                              env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=2)
            vgpu("sim", "inject", "--machine", self.machine, "clear")
            output, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, output)

    def test_bad_options(self):
        for words, part in ((("-x",), "no option '-x'"), (("-m",), "needs a value"),
                            (("-m", "200%"), "1 to 100"), (("-m", "0"), "more than 0"),
                            (("0",), "time in seconds"), (("1", "2"), "one time"), (("-i", "9"), "no GPU 9"),
                            (("-m", "1",), "too little"), (("a\033[31mb",), "'a?[31mb'")):
            done = self.burn(*words)
            self.assertIn(part, done.stderr + done.stdout)
            self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    main("__main__")
