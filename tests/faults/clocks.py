# SPDX-License-Identifier: Apache-2.0
"""clocks VGPU BURN SOURCE MOST [SCENE...]: clocks that jump below our daemons: the wall clock by years, the others as
after a suspend. Whoever asks is served meanwhile; where a certificate follows the clock, as soon as the clock is right
again. MOST: how many jumps are tried of each daemon; 0: all. FAULTS_SEED chooses the same again."""

import os
import pathlib
import random
import sys
import tempfile
import time

from scenes import LIBRARY, daemons  # noqa: I001  it finds the others
from control import Control
from peer import Tap

YEAR_S = 365 * 24 * 3600
JUMPS = {
    "the wall clock goes three years ahead": {"wall_s": 3 * YEAR_S},
    "… three years back": {"wall_s": -3 * YEAR_S},
    "… and two minutes back": {"wall_s": -120},
    "the machine was suspended for a day": {"boot_s": 86400, "wall_s": 86400},
    "the process was stopped for an hour": {"running_s": 3600, "boot_s": 3600, "wall_s": 3600},
}
WRONG_FROM_THE_START = {"1970": -50 * YEAR_S, "fifteen years from now": 15 * YEAR_S}


def unhealthy(scene):
    """Did kubelet hear of a GPU that is not healthy?"""
    kubelet = getattr(scene, "kubelet", None)
    lists = [told for endpoint in kubelet.endpoints.values() for told in endpoint.lists] if kubelet else []
    return ["kubelet was told of GPUs that are not healthy"] if any(
        health != "Healthy" for told in lists for health in told.values()) else []


def jumps(tap, name, scene, control, faults, chosen):
    scene.begin(faults)
    scene.waits()
    for what, jump in chosen:
        is_tls = name == "vgpu-webhook"     # its certificate follows the clock: others refuse it meanwhile
        wrong = scene.settles()
        control.jump(**jump)
        time.sleep(1.5)                     # timers, polls and beats of a second
        wrong += scene.wrong(True) if is_tls else scene.settles(5)
        control.jump(**{key: value for key, value in jump.items() if key != "wall_s"})
        wrong += [f"when the clock is right: {text}" for text in scene.settles() + scene.lost() + unhealthy(scene)]
        wrong += scene.refused() if scene.has_ended() else []
        tap.check(f"{name}: {what}", wrong)
        if scene.has_ended():
            return
    control.jump()
    tap.check(f"{name} ends in order after that", scene.end())


def wrong_from_the_start(tap, name, scene, control, faults, chosen):
    """A machine without a clock of its own, which learns the time when all runs."""
    for when, ahead_s in chosen:
        scene.anew()
        control.jump(wall_s=ahead_s)
        scene.begin(faults)
        scene.waits(3)
        control.jump()
        wrong = scene.settles()
        wrong += scene.refused() if scene.has_ended() else scene.end()
        tap.check(f"{name} started with the clock at {when}, and then it is set right", wrong)


def main(most, *names):
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"# FAULTS_SEED={seed}", flush=True)
    tap, chance = Tap(), random.Random(seed)

    def some(table):
        return chance.sample(list(table.items()), min(int(most), len(table)) or len(table))
    with tempfile.TemporaryDirectory(prefix="vgpu-faults-") as folder:
        control = Control(pathlib.Path(folder, "control"))
        for name, make in daemons(folder).items():
            if names and name not in names:
                continue
            scene = make()
            try:
                scene.learns()
                faults = control.environment(LIBRARY, scene.object)
                jumps(tap, name, scene, control, faults, some(JUMPS))
                wrong_from_the_start(tap, name, scene, control, faults, some(WRONG_FROM_THE_START))
            finally:
                control.jump()
                scene.kill()
    tap.done()


main(*sys.argv[4:])
