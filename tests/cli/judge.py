# SPDX-License-Identifier: Apache-2.0
"""Does a load keep to its limit? By the simulated GPU's own busy time, as tests/preload/judge.h does for C."""

import time

POINTS = 2
STALL_MOST = 0.1    # of the time


def stalled():
    """Seconds in which some task waited for a CPU. A kernel that does not say counts as busy: it rises always."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            return int(file.readline().rpartition("=")[2]) / 1e6
    except OSError:
        return time.monotonic()


def judge(limit, measure):
    """None, or what is wrong: `measure()` is more than 2 points from the limit, both in percent.

    Where the host was busy meanwhile it is measured once more. A host that stays busy makes it smaller, never larger.
    """
    for _ in range(2):
        before, begin = stalled(), time.monotonic()
        load = measure()
        if abs(load - limit) <= POINTS:
            return None
        is_busy = stalled() - before > STALL_MOST * (time.monotonic() - begin)
        if not is_busy:
            break
    if is_busy and limit / 2 < load < limit:
        return None
    return f"{load:.1f} % of the GPU's time under a limit of {limit}, on a host that was {'busy' if is_busy else 'idle enough'}"
