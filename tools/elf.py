# SPDX-License-Identifier: Apache-2.0
"""elf: what a program says of itself: its processor, and the libraries that it is linked with.

A build for another processor is looked at with the libraries of its sysroot (tools/arm64), where this
machine's own loader cannot be asked.
"""

import os
import platform
import re
import shutil
import struct
import subprocess

# By the number in the program's head: names of Debian and OCI, of the variant, of the folder of libraries.
MACHINES = {62: ("amd64", "", "x86_64-linux-gnu"), 183: ("arm64", "v8", "aarch64-linux-gnu")}
OWN = {"x86_64": "amd64", "aarch64": "arm64"}
SEGMENT_DYNAMIC, SEGMENT_INTERPRETER, SEGMENT_LOADED = 2, 3, 1
ENTRY_NEEDED, ENTRY_STRINGS = 1, 5


def is_elf(data):
    return data[:4] == b"\x7fELF"


def machine_of(data):
    """The row of MACHINES of a program's bytes."""
    number = struct.unpack_from("<H", data, 18)[0] if is_elf(data) and len(data) >= 20 else None
    if number not in MACHINES:
        raise ValueError(f"a program for an unknown processor ({number})")
    return MACHINES[number]


def architecture_of(path):
    with open(path, "rb") as file:
        return machine_of(file.read(20))[0]


def own_architecture():
    return OWN.get(platform.machine(), platform.machine())


def text_at(data, offset):
    return data[offset:data.index(b"\0", offset)].decode()


def segments(data):
    """(kind, offset, address, bytes in the file)"""
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, start + i * size)
        yield kind, offset, address, length


def named(data):
    """The names of the libraries that a program asks for, and the path of its loader or None."""
    parts = list(segments(data))
    loader = next((text_at(data, offset) for kind, offset, _, _ in parts if kind == SEGMENT_INTERPRETER), None)
    entries = [struct.unpack_from("<QQ", data, at) for kind, offset, _, length in parts if kind == SEGMENT_DYNAMIC
               for at in range(offset, offset + length, 16)]
    strings = next((value for tag, value in entries if tag == ENTRY_STRINGS), 0)
    table_offset = next((offset + strings - address for kind, offset, address, length in parts
                         if kind == SEGMENT_LOADED and address <= strings < address + length), 0)
    return [text_at(data, table_offset + value) for tag, value in entries if tag == ENTRY_NEEDED], loader


def sysroot_of(build):
    """Where the libraries of a build for another processor are; empty: on this machine."""
    path = os.path.join(build, "cross.ini")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return re.search(r"^sys_root = '(.+)'", file.read(), re.M).group(1)


def library_in(root, data, name):
    """The path below the root of a library that the program names."""
    folder = machine_of(data)[2]
    for path in (name, f"/lib/{folder}/{name}", f"/usr/lib/{folder}/{name}"):
        if path.startswith("/") and os.path.exists(root + path):
            return path
    raise ValueError(f"no '{name}' in '{root}', which a program is linked with")


def needed_in(root, path, is_whole=True):
    """Paths, below the root, of what a program is linked with; not whole: only of what it names itself."""
    found, waiting = set(), [path]
    while waiting:
        with open(waiting.pop(), "rb") as file:
            data = file.read()
        names, loader = named(data)
        for library in {library_in(root, data, name) for name in [*names, *([loader] if loader else [])]} - found:
            found.add(library)
            if is_whole:
                waiting.append(root + library)
    return found


def strip(source, target):
    """A copy without what only debuggers need."""
    tool = "strip"
    with open(source, "rb") as file:
        name, _, folder = machine_of(file.read(20))
    if name != own_architecture():
        tool = f"{folder}-strip"
        if not shutil.which(tool):
            raise FileNotFoundError(f"no {tool}: 'tools/setup {name}' installs it")
    subprocess.run([tool, "--strip-unneeded", "-o", target, source], check=True)
