# SPDX-License-Identifier: Apache-2.0
"""surface LIBRARY TABLE SONAME: a simulated library shows exactly what the real one shows."""

import os
import re
import subprocess
import sys

import generate
from tap import Tap

# Only glibc's own libraries, and what decompresses fat binaries.
MAY_NEED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
            "libzstd.so.1"}

# The compiler's own: exception frames, and which instructions the processor has.
START_UP = {"frame_dummy", "__do_global_dtors_aux", "__cpu_indicator_init"}


def output(tool, *words):
    """What a tool of binutils says; those of another processor's have its name before theirs."""
    command = [os.environ.get("TOOLS_PREFIX", "") + tool, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports(library):
    return {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}


def started(library):
    """The names of the functions that the loader calls."""
    names = {int(row[0], 16): row[2] for row in
             (line.split() for line in output("nm", library).splitlines())
             if len(row) == 3 and row[1] in "tT"}
    found = set()
    for section in (".init_array", ".fini_array"):
        dump = output("objdump", "-s", "-j", section, library)
        data = "".join(word for line in re.findall(r"^ [0-9a-f]+ (.{35})", dump, re.M)
                       for word in line.split())
        for at in range(0, len(data), 16):
            address = int.from_bytes(bytes.fromhex(data[at:at + 16]), "little")
            found.add(names.get(address, hex(address)))
    return found


def main(library, table, soname):
    tap = Tap()
    wanted = {f.name for f in generate.Table(table, []).functions}
    found = exports(library)
    tap.check("every function of the table is exported", sorted(wanted - found))
    tap.check("nothing else is exported", sorted(found - wanted))

    dynamic = output("readelf", "-dW", library)
    tap.check(f"its soname is {soname}", "" if f"[{soname}]" in dynamic else dynamic)
    tap.check("its own calls stay inside", "" if "(SYMBOLIC)" in dynamic else dynamic)
    tap.check("it has no search path of its own",
              re.findall(r".*\((?:RPATH|RUNPATH)\).*", dynamic))
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    tap.check("it needs only what every system has", sorted(needed - MAY_NEED))
    tap.check("nothing of ours runs when it is loaded or unloaded",
              sorted(started(library) - START_UP))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
