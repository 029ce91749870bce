# SPDX-License-Identifier: Apache-2.0
"""licences: the copyright files of other people's code that goes out with ours.

Code goes in as a library that is copied beside our programs, or as an archive that is linked into one of them. Debian's
packages say whose it is, in /usr/share/doc/PACKAGE/copyright. `root` is the sysroot of a build for another processor.
"""

import functools
import os
import re
import subprocess
import sys

BUILT = re.compile(r"^build ([^\s:|]+)[^\n]*\n((?: [^\n]*\n)*)", re.M)
ARCHIVE = re.compile(r"(?<=\s)(/[^\s]*/lib/[^\s]*\.a)\b")


def archives(build):
    """{name of a program or library: the archives of other people that are linked into it}"""
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for output, rules in BUILT.findall(text):
        arguments = " ".join(line for line in rules.splitlines() if line.startswith(" LINK_ARGS"))
        paths = set(ARCHIVE.findall(arguments))
        if " -static-pie " in arguments:    # and so the C library, which stands beside the others
            paths |= {os.path.join(os.path.dirname(path), "libc.a") for path in paths}
        paths = {os.path.realpath(path) for path in paths if os.path.exists(path)}
        if paths:
            found[os.path.basename(output)] = paths
    return found


@functools.lru_cache(None)
def package_of(path, root=""):
    """The package that a file came with; None: no package has it."""
    real = os.path.realpath(path if path.startswith(root or "/") else root + path)
    real = real.removeprefix(os.path.realpath(root)) if root else real
    admin = [f"--admindir={root}/var/lib/dpkg"] if root else []
    for known in dict.fromkeys((real, path, f"/usr{path}", real.removeprefix("/usr"))):
        try:
            done = subprocess.run(["dpkg-query", *admin, "-S", known], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=False)
        except FileNotFoundError:
            return None
        if done.returncode == 0:
            return done.stdout.split(":")[0].split(",")[0]
    return None


def texts(paths, root=""):
    """{package: its copyright file} of the packages that these files came with. A file of no package is told of: whoever
    hands it out has to see to its licence."""
    found = {}
    for path in sorted(paths):
        package = package_of(path, root)
        text_path = f"{root}/usr/share/doc/{package}/copyright"
        if package and os.path.exists(text_path):
            with open(text_path, "rb") as file:
                found[package] = file.read()
        else:
            print(f"licences: nothing says what the licence of '{path}' is", file=sys.stderr)
    return found
