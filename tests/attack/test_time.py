#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lies about GPU time, as root in real containers: test_time.py VGPU BURN SOURCE_ROOT.

On each GPU an honest container and one that lies, both with 40 %. What the honest one has is judged: at least half of
what it is promised, as a busy host may leave it less.
"""

import os
import subprocess
import time

from cli_case import BURN, VGPU, main
from fence import EVADE, Fence
from fixtures import output

CORES = 40
FIELDS = subprocess.run([os.path.join(EVADE, "lie"), "--list"], check=True, capture_output=True, text=True).stdout.split()
WANT = " ".join(name for name in FIELDS if name.startswith("want-"))
LIE = "for i in $(busybox seq 99); do for field in {}; do lie $field; busybox sleep 0.1; done; done"


def burn(gpu, more="", environment=""):
    return 1, f"{environment} vgpu-burn 60 >/tmp/said & echo 0; {more or 'busybox sleep 60'}", (), gpu


class Time(Fence):
    programs = ("lie", "libliar.so", BURN)
    attempts = {
        "beside_want": burn(0), "want": burn(0, LIE.format(WANT)),
        "beside_clock": burn(1), "clock": burn(1, environment="LIAR=clock LD_PRELOAD=/bin/libliar.so"),
        "beside_debt": burn(2), "debt": burn(2, LIE.format("no-debt costs")),
        "beside_stopped": burn(3), "stopped": burn(3, "while :; do kill -STOP $!; busybox sleep 0.2; kill -CONT $!; "
                                                      "busybox sleep 0.01; done"),
    }

    @classmethod
    def prepare(cls):
        output(VGPU, "run", "--machine", cls.fixtures.machine, "--kernel", "vgpu_burn=1000", "--", "true")

    @classmethod
    def environment(cls, gpu):
        return [f"VGPU_CORES={CORES}", f"VGPU_DEVICES={gpu}"]

    @classmethod
    def wait(cls):
        """All are measured at once, when all have begun."""
        super().wait()
        time.sleep(1.5)
        before, begin = cls.host.gpu_ns(), time.monotonic()
        time.sleep(4)
        passed = time.monotonic() - begin
        after = cls.host.gpu_ns()
        cls.rates = {name: (after.get(tried.name, 0) - before.get(tried.name, 0)) / 1e9 / passed
                     for name, tried in cls.tried.items()}
        print("# " + ", ".join(f"{name} {rate:.0%}" for name, rate in cls.rates.items()), flush=True)

    def honest_has_its_part(self, name):
        self.attempt(name)
        self.assertGreater(self.rates["beside_" + name], CORES / 200, self.rates)

    def test_a_want_page_with_lies_in_every_field(self):
        self.honest_has_its_part("want")

    def test_a_clock_that_goes_faster(self):
        self.honest_has_its_part("clock")

    def test_debts_and_costs_that_are_wiped_out(self):
        self.honest_has_its_part("debt")

    def test_a_program_that_is_stopped_in_its_time_slices(self):
        self.honest_has_its_part("stopped")


if __name__ == "__main__":
    main("__main__")
