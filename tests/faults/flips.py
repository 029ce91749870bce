# SPDX-License-Identifier: Apache-2.0
"""flips VGPU BURN SOURCE COUNT: bits that flip in the files that vgpu-node keeps, and files that are cut short, some
before each start of vgpu-node. It starts; what is lost is the damaged container's alone, and the log says so; no
container gets more than its pod was given. FAULTS_SEED chooses the same again."""

import os
import pathlib
import random
import sys
import tempfile

from scenes import daemons  # noqa: I001  it finds the others
from peer import Tap

CUT_ONE_IN = 8
FLIPS_MOST = 5


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


def victims_of(scene, chance):
    """Folders of one or two containers; a third is always innocent."""
    folders = sorted({path.parent for path in (scene.state / "shares").rglob("*") if path.is_file()})
    return chance.sample(folders, chance.randrange(1, min(3, len(folders))))


def spoil(scene, folders, chance):
    """Some files of each: what was done to which."""
    done = []
    for folder in folders:
        for _ in range(chance.randrange(1, FLIPS_MOST)):
            path = chance.choice(sorted(folder.iterdir()))
            what = damage(path, chance)
            if what:
                done.append(f"{path.relative_to(scene.state)}: {what}")
    return done


def one(scene, chance, hit):
    """Some flips and one start: (how many, complaints). hit: names of all shares that were hit so far; regions keep it."""
    folders = victims_of(scene, chance)
    before = scene.files()
    done = spoil(scene, folders, chance)
    scene.begin()
    wrong = [] if scene.waits() else ["it does not start", *scene.said()[-2:]]
    wrong += scene.settles(10)
    hit |= {scene.name_of(folder) for folder in folders}
    wrong += [f"share {name} is damaged, too: {fault}" for name, fault in scene.faulty.items() if name not in hit]
    now, said = scene.files(), scene.said()
    for file, inode in before.items():
        folder = pathlib.Path(file).parent
        if now.get(file) == inode:
            continue
        if folder not in folders:
            wrong.append(f"'{file}' was made anew")
        elif not any(str(folder) in line for line in said):
            wrong.append(f"'{file}' was made anew, and no line says so")
    wrong += scene.refused() if scene.has_ended() else scene.end()
    return len(done), [*done, *(f"  {text}" for text in wrong)] if wrong else []


def main(count):
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# FAULTS_SEED={seed}", flush=True)
    tap, chance = Tap(), random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="vgpu-faults-") as folder:
        scene = daemons(folder)["vgpu-node"]()
        try:
            scene.learns()
            scene.is_thorough = False
            complaints, flips, starts, hit = [], 0, 0, set()
            while flips < int(count):
                more, wrong = one(scene, chance, hit)
                flips, starts = flips + more, starts + 1
                if wrong:
                    print("# " + "\n# ".join(wrong), file=sys.stderr, flush=True)
                    hit.clear()
                    scene.kill()
                    scene.anew()    # the next begins with what is whole
                    scene.is_thorough = True
                    scene.learns()
                    scene.is_thorough = False
                complaints += wrong
            tap.check(f"{flips} flips and cuts in the files of shares, before {starts} starts of vgpu-node: it starts, and "
                      "only shares of damaged containers are made anew", complaints)
        finally:
            scene.kill()
    tap.done()


main(*sys.argv[4:])
