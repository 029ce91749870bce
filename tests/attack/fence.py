# SPDX-License-Identifier: Apache-2.0
"""fence: many attempts at once, each in a container of its own beside one vgpu-node, and what the node says of them."""

import concurrent.futures
import glob
import os
import re
import select
import shutil
import time

from beside import Container, StandaloneCase
from fixtures import image_add, obstacle

EVADE = os.environ["EVADE"]         # the folder of the tenant's programs
REPORTED_S, PATIENCE_S = 10, 30     # PATIENCE_S: for what is reported late, so that it can be told
LIMIT_MIB = 100
VIOLATION = re.compile(r"violation by share '([^']+)' \((\w+)\): (.*)")


def loader_add(image):
    """The dynamic loader beside the C library, as distributions have it: a link namespace of its own looks it up there."""
    for loader in glob.glob(os.path.join(image, "lib*", "ld-linux-*")):
        for library in glob.glob(os.path.join(image, "**", "libc.so.6"), recursive=True):
            target = os.path.join(os.path.dirname(library), os.path.basename(loader))
            if not os.path.exists(target):
                shutil.copy(loader, target)


class Attempt:
    """A container with an attempt in it: what it printed first, and when; what vgpu-node said of it, and when."""

    def __init__(self, owner, wanted, script, kinds, env=(), change=None):
        self.wanted, self.awaited = wanted, kinds
        given = {"VGPU_MEMORY_LIMIT": f"{LIMIT_MIB}m", "VGPU_DEVICES": "0", **dict(pair.split("=", 1) for pair in env)}
        self.container = Container(owner, script, [f"{name}={value}" for name, value in given.items()], change=change)
        self.name = self.container.name
        self.lines, self.remainder, self.done_s, self.kinds = [], b"", None, {}
        os.set_blocking(self.container.process.stdout.fileno(), False)

    def read(self):
        """What it has printed since; when the last line of its attempt came."""
        try:
            got = os.read(self.container.process.stdout.fileno(), 65536)
        except BlockingIOError:
            return
        *lines, self.remainder = (self.remainder + got).split(b"\n")
        self.lines += [line.decode(errors="replace") for line in lines]
        if lines:
            self.done_s = time.monotonic()

    def said(self):
        self.container.said.seek(0)
        return f"{self.lines} {self.kinds} {self.container.said.read()}"


class Owner:
    """Of containers that are ended together, which takes less time."""

    def __init__(self, fixtures):
        self.fixtures, self.ends = fixtures, []

    def addCleanup(self, end):
        self.ends.append(end)

    def end(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda end: end(), self.ends))


class Host(StandaloneCase):
    """What lasts as long as a class of tests: a node and its containers."""

    def __init__(self, of):
        super().__init__("runTest")
        self.fixtures = of.fixtures
        self.addCleanup = of.addClassCleanup

    def gpu_ns(self):
        """What each container has used of its GPU, by its name."""
        return {name: share["gpus"][0]["gpu_ns"] for name, share in self.shares().items()}

    def runTest(self):
        """A case must have one."""


class Fence(StandaloneCase):
    """Attempts are rows of `attempts`: name → (lines that it prints, script, violations that vgpu-node must report, and
    what `environment` wants for variables of its own)."""

    attempts = {}
    programs = static_programs = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tried = {}
        if obstacle():
            return
        for program in cls.programs:
            image_add(cls.fixtures.image, os.path.join(EVADE, program))
        for program in cls.static_programs:     # that need nothing beside them
            shutil.copy(os.path.join(EVADE, program), os.path.join(cls.fixtures.image, "bin"))
        loader_add(cls.fixtures.image)
        cls.prepare()
        cls.host = Host(cls)
        cls.node_process = cls.host.node()
        owner = Owner(cls.fixtures)
        cls.addClassCleanup(owner.end)
        for name, (lines, script, kinds, *more) in cls.attempts.items():
            cls.tried[name] = Attempt(owner, lines, script, kinds, cls.environment(*more), cls.change(name))
            time.sleep(0.1)     # others use the machine, too
        cls.wait()

    @classmethod
    def prepare(cls):
        """Of the machine, before anybody uses it."""

    @classmethod
    def environment(cls, *_):
        return []

    @classmethod
    def change(cls, _):
        """Of an attempt's config.json; None: nothing."""

    @classmethod
    def wait(cls):
        """Until each attempt was made and reported, or its time is over."""
        end = time.monotonic() + 90
        while time.monotonic() < end and any(cls.is_pending(attempt) for attempt in cls.tried.values()):
            select.select([attempt.container.process.stdout for attempt in cls.tried.values()
                           if len(attempt.lines) < attempt.wanted], [], [], 0.1)
            for attempt in cls.tried.values():
                attempt.read()
            cls.log_read()

    @classmethod
    def is_pending(cls, attempt):
        if len(attempt.lines) < attempt.wanted:
            return attempt.container.process.poll() is None
        return not set(attempt.awaited) <= set(attempt.kinds) and time.monotonic() < attempt.done_s + PATIENCE_S

    @classmethod
    def log_read(cls):
        by_name = {attempt.name: attempt for attempt in cls.tried.values()}
        for name, kind, _ in VIOLATION.findall(cls.host.logged_by_node()):
            if name in by_name:
                by_name[name].kinds.setdefault(kind, time.monotonic())

    def attempt(self, name):
        """Its lines must have come: an attempt that was not made proves nothing."""
        tried = self.tried[name]
        self.assertGreaterEqual(len(tried.lines), tried.wanted, tried.said())
        return tried

    def reported(self, name, *answers):
        """It had what it wanted, and vgpu-node said so within ten seconds."""
        tried = self.attempt(name)
        self.assertIn(tried.lines[tried.wanted - 1], answers or ("0",), tried.said())
        for kind in tried.awaited:
            self.assertIn(kind, tried.kinds, f"not reported: {tried.said()}")
            self.assertLessEqual(tried.kinds[kind] - tried.done_s, REPORTED_S, tried.said())

    def still_works(self):
        """vgpu-node lives, and an honest container has its limit."""
        self.assertIsNone(self.node_process.poll(), "vgpu-node has ended")
        honest = self.probe(f"VGPU_MEMORY_LIMIT={LIMIT_MIB}m")
        self.assertEqual((honest.ask(f"alloc {LIMIT_MIB}"), honest.ask("alloc 2")), ("0", "2"))
        self.assertIn(honest.name, self.vgpu("ps").stdout)
