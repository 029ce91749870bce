#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unlimited_functions.py FAMILIES TABLE: the kinds of memory that libvgpu.so does not hold to a limit, as C.

A family of the table whose hooks are not among FAMILIES is not held. Empty when all are.
"""

import re
import sys

KINDS = {
    "array": "arrays", "context": "contexts", "external": "memory of other APIs",
    "graphics": "graphics resources", "graphmem": "memory of graphs", "green": "green contexts",
    "ipc": "memory of other processes (IPC)", "library": "libraries of kernels",
    "managed": "managed memory", "memory": "device memory", "module": "modules",
    "multicast": "multicast objects", "pool": "pools", "primary": "primary contexts",
    "vmm": "virtual memory management",
}
held = set(sys.argv[1].split(","))
with open(sys.argv[2], encoding="utf-8") as lines:
    rows = [re.match(r"(?:hook|deny)\s+(\w+)", line) for line in lines]
families = {row.group(1) for row in rows if row}
if len(families & set(KINDS)) < 10:
    sys.exit(f"unlimited_functions.py: only the families {sorted(families)} found")
missing = [KINDS[name] for name in sorted(families & set(KINDS)) if name not in held]
print(f'/* Made by unlimited_functions.py. */\n#define UNLIMITED_FUNCTIONS "{", ".join(missing)}"')
