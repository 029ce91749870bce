"""run: brings a cluster up, runs the cases on it, takes it down, and counts.

Outside, main() makes one cluster for each profile that has cases to run; in its capsule, inner() runs
them. The two meet in a file of results, so that a case that takes everything with it still counts.
"""

import glob
import importlib
import json
import os
import re
import shutil
import signal
import sys
import time
import traceback

import capsule
import lifecycle
from places import FAILED, HERE, LOGS, STATE, Trouble

RESULTS = os.path.join(STATE, "results.json")
# The tests of the harness itself have cases that must not be run with the others.
FOLDER = "VGPU_E2E_CASES"


def load_cases(pattern):
    """The cases that match, as {profile: [(sentence, function)]}."""
    import lab
    folder = os.environ.get(FOLDER, "cases")
    for path in sorted(glob.glob(os.path.join(HERE, folder, "test_*.py"))):
        importlib.import_module(f"{folder}.{os.path.basename(path)[:-3]}")
    chosen = {}
    for profile, sentence, function in lab.CASES:
        if re.search(pattern, f"{function.__module__.rpartition('.')[2]}: {sentence}"):
            chosen.setdefault(profile, []).append((sentence, function))
    return chosen


def trouble_of(function, *arguments):
    """Runs a case; None, or what went wrong."""
    import lab
    try:
        function(*arguments)
        return None
    except (lab.Failed, Trouble) as failure:
        return str(failure)
    except Exception:           # the case itself tripped over something: it has not held
        return traceback.format_exc()


def run_case(sentence, function, *arguments):
    started = time.monotonic()
    trouble = trouble_of(function, *arguments)
    print(f"{'not ok' if trouble else 'ok'} - {sentence} ({time.monotonic() - started:.1f} s)", flush=True)
    if trouble:
        print("\n".join("#   " + line for line in trouble.splitlines()), flush=True)
    return not trouble


def record(results):
    with open(RESULTS, "w", encoding="utf-8") as file:
        json.dump(results, file)


def inner(profile, pattern):
    """In the capsule: each case in a namespace of its own."""
    import lab
    results = []
    for number, (sentence, function) in enumerate(load_cases(pattern)[profile]):
        record(results + [False])       # until it is known to have held
        cluster = lab.Cluster()
        with cluster.own_namespace(f"case-{number}"):
            results.append(run_case(sentence, function, cluster))
        record(results)


def run_profile(profile, pattern):
    """Up, the cases, down; gives how many held."""
    try:
        lifecycle.bring_up(profile, stays=False)
        record([])
        lifecycle.inside_python("run.py", profile, pattern, check=False)
        with open(RESULTS, encoding="utf-8") as file:
            return sum(json.load(file))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)       # nobody interrupts the cleaning
        keep_logs(profile)
        lifecycle.take_down()
        lifecycle.state_remove(kept=(FAILED,))
        catch_signals()


def keep_logs(profile):
    """Of the last run of this profile, until it is known that all went well."""
    kept = os.path.join(FAILED, profile)
    if os.path.isdir(LOGS):
        shutil.copytree(LOGS, kept, dirs_exist_ok=True)


def interrupted(number, _frame):
    raise KeyboardInterrupt(number)


def catch_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)


def run_all(chosen, pattern):
    """All profiles; gives how many cases held."""
    passed = 0
    for profile, cases in chosen.items():
        try:
            if profile == "outside":
                passed += sum(run_case(sentence, function) for sentence, function in cases)
            else:
                passed += run_profile(profile, pattern)
        except Trouble as trouble:
            print(f"e2e: {trouble}", flush=True)
    return passed


def main(pattern=""):
    import doctor
    import fetch
    catch_signals()
    doctor.require()
    fetch.fetch()
    chosen = load_cases(pattern)
    if not chosen:
        raise Trouble(f"no case matches '{pattern}'")
    if capsule.first_pid():
        raise Trouble("a cluster is up already; end it with: make cluster-down")
    lifecycle.state_remove()
    passed = run_all(chosen, pattern)
    failed = sum(map(len, chosen.values())) - passed
    lifecycle.state_remove(kept=(FAILED,) if failed else ())
    if failed:
        print(f"e2e: the logs of all components are in {FAILED}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    try:
        inner(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
