# SPDX-License-Identifier: Apache-2.0
"""bench_check FOLDER: `make bench CHECK=REV` calls a figure worse where it is, and only there."""

import itertools
import sys

from tap import Tap


def found(check, before, after, count=5):
    """The names that are worse, where calls take so many ns before and after; a list is gone through, round by round."""
    def endless(value):
        return itertools.cycle(value) if isinstance(value, list) else itertools.repeat(value)
    figures = {"before": {name: endless(value) for name, value in before.items()},
               "after": {name: endless(value) for name, value in after.items()}}
    asked = []

    def measure(build):
        asked.append(build)
        return {name: next(values) for name, values in figures[build].items()}
    names = check.compare([measure], "before", "after", count)[1]
    return names, asked


def differs(found_names, names):
    return [] if found_names == names else [f"{found_names} instead of {names}"]


def main(folder):
    sys.path.insert(0, folder)
    import check
    tap = Tap()
    for sentence, before, after, is_worse in (
            ("what costs the same is not worse", 100, 100, False),
            ("what costs less is not worse", 100, 50, False),
            ("a tenth more is not worse", 100, 110, False),
            ("more than a tenth is worse", 100, 110.5, True),
            ("two nanoseconds more are not worse, however many parts they are", 1, 3, False),
            ("more than two nanoseconds of a few are worse", 3, 5.1, True),
            ("a tenth of much is what counts, not two nanoseconds", 1000, 1090, False),
            ("what cost less than nothing may cost two nanoseconds more", -1, 0.9, False),
            ("what cost less than nothing is worse beyond that", -1, 1.5, True)):
        tap.check(sentence, differs(found(check, {"a_ns": before}, {"a_ns": after})[0], ["a_ns"] if is_worse else []))
    tap.check("a round that was disturbed decides nothing", differs(
        found(check, {"a_ns": 100}, {"a_ns": [900, 100, 100, 900, 100]})[0], []))
    tap.check("a host that becomes slow for both decides nothing", differs(
        found(check, {"a_ns": [10, 20, 30, 40, 50]}, {"a_ns": [10, 20, 30, 40, 50]})[0], []))
    tap.check("what looks worse is measured again, and may hold", differs(
        found(check, {"a_ns": 100}, {"a_ns": [120, 120, 120, 100, 100, 100, 100, 100, 100, 100]})[0], []))
    tap.check("each figure is judged by itself", differs(
        found(check, {"a_ns": 100, "b_added_ns_at_10k": 9}, {"a_ns": 50, "b_added_ns_at_10k": 12})[0],
        ["b_added_ns_at_10k"]))
    tap.check("what is not the cost of a call is not judged, nor what is new", differs(
        found(check, {"load_ms": 1, "start_512_s": 1}, {"load_ms": 9, "start_512_s": 9, "new_ns": 9})[0], []))
    tap.check("both are measured alternately, and either begins", differs(
        found(check, {"a_ns": 1}, {"a_ns": 1}, 3)[1], ["before", "after", "after", "before", "before", "after"]))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
