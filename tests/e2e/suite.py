# SPDX-License-Identifier: Apache-2.0
"""suite PROFILE PATTERN: the cases of one profile, on a cluster of their own.

Outside, it brings the cluster up and takes it down; in its sandbox, it runs the cases. The two meet in a
file of results, so that a case that takes everything with it still counts. run.py starts one of these for each
profile and reads that file last.
"""

import glob
import importlib
import json
import os
import re
import signal
import sys
import time
import traceback

import sandbox
import lifecycle
from paths import HERE, LOGS, STATE, Trouble, say

sys.path.append(os.path.join(HERE, "..", "..", "tools"))
import unsteady  # noqa: E402

RESULTS = "results.json"        # in the state folder
# The tests of the harness itself have cases that must not be run with the others.
FOLDER = "VGPU_E2E_CASES"
# The machine is shared, and noisy: a case that has failed has a second try, if a row of tests/unsteady says so. A suite
# of which much fails has none.
AGAIN = os.path.join(os.path.dirname(STATE), "again")
AGAIN_MOST = 5


def name_of(function, sentence):
    return f"{function.__module__.rpartition('.')[2]}: {sentence}"


def unsteady_rows():
    """Which cases may be tried again; cases of a folder of their own have rows of their own."""
    folder = os.environ.get(FOLDER)
    return unsteady.rows_of(os.path.join(HERE, *([folder] if folder else [".."]), "unsteady"))


def idle_rows():
    """Patterns that no case is like; after load_cases()."""
    import fixtures
    return unsteady.idle(unsteady_rows(), "e2e", [name_of(function, sentence) for _, sentence, function in fixtures.CASES])


def load_cases(pattern):
    """The cases that match, as {profile: [(sentence, function)]}."""
    import fixtures
    folder = os.environ.get(FOLDER, "cases")
    for path in sorted(glob.glob(os.path.join(HERE, folder, "test_*.py"))):
        importlib.import_module(f"{folder}.{os.path.basename(path)[:-3]}")
    chosen = {}
    for profile, sentence, function in fixtures.CASES:
        if re.search(pattern, name_of(function, sentence)):
            chosen.setdefault(profile, []).append((sentence, function))
    return chosen


def trouble_of(function, *arguments):
    """Runs a case; None, or what went wrong."""
    import fixtures
    try:
        function(*arguments)
        return None
    except (fixtures.Failed, Trouble) as failure:
        return str(failure) or "it does not say why"
    except Exception:           # the case itself tripped over something: it has not held
        return traceback.format_exc()


def may_again():
    """Takes one of the second tries that all profiles have together; whether there was one."""
    for number in range(AGAIN_MOST):
        try:
            os.close(os.open(f"{AGAIN}-{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            return True
        except FileExistsError:
            pass
    return False


def tell(line, trouble=None):
    say("\n".join([line, *("#   " + part for part in (trouble or "").splitlines())]))


def mended(profile):
    """Starts what a failed case left stopped, or all the others would fail too; says so if it cannot."""
    import components
    import process
    try:
        for name in components.PROFILES[profile]:
            process.start(name)
        return ""
    except Trouble as trouble:
        return f"\nthe cluster stays broken: {trouble}"


class Suite:
    """The cases of a profile, and how each of them went: "ok", "unsteady" or "failed"."""

    def __init__(self, profile, cases):
        self.profile, self.cases = profile, cases
        self.unsteady = unsteady_rows()
        self.results = {}
        self.record()

    def record(self):
        os.makedirs(STATE, exist_ok=True)
        with open(os.path.join(STATE, RESULTS), "w", encoding="utf-8") as file:
            json.dump(list(self.results.values()), file)

    def note(self, number, result):
        self.results[number] = result
        self.record()

    def reason_again(self, number):
        """Why a case may be tried again; None: it may not."""
        sentence, function = self.cases[number]
        return unsteady.reason_of(self.unsteady, "e2e", name_of(function, sentence))

    def attempt(self, number, name):
        """Runs a case in a namespace of its own; gives what went wrong, and its sentence with the time it took."""
        sentence, function = self.cases[number]
        started = time.monotonic()
        if self.profile == "outside":
            trouble = trouble_of(function)
        else:
            import fixtures
            cluster = fixtures.Cluster()
            with cluster.own_namespace(name):
                trouble = trouble_of(function, cluster)
                if trouble:
                    trouble += mended(self.profile)
        return trouble, f"{sentence} ({time.monotonic() - started:.1f} s)"

    def run(self):
        troubles = {}           # of those that have a second try
        for number in range(len(self.cases)):
            self.note(number, "failed")         # until it is known to have held
            trouble, line = self.attempt(number, f"case-{number}")
            if not trouble:
                tell(f"ok - {line}")
                self.note(number, "ok")
            elif self.reason_again(number) and may_again():
                tell(f"# to be tried again: {line}: {self.reason_again(number)}", trouble)
                troubles[number] = trouble
            else:
                tell(f"not ok - {line}", trouble)
        for number, first in troubles.items():
            trouble, line = self.attempt(number, f"case-{number}-again")
            if trouble:
                tell(f"not ok - {line}", trouble)
            else:
                tell(f"unsteady - {self.cases[number][0]} (its first trouble follows)", first)
                self.note(number, "unsteady")


def interrupted(number, _frame):
    ignore_signals()
    raise KeyboardInterrupt(number)


def catch_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    # run.py has these blocked: one that came while we were started comes now.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def ignore_signals():
    """Nobody interrupts the cleaning."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def on_cluster(profile, pattern):
    """Up, the cases, down; what stays are the logs and the results."""
    try:
        lifecycle.bring_up(profile, stays=False)
        lifecycle.inside_python("suite.py", profile, pattern, check=False)
    finally:
        ignore_signals()
        lifecycle.take_down()
        lifecycle.state_remove(kept=(LOGS, os.path.join(STATE, RESULTS)))


def main(profile, pattern):
    catch_signals()
    if profile == "outside" or sandbox.is_inside():
        Suite(profile, load_cases(pattern)[profile]).run()
    else:
        on_cluster(profile, pattern)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Trouble as failure:
        say(f"e2e: {failure}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
