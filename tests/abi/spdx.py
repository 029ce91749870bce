# SPDX-License-Identifier: Apache-2.0
"""spdx SOURCE_ROOT: every source has its licence line, and tools/spdx adds and finds it where it should."""

import os
import subprocess
import sys
import tempfile

from tap import Tap

SPDX = "SPDX-License-Identifier: "
OURS = SPDX + "Apache-2.0"
# {name: (text without a licence line, text with it)}
SOURCES = {
    "a.c": ("int a;\n", f"/* {OURS} */\nint a;\n"),
    "src/a.h": ("/* a: it. */\n", f"/* {OURS} */\n/* a: it. */\n"),
    "src/build/a.py": ('"""a: it."""\n', f'# {OURS}\n"""a: it."""\n'),
    "empty.py": ("", f"# {OURS}\n"),
    "tool": ("#!/bin/sh\necho\n", f"#!/bin/sh\n# {OURS}\necho\n"),
    "meson.build": ("project('a')\n", f"# {OURS}\nproject('a')\n"),
    "Makefile": ("all:\n", f"# {OURS}\nall:\n"),
    "other.c": (f"/* {SPDX}MIT */\n", f"/* {OURS} */\n/* {SPDX}MIT */\n"),
}
OTHERS = ("page.md", "table.tbl", "values.yaml", "data.json", "build/made.c", "build-arm64/made.c")


def run(root, *words):
    return subprocess.run([os.path.join(root, "tools/spdx"), *words], capture_output=True, text=True, check=False)


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def tree(folder):
    for name, (text, _) in SOURCES.items():
        write(folder, name, text)
    for name in OTHERS:
        write(folder, name, "as it is\n")
    os.chmod(os.path.join(folder, "tool"), 0o755)


def found(root, folder):
    """What --check does not name, or should not."""
    done = run(root, "--check", folder)
    named = {line[2:] for line in done.stdout.splitlines() if line.startswith("# ")}
    return sorted(named ^ SOURCES.keys()) + ([] if done.returncode == 1 else [f"it ends with {done.returncode}"])


def added(root, folder):
    told = [] if run(root, folder).returncode == 0 else ["it fails"]
    told += [name for name, (_, text) in SOURCES.items() if read(folder, name) != text]
    told += [name for name in OTHERS if read(folder, name) != "as it is\n"]
    return told + ([] if os.access(os.path.join(folder, "tool"), os.X_OK) else ["the tool is no program any more"])


def again(root, folder):
    done, checked = run(root, folder), run(root, "--check", folder)
    return done.stdout + (checked.stdout if checked.returncode else "")


def main(root):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        tree(folder)
        tap.check("a source without the line, or with another licence, is found", found(root, folder))
        tap.check("the line is added to sources alone, behind '#!'", added(root, folder))
        tap.check("and only once", again(root, folder))
    done = run(root, "--check")
    tap.check("every source of the tree has it", done.stdout if done.returncode else "")
    tap.done()


main(*sys.argv[1:])
