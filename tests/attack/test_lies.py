#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lies in the region, which a container may write: test_lies.py VGPU BURN SOURCE_ROOT.

One container per field. A program holds memory, another writes the field, the first
asks for more: nobody gets more than the limit, and vgpu-node and a neighbour work on.
"""

import os
import subprocess

from cli_case import main
from fence import EVADE, LIMIT_MIB, Fence

STEP_MIB = 40
FIELDS = subprocess.run([os.path.join(EVADE, "lie"), "--list"], check=True, capture_output=True, text=True).stdout.split()
REGION_FIELDS = [name for name in FIELDS if not name.startswith("want-")]
REPORTED = ("magic", "fault", "word", "word-full", "held", "no-held", "zeros")


def holder(field):
    """Two allocations fit; what comes after the lie must not."""
    say = "; ".join([f"echo alloc {STEP_MIB}", "busybox sleep 1", f"lie {field}", "busybox sleep 1.2",
                     *[f"echo alloc {STEP_MIB}"] * 3, "busybox sleep 60"])
    return 5, f"({say}) | probe", ("region",) if field in REPORTED else ()


class Region(Fence):
    programs = ("lie",)
    attempts = {field: holder(field) for field in REGION_FIELDS}

    def test_no_field_of_the_region_gives_more_memory(self):
        for field in REGION_FIELDS:
            lines = self.attempt(field).lines
            self.assertEqual(lines[:2], ["0", "0"], f"{field}: {self.tried[field].said()}")
            self.assertLessEqual(lines[1:].count("0") * STEP_MIB, LIMIT_MIB, f"{field}: {self.tried[field].said()}")

    def test_no_field_of_the_region_ends_a_program(self):
        """A refusal is an answer; a signal would be none."""
        for field in REGION_FIELDS:
            lines = self.attempt(field).lines
            self.assertTrue(all(line.isdigit() for line in lines), f"{field}: {self.tried[field].said()}")

    def test_regions_that_do_not_add_up_are_reported(self):
        self.assertEqual([field for field in REPORTED if "region" not in self.tried[field].kinds], [])

    def test_others_are_shown_and_have_what_is_theirs(self):
        shown = self.vgpu("ps")
        self.assertRegex(shown.stderr, "^(vgpu: .*\n)+$")        # each that was written into is named
        self.assertNotIn("\033", shown.stdout + shown.stderr)
        self.still_works()


if __name__ == "__main__":
    main("__main__")
