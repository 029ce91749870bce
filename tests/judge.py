# SPDX-License-Identifier: Apache-2.0
"""Does a load keep to its limit? By the simulated GPU's own busy time, as tests/preload/judge.h does for C."""

import collections
import contextlib
import os
import pathlib
import time

POINTS = 2
LATE_LEAST, LATE_MOST = 2, 50   # percent of the time: less is no busy host, of more nothing is taken off

# Percent of a time that the GPU was busy, and that programs at work had no CPU.
Load = collections.namedtuple("Load", "percent late_percent")


def late(pids):
    """Seconds for which threads of these programs were ready and had no CPU. A kernel that does not say counts as
    busy: it rises always."""
    try:
        return sum(int(path.read_text(encoding="ascii").split()[1])
                   for pid in pids for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
    except OSError:
        return time.monotonic()


def hurry(pids):
    """They get a CPU before others do, where we may ask for that."""
    for path in (path for pid in pids for path in pathlib.Path(f"/proc/{pid}/task").iterdir()):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(path.name), os.SCHED_RR, os.sched_param(1))


class Window:
    """Begins now; `stat` gives what `vgpu sim stat --json` tells."""

    def __init__(self, stat, *pids):
        hurry(pids)
        self.stat, self.pids = stat, pids
        self.begin, self.late = stat(), late(pids)

    def end(self):
        """The load of GPU 0 from the beginning on."""
        late_s, now = late(self.pids) - self.late, self.stat()
        passed_ns = now["time_ns"] - self.begin["time_ns"]
        return Load((now["gpus"][0]["busy_ns"] - self.begin["gpus"][0]["busy_ns"]) * 100 / passed_ns,
                    late_s * 1e11 / passed_ns)


def is_kept(load, limit):
    """While a program has work, and no CPU, it cannot use what its limit allows: that is the limit's part of this
    time, and no more."""
    points = min(POINTS, limit / 2)
    return (limit - points) * (100 - min(load.late_percent, LATE_MOST)) / 100 <= load.percent <= limit + points


def judge_all(limits, measure):
    """None, or what is wrong: of the loads that `measure()` gives, one for each limit, one is more than 2 points from
    it, of a small limit more than half of it.

    The programs get a CPU before others do. Where that may not be, time for which they had none is taken off, and where
    there was such time it is measured once more.
    """
    for may_repeat in (True, False):
        loads = measure()
        wrong = [f"{load.percent:.1f} % of the GPU's time under a limit of {limit}; for {load.late_percent:.1f} % of the"
                 " time there was no CPU for the program" for load, limit in zip(loads, limits) if not is_kept(load, limit)]
        if not wrong:
            return None
        if not may_repeat or all(load.late_percent <= LATE_LEAST for load in loads):
            return "; ".join(wrong)


def judge(limit, measure):
    """The same of one load."""
    return judge_all([limit], lambda: [measure()])
