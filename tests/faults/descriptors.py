# SPDX-License-Identifier: Apache-2.0
"""descriptors VGPU BURN SOURCE MOST [SCENE...]: our daemons without descriptors, at their start and at their work: they
refuse with a sentence or go on, do not spin, and serve everybody when there are descriptors again. MOST: how many
numbers of descriptors are tried; 0: all. FAULTS_SEED chooses the same again."""

import os
import random
import resource
import socket
import sys
import tempfile
import time

from scenes import daemons  # noqa: I001  it finds the others
from peer import Tap

STARTS = range(3, 30)
LEFT = (0, 1, 2, 3, 5)
CALLERS = 12
WATCHED_S, SPENT_S = 1.0, 0.5


def starts(scene, mosts):
    """With each number of descriptors that is too few for all: complaints, and how many of these starts were refused."""
    complaints, refusals = [], 0
    for most in mosts:
        scene.limits = {resource.RLIMIT_NOFILE: (most, 4096)}
        scene.begin()
        scene.limits = {}
        scene.waits(3)
        wrong = [] if scene.has_ended() else scene.wrong(True)
        refused = scene.has_ended()
        if refused:
            refusals += 1
            wrong += scene.refused()
            scene.begin()
        else:
            resource.prlimit(scene.process.pid, resource.RLIMIT_NOFILE, (1024, 4096))
        wrong += scene.settles() + scene.lost() + scene.end()
        complaints += [f"{most} descriptors: {text}" for text in wrong]
    return complaints, refusals


def callers(scene):
    """Connections that it cannot all accept."""
    socks = []
    for door in scene.doors():
        for _ in range(CALLERS):
            if isinstance(door, tuple):
                sock = socket.socket()
            else:
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if "registry" in door else socket.SOCK_STREAM)
            sock.setblocking(False)
            socks.append(sock)
            try:
                sock.connect(door)
            except OSError:
                pass        # its queue is full, or the connection is under way
    return socks


def lowest_free(pid, count):
    """The limit that leaves so many descriptors."""
    used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    free = (number for number in range(4096) if number not in used)
    return [next(free) for _ in range(count + 1)][-1]


def at_work(scene, lefts):
    """Running, with none to a few left: complaints."""
    complaints = []
    scene.begin()
    scene.waits()
    for left in lefts:
        wrong = scene.settles()
        pid = scene.process.pid
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free(pid, left), 4096))
        socks = callers(scene)
        before = scene.cpu_s()
        time.sleep(WATCHED_S)
        spent = scene.cpu_s() - before
        if spent > SPENT_S:
            wrong.append(f"it spends {spent:.2f} s of {WATCHED_S} s")
        for sock in socks:
            sock.close()
        wrong += scene.wrong(True)
        if scene.has_ended():
            return complaints + wrong + ["it has ended", *scene.refused(), *scene.said()[-2:]]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (1024, 4096))
        wrong += [f"afterwards: {text}" for text in scene.settles() + scene.lost()]
        complaints += [f"{left} descriptors left: {text}" for text in wrong]
    return complaints + scene.end()


def main(count, *names):
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# FAULTS_SEED={seed}", flush=True)
    tap, chance, count = Tap(), random.Random(seed), int(count)
    # The first is too few for anything.
    mosts = sorted({STARTS[0], *(chance.sample(STARTS, count) if count else STARTS)})
    lefts = sorted(chance.sample(LEFT, min(count, len(LEFT)) or len(LEFT)))
    with tempfile.TemporaryDirectory(prefix="vgpu-faults-") as folder:
        for name, make in daemons(folder).items():
            if names and name not in names:
                continue
            scene = make()
            try:
                scene.learns()
                scene.is_thorough = False
                complaints, refusals = starts(scene, mosts)
                print(f"# {name}: {refusals} starts without enough descriptors were refused")
                tap.check(f"{name} starts with too few descriptors: it refuses with a sentence, or serves later",
                          complaints or ([] if refusals else ["none was refused: it was not tried"]))
                tap.check("… at work it neither ends nor spins, and serves all when there are some again", at_work(scene, lefts))
            finally:
                scene.kill()
    tap.done()


main(*sys.argv[4:])
