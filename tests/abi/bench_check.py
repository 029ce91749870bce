# SPDX-License-Identifier: Apache-2.0
"""bench_check FOLDER: `make bench CHECK=REV` calls a figure worse where it is, and only there."""

import itertools
import random
import sys

from tap import Tap


class Host:
    """Where calls take so many ns, before and after; a list is gone through, round by round. A round takes a second."""

    def __init__(self, check, before, after, seconds=1000):
        def endless(value):
            return itertools.cycle(value) if isinstance(value, list) else itertools.repeat(value)
        self.figures = {"before": {name: endless(value) for name, value in before.items()},
                        "after": {name: endless(value) for name, value in after.items()}}
        self.asked = []
        self.measures = check.compare([self.measure], "before", "after", seconds, lambda: len(self.asked))
        self.worse = check.worse(self.measures)
        self.undecided = check.undecided(self.measures)

    def measure(self, builds):
        self.asked.append(builds)
        return {build: {name: next(values) for name, values in self.figures[build].items()} for build in builds}


def differs(found, wanted):
    return [] if found == wanted else [f"{found} instead of {wanted}"]


def noisy(added, spread, count=1000):
    """Figures of a busy host: now and then far off, and never the same."""
    noise = random.Random(7)
    return [100 + added + noise.gauss(0, spread) + (80 if noise.random() < 0.1 else 0) for _ in range(count)]


def check_verdicts(tap, check):
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
        host = Host(check, {"a_ns": before}, {"a_ns": after})
        tap.check(sentence, differs(host.worse, ["a_ns"] if is_worse else []))
    tap.check("each figure is judged by itself", differs(
        Host(check, {"a_ns": 100, "b_added_ns_at_10k": 9}, {"a_ns": 50, "b_added_ns_at_10k": 12}).worse,
        ["b_added_ns_at_10k"]))
    tap.check("what is not the cost of a call is not judged, nor what is new", differs(
        Host(check, {"load_ms": 1, "start_512_s": 1}, {"load_ms": 9, "start_512_s": 9, "new_ns": 9}).worse, []))


def check_noise(tap, check):
    tap.check("a round that was disturbed decides nothing", differs(
        Host(check, {"a_ns": 100}, {"a_ns": [900, 100, 100, 900, 100]}).worse, []))
    tap.check("a host that becomes slow for both decides nothing", differs(
        Host(check, {"a_ns": [10, 20, 30, 40, 50]}, {"a_ns": [10, 20, 30, 40, 50]}).worse, []))
    tap.check("what looks worse is measured again, and may hold", differs(
        Host(check, {"a_ns": 100}, {"a_ns": [120] * 6 + [100] * 20}).worse, []))
    found = [[bool(Host(check, {"a_ns": noisy(0, 8)[number:]}, {"a_ns": noisy(added, 8)[500 + number:]}).worse)
              for number in range(0, 400, 20)] for added in (0, 25)]
    tap.check("on a busy host what costs the same holds, and a quarter more does not", differs(
        [sum(found[0]), sum(found[1])], [0, 20]))


def check_rounds(tap, check):
    same, slow = Host(check, {"a_ns": 100}, {"a_ns": 100}), Host(check, {"a_ns": 100}, {"a_ns": 200})
    tap.check("what is clear is not measured again", differs(
        [len(same.asked), len(slow.asked)], [check.SAME_LEAD, check.WORSE_LEAD]))
    tap.check("both are measured alternately, and either begins", differs(
        same.asked[:4], [("before", "after"), ("after", "before")] * 2))
    at_times = {"a_ns": [100, 120]}
    host = Host(check, {"a_ns": 100}, at_times, 20)
    tap.check("what does not become clear is judged by its rounds when the time is over", differs(
        [len(host.asked), host.worse, host.undecided], [20, [], []]))
    host = Host(check, {"a_ns": 100}, at_times, check.ROUNDS_LEAST - 1)
    tap.check("too few rounds are no answer", differs(host.undecided, ["a_ns"]))


def main(folder):
    sys.path.insert(0, folder)
    import check
    tap = Tap()
    check_verdicts(tap, check)
    check_noise(tap, check)
    check_rounds(tap, check)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
