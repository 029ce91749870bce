#!/usr/bin/env python3
"""Whoever is preloaded before libvgpu.so: the limit holds by every way in which a program can be bound.

test_order.py BUILD PLUGIN PROGRAM...
"""

import os
import subprocess
import sys
import tempfile

BUILD, PLUGIN, *PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:]]
OURS, DRIVER = os.path.join(BUILD, "lib", "libvgpu.so"), os.path.join(BUILD, "lib", "sim")
BEFORE_US = {
    "nobody": "",
    "the driver": "libcuda.so.1",
    "the driver by its path": os.path.join(DRIVER, "libcuda.so.1"),
    "NVML": "libnvidia-ml.so.1",
    "both": "libnvidia-ml.so.1:libcuda.so.1",
    "the C library": "libc.so.6",
    "the C library and the driver": "libc.so.6:libcuda.so.1:libdl.so.2",
    "the program's own library": PLUGIN,
}


def ways_past_us(program, before, folder, **more):
    """The ways by which the program got more than its limit; how it ended, if not well."""
    preload = f"{before}:{OURS}" if before else OURS
    done = subprocess.run([program, PLUGIN], capture_output=True, text=True, check=False, timeout=60, env={
        **os.environ, "LD_PRELOAD": preload, "LD_LIBRARY_PATH": DRIVER, "VGPU_MEMORY_LIMIT": "100m",
        "VGPU_SIM": os.path.join(folder, "machine"), "VGPU_REGION": os.path.join(folder, "region"),
        "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", **more})
    return done.stdout.strip() if done.returncode == 0 else f"it ended with {done.returncode} {done.stderr}"


def main():
    failed = number = 0
    cases = [(p, b, more) for p in PROGRAMS for b in BEFORE_US for more in ({}, {"LD_BIND_NOW": "1"})]
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(BUILD, "bin", "vgpu"), "sim", "create", "--machine",
                        os.path.join(folder, "machine"), "--preset", "t4-16gb", "--context-memory", "0"],
                       check=True, stdout=subprocess.DEVNULL)
        for number, (program, before, more) in enumerate(cases, 1):
            past = ways_past_us(program, BEFORE_US[before], folder, **more)
            failed += bool(past)
            print(f"{'not ok' if past else 'ok'} {number} - {os.path.basename(program)} after {before}"
                  f"{', bound at once' if more else ''}")
            if past:
                print(f"# past us: {past}")
    return 1 if failed else 0


sys.exit(main())
