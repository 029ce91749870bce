# SPDX-License-Identifier: Apache-2.0
"""process: components are started, watched, stopped and killed, by their process numbers."""

import contextlib
import http.client
import os
import signal
import subprocess
import time

from components import component, words
from kube import ApiError
from paths import DATA, LOGS, RUN, Trouble, write

READY_SECONDS = 300             # on a machine that is busy with other things, too


def log_path(name):
    return os.path.join(LOGS, f"{name}.log")


def started_at(pid):
    """When a process began, in the kernel's ticks: a number that came round is another process. None if
    it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Its first thread may have ended before the others, which hold its ports until they have, too.
    return None if fields[0] == "Z" and int(fields[17]) <= 1 else fields[19]


def pid_of(name):
    """The component's process, None if it is not running."""
    try:
        with open(os.path.join(RUN, name), encoding="ascii") as file:
            pid, ticks = file.read().split()
    except FileNotFoundError:
        return None
    return int(pid) if started_at(pid) == ticks else None


def spawn(name):
    with open(log_path(name), "a", encoding="utf-8") as log:
        process = subprocess.Popen(words(name), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=DATA,
                                   start_new_session=True)
    write(os.path.join(RUN, name), f"{process.pid} {started_at(process.pid)}")


def wait_ready(name, seconds=READY_SECONDS):
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        if not pid_of(name):
            raise Trouble(f"{name} ended; the end of {log_path(name)}:\n{log_tail(name)}")
        try:
            if component(name).is_ready():
                return
        except (OSError, http.client.HTTPException, ApiError) as error:
            last = error
        time.sleep(0.1)
    raise Trouble(f"{name} is not ready after {seconds} s ({last}); the end of {log_path(name)}:\n{log_tail(name)}")


def start(name):
    """Starts a component, and what it needs, if it does not run, and waits until it is ready."""
    for needed in component(name).needs:
        if not pid_of(needed):
            start(needed)
    if not pid_of(name):
        is_first = not os.path.exists(log_path(name))
        if is_first and component(name).prepare:
            component(name).prepare()
        spawn(name)
    wait_ready(name)


def stop(name, number=signal.SIGTERM, seconds=3):
    """Ends a component by a signal, and by SIGKILL if that does not help soon: an API server would
    wait a minute for those who watch."""
    deadline = time.monotonic() + seconds
    pid = pid_of(name)
    while pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        while pid_of(name) and time.monotonic() < deadline:
            time.sleep(0.05)
        pid, number, deadline = pid_of(name), signal.SIGKILL, deadline + seconds


def restart(name):
    stop(name)
    start(name)


def log_tail(name, lines=15):
    try:
        with open(log_path(name), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:]).rstrip()
    except FileNotFoundError:
        return "(no log)"
