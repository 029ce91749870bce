#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""calls BUILD: runs the daemons' own tests under strace, and compares the system calls that they make with those that
they are allowed. A row that nothing uses fails, unless USED_ELSEWHERE says who does. Slow: a row of `make nightly`."""

import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests" / "abi"))
from tap import Tap  # noqa: E402

DAEMON = "lib/net/daemon_calls.c"
NODE = "src/node/node_calls.c"
TABLES = {"vgpu-webhook": [DAEMON], "vgpu-scheduler": [DAEMON], "vgpu-node": [DAEMON, NODE]}
TESTS = {"vgpu-webhook": ["webhook-server"],
         "vgpu-scheduler": ["scheduler-binding", "scheduler-eviction"],
         "vgpu-node": ["device-plugin", "gpu-health", "metrics", "offers", "protocol", "registration", "shares",
                       "node-attack", "runtime-standalone"]}

# Rows that no test brings about at will, and why they are there.
USED_ELSEWHERE = {
    "fstat": "what newfstatat is to older C libraries",
    "restart_syscall": "the kernel's own, after a stop",
    "gettid": "abort()",
    "tgkill": "abort()",
    "writev": "what the C library says before abort()",
}
CALL = re.compile(r"\bCALL(?:_IF)?\((\w+)")
TRACED = re.compile(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)")


def rows(path):
    """The calls of a table's own part of a file, on this machine; those for NVML are not judged."""
    names, keeps = set(), [True]
    text = (TOP / path).read_text(encoding="utf-8").partition("nvml_calls[]")[0]
    for line in text.splitlines():
        if line.startswith("#ifdef __x86_64__"):
            keeps.append(platform.machine() == "x86_64")
        elif line.startswith("#else"):
            keeps[-1] = not keeps[-1]
        elif line.startswith("#endif"):
            keeps.pop()
        elif keeps[-1]:
            names.update(CALL.findall(line))
    return names


def nvml_rows(path):
    return set(CALL.findall((TOP / path).read_text(encoding="utf-8").partition("nvml_calls[]")[2]))


def wrap(bin_dir, folder, traces):
    """A folder like build/bin, whose daemons start under strace: as the tracer's parent, so that signals reach them."""
    for program in bin_dir.iterdir():
        target = folder / program.name
        if program.name not in TABLES:
            target.symlink_to(program)
            continue
        target.write_text(f'#!/bin/sh\nexec strace -D -f -qq -s 40 -e signal=none -o {traces}/{program.name}.$$ '
                          f'{program} "$@"\n', encoding="utf-8")
        target.chmod(0o755)


def end(traces):
    """Daemons that a test left, as one that failed under strace does. A trace is named after its process."""
    for trace in traces.iterdir():
        name, pid = trace.name.rsplit(".", 1)
        try:
            if pathlib.Path(os.readlink(f"/proc/{pid}/exe")).name == name:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass                # it has ended


def used(traces, name):
    """The calls after the filter was installed."""
    found = set()
    for trace in traces.glob(f"{name}.*"):
        is_confined = False
        for line in trace.read_text(encoding="utf-8", errors="replace").splitlines():
            if "seccomp(SECCOMP_SET_MODE_FILTER" in line:
                is_confined = True
            elif is_confined and (match := TRACED.match(line)):
                found.add(match[1])
    return found


def commands(build, folder):
    """How meson runs each test, with the wrapped programs."""
    listed = subprocess.run(["meson", "introspect", "--tests", str(build)], check=True, stdout=subprocess.PIPE).stdout
    bin_dir = str(build / "bin")
    for test in json.loads(listed):
        words = [word.replace(bin_dir, str(folder)) for word in test["cmd"]]
        words = [str(folder / pathlib.Path(word).name) if pathlib.Path(word).name in TABLES else word for word in words]
        environment = {name: value.replace(bin_dir, str(folder)) for name, value in test["env"].items()}
        yield test["name"], words, {**os.environ, **environment}


def main(build):
    build = pathlib.Path(build).resolve()
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder, traces = pathlib.Path(name) / "bin", pathlib.Path(os.environ.get("CALLS_TRACES", name)) / "traces"
        folder.mkdir()
        (folder.parent / "lib").symlink_to(build / "lib")
        traces.mkdir(exist_ok=True)
        wrap(build / "bin", folder, traces)
        wanted = {test for tests in TESTS.values() for test in tests}
        for test, words, environment in commands(build, folder):
            if test in wanted:
                print(f"# {test}", flush=True)
                subprocess.run(words, env=environment, cwd=build, check=False, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=900)
        end(traces)
        everybody = set().union(*(used(traces, program) for program in TABLES))
        for program, tables in TABLES.items():
            own = used(traces, program)
            allowed = set().union(*(rows(path) for path in tables))
            tap.check(f"{program} was traced", [] if "epoll_wait" in own or "epoll_pwait" in own else [str(own)])
            print(f"# {program} has {len(allowed)} rows, used {len(own & allowed)}, was refused "
                  f"{sorted(own - allowed - nvml_rows(tables[-1]))}")
        tap.check("some daemon uses every row that all have", sorted(rows(DAEMON) - everybody - set(USED_ELSEWHERE)))
        tap.check("vgpu-node uses every row of its own",
                  sorted(rows(NODE) - used(traces, "vgpu-node") - set(USED_ELSEWHERE)))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
