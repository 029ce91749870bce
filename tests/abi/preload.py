# SPDX-License-Identifier: Apache-2.0
"""preload LIBVGPU: a guest that any container can load: old C libraries, nothing started by itself."""

import os
import re
import subprocess
import sys
import tempfile

from surface import START_UP, exports, output, started
from tap import Tap

NEWEST_GLIBC = (2, 17)
# Of arm64, the C library keeps the canary of stacks in its loader, which every program has.
C_LIBRARY = {"libc.so.6", "ld-linux-aarch64.so.1"}
MOST_BYTES = 400 << 10
PAGE_MOST = 1 << 16     # arm64 kernels may have pages of 64 KiB


def versions(library):
    found = set(re.findall(r"GLIBC_([\d.]+)", output("objdump", "-T", library)))
    return sorted(tuple(int(n) for n in v.split(".")) for v in found)


def machine_of(path):
    return re.search(r"Machine:\s+(.*)", output("readelf", "-h", path))[1]


def leaves_by_jump(library, function):
    """Does a look-up that is not ours leave as an indirect jump, with the caller's return address?"""
    code = output("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", library)
    return re.search(r"\bjmp\s+\*%r\w+|\bbr\s+x\d+", code) is not None


def shipped_bytes(library):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stripped")
        output("strip", "--strip-unneeded", "-o", path, library)
        return os.path.getsize(path)


def badly_aligned(library):
    """Segments that a kernel with large pages could not map; x86-64 has pages of 4 KiB alone."""
    headers = output("readelf", "-lhW", library)
    least = PAGE_MOST if "AArch64" in headers else 4096
    return [line for line in re.findall(r"^ *LOAD .*", headers, re.M) if int(line.split()[-1], 16) < least]


def c_library_starts(library):
    """Of this machine's own processor only; older C libraries refuse what is not there yet when references are
    resolved."""
    if re.search(r"FLAGS.*\bNOW\b", output("readelf", "-dW", library)):
        return "all are resolved at the start"
    found = re.search(r"libc\.so\.6 => (\S+)", subprocess.run(["ldd", sys.executable], capture_output=True, text=True,
                                                             check=False).stdout)
    if not found or machine_of(library) != machine_of(found[1]):
        return ""
    done = subprocess.run([found[1]], env={"LD_PRELOAD": os.path.abspath(library)}, capture_output=True, text=True,
                          check=False)
    return done.stderr if done.returncode else ""


def main(library):
    tap = Tap()
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)))
    tap.check("it needs the C library alone", sorted(needed - C_LIBRARY))
    newer = [".".join(map(str, v)) for v in versions(library) if v > NEWEST_GLIBC]
    tap.check("it loads with glibc 2.17", [f"needs GLIBC_{v}" for v in newer])
    size = shipped_bytes(library)
    padding = 2 * PAGE_MOST if "AArch64" in machine_of(library) else 0     # its segments begin on large pages
    tap.check("it is small when shipped", f"{size} bytes" if size > MOST_BYTES + padding else "")
    tap.check("pages of any size can hold it", badly_aligned(library))
    tap.check("its references wait until they are used: even the C library starts as a program", c_library_starts(library))
    tap.check("nothing runs when it is loaded", sorted(started(library) - START_UP))
    tap.check("it has no search path of its own",
              re.findall(r".*\((?:RPATH|RUNPATH)\).*", output("readelf", "-d", library)))
    tap.check("nor does the compiler's own start code",
              re.findall(r".*\(INIT\).*", output("readelf", "-d", library)))
    tap.check("its own references stay inside",
              re.findall(r".* (?:cu[A-Z]\w*|nvml[A-Z]\w*|dl\w*sym|dlopen) \+ 0", output("readelf", "-rW", library)))
    strange = [n for n in exports(library)
               if not re.match(r"(cu[A-Z]|nvml[A-Z]|(dl(v?sym|open)|__gmon_start__)$)", n)]
    tap.check("it shows driver functions, look-ups and one start of programs, nothing else",
              sorted(strange))
    tap.check("a look-up that is not ours leaves as a jump",
              [f for f in ("dlsym", "dlvsym", "dlopen") if not leaves_by_jump(library, f)])
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
