# SPDX-License-Identifier: Apache-2.0
"""wanted: what a figure should be, in words, for the tables."""

import sys


def text(name, value, at_most, at_least):
    """What is wanted of this figure, and whether it is."""
    if name in at_most:
        return f"   target ≤ {at_most[name]}" + ("   over" if value > at_most[name] else "")
    if name in at_least:
        return f"   target ≥ {at_least[name]}" + ("   under" if value < at_least[name] else "")
    return ""


def main(usage, metrics_of, target):
    """The table of a module that is run by itself: BUILD [CASE...]."""
    if len(sys.argv) < 2:
        sys.exit(usage)
    for name, value in metrics_of(sys.argv[1], sys.argv[2:]).items():
        print(f"{name:50} {value:12.3f}{target(name, value)}")
