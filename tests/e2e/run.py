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
LANES = (("full",), ("light", "outside"))
WATCHED = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)


def start(profile, pattern):
    """A process that runs a profile's cases. It dies with us; a Ctrl-C is ours to hand on, once."""
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", PYTHON, "-B", os.path.join(HERE, "suite.py"), profile, pattern],
        stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "VGPU_E2E_STATE": PROFILE_STATES[profile]})


def run_lanes(profiles, pattern):
    """Runs all; gives the profiles whose process came to its end as it should."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)       # so that none comes while a process is half started
    lanes = [[profile for profile in lane if profile in profiles] for lane in LANES]
    running, good, is_interrupted = {}, [], False

    def go_on(lane):
        if lane and not is_interrupted:
            running[start(lane[0], pattern)] = lane
    for lane in lanes:
        go_on(lane)
    while running:
        if signal.sigwait(WATCHED) != signal.SIGCHLD:
            is_interrupted = True
            for process in running:
                process.terminate()
        for process in [process for process in running if process.poll() is not None]:
            lane = running.pop(process)
            profile = lane.pop(0)
            good += [profile] if process.returncode == 0 else []
            go_on(lane)
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
        good = run_lanes(profiles, pattern)
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
