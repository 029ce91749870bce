# SPDX-License-Identifier: Apache-2.0
"""attacks SOURCE_ROOT: each attempt of docs/concepts/security-model.md says what becomes of it, and names a test that
exists."""

import pathlib
import re
import sys

from tap import Tap

PAGE = "docs/concepts/security-model.md"
LEAST = 100
VERDICT = re.compile(r"(prevented|bounded|reported|not prevented)\b")
SECTION = "## Attempts, and what becomes of each"
# What a file calls its tests: a function, a case of cmocka's, or a whole program of a fuzzer.
DEFINED = (r"^ *def {}\(", r"^(?:SIM_)?TEST\({}\)", r"^(?:int|void) {}\(")


def rows_of(text):
    """(attempt, verdict, tests) of every table of the section."""
    section = text.partition(SECTION)[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines()
            if line.startswith("| ")]
    return [row for row in rows if row[1:2] != ["it is"]]


def missing(source, tests):
    """What a row names and is not there: its files, and behind each the tests in it."""
    found, file = [], None
    for name in re.findall(r"`([^`]+)`", tests):
        if "/" in name:
            file = pathlib.Path(source, name)
            found += [] if file.exists() and name.startswith(("tests/", "sim/tests/")) else [f"no file {name}"]
        elif not file or not file.is_file() or not any(
                re.search(pattern.format(re.escape(name)), file.read_text(encoding="utf-8"), re.M) for pattern in DEFINED):
            found.append(f"no test {name} in {file and file.name}")
    return found if file else ["no file"]


def main(source):
    tap = Tap()
    rows = rows_of(pathlib.Path(source, PAGE).read_text(encoding="utf-8"))
    attempts = [row[0] for row in rows]
    tap.check(f"at least {LEAST} attempts are listed", [] if len(rows) >= LEAST else f"{len(rows)}")
    tap.check("each row has three cells", [str(row) for row in rows if len(row) != 3])
    tap.check("none is listed twice", sorted({name for name in attempts if attempts.count(name) > 1}))
    tap.check("each is prevented, bounded or reported, or said not to be", [
        str(row) for row in rows if not VERDICT.match(row[1])])
    tap.check("each names a test that exists", [
        f"{row[0]}: {what}" for row in rows for what in missing(source, row[2])])
    named = rows_of(f"{SECTION}\n| a | it is | tested by |\n|---|---|---|\n| b | prevented | `tests/abi/attacks.py`: `main` |\n")
    tap.check("a row with a wrong name would be found", [] if not missing(source, named[0][2]) and missing(
        source, "`tests/abi/attacks.py`: `nobody`") and missing(source, "`tests/abi/gone.py`") and missing(source, "—")
        else str(named))
    print(f"# {len(rows)} attempts")
    tap.done()


main(*sys.argv[1:])
