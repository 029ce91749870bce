# SPDX-License-Identifier: Apache-2.0
"""flips VGPU BURN SOURCE COUNT: bits that flip in the files that vgpu-node keeps, and files that are cut short, each
before a start of vgpu-node. It starts; what is lost is the damaged container's alone, and the log says so; no container
gets more than its pod was given. FAULTS_SEED chooses the same again."""

import os
import pathlib
import random
import sys
import tempfile

from scenes import daemons  # noqa: I001  it finds the others
from peer import Tap

CUT_ONE_IN = 8


def damage(path, chance):
    """Of one file, which keeps its inode; what was done."""
    size = path.stat().st_size
    if size == 0:
        return None
    if chance.randrange(CUT_ONE_IN) == 0:
        length = chance.randrange(size)
        os.truncate(path, length)
        return f"cut to {length} of {size}"
    # Most of a region is for processes that there are not: its beginning is hit as often as all the rest.
    at = chance.randrange(min(size, 512) if chance.randrange(2) else size)
    bit = chance.randrange(8)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))
    return f"bit {bit} of byte {at} of {size}"


def files_of(scene):
    return sorted(path for path in (scene.state / "shares").rglob("*") if path.is_file())


def one(scene, chance):
    """One flip and one start: complaints."""
    path = chance.choice(files_of(scene))
    what = damage(path, chance)
    if not what:
        return []
    folder = path.parent        # what may be lost with the file
    kept = {file: inode for file, inode in scene.files().items() if not file.startswith(f"{folder}/")}
    mine = {file: inode for file, inode in scene.files().items() if file.startswith(f"{folder}/")}
    scene.begin()
    wrong = [] if scene.waits() else ["it does not start", *scene.said()[-2:]]
    wrong += scene.settles(10)
    wrong += [f"share {name} is damaged, too" for name in scene.faulty - {scene.name_of(folder)}]
    now = scene.files()
    wrong += [f"'{file}' was made anew" for file, inode in kept.items() if now.get(file) != inode]
    if any(now.get(file) != inode for file, inode in mine.items()) and not any(
            str(folder) in line or folder.name[-12:] in line for line in scene.said()):
        wrong.append("its share was made anew, and no line says so")
    wrong += scene.refused() if scene.has_ended() else scene.end()
    return [f"{path.relative_to(scene.folder)}: {what}: {text}" for text in wrong]


def main(count):
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# FAULTS_SEED={seed}", flush=True)
    tap, chance = Tap(), random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="vgpu-faults-") as folder:
        scene = daemons(folder)["vgpu-node"]()
        try:
            scene.learns()
            scene.is_thorough = False
            complaints = []
            for _ in range(int(count)):
                wrong = one(scene, chance)
                if wrong:
                    print("# " + "\n# ".join(wrong), file=sys.stderr, flush=True)
                    scene.kill()
                    scene.anew()    # the next begins with what is whole
                    scene.is_thorough = True
                    scene.learns()
                    scene.is_thorough = False
                complaints += wrong
            tap.check(f"{count} flips and cuts in the files of shares, each before a start of vgpu-node: it starts, and "
                      "only the damaged container's share is made anew", complaints)
        finally:
            scene.kill()
    tap.done()


main(*sys.argv[4:])
