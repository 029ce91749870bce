# SPDX-License-Identifier: Apache-2.0
"""allocation VGPU BURN SOURCE MOST [SCENE...]: each allocation of our programs fails in turn, at their start and at
their work. They refuse with a sentence, or go on; never does one crash, lose what it kept, or give a container more.

A path is one way through our code to an allocation. MOST: how many paths of each program are tried, chosen by chance;
0: all. FAULTS_SEED chooses the same again; FAULTS_PATH=DIGEST[:SKIP[:MOST]] tries one.
"""

import os
import pathlib
import random
import sys
import tempfile

from scenes import BUILD, GOLDEN, LIBRARY, daemons  # noqa: I001  it finds the others
from command_scene import Run, Runtime
from control import EVERY, Control, path_text
from peer import Tap

ROUNDS_OF_WORK = 2


class Daemon:
    """How a scene's daemon is tried."""

    def __init__(self, scene, binary):
        self.scene, self.binary = scene, binary
        self.learns, self.close = scene.learns, scene.kill

    def list(self, faults):
        self.scene.begin(faults)
        if not self.scene.waits(60):
            raise RuntimeError(f"with the faults' library it does not start: {self.scene.said()[-3:]}")
        complaints = self.scene.settles() + self.scene.end()
        if complaints:
            raise RuntimeError(f"with the faults' library: {complaints}")

    def judge(self, control, faults, is_anew):
        """One life with faults, and what comes after them: complaints."""
        scene = self.scene
        scene.may_lack = is_anew
        if is_anew:
            scene.anew()
        scene.begin(faults)
        scene.waits()
        complaints = []
        for _ in range(ROUNDS_OF_WORK):
            scene.is_thorough = not control.failed()
            if not complaints and not scene.has_ended():
                complaints = [f"while it fails: {text}" for text in scene.wrong(True)]
        control.disarm()
        scene.is_thorough = True
        if scene.has_ended():
            complaints += scene.refused()
            scene.begin()
        complaints += [f"after it failed: {text}" for text in scene.settles()]
        complaints += [] if is_anew else scene.lost()
        if not scene.has_ended():
            return complaints + scene.end()
        return complaints + scene.refused() + [str(scene.said()[-2:])]


class Command:
    """How a command is tried."""

    def __init__(self, scene, binary):
        self.scene, self.binary = scene, binary
        self.learns, self.close = scene.learns, scene.close

    def list(self, faults):
        status, made, said = self.scene.once(faults)
        if (status, made) != self.scene.right[:2]:
            raise RuntimeError(f"with the faults' library: {status} {made!r} {said}")

    def judge(self, control, faults, _):
        complaints = self.scene.judge(faults)
        control.disarm()
        return complaints + self.scene.judge_after() + (self.scene.beside() if hasattr(self.scene, "beside") else [])


def commands(folder):
    """Name → how it is made."""
    program = pathlib.Path(os.environ["RUNTIME_SHARED"])
    return {
        "vgpu-runtime": lambda: Command(Runtime(program, GOLDEN, False), program),
        "vgpu-runtime without Kubernetes": lambda: Command(Runtime(program, GOLDEN, True), program),
        "vgpu run": lambda: Command(Run(folder / "run", "vgpu"), BUILD / "bin/vgpu"),
        "libvgpu.so": lambda: Command(Run(folder / "library", "libvgpu.so"), BUILD / "lib/libvgpu.so"),
    }


def scenes(folder):
    """The same of all."""
    made = {name: lambda make=make: Daemon(scene := make(), BUILD / "bin" / scene.object)
            for name, make in daemons(folder).items()}
    return {**made, **commands(folder)}


def chosen(paths, most, chance):
    """(digest, skip, most) of each try: a path's first time, another time; and everything for a while."""
    if "FAULTS_PATH" in os.environ:
        digest, *numbers = os.environ["FAULTS_PATH"].split(":")
        return [(int(digest, 16), *map(int, numbers), *(0, 1)[len(numbers):])]
    total = sum(count for count, _ in paths.values()) or 1
    tries = [(digest, 0, 1) for digest in sorted(paths)]
    tries += [(digest, chance.randrange(1, count), 1) for digest, (count, _) in sorted(paths.items()) if count > 1]
    tries += [(EVERY, chance.randrange(total), 10 ** chance.randrange(1, 5)) for _ in range(len(paths) // 4 + 1)]
    return chance.sample(tries, min(most, len(tries))) if most else tries


def try_all(tap, name, made, control, most, chance):
    try:
        made.learns()
        faults = control.environment(LIBRARY, made.scene.object)
        control.forget()
        made.list(faults)
        paths = control.paths()
        tries, reached, complaints = chosen(paths, most, chance), 0, []
        for number, (digest, skip, count) in enumerate(tries):
            control.arm(digest, skip, count)
            wrong = made.judge(control, faults, number % 3 == 2)
            reached += control.failed() > 0
            if wrong:
                where = "all" if digest == EVERY else path_text(made.binary, paths.get(digest, (0, ()))[1])
                complaints += [f"FAULTS_PATH={digest:x}:{skip}:{count} {where}", *(f"  {text}" for text in wrong)]
                print("# " + "\n# ".join(complaints[-1 - len(wrong):]), file=sys.stderr, flush=True)
        print(f"# {name}: {len(paths)} paths to an allocation; {len(tries)} tries, in {reached} of them something failed")
        tap.check(f"{name} without memory: it refuses with a sentence, or goes on", complaints)
        if paths:
            tap.check("… and of the tries, more than a third meet an allocation",
                      [] if reached * 3 > len(tries) else [f"{reached} of {len(tries)}"])
    finally:
        control.disarm()
        made.close()


def main(most, *names):
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# FAULTS_SEED={seed}", flush=True)
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="vgpu-faults-") as folder:
        control = Control(pathlib.Path(folder, "control"))
        for name, make in scenes(pathlib.Path(folder)).items():
            if not names or name in names:
                try_all(tap, name, make(), control, int(most), random.Random(f"{seed} {name}"))
    tap.done()


main(*sys.argv[4:])
