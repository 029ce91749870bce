# SPDX-License-Identifier: Apache-2.0
"""control: what faults.c does in a program, by the file that both have mapped."""

import functools
import mmap
import os
import struct
import subprocess

MAGIC = 0x73746c7561667076
PATHS, FRAMES = 8192, 6
DIGEST, SKIP, MOST, FAILED, WALL, RUNNING, BOOT = range(8, 64, 8)
HEAD = 64
PATH_BYTES = 8 * (2 + FRAMES)
EVERY = 1           # any path
# What TLS computes with: GMP ends the process when it gets no memory, and libtasn1 of Debian 12 crashes.
FRAGILE = "libgmp.so:libhogweed.so:libnettle.so:libtasn1.so"
NS = 10**9


class Control:
    """Of one program at a time. It begins with nothing that fails."""

    def __init__(self, path):
        self.path = str(path)
        with open(self.path, "wb") as file:
            file.write(struct.pack("<Q", MAGIC).ljust(HEAD + PATHS * PATH_BYTES, b"\0"))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def environment(self, library, object_name):
        return {"LD_PRELOAD": library, "FAULTS_FILE": self.path, "FAULTS_IN": object_name, "FAULTS_NOT": FRAGILE}

    def put(self, at, value):
        struct.pack_into("<q" if at >= WALL else "<Q", self.map, at, value)

    def failed(self):
        """How many allocations have failed since it was armed."""
        return struct.unpack_from("<Q", self.map, FAILED)[0]

    def arm(self, digest, skip=0, most=1):
        """Lets the next `most` allocations of a path fail, after `skip` that do not."""
        self.disarm()
        for at, value in ((FAILED, 0), (SKIP, skip), (MOST, most), (DIGEST, digest)):
            self.put(at, value)

    def disarm(self):
        self.put(DIGEST, 0)

    def jump(self, wall_s=0, running_s=0, boot_s=0):
        for at, seconds in ((WALL, wall_s), (RUNNING, running_s), (BOOT, boot_s)):
            self.put(at, int(seconds * NS))

    def paths(self):
        """digest → (how often, frames) of every path that was taken since forget()."""
        found = {}
        for index in range(PATHS):
            digest, count, *frames = struct.unpack_from(f"<{2 + FRAMES}Q", self.map, HEAD + index * PATH_BYTES)
            if digest and count:
                found[digest] = (count, tuple(frame for frame in frames if frame))
        return found

    def forget(self):
        self.map[HEAD:] = bytes(PATHS * PATH_BYTES)


@functools.lru_cache(maxsize=None)
def frame_text(object_path, frame):
    """FUNCTION (FILE:LINE) of a return address."""
    said = subprocess.run(["addr2line", "-fse", object_path, hex(frame - 1)], capture_output=True, text=True,
                          check=False).stdout.split("\n")
    return f"{said[0]} ({said[1]})" if len(said) > 1 else hex(frame)


def path_text(object_path, frames):
    return " < ".join(frame_text(os.path.realpath(object_path), frame) for frame in frames)
