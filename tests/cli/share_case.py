# SPDX-License-Identifier: Apache-2.0
"""What the tests of shares have in common: a program that allocates on command."""

import json
import os
import subprocess
import sys

from cli_case import ENVIRONMENT, VGPU, Case, vgpu, wait_until

GUEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest.py")
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(VGPU)), "lib", "libvgpu.so")
OUT_OF_MEMORY = 2
MIB = 1 << 20


class Guest:
    """guest.py, started in some way."""

    def __init__(self, case, command, environment):
        self.process = subprocess.Popen([*command, sys.executable, GUEST], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        case.addCleanup(self.end)
        self.started = self.process.stdout.readline().split()

    def begin(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return [int(word) for word in self.process.stdout.readline().split()]

    def ask(self, *words):
        self.begin(*words)
        return self.answer()

    def alloc(self, mib, *kind):
        return self.ask("alloc", mib * MIB, *kind)[0]

    def touch(self):
        return self.ask("touch")[0]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class ShareCase(Case):
    def setUp(self):
        super().setUp()
        self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": self.runtime}

    def start(self, *words):
        """A guest under `vgpu run`; it has its context already."""
        return Guest(self, [VGPU, "run", *words, "--"], self.environment)

    def vgpu(self, *words, **more):
        return vgpu(*words, environment={"XDG_RUNTIME_DIR": self.runtime}, **more)

    def shares(self):
        done = self.vgpu("ps", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {share["name"]: share for share in json.loads(done.stdout)["shares"]}

    def nothing_is_left(self):
        self.assertTrue(wait_until(lambda: not os.listdir(self.runtime)), os.listdir(self.runtime))
