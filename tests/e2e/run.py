# SPDX-License-Identifier: Apache-2.0
"""run: the cases of all profiles, each profile on a cluster of its own, side by side; and counts.

Most of a case is waiting, so that two cores suffice for two clusters. Each has a state folder below ours, and by its
name a sandbox, control groups and logs; suite.py does the rest in a process that we start, and end.
"""

import json
import os
import shutil
import signal
import subprocess

import sandbox
import lifecycle
import suite
from paths import FAILED, HERE, PROFILE_STATES, PYTHON, STATE, Trouble

# What is in one row is run one after the other, beside the other row.
QUEUES = (("full",), ("light", "outside"))
WATCHED = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)


def start(profile, pattern):
    """A process that runs a profile's cases. It dies with us; a Ctrl-C is ours to hand on, once."""
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", PYTHON, "-B", os.path.join(HERE, "suite.py"), profile, pattern],
        stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "VGPU_E2E_STATE": PROFILE_STATES[profile]})


def run_queues(profiles, pattern):
    """Runs all; gives the profiles whose process came to its end as it should."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)       # so that none comes while a process is half started
    queues = [[profile for profile in queue if profile in profiles] for queue in QUEUES]
    running, good, is_interrupted = {}, [], False

    def go_on(queue):
        if queue and not is_interrupted:
            running[start(queue[0], pattern)] = queue
    for queue in queues:
        go_on(queue)
    while running:
        if signal.sigwait(WATCHED) != signal.SIGCHLD:
            is_interrupted = True
            for process in running:
                process.terminate()
        for process in [process for process in running if process.poll() is not None]:
            queue = running.pop(process)
            profile = queue.pop(0)
            good += [profile] if process.returncode == 0 else []
            go_on(queue)
    if is_interrupted:
        raise KeyboardInterrupt
    return good


def results_of(profile):
    try:
        with open(os.path.join(PROFILE_STATES[profile], suite.RESULTS), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return []


def keep_logs(profiles):
    """Of this run, until it is known that all went well."""
    for profile in profiles:
        logs = os.path.join(PROFILE_STATES[profile], "logs")
        if os.path.isdir(logs):
            os.makedirs(FAILED, exist_ok=True)
            shutil.move(logs, os.path.join(FAILED, profile))


def run_all(profiles, pattern):
    """How the cases went, as a list of words; those that have none have failed."""
    try:
        good = run_queues(profiles, pattern)
        return [result for profile in good for result in results_of(profile)]
    finally:
        keep_logs(profiles)
        lifecycle.state_remove(kept=(FAILED,))


def main(pattern=""):
    import doctor
    import fetch
    suite.catch_signals()
    doctor.require()
    fetch.fetch()
    chosen = suite.load_cases(pattern)
    if not chosen:
        raise Trouble(f"no case matches '{pattern}'")
    if suite.idle_rows():
        raise Trouble(f"tests/unsteady: no case is like {', '.join(suite.idle_rows())}")
    for state in (STATE, *PROFILE_STATES.values()):
        if sandbox.first_pid(state):
            raise Trouble("a cluster is up already; end it with: make cluster-down")
    lifecycle.state_remove()
    os.makedirs(STATE)
    results = run_all(chosen, pattern)
    unsteady = results.count("unsteady")
    passed = results.count("ok") + unsteady
    failed = sum(map(len, chosen.values())) - passed
    lifecycle.state_remove(kept=(FAILED,) if failed or unsteady else ())
    if failed or unsteady:
        print(f"e2e: the logs of all components are in {FAILED}")
    print(f"{unsteady} unsteady: failed, and held when tried again")
    print(f"{passed} passed, {failed} failed, 0 skipped", flush=True)
    return 1 if failed or not passed else 0
