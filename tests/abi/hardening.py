# SPDX-License-Identifier: Apache-2.0
"""hardening sanitized|plain FILE…: what a compiler and a linker can do against defects is in each program and library."""

import os
import re
import sys

from surface import output
from tap import Tap

# Where a function may be entered: its first instruction says so to the processor.
LANDINGS = {"x86-64": r"endbr64", "AArch64": r"bti|paciasp"}


def is_guest(path):
    """In programs of others, which it must not keep from starting (preload.py), and which may write to it anyway."""
    return os.path.basename(path).startswith("libvgpu.so")


def header(path, options, pattern):
    return re.search(pattern, output("readelf", options, path), re.M)


def landing(path, machine):
    """Does the function of ours that programs are entered by, or that they look up, begin with a landing?"""
    symbols = output("nm", path)
    names = [name for name in ("main", "dlsym", "cuInit") if re.search(rf" [Tt] {name}$", symbols, re.M)]
    pattern = next((LANDINGS[key] for key in LANDINGS if key in machine), "")
    return bool(names) and all(
        re.search(rf"<{name}>:\n.*?({pattern})", output("objdump", "-d", f"--disassemble={name}", path))
        for name in names)


def lacks(path, is_sanitized):
    """What the file lacks, in words."""
    machine = output("readelf", "-hW", path)
    symbols = output("nm", path)
    checks = {
        "an address of its own at each start": re.search(r"Type:\s+DYN", machine),
        "read-only relocations": header(path, "-lW", r"GNU_RELRO"),
        "all its references at the start": header(path, "-dW", r"FLAGS_1.*\bNOW\b") or is_guest(path),
        "a stack that is not code": header(path, "-lW", r"GNU_STACK.*\bRW\s"),
        "no segment that is both written and run": not header(path, "-lW", r"LOAD.*\bRWE\b"),
        "a canary on its stack": "__stack_chk_fail" in symbols,
        "checked string functions": is_sanitized or re.search(r"__\w+_chk\b", symbols.replace("__stack_chk", "")),
        "landings for indirect calls": landing(path, machine),
    }
    return [what for what, is_there in checks.items() if not is_there]


def main(kind, *paths):
    tap = Tap()
    for path in paths:
        tap.check(f"{os.path.basename(path)} is hardened", lacks(path, kind == "sanitized"))
    tap.done()


main(*sys.argv[1:])
