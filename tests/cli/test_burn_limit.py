#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu-burn under a limit of compute: test_burn_limit.py VGPU VGPU_BURN SOURCE_ROOT."""

import re
import subprocess
import time

from cli_case import BURN, ENVIRONMENT, VGPU, Case, main, vgpu, wait_until
from judge import Window, judge


class BurnLimit(Case):
    def load(self, *options):
        """What vgpu-burn takes of a GPU's time."""
        self.create("--preset", "a100-40gb")
        with subprocess.Popen([VGPU, "run", "--machine", self.machine, *options, "--", BURN, "60"], env=ENVIRONMENT,
                              stdout=subprocess.DEVNULL) as process:
            self.assertTrue(wait_until(lambda: self.stat()["counters"]["launches"] > 50, 30))
            window = Window(self.stat, process.pid)
            time.sleep(2)
            load = window.end()
            process.terminate()
        self.assertEqual(process.returncode, 0)
        vgpu("sim", "destroy", "--machine", self.machine)
        return load

    def test_it_keeps_a_gpu_busy_so_that_a_limit_shows(self):
        self.assertIsNone(judge(100, self.load))
        self.assertIsNone(judge(30, lambda: self.load("--cores", "30")))

    def test_the_rate_it_reports_is_that_of_its_limit(self):
        def rate(*options):
            done = self.run_sim("--sim=a100-40gb", *options, "--", BURN, "2")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return float(re.findall(r"100\.0%  proc'd: \d+ \(([\d.]+) Gflop/s\)", done.stdout)[-1])
        # As large a launch with a limit as without: it is not taken for one that is computed in software.
        self.assertLess(rate("--cores", "10"), 0.13 * rate())
        self.assertGreater(rate("--cores", "10"), 0.04 * rate())


if __name__ == "__main__":
    main("__main__")
