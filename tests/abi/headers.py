# SPDX-License-Identifier: Apache-2.0
"""headers SOURCE BUILD: every header compiles alone, has a name of its own, and says what it is for."""

import pathlib
import re
import subprocess
import sys

import strict
from tap import Tap

FOLDERS = ("api", "lib", "sim", "src")
# #define EACH(...) for (…
LOOP = re.compile(r"^#define (\w+)\([^)]*\)(?:\s|\\)*(?:for|while) \(", re.M)
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", *strict.flags(), "-fsyntax-only", "-xc"]


def differing(source):
    """Values of WERROR that mean something else to make than to tests."""
    def shown(value):
        return subprocess.run(["make", "-C", source, "--no-print-directory", f"WERROR={value}",
                               "--eval", "show-options: ; @echo $(options)", "show-options"],
                              capture_output=True, text=True, check=True).stdout
    return [f"'{value}'" for value in ("", "0", "no", "false", "1", "yes", "0 1", " no ")
            if ("-Dwerror=true" in shown(value)) != bool(strict.flags({"WERROR": value}))]


def main(source, build):
    tap = Tap()
    source, build = pathlib.Path(source), pathlib.Path(build)
    tested = source / "sim" / "tests"
    headers = sorted(h for folder in FOLDERS for h in (source / folder).rglob("*.h") if tested not in h.parents)
    made = sorted(h for folder in FOLDERS for h in (build / folder).rglob("*.h"))
    folders = sorted({h.parent for h in headers + made})
    includes = [f"-iquote{folder}" for folder in folders]  # <limits.h> is the system's

    broken = []
    for header in headers + made:
        run = subprocess.run(["cc", *FLAGS, *includes, "-"], input=f'#include "{header}"\n',
                             capture_output=True, text=True, check=False)
        if run.returncode:
            broken.append(f"{header.name}: {run.stderr.splitlines()[0]}")
    tap.check(f"{len(headers) + len(made)} headers compile alone", broken)

    seen = {}
    for header in headers + made + sorted(h for folder in ("tests", "bench", "sim/tests") for h in (source / folder).rglob("*.h")):
        seen.setdefault(header.name, []).append(str(header))
    tap.check("a header's name is unique", [" ".join(p) for p in seen.values() if len(p) > 1])

    files = headers + sorted(c for folder in FOLDERS for c in (source / folder).rglob("*.c")
                             if tested not in c.parents)
    tap.check("every file says what it is for, below its licence",
              [str(f.relative_to(source)) for f in files
               if not f.read_text(encoding="utf-8").partition("\n")[2].startswith("/* ")])
    tap.check("every header is included once",
              [str(h.relative_to(source)) for h in headers
               if "#pragma once" not in h.read_text(encoding="utf-8")])
    loops = {name for h in headers for name in LOOP.findall(h.read_text(encoding="utf-8"))}
    layout = re.search(r"^ForEachMacros: \[(.*)\]$", (source / ".clang-format").read_text(encoding="utf-8"), re.M)
    tap.check("the layout knows each macro that is a loop",
              sorted(loops - set(layout[1].split(", "))) if loops and layout else "no loops or no ForEachMacros found")
    tap.check("WERROR means the same to make and to tests", differing(source))
    tap.done()


main(*sys.argv[1:])
