# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: running vgpu, a folder per test."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import unit_tap  # noqa: E402

VGPU, BURN, SOURCE = [os.path.abspath(path) for path in sys.argv[1:4]]
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if key not in ("VGPU_SIM", "VGPU_SIM_LIB", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH")}
# Shares of this machine's own agent are none of the tests' business.
ENVIRONMENT["VGPU_NODE_SOCKET"] = os.path.join(SOURCE, "nobody")


def vgpu(*words, environment=None, **more):
    """Runs vgpu; the result has returncode, stdout and stderr."""
    return subprocess.run([VGPU, *words], env={**ENVIRONMENT, **(environment or {})}, text=True,
                          capture_output=True, timeout=60, check=False, **more)


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Case(unittest.TestCase):
    """Each test has a folder of its own, also the place of `vgpu run`'s machines."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vgpu-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.machine = os.path.join(self.folder, "machine")
        self.runtime = os.path.join(self.folder, "runtime")
        os.mkdir(self.runtime, 0o700)

    def run_sim(self, *words, **more):
        return vgpu("run", *words, environment={"XDG_RUNTIME_DIR": self.runtime}, **more)

    def create(self, *words):
        done = vgpu("sim", "create", "--machine", self.machine, *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def stat(self):
        return json.loads(vgpu("sim", "stat", "--machine", self.machine, "--json").stdout)

    def refuses(self, done, code, *parts):
        """One sentence on stderr, nothing on stdout."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("vgpu: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)


def main(module):
    """Runs the module's tests; further arguments choose among them by name."""
    unit_tap.run(module, sys.argv[4:])
