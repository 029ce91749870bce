#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README and the first steps type what they show, and see what they promise.   readme.py SOURCE_ROOT BUILD [--write]

Runs the commands of a page's blocks in order, in one shell on a terminal, and compares what each prints with what
stands below it. With --write it puts what was printed there instead.

In an expected line, words, sizes, limits and counts of errors must be equal. Compute may differ by two points of a GPU, and
on a host that is busy it may be less: then a sample is repeated twice at most. "…" stands for any lines. What shares get is
judged by what the simulated GPU and the shares' regions count, too.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path[:0] = [os.path.join(SOURCE, "tests", "abi"), os.path.join(SOURCE, "tests"), os.path.join(SOURCE, "tools")]
from cache import cache_path
from tap import Tap
from terminal import ESCAPES

# Commands that this test does not type, and the file, and a word in it, that does.
ELSEWHERE = {
    "make demo": ("tests/readme/demo.py", "tools/demo"),
    "make image": ("tests/deploy/packages.py", '"image"'),
    "kubectl apply -k deploy/manifests": ("tests/e2e/cases/test_deploy.py", 'kustomized("manifests")'),
    "kubectl label node gpu-1 vgpu.io/node=true": ("tests/e2e/cases/test_deploy.py", "kubectl label node"),
    "vgpu explain pod NAME": ("tests/e2e/cases/test_explain.py", '"explain", "pod"'),
    "vgpu kueue config": ("tests/e2e/cases/test_kueue.py", '"kueue"'),
}
PAGES = ("README.md", "docs/tutorials/first-steps.md")
BLOCK = re.compile(r"```console\n(.*?)```", re.S)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
POINTS = 2
# Compute, by the text behind a figure: what a whole GPU has of it. A limit of compute has no decimals, and is exact.
COMPUTE = (
    (re.compile(r"^\d+\.\d+%"), 100),
    (re.compile(r"^\d+\.\d+/\d+%"), 100),
    (re.compile(r"^\d+ %"), 100),
    (re.compile(r"^[\d.]+ Gflop/s"), 7241),
    (re.compile(r"^[\d.]+ \([\d.]+ Gflop/s"), 2482),         # kernels in five seconds
)
TEMPERATURE = re.compile(r"^\d+ C\b")
COLUMN = re.compile(r"^\d+$")
READS = re.compile(r"^vgpu (?:top|ps|sim stat)|nvidia-smi|vgpu-burn \d+$")  # may be typed again: nothing changes by it
TRIES = 3


class Shell:
    """bash as a user has it: its output on a terminal of 80 columns, commands one by one."""

    def __init__(self, folder, environment):
        self.terminal, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.status, told = os.pipe()
        self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=slave,
                                        stderr=slave, cwd=folder, pass_fds=[told], env=environment)
        os.close(slave)
        os.close(told)
        self.told = told

    def type(self, command):
        """(exit status, the lines it printed)"""
        self.process.stdin.write(f"{command}\necho $? >&{self.told}\n".encode())
        self.process.stdin.flush()
        text, status = b"", b""
        while not status.endswith(b"\n"):
            ready = select.select([self.terminal, self.status], [], [], 120)[0]
            if not ready:
                raise TimeoutError(f"'{command}' does not end")
            if self.terminal in ready:
                text += os.read(self.terminal, 65536)
            elif self.status in ready:
                status += os.read(self.status, 100)
        while select.select([self.terminal], [], [], 0)[0]:
            text += os.read(self.terminal, 65536)
        lines = ESCAPES.sub("", text.decode("utf-8", "replace")).replace("\r\n", "\n").split("\n")
        # A line that is written over again and again ends as its last version.
        lines = [line.rsplit("\r", 1)[-1].rstrip() for line in lines]
        while lines and not lines[-1]:
            lines.pop()
        return int(status), lines

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def steps(text):
    """[(command, the lines below it)] of all blocks."""
    found = []
    for block in BLOCK.findall(text):
        for line in block.rstrip("\n").split("\n"):
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def host_is_busy():
    """Whether this process gets less of a core than it could use."""
    wall, core = time.monotonic(), time.process_time()
    while time.monotonic() - wall < 0.2:
        pass
    return time.process_time() - core < 0.9 * (time.monotonic() - wall)


def is_near(expected, actual, context, is_busy):
    for pattern, whole in COMPUTE:
        if pattern.match(context):
            more = (float(actual) - float(expected)) / whole * 100
            return more <= POINTS and (is_busy or more >= -POINTS)
    return expected == actual or bool(TEMPERATURE.match(context))


def line_matches(expected, actual, is_pid, is_busy):
    words, figures = NUMBER.split(expected), list(NUMBER.finditer(expected))
    if [re.sub(r"\s+", " ", word) for word in words] != [re.sub(r"\s+", " ", word) for word in NUMBER.split(actual)]:
        return False
    for shown, seen in zip(figures, NUMBER.finditer(actual)):
        if not is_pid(expected, shown) and not is_near(shown.group(), seen.group(), expected[shown.start():], is_busy):
            return False
    return True


def pid_columns(lines):
    """Says of a figure of a table whether it stands below PID."""
    header = next((line for line in lines if re.search(r"\bPID\b", line)), None)

    def is_pid(line, figure):
        if not header or line == header or not COLUMN.match(figure.group()):
            return False
        end = header.index("PID") + 3
        return figure.start() < end + 6 and figure.end() > end - 4 and len(figure.group()) > 1
    return is_pid


def lines_match(expected, actual, is_pid, is_busy=False):
    """With "…" for any lines."""
    if not expected:
        return not actual
    if expected[0] == "…":
        return any(lines_match(expected[1:], actual[i:], is_pid, is_busy) for i in range(len(actual) + 1))
    return (bool(actual) and line_matches(expected[0], actual[0], is_pid, is_busy) and
            lines_match(expected[1:], actual[1:], is_pid, is_busy))


def said(lines):
    return "\n".join(["printed:", *lines])


def type_step(shell, command, expected):
    """(complaint, the lines it printed); a sample is repeated where the host was busy."""
    lines, is_busy = [], False
    for attempt in range(TRIES if READS.search(command) else 1):
        if attempt and not is_busy:
            break
        is_busy = host_is_busy()
        status, lines = shell.type(command)
        is_busy = host_is_busy() or is_busy
        if lines_match(expected, lines, pid_columns(expected), is_busy and attempt == TRIES - 1):
            is_fault = any("FAULTY" in line for line in expected)
            return "" if (status != 0) == is_fault else f"exit status {status}", lines
    return said(lines), lines


def use(environment):
    """What the GPU has counted as busy, each share as its own, and what each may use at most: (percent since, …)."""
    def ask(*words):
        return json.loads(subprocess.run(["vgpu", *words, "--json"], env=environment, capture_output=True, text=True,
                                         check=True).stdout)
    before = ask("sim", "stat"), ask("ps")
    time.sleep(3)
    after = ask("sim", "stat"), ask("ps")

    def percent(figures, index):
        return 100 * (figures[1] - figures[0]) / (after[index]["time_ns"] - before[index]["time_ns"])
    gpu = percent([sample[0]["gpus"][0]["busy_ns"] for sample in (before, after)], 0)
    spent = [{share["name"]: share["gpus"][0]["gpu_ns"] for share in sample[1]["shares"]} for sample in (before, after)]
    limits = {share["name"]: share["gpus"][0]["cores_percent"] for share in after[1]["shares"]}
    return gpu, {name: percent([sample.get(name, 0) for sample in spent], 1) for name in limits}, limits


def counted(environment):
    """Each share gets what it was given, by the counters of the GPU and of the shares: not more, and less only where
    this host is busy."""
    wrong, is_busy = [], False
    for attempt in range(TRIES):
        if attempt and not is_busy:
            break
        is_busy = host_is_busy()
        gpu, shares, limits = use(environment)
        is_busy = host_is_busy() or is_busy
        least = -100 if is_busy and attempt == TRIES - 1 else -POINTS
        wrong = [f"{name}: {shares[name]:.1f} % of the GPU, its limit is {limits[name]} %" for name in limits
                 if not least <= shares[name] - limits[name] <= POINTS]
        if not limits or abs(gpu - sum(shares.values())) > POINTS:
            wrong.append(f"the GPU has counted {gpu:.1f} %, the shares {shares}")
        if not wrong:
            return ""
    return wrong


def smi_find(environment):
    cached = cache_path("clients/debian/usr/lib/nvidia/current/nvidia-smi")
    return shutil.which("nvidia-smi", path=environment["PATH"]) or (cached if os.path.exists(cached) else None)


def furnish(folder, environment):
    """The folder that was cloned, as far as README uses it; nvidia-smi where `make demo` puts it."""
    os.makedirs(os.path.join(folder, "build/bin"))
    for name in ("vgpu", "vgpu-burn"):
        os.symlink(os.path.join(BUILD, "bin", name), os.path.join(folder, "build/bin", name))
    os.symlink(os.path.join(BUILD, "lib"), os.path.join(folder, "build/lib"))
    smi = smi_find(environment)
    if smi:
        os.symlink(smi, os.path.join(folder, "build/bin/nvidia-smi"))
    return bool(smi)


def rewritten(text, printed):
    """README with what was printed; a line that stands for others stays, and all before and after it."""
    replies = iter(printed)

    def block(match):
        lines = []
        for command, expected in steps(match.group()):
            actual = next(replies)
            keeps = actual is None or "…" in expected
            lines += [f"$ {command}", *(expected if keeps else actual)]
        return "```console\n" + "\n".join(lines) + "\n```"
    return BLOCK.sub(block, text)


def private():
    """A /dev/shm of its own: other shares and machines of this user are none of README's. And whatever happens, none
    of the programs outlives the test."""
    if os.environ.get("VGPU_TEST_README"):
        return
    words = ["unshare", "--mount", "--pid", "--mount-proc", "--kill-child", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/dev/shm"], capture_output=True, check=False).returncode:
        return
    os.environ["VGPU_TEST_README"] = "1"
    os.execvp("unshare", [*words, "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh", sys.executable,
                          *sys.argv])


def figures_unmeasured(text):
    """Figures of `make bench` that a table names, and that bench does not measure."""
    bench = "\n".join(path.read_text(encoding="utf-8") for path in (
        pathlib.Path(SOURCE, "bench", name) for name in ("run", "share.py", "tenants.py")))
    named = re.findall(r"`make bench`: `(\w+)`", text)
    # bench puts some names together: tenants_{name}_total_percent
    parts = [re.sub("(?<=tenants_)30_70(?=_total)", "{name}", name) for name in named]
    return [name for name, part in zip(named, parts) if part not in bench] if named else ["no figure is named"]


def type_all(tap, page, shell, environment, has_smi):
    printed = []
    text = pathlib.Path(SOURCE, page).read_text(encoding="utf-8")
    if page == "README.md":
        tap.check(f"{page}: make bench measures the figures that the tables name", figures_unmeasured(text))
    for number, (command, expected) in enumerate(steps(text), 1):
        name = f"{page} {number}: {command}"
        lines = None
        if command in ELSEWHERE:
            path, word = ELSEWHERE[command]
            tap.check(f"{name} ({path})", "" if word in pathlib.Path(SOURCE, path).read_text(encoding="utf-8") else
                      f"{path} does not have {word}")
        elif "nvidia-smi" in command and not has_smi:
            print(f"# skipped: {command}: there is no nvidia-smi here; make demo fetches it")
        else:
            wrong, lines = type_step(shell, command, expected)
            if "--write" not in sys.argv:
                tap.check(name, wrong)
            if command.startswith("vgpu top"):
                tap.check(f"{page} {number}: the shares get their GPU time", counted(environment))
        printed.append(lines)
    return printed


def type_page(tap, page):
    """Each page has a folder and a shell of its own; returns what its commands printed."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "run"), 0o700)
        environment = {**{key: value for key, value in os.environ.items() if not key.startswith(("VGPU_", "CUDA_"))},
                       "XDG_RUNTIME_DIR": os.path.join(folder, "run"), "TERM": "xterm", "NO_COLOR": "1",
                       "VGPU_NODE_SOCKET": os.path.join(folder, "nobody"), "LC_ALL": "C.UTF-8"}
        has_smi = furnish(folder, environment)
        shell = Shell(folder, environment)
        outside = {**environment, "PATH": f"{folder}/build/bin:{environment['PATH']}", "VGPU_SIM": "/dev/shm/lab"}
        printed = type_all(tap, page, shell, outside, has_smi)
        shell.close()
    return printed


def main():
    private()
    tap = Tap()
    for name in PAGES:
        printed = type_page(tap, name)
        if "--write" in sys.argv:
            page = pathlib.Path(SOURCE, name)
            page.write_text(rewritten(page.read_text(encoding="utf-8"), printed), encoding="utf-8")
    if "--write" not in sys.argv:
        tap.done()


if __name__ == "__main__":
    main()
