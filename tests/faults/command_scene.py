# SPDX-License-Identifier: Apache-2.0
"""command_scene: vgpu-runtime and `vgpu run`, which make a container or a program ready, and become another."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

from cli_case import BURN, VGPU
from fixtures import DRIVER, PROBE, Fixtures
from peer import eventually
from scene import SENTENCE

UID = "0f5ddf7a-0000-4000-8000-000000000001"
LIMIT_MIB = 200


class CommandScene:
    """A subclass runs it once, and judges what became of it."""

    object = ""

    def once(self, faults=None):
        """Runs it; (status, what it has made, what it said)."""
        raise NotImplementedError

    def is_right_refusal(self, made):
        """What it has made when it did not succeed."""
        raise NotImplementedError

    def is_right_result(self, made):
        return made == self.right[1]

    def learns(self):
        self.right = self.once()
        if self.right[0] != 0:
            raise RuntimeError(f"{self.object}: {self.right}")

    def judge(self, faults):
        """One run with faults, and one after it: complaints."""
        status, made, said = self.once(faults)
        complaints = []
        if status < 0:
            complaints.append(f"it was ended by {signal.Signals(-status).name}: {said[-200:]}")
        elif status == 0 and not self.is_right_result(made):
            complaints.append(f"it went on with another result: {made!r}, {said[-200:]}")
        elif status > 0 and not any(SENTENCE.search(line) for line in said.splitlines()):
            complaints.append(f"status {status} without a sentence")
        elif status > 0 and not self.is_right_refusal(made):
            complaints.append(f"it failed, and has made {made!r}")
        return complaints

    def judge_after(self):
        again = self.once()
        return [] if again[:2] == self.right[:2] else [f"the next: {again} instead of {self.right[:2]}"]

    def close(self):
        pass


class Runtime(CommandScene):
    """vgpu-runtime makes a container ready: by vgpu-node's answer, or by its own limits without Kubernetes."""

    object = "vgpu-runtime-shared"

    def __init__(self, program, golden, is_standalone):
        self.program, self.fixtures = program, Fixtures()
        self.name = "vgpu-runtime " + ("by itself" if is_standalone else "by vgpu-node's answer")
        self.template = golden / ("docker.in.json" if is_standalone else "containerd.in.json")
        self.bundle = pathlib.Path(self.fixtures.folder, "bundle")
        (self.bundle / "rootfs" / "etc").mkdir(parents=True)
        if is_standalone:
            self.fixtures.configure(f"--sim={self.fixtures.machine}", f"--sim-driver={DRIVER}")
        else:
            self.fixtures.agent.start()
            self.fixtures.share(UID, "main", 100, 1).device_nodes.add(path="/dev/nvidia1", major=195, minor=1)

    def once(self, faults=None):
        config, given = self.bundle / "config.json", self.bundle / "given"
        config.write_text(self.template.read_text(encoding="utf-8").replace("@UID@", UID), encoding="utf-8")
        before = config.read_bytes()
        given.unlink(missing_ok=True)
        real = pathlib.Path(self.fixtures.folder, "real")
        real.write_text(f"#!/bin/sh\nexec cp '{config}' '{given}'\n", encoding="utf-8")
        real.chmod(0o755)
        done = subprocess.run([self.program, "--root", "/r", "create", "--bundle", self.bundle, "id"], check=False,
                              capture_output=True, text=True, timeout=60, env={
                                  "VGPU_RUNTIME_CONF": self.fixtures.conf, "VGPU_RUNTIME_REAL": str(real),
                                  "PATH": os.environ["PATH"], **(faults or {})})
        handed = given.read_text(encoding="utf-8") if given.exists() else ""
        given.unlink(missing_ok=True)
        if done.returncode == 0 and config.read_bytes() == before:
            handed = "unchanged"
        return done.returncode, handed, done.stderr

    def is_right_refusal(self, made):
        return made == ""

    def close(self):
        self.fixtures.close()


class Run(CommandScene):
    """`vgpu run` of a program that asks for more than its limit, beside one that works all the time."""

    def __init__(self, folder, object_name):
        self.object, self.name = object_name, f"vgpu run, in {object_name}"
        self.folder = pathlib.Path(folder)
        self.machine = self.folder / "machine"
        self.users = self.folder / "users"
        self.users.mkdir(parents=True, mode=0o700)
        subprocess.run([VGPU, "sim", "create", "--machine", self.machine, "--preset", "t4-16gb", "--context-memory", "0"],
                       check=True, stdout=subprocess.DEVNULL)
        self.neighbour = subprocess.Popen(self.command("neighbour", 50, BURN, "-i", "0", "6000"), env=self.environment(),
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def command(self, name, cores, *program):
        return [VGPU, "run", "--machine", self.machine, "--kernel", "vgpu_burn=1000", "--name", name, "--memory",
                f"{LIMIT_MIB}Mi", "--cores", str(cores), "--", *program]

    def environment(self):
        return {**os.environ, "XDG_RUNTIME_DIR": str(self.users), "VGPU_RUN_FOLDERS": str(self.users),
                "VGPU_NODE_SOCKET": str(self.folder / "nobody")}

    def once(self, faults=None):
        environment = {**self.environment(), **(faults or {})}
        environment.pop("LD_PRELOAD", None)
        preload = ["env", f"LD_PRELOAD={faults['LD_PRELOAD']}"] if faults else []
        done = subprocess.run([*preload, *self.command(f"once-{os.getpid()}", 30, PROBE)], env=environment, text=True,
                              input="info\nalloc 300\nalloc 10\ninfo\n", capture_output=True, timeout=60, check=False)
        made = done.stdout.split("\n")
        status = done.returncode
        if status == 0 and made and made[0] not in ("0", ""):
            status = 1      # the program runs, and its GPU is refused
        return status, done.stdout, done.stderr or (f"cuInit: {made[0]}, as the driver says it" if made else "")

    def is_right_refusal(self, made):
        """The program got no GPU, or none without its limit."""
        return all(line != "0" and not line.endswith(f" {LIMIT_MIB}") for line in made.split("\n"))

    def is_right_result(self, made):
        """Where the library has no memory, the program may get less; never more."""
        lines, right = made.split("\n"), self.right[1].split("\n")
        if self.object == "vgpu" or len(lines) != len(right):
            return lines == right
        has_ten = lines[3] == "0"
        return lines[2] != "0" and lines[1] in (right[1], "0 0") and lines[4] in (right[4 if has_ten else 1], "0 0")

    def beside(self):
        """The neighbour works, and the next one has the limit; what is wrong with that."""
        if self.neighbour.poll() is not None:
            return [f"the program beside it ended with {self.neighbour.returncode}"]
        before = self.worked()
        return [] if eventually(lambda: self.worked() > before, 10) else ["the program beside it works no more"]

    def worked(self):
        shown = subprocess.run([VGPU, "ps", "--json"], env=self.environment(), capture_output=True, check=True).stdout
        return sum(gpu["gpu_ns"] for share in json.loads(shown)["shares"] for gpu in share["gpus"]
                   if share["name"] == "neighbour")

    def close(self):
        self.neighbour.kill()
        self.neighbour.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
