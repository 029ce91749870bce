# SPDX-License-Identifier: Apache-2.0
"""tap: says what was checked, in the form that meson and tools/test-report count."""

import sys


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def check(self, sentence, complaints):
        """One case; complaints is what is wrong: an empty list or text is good."""
        self.count += 1
        print(f"{'not ok' if complaints else 'ok'} {self.count} - {sentence}")
        if complaints:
            self.failed += 1
            text = complaints if isinstance(complaints, str) else "\n".join(complaints)
            lines = text.splitlines()
            for line in lines[:40]:
                print(f"# {line}")
            if len(lines) > 40:
                print(f"# … and {len(lines) - 40} more")

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)
