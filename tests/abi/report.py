# SPDX-License-Identifier: Apache-2.0
"""report TOOL UNSTEADY BUILD: tools/test-report counts what it should, and runs again what may fail by noise."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tap import Tap

# FAILS: how many of its runs fail; each counts itself in a file.
SCRIPT = """#!/bin/sh
echo run >>"$2"
if [ "$(wc -l <"$2")" -le "$1" ]; then echo 'not ok 1 - a case'; else echo 'ok 1 - a case'; fi
echo 1..1
"""


def report(tool, fails, unsteady="test  t*  the host is busy\n"):
    """The exit status, the last line and the rest for a project of tests that fail that often, and rows of tests/unsteady."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "one.sh").write_text(SCRIPT, encoding="utf-8")
        (folder / "one.sh").chmod(0o755)
        rows = [f"test('t{i}', find_program('one.sh'), args : ['{count}', '{folder}/runs{i}'], protocol : 'tap')"
                for i, count in enumerate(fails)]
        (folder / "meson.build").write_text("\n".join(["project('p')", *rows, ""]), encoding="utf-8")
        (folder / "unsteady").write_text(unsteady, encoding="utf-8")
        subprocess.run(["meson", "setup", "build"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([os.path.abspath(tool), "--unsteady", "unsteady", "build"], cwd=folder, text=True, check=False,
                              stdout=subprocess.PIPE)
        lines = done.stdout.splitlines() or [""]
        return done.returncode, lines[-1], lines[:-1]


# A program as ours are: its first argument is its only case beside `two`; cases that it is told to skip are skipped.
CHOOSY = """#!/bin/sh
n=0
for name in two "$1"; do
        n=$((n + 1))
        case ",$UNIT_SKIP," in
        *,$name,*) echo "not ok $n # SKIP $name" ;;
        *) echo "$( [ $name = broken ] && echo not ok || echo ok) $n - $name" ;;
        esac
done
echo 1..$n
"""


def report_skips(tool, skips, *words):
    """The same for rows of skips, and tests some (with a case good) and none (with a case broken)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "one.sh").write_text(CHOOSY, encoding="utf-8")
        (folder / "one.sh").chmod(0o755)
        rows = [f"test('{test}', find_program('one.sh'), args : ['{case}'], protocol : 'tap')"
                for test, case in (("some", "good"), ("none", "broken"))]
        (folder / "meson.build").write_text("\n".join(["project('p')", *rows, ""]), encoding="utf-8")
        (folder / "skips").write_text(skips, encoding="utf-8")
        subprocess.run(["meson", "setup", "build"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([os.path.abspath(tool), "--skips", "skips", *words, "--slow", "2", "build"], cwd=folder,
                              text=True, check=False, stdout=subprocess.PIPE)
        lines = done.stdout.splitlines()
        return done.returncode, lines[-1], lines[:-1]


def expected(found, status, line, *others):
    wrong = [] if found[:2] == (status, line) else [f"{found[0]}: {found[1]}"]
    return wrong + [f"no line '{text}'" for text in others if text not in found[2]]


def idle_rows(tool, rows, build):
    """What rows of tests/unsteady say of tests that are not there."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(tool)))
    import unsteady
    listed = subprocess.run(["meson", "introspect", build, "--tests"], stdout=subprocess.PIPE, text=True, check=True)
    names = [test["name"] for test in json.loads(listed.stdout)]
    return [f"no test is '{pattern}'" for pattern in unsteady.idle(unsteady.rows_of(rows), "test", names)]


def main(tool, rows, build):
    tap = Tap()
    tap.check("what holds is counted", expected(report(tool, [0, 0]), 0, "2 passed, 0 failed, 0 skipped"))
    tap.check("what fails twice has failed", expected(report(tool, [0, 2]), 1, "1 passed, 1 failed, 0 skipped",
                                                      "not ok 1 - a case"))
    tap.check("what fails once is named, and no case of it is reported as failed", expected(
        report(tool, [1, 0]), 0, "2 passed, 0 failed, 0 skipped", "unsteady: build: t0: the host is busy",
        "| not ok 1 - a case"))
    tap.check("what fails once and has no row has failed", expected(
        report(tool, [1, 1], "# why\n\ntest  t1  the host is busy\ne2e  t0  of other tests\n"), 1,
        "1 passed, 1 failed, 0 skipped", "not ok 1 - a case", "unsteady: build: t1: the host is busy"))
    tap.check("a row that says no reason ends the run", expected(
        report(tool, [0], "test  t0\n")[:1] + ("", ()), 1, ""))
    tap.check("each row of tests/unsteady names a test", idle_rows(tool, rows, build))
    tap.check("where much fails nothing is run again", expected(
        report(tool, [1] * 5), 1, "0 passed, 5 failed, 0 skipped"))
    tap.check("what a run cannot carry is counted as skipped, and told why", expected(
        report_skips(tool, "# why\nsome two it is slow\nnone * it cannot\n"), 0, "1 passed, 0 failed, 2 skipped",
        "build: skipped: some: two: it is slow", "build: skipped: none: it cannot"))
    tap.check("a row that names no test fails", expected(
        report_skips(tool, "none * it cannot\nother * not here\n"), 1, "2 passed, 1 failed, 1 skipped",
        "not ok 1 - a row names it, and there is no such test"))
    tap.check("a row that names no case fails", expected(
        report_skips(tool, "none * it cannot\nsome three not here\n"), 1, "2 passed, 1 failed, 1 skipped",
        "not ok 1 - three: a row names it, and there is no such case"))
    tap.check("a row skips no case of another test", expected(
        report_skips(tool, "some two it is slow\nnone broken it cannot\n"), 1, "1 passed, 1 failed, 3 skipped",
        "not ok 1 - two: skipped by the row of another test"))
    tap.check("rows are tried: what passes needs none", expected(
        report_skips(tool, "some two it is slow\nsome * it is slow\nnone broken it cannot\n", "--try"), 1,
        "1 passed, 2 failed, 0 skipped", "not ok - some two: it passes", "not ok - some *: it passes",
        "ok - none broken: it cannot"))
    tap.check("rows are tried: what fails keeps them", expected(
        report_skips(tool, "none * it cannot\n", "--try"), 0, "1 passed, 0 failed, 0 skipped"))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
