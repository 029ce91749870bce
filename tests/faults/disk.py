# SPDX-License-Identifier: Apache-2.0
"""disk VGPU BURN SOURCE MOST: our daemons and commands where the file system is full, at their start and at any moment
of their work: a sentence and never a signal, those who run continue, and nothing is lost. MOST: how many sizes of the
file system are tried of each; 0: all. FAULTS_SEED chooses the same again. It mounts in a namespace of its own."""

import ctypes
import os
import pathlib
import random
import subprocess
import sys
import tempfile

if os.environ.get("FAULTS_INSIDE") != "1":
    CHANGE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*CHANGE, "true"], check=False, capture_output=True).returncode:
        print("1..1\nok 1 - a full file system # SKIP no namespace to mount in")
        sys.exit(0)
    os.execvpe(CHANGE[0], [*CHANGE, "--propagation", "private", sys.executable, *sys.argv],
               {**os.environ, "FAULTS_INSIDE": "1"})

from scenes import BUILD, GOLDEN, daemons  # noqa: E402,I001  it finds the others
from command_scene import Run, Runtime  # noqa: E402
from peer import Tap  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
PAGE, LARGE = 4096, 64 << 20
MS_REMOUNT, MNT_DETACH = 32, 2
SIZES = 160         # pages; what starts on that has all that it needs


def mount(path, size, flags=0):
    if LIBC.mount(b"none", str(path).encode(), b"tmpfs", flags, f"size={size},mode=711".encode()) < 0:
        raise OSError(ctypes.get_errno(), f"cannot mount on '{path}'")


class Disk:
    """A file system below a folder."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(exist_ok=True)

    def make(self, pages):
        mount(self.path, pages * PAGE)

    def grow(self):
        mount(self.path, LARGE, MS_REMOUNT)
        self.empty()

    def fill(self, left=0):
        """All but so many pages."""
        with open(self.path / "filling", "wb", buffering=0) as file:
            try:
                while file.write(bytes(PAGE)) == PAGE:
                    pass
            except OSError:
                pass
            file.truncate(max(file.tell() - left * PAGE, 0))

    def empty(self):
        (self.path / "filling").unlink(missing_ok=True)

    def drop(self):
        LIBC.umount2(str(self.path).encode(), MNT_DETACH)


def starts(scene, disk, sizes):
    complaints = []
    for pages in sizes:
        disk.make(pages)
        scene.begin()
        scene.waits(2)
        wrong = [] if scene.has_ended() else scene.wrong(True)
        is_refused = scene.has_ended()
        disk.grow()
        if is_refused:
            wrong += scene.refused()
            scene.begin()
        wrong += scene.settles() + scene.end()
        disk.drop()
        complaints += [f"{pages} pages: {text}" for text in wrong]
    return complaints


def at_work(scene, disk, lefts):
    disk.make(LARGE // PAGE)
    scene.begin()
    scene.waits()
    complaints = scene.settles() + scene.end()
    for left in lefts:
        scene.begin()               # what there is, is on a file system that is full now and then
        scene.waits()
        wrong = scene.settles()
        disk.fill(left)
        wrong += scene.wrong(True)
        if scene.has_ended():
            wrong += ["it has ended", *scene.refused(), *scene.said()[-2:]]
        elif left % 2:              # another starts on the full one
            wrong += scene.end()
            scene.begin()
            scene.waits(3)
            wrong += scene.refused() if scene.has_ended() else scene.wrong(True)
        disk.empty()
        if scene.has_ended():
            scene.begin()
        wrong += scene.settles() + scene.lost() + scene.end()
        complaints += [f"{left} pages left: {text}" for text in wrong]
    disk.drop()
    return complaints


def node(tap, name, scene, sizes, lefts):
    """Its state and its sockets on one small file system."""
    disk = Disk(scene.folder / "disk")
    scene.state, scene.run = disk.path / "state", disk.path / "run"
    try:
        disk.make(LARGE // PAGE)
        scene.learns()
        scene.is_thorough, scene.may_lack = False, True
        disk.drop()
        tap.check(f"{name} on {len(sizes)} file systems that are too small: it refuses with a sentence, or serves later",
                  starts(scene, disk, sizes))
        tap.check(f"… at work on one that is full at {len(lefts)} moments: it continues, and nothing is lost",
                  at_work(scene, disk, lefts))
    finally:
        scene.kill()
        disk.drop()


def command(tap, what, scene, folder, sizes):
    """What it writes is on a file system that is too small; what runs beside it has its own files there already."""
    disk, complaints = Disk(folder), []
    try:
        scene.learns()
        for pages in sizes:
            disk.make(pages)
            wrong = scene.judge(None)
            disk.drop()
            complaints += [f"{pages} pages: {text}" for text in [*wrong, *scene.judge_after()]]
        tap.check(f"{what}, on {len(sizes)} file systems that are too small: a sentence and no signal, or all", complaints)
    finally:
        disk.drop()
        scene.close()


def machine(tap, folder, sizes):
    """A simulated machine that finds no space."""
    disk, complaints = Disk(folder / "machines"), []
    for pages in sizes:
        disk.make(pages)
        done = subprocess.run([BUILD / "bin/vgpu", "sim", "create", "--machine", disk.path / "machine"], check=False,
                              capture_output=True, text=True)
        disk.drop()
        if done.returncode and (done.returncode < 0 or done.stderr.count("\n") != 1):
            complaints.append(f"{pages} pages: {done.returncode} {done.stderr}")
    tap.check(f"vgpu sim create on {len(sizes)} file systems that are too small: one sentence, or all", complaints)


def main(most):
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# FAULTS_SEED={seed}", flush=True)
    chance, tap, most = random.Random(seed), Tap(), int(most)
    sizes = sorted(chance.sample(range(1, SIZES), most or SIZES - 1))
    lefts = sorted(chance.sample(range(0, 40), min(most, 40) or 40))
    with tempfile.TemporaryDirectory(prefix="vgpu-faults-") as name:
        folder = pathlib.Path(name)
        for kind, make in daemons(folder).items():
            if kind.startswith("vgpu-node"):
                node(tap, kind, make(), sizes, lefts)
        runtime = Runtime(os.environ["RUNTIME"], GOLDEN, True)
        command(tap, "vgpu-runtime without Kubernetes", runtime, runtime.fixtures.state, sizes)
        command(tap, "vgpu run", (run := Run(folder / "program", "vgpu")), run.users, sizes)
        machine(tap, folder, sizes)
    tap.done()


main(*sys.argv[4:])
