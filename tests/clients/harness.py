# SPDX-License-Identifier: Apache-2.0
"""harness: a simulated machine, the environment in which real clients run on it, and the report."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tools"))
from cache import cache_path    # noqa: E402  of tools/

CACHE = cache_path("clients")
DEBIAN = os.path.join(CACHE, "debian", "usr")
DEBIAN_LIB = os.path.join(DEBIAN, "lib", "x86_64-linux-gnu")
CUDA13 = os.path.join(CACHE, "cuda13", "nvidia", "cu13")
PYTHON = "/usr/bin/python3"
MIB = 1 << 20

CHECKS = []


class Failed(Exception):
    """A check that did not hold; its text says what was seen."""


def check(sentence):
    """Registers a function of one argument, the Clients, as the proof of a sentence."""
    def register(function):
        CHECKS.append((sentence, function))
        return function
    return register


class Result:
    """What a client printed and how it ended."""

    def __init__(self, command, status, text):
        self.command, self.status, self.text = command, status, text

    def expect(self, *patterns, status=0):
        """Every pattern is found in the text and the exit status is as wanted."""
        if status is not None and self.status != status:
            raise Failed(f"exit status {self.status}, not {status}\n{self.shown()}")
        for pattern in patterns:
            if not re.search(pattern, self.text, re.M):
                raise Failed(f"does not print /{pattern}/\n{self.shown()}")
        return self

    def find(self, pattern):
        match = re.search(pattern, self.text, re.M)
        if not match:
            raise Failed(f"does not print /{pattern}/\n{self.shown()}")
        return match.group(1) if match.groups() else match.group(0)

    def shown(self):
        lines = self.text.splitlines()
        if len(lines) > 60:
            lines = lines[:30] + [f"... {len(lines) - 60} lines ..."] + lines[-30:]
        return "\n".join([f"$ {' '.join(self.command)}"] + lines)


class Clients:
    """The machine that all clients share, and how each is started."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.simulated = os.path.join(self.build, "lib", "sim")
        self.work = os.path.join(self.build, "clients")
        self.logs = os.path.join(self.work, "logs")
        self.current = "setup"
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.logs)
        # asyncAPI's kernel has 16 million threads: more than a launch interprets by default.
        # The holder's kernels take long: the GPU stays busy also when this machine is.
        self.machine = self.create("machine", "a100-40gb", 2, "--instruction-budget", "1000000000",
                                   "--kernel", "_Z4spinPi=20000")
        # The same GPUs for programs whose results nobody looks at: every big kernel is timed only.
        self.timed = self.create("timed", "a100-40gb", 2, "--instruction-budget", "1000000")

    def create(self, name, preset, gpus, *options):
        """Makes a simulated machine of the given GPUs; the path of its file."""
        path = os.path.join(self.work, name)
        done = subprocess.run([os.path.join(self.build, "bin", "vgpu"), "sim", "create", "--machine", path,
                               "--preset", preset, "--gpus", str(gpus), "--seed", "7", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"vgpu sim create: {done.stdout}")
        return path

    def environment(self, libraries=(), **variables):
        folders = [self.simulated, *libraries, DEBIAN_LIB, f"{DEBIAN_LIB}/blas", f"{DEBIAN_LIB}/lapack"]
        environment = {
            "PATH": f"{DEBIAN}/bin:/usr/bin:/bin",
            "HOME": self.work,
            "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": ":".join(folders),
            "PYTHONPATH": f"{DEBIAN}/lib/python3/dist-packages",
            "VGPU_SIM": self.machine,
            "VGPU_SIM_LOG": os.path.join(self.logs, self.current),
        }
        environment.update(variables)
        return environment

    def run(self, *command, timeout=60, cwd=None, libraries=(), stdin=None, **variables):
        """Runs a client to its end; one that does not end in time has failed."""
        try:
            done = subprocess.run(command, cwd=cwd or self.work, timeout=timeout, input=stdin,
                                  env=self.environment(libraries, **variables), errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        except subprocess.TimeoutExpired as late:
            text = (late.stdout or b"").decode("utf-8", "replace")
            raise Failed(f"does not end within {timeout} s: {' '.join(command)}\n{text[-2000:]}") from late
        return Result(command, done.returncode, done.stdout)

    def smi(self, *arguments, **options):
        return self.run(os.path.join(DEBIAN, "lib", "nvidia", "current", "nvidia-smi"), *arguments, **options)

    def built(self, variant, name, *arguments, **options):
        """Runs a program that was built from samples.tbl, in its own folder."""
        folder = os.path.join(CACHE, "built", variant, name)
        if not os.path.exists(os.path.join(folder, name)):
            raise Failed(f"{folder} was not built")
        libraries = (f"{CUDA13}/lib",) if variant in "SD" else ()
        return self.run(os.path.join(folder, name), *arguments, cwd=folder, libraries=libraries, **options)

    @contextlib.contextmanager
    def holder(self, mebibytes):
        """A second process that holds memory on GPU 0 and keeps it busy; gives its pid."""
        program = os.path.join(CACHE, "built", "s", "hold", "hold")
        process = subprocess.Popen([program, str(mebibytes * MIB)], env=self.environment(),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        try:
            first = process.stdout.readline()
            if not first.startswith("holding"):
                raise Failed(f"the holder says: {first}{process.stdout.read()}")
            time.sleep(0.5)             # utilisation is an average over the recent past
            yield process.pid
            if process.poll() is not None:
                raise Failed(f"the holder ended: {process.stdout.read()}")
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Report:
    """One line per check, what went wrong below it, and the closing line."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, sentence, function, clients):
        started = time.monotonic()
        number = self.passed + self.failed + 1
        clients.current = re.sub(r"\W+", "-", sentence)[:80]
        try:
            function(clients)
            trouble = None
        except Failed as failure:
            trouble = str(failure)
        except Exception:       # a client may print anything: the check that trips over it has failed
            trouble = traceback.format_exc()
        seconds = time.monotonic() - started
        print(f"{'not ok' if trouble else 'ok'} {number} - {sentence} ({seconds:.1f} s)", flush=True)
        if trouble:
            self.failed += 1
            print("\n".join("#   " + line for line in trouble.splitlines()), flush=True)
        else:
            self.passed += 1

    def take(self, line):
        """A line of TAP from another program, with our own number."""
        verdict = re.match(r"(not )?ok\b(?: \d+)?", line)
        if verdict:
            number = self.passed + self.failed + 1
            self.failed += bool(verdict.group(1))
            self.passed += not verdict.group(1)
            line = f"{verdict.group(1) or ''}ok {number}{line[verdict.end():]}"
        if not line.startswith("1.."):
            print(line, flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


def fatal(sentence):
    sys.exit(f"test-clients: {sentence}")
