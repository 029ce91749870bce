# SPDX-License-Identifier: Apache-2.0
"""group: puts a process into another one's control groups, as if it had been started in its container."""

import pathlib


def join(pid, of_pid):
    for line in pathlib.Path(f"/proc/{of_pid}/cgroup").read_text(encoding="utf-8").splitlines():
        _, kind, path = line.split(":", 2)
        for root in (f"/sys/fs/cgroup/{kind}", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
            procs = pathlib.Path(root + path, "cgroup.procs")
            if path != "/" and procs.exists():
                procs.write_text(str(pid), encoding="utf-8")
                break
