# SPDX-License-Identifier: Apache-2.0
"""parsers SOURCE_ROOT BUILD_ROOT: who reads bytes that we did not write is fuzzed, or there is a reason.

The table is tests/fuzz/parsers.tbl. What reads is found by the functions that do; a target that is named must have
the file's code in it.
"""

import glob
import os
import re
import subprocess
import sys

from tap import Tap

READS = re.compile(r"\b(json_load\w*|yaml_parser_initialize|\w+__unpack|recv|recvfrom|recvmsg|read|pread|fread|getline"
                   r"|fd_read_all|file_read|mmap|getxattr)\(")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# A function or table that other files may use begins a line.
PUBLIC = re.compile(r"^(?!static\b|typedef\b|#)[\w*][\w *]*?\b\*?(\w+)(?:\([^;{]*\)\s*\n\{| = \{)", re.M)


def code_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return COMMENT.sub("", file.read())


def table_of(root):
    """{file: (targets, reason)}, and complaints about its lines."""
    rows, complaints = {}, []
    with open(os.path.join(root, "tests/fuzz/parsers.tbl"), encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if not words:
                continue
            path, row = words[0], words[1:]
            if path in rows:
                complaints.append(f"{path}: two rows")
            if not row or (row[0] == "-" and not row[1:]):
                complaints.append(f"{path}: no target, and no reason")
            is_reason = row[:1] == ["-"]
            rows[path] = ([] if is_reason else row, " ".join(row[1:]) if is_reason else "")
    return rows, complaints


def readers_of(root):
    for folder in ("lib", "src"):
        for path in sorted(glob.glob(f"{folder}/**/*.c", root_dir=root, recursive=True)):
            if READS.search(code_of(root, path)):
                yield path


def symbols_of(program):
    found = subprocess.run([os.environ.get("TOOLS_PREFIX", "") + "nm", program], capture_output=True, text=True,
                           check=True)
    return {line.split()[-1] for line in found.stdout.splitlines() if re.search(" [TtDdRrBb] ", line)}


def misses_of(root, build, rows):
    """Files whose code is not in a target that is said to feed it."""
    known = {}
    for path, (targets, _) in rows.items():
        names = set(PUBLIC.findall(code_of(root, path)))
        if targets and not names:
            yield f"{path}: has nothing that others may use"
        for target in targets:
            program = os.path.join(build, "tests/fuzz", target if target == "hostile" else f"fuzz_{target}")
            if not os.path.exists(program):
                yield f"{path}: there is no target '{target}'"
                continue
            if program not in known:
                known[program] = symbols_of(program)
            if not names & known[program]:
                yield f"{path}: nothing of it is in '{target}'"


def main():
    root, build = sys.argv[1:]
    tap = Tap()
    rows, complaints = table_of(root)
    tap.check("every row of tests/fuzz/parsers.tbl is of one file, with targets or a reason", complaints)
    tap.check("its files exist", [path for path in rows if not os.path.exists(os.path.join(root, path))])
    tap.check("each file that reads foreign bytes has a row there", [path for path in readers_of(root) if path not in rows])
    tap.check("a target that is named has the file's code in it", list(misses_of(root, build, rows)))
    named = {target for targets, _ in rows.values() for target in targets}
    present = {os.path.basename(path)[5:-2] for path in glob.glob(os.path.join(root, "tests/fuzz/fuzz_*.c"))}
    unused = sorted(present - named)
    tap.check("every target is named there", unused)
    tap.done()


if __name__ == "__main__":
    main()
