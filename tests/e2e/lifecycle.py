# SPDX-License-Identifier: Apache-2.0
"""lifecycle: a cluster comes up and goes away, seen from outside of its sandbox."""

import os
import shutil
import subprocess
import time

import sandbox
from paths import FAILED, HERE, LOGS, PYTHON, STATE, Trouble, say


def inside(*words, check=True):
    """Runs words in the sandbox; gives their status."""
    done = subprocess.run(sandbox.enter(*words), env=sandbox.environment(), check=False)
    if check and done.returncode != 0:
        raise Trouble(f"{os.path.basename(words[-1])} failed (status {done.returncode}); logs are in {LOGS}")
    return done.returncode


def inside_python(name, *words, **options):
    """Runs a program of this folder in the sandbox."""
    return inside(PYTHON, "-B", os.path.join(HERE, name), *words, **options)


def state_remove(kept=()):
    """Removes what the state folder holds, and the folder if nothing is kept."""
    for name in os.listdir(STATE) if os.path.isdir(STATE) else ():
        path = os.path.join(STATE, name)
        if path in kept:
            continue
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
    if os.path.isdir(STATE) and not os.listdir(STATE):
        os.rmdir(STATE)


def bring_up(profile, stays):
    """Starts a cluster and waits until all of it is ready. One that does not stay dies with us."""
    if sandbox.first_pid():
        raise Trouble("a cluster is up already; end it with: make cluster-down")
    sandbox.close_sandbox()             # what a killed one may have left
    state_remove(kept=(FAILED,))
    try:
        sandbox.open_sandbox(stays)
        inside_python("cluster", "bring-up", profile)
    except BaseException:
        sandbox.close_sandbox()
        raise


def bring_up_inside(profile):
    """The part of it that happens in the sandbox: certificates, configuration, one component after
    the other."""
    import components
    import pki
    import process
    pki.make()
    components.configure(profile)
    for name in components.PROFILES[profile]:
        started = time.monotonic()
        process.start(name)
        say(f"e2e: {profile}: {name}: ready after {time.monotonic() - started:.1f} s")


def take_down(state=STATE):
    """Ends it; whatever is left afterwards is a fault of ours."""
    sandbox.close_sandbox(state)
    left = sandbox.leftovers(state)
    if left:
        raise Trouble("the cluster left something:\n" + "\n".join(left))
