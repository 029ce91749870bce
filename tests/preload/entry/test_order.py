#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whoever is preloaded before libvgpu.so: the limit holds by every way in which a program can be bound.

test_order.py BUILD PLUGIN PROGRAM...
"""

import os
import struct
import subprocess
import sys
import tempfile

BUILD, PLUGIN, *PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:]]
OURS, DRIVER = os.path.join(BUILD, "lib", "libvgpu.so"), os.path.join(BUILD, "lib", "sim")
SKIPS = os.environ.get("UNIT_SKIP", "").split(",")     # see tools/test-report --skips
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


def without_debug(program, folder):
    """The program without the place where the loader leaves its list for debuggers (DT_DEBUG)."""
    with open(program, "rb") as file:
        image = bytearray(file.read())
    segments, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for at in range(segments, segments + size * count, size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", image, at)
        for row in range(offset, offset + length, 16) if kind == 2 else ():
            if struct.unpack_from("<Q", image, row) == (21,):
                struct.pack_into("<Q", image, row, 0x6000000e)
    copy = os.path.join(folder, os.path.basename(program) + "-without-debug")
    with open(copy, "wb") as file:
        file.write(image)
    os.chmod(copy, 0o755)
    return copy


def ways_past_us(program, before, folder, region, **more):
    """The ways by which the program got more than its limit; how it ended, if not well. Each has a region of its own: what
    the one before held is no business of the next."""
    preload = f"{before}:{OURS}" if before else OURS
    done = subprocess.run([program, PLUGIN], capture_output=True, text=True, check=False, timeout=60, env={
        **os.environ, "LD_PRELOAD": preload, "LD_LIBRARY_PATH": DRIVER, "VGPU_MEMORY_LIMIT": "100m",
        "VGPU_SIM": os.path.join(folder, "machine"), "VGPU_REGION": os.path.join(folder, region),
        "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", **more})
    return done.stdout.strip() if done.returncode == 0 else f"it ended with {done.returncode} {done.stderr}"


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(BUILD, "bin", "vgpu"), "sim", "create", "--machine",
                        os.path.join(folder, "machine"), "--preset", "t4-16gb", "--context-memory", "0"],
                       check=True, stdout=subprocess.DEVNULL)
        cases = [(p, b, more) for p in (*PROGRAMS, without_debug(PROGRAMS[0], folder)) for b in BEFORE_US
                 for more in ({}, {"LD_BIND_NOW": "1"})]
        print(f"1..{len(cases)}")
        for number, (program, before, more) in enumerate(cases, 1):
            name = f"{number} - {os.path.basename(program)} after {before}{', bound at once' if more else ''}"
            if os.path.basename(program) in SKIPS:
                print(f"ok {name} # SKIP", flush=True)
                continue
            past = ways_past_us(program, BEFORE_US[before], folder, f"region{number}", **more)
            failed += bool(past)
            print(f"{'not ok' if past else 'ok'} {name}", flush=True)
            if past:
                print(f"# past us: {past}")
    return 1 if failed else 0


sys.exit(main())
