# SPDX-License-Identifier: Apache-2.0
"""peer: what the tests of the network share: our program as a process, messages by another protobuf."""

import atexit
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "abi"))
from tap import Tap  # noqa: E402,F401

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: E402


class Messages:
    """Classes by full name, made from the descriptor set that the build wrote."""

    def __init__(self, path):
        self.pool = descriptor_pool.DescriptorPool()
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(path).read_bytes())
        for file in files.file:
            self.pool.Add(file)
        self.factory = message_factory.MessageFactory(self.pool)

    def __getattr__(self, name):
        full = name.replace("__", ".")
        return self.factory.GetPrototype(self.pool.FindMessageTypeByName(full))


class Program:
    """A program of ours that says "ready" when it serves."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.said = self.process.stdout.readline().strip()
        if not self.said.startswith("ready"):
            self.process.kill()
            raise RuntimeError(f"{command[0]} did not start: {self.said}")

    def rss_kb(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        return 0

    def is_running(self):
        return self.process.poll() is None

    def stop(self, timeout=20):
        """Asks it to end; (status, the rest of what it said)."""
        self.process.terminate()
        try:
            remainder, _ = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            remainder, _ = self.process.communicate()
            return None, remainder
        return self.process.returncode, remainder


def socket_path():
    folder = tempfile.mkdtemp(prefix="vgpu-net-")
    return os.path.join(folder, "s.sock")


def eventually(claim, seconds=10):
    """Waits until the claim holds, or says that it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if claim():
            return True
        time.sleep(0.02)
    return claim()


def differs(got, wanted):
    """A complaint for Tap.check, or nothing."""
    return [] if got == wanted else [f"got {got!r}, wanted {wanted!r}"]
