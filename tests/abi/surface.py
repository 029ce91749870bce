"""surface LIBRARY TABLE SONAME: a simulated library shows exactly what the real one shows."""

import re
import subprocess
import sys

import generate
from tap import Tap

# Only glibc's own libraries, and what decompresses fat binaries.
MAY_NEED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
            "libzstd.so.1"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports(library):
    return {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}


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
    # The compiler's own start-up code takes one place of each array.
    arrays = re.findall(r"\((INIT_ARRAYSZ|FINI_ARRAYSZ)\)\s+(\d+)", dynamic)
    tap.check("nothing runs when it is loaded or unloaded",
              [f"{name} is {size}" for name, size in arrays if int(size) > 8])
    tap.done()


main(*sys.argv[1:])
