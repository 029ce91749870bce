# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a run, nothing is left: no process, no mount, no control group.

Each case runs a second `cluster test` beside this one, with a state folder of its own, and asks the
kernel, not the harness, what there is afterwards.
"""

import hashlib
import os
import signal
import subprocess
import tempfile
import time

from fixtures import case, expect
from paths import BUILD, HERE, TOP

COMMAND = os.path.join(HERE, "cluster")


def run(state, pattern, is_made=True):
    """A run of the cases in faults/, by make or directly; what it says is read from it."""
    words = ["make", "-s", "-C", TOP, f"BUILD={BUILD}", "e2e", f"CASES={pattern}"]
    environment = {**os.environ, "VGPU_E2E_STATE": state, "VGPU_E2E_CASES": "faults"}
    environment.pop("MAKEFLAGS", None)          # of the make that started us
    return subprocess.Popen(words if is_made else [COMMAND, "test", pattern], env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True)


def mentions(state):
    """Everything in the kernel's lists that names the folder: our own command lines apart."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("cmdline", "environ", "mountinfo"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if state.encode() in file.read():
                        found.append(f"{pid} has it in {name}")
            except OSError:
                pass            # gone meanwhile
    return found


def cgroups(state):
    """Those of all clusters of a run."""
    found = []
    for profile in ("full", "light"):
        name = "vgpu-e2e-" + hashlib.sha256(os.path.join(state, profile).encode()).hexdigest()[:8]
        done = subprocess.run(["find", "/sys/fs/cgroup", "-type", "d", "-name", name], text=True,
                              stdout=subprocess.PIPE, check=False)
        found += [(profile, path) for path in done.stdout.split()]
    return found


def expect_nothing(state, seconds=10):
    deadline = time.monotonic() + seconds
    while mentions(state) and time.monotonic() < deadline:
        time.sleep(0.1)
    expect(not mentions(state), mentions(state))
    expect(not cgroups(state), cgroups(state))


def read_until(process, *lines):
    seen = []
    for text in process.stdout:
        seen.append(text)
        if set(lines) <= {entry.strip() for entry in seen}:
            return
    raise AssertionError("".join(seen))


def folder():
    os.makedirs(BUILD, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=BUILD, prefix="e2e-")


@case("after a failing case nothing is left but the logs", profile="outside")
def failing():
    with folder() as state:
        process = run(state, "fails while")
        try:
            text = process.communicate(timeout=300)[0]
        finally:
            end(process)
        expect(process.returncode != 0 and "\n0 passed, 1 failed, 0 skipped\n" in text, text)
        expect_nothing(state)
        expect(os.listdir(state) == ["failed"], os.listdir(state))
        expect("kubelet.log" in os.listdir(os.path.join(state, "failed", "full")), "no log of kubelet")


def end(process):
    """Whoever interrupts us leaves nothing either: a run cleans up after SIGTERM."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    process.communicate()


def interrupt(name, number, is_for_all):
    @case(f"after {name} in the middle of a case nothing is left running or mounted", profile="outside")
    def interrupted():
        with folder() as state:
            process = run(state, "waits until", is_made=number != signal.SIGKILL)
            try:
                read_until(process, "waiting with a pod", "waiting without")     # on two clusters
                expect(mentions(state) and {profile for profile, _ in cgroups(state)} == {"full", "light"},
                       "what runs is not found: the proof is blind")
                (os.killpg if is_for_all else os.kill)(process.pid, number)
                text = process.communicate(timeout=60)[0]
                expect(process.returncode != 0 and "passed" not in text, f"status {process.returncode}\n{text}")
                if number == signal.SIGKILL:
                    # Nobody was there to remove the control groups; the next one does.
                    subprocess.run([COMMAND, "down"], env={**os.environ, "VGPU_E2E_STATE": state}, check=True)
                else:
                    expect(os.listdir(state) == ["failed"], os.listdir(state))
                expect_nothing(state)
            finally:
                end(process)


interrupt("Ctrl-C", signal.SIGINT, is_for_all=True)
interrupt("SIGTERM", signal.SIGTERM, is_for_all=False)
interrupt("SIGKILL", signal.SIGKILL, is_for_all=False)
