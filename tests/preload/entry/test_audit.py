#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No look-up goes past libvgpu.so: the dynamic linker says what it bound, by every route.

test_audit.py BUILD SOURCE_ROOT AUDIT PROBE
"""

import os
import subprocess
import sys
import tempfile

BUILD, SOURCE, AUDIT, PROBE = [os.path.abspath(path) for path in sys.argv[1:5]]
GUEST = os.path.join(SOURCE, "tests", "cli", "guest.py")
TESTS = os.path.join(BUILD, "tests", "preload")


def replaced():
    """What libvgpu.so exports: none of these may be found in the driver by anybody else."""
    listing = subprocess.run(["nm", "-D", "--defined-only", os.path.join(BUILD, "lib", "libvgpu.so")],
                             capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].partition("@")[0] for line in listing.splitlines()}


def bindings(folder, preload, command, stdin=""):
    """{(caller, name)} of what was bound to the driver."""
    log = os.path.join(folder, "log")
    open(log, "w", encoding="utf-8").close()
    subprocess.run(command, input=stdin, text=True, capture_output=True, check=False, timeout=60, env={
        **os.environ, "LD_AUDIT": AUDIT, "AUDIT_LOG": log, "LD_PRELOAD": preload,
        "LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "sim"), "VGPU_SIM": os.path.join(folder, "machine"),
        "VGPU_REGION": os.path.join(folder, "region"), "VGPU_MEMORY_LIMIT": "1g"})
    with open(log, encoding="utf-8") as lines:
        return {tuple(line.split()) for line in lines}


def main():
    ours = os.path.join(BUILD, "lib", "libvgpu.so")
    routes = {
        "linked calls": [os.path.join(TESTS, "test_preload_memory_limit")],
        "look-ups of every kind": [os.path.join(TESTS, "test_preload_route")],
        "a program that looks up": [PROBE],
        "Python's ctypes": [sys.executable, GUEST],
    }
    print(f"1..{len(routes)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(BUILD, "bin", "vgpu"), "sim", "create", "--machine",
                        os.path.join(folder, "machine"), "--preset", "t4-16gb"], check=True,
                       stdout=subprocess.DEVNULL)
        for number, (name, command) in enumerate(routes.items(), 1):
            stdin = "pids\n" if command == [PROBE] else ""
            bare = {n for _, n in bindings(folder, "", command, stdin)} & replaced()
            missed = {(c, n) for c, n in bindings(folder, ours, command, stdin) if n in replaced()}
            good = bare and not missed
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {name}: {len(bare)} functions, none past us")
            for caller, function in sorted(missed):
                print(f"# {caller} found the driver's own {function}")
            if not bare:
                print("# the audit saw nothing at all")
    return 1 if failed else 0


sys.exit(main())
