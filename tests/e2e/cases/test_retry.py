# SPDX-License-Identifier: Apache-2.0
"""A case that fails has a second try if it is listed as unsteady, and a run says so: the machine may have been busy."""

from cases.test_leftovers import end, folder, run
from fixtures import case, expect


def told(pattern):
    """What a run of cases in faults/ says, and its status."""
    with folder() as state:
        process = run(state, pattern, is_made=False)
        try:
            return process.communicate(timeout=120)[0], process.returncode
        finally:
            end(process)


@case("a case that fails and holds when it is tried again is unsteady, and one that fails again has failed",
      profile="outside")
def unsteady():
    text, status = told("number 0|fails twice")
    expect("unsteady - number 0 of those that fail the first time only (its first trouble follows)\n"
           "#   the first time\n#   but not the next\n" in text, text)
    expect(text.count("not ok - ") == 1 and "not ok - a case that fails twice (" in text, text)
    expect(text.endswith("\n1 unsteady: failed, and held when tried again\n1 passed, 1 failed, 0 skipped\n"), text)
    expect(status == 1, status)
    text, status = told("number 0")
    expect(text.endswith("\n1 passed, 0 failed, 0 skipped\n") and status == 0, text)


@case("a case that fails and is not listed as unsteady has no second try", profile="outside")
def unlisted():
    text, status = told("not listed")
    expect("not ok - a case that fails once and is not listed as unsteady (" in text, text)
    expect(text.endswith("\n0 unsteady: failed, and held when tried again\n0 passed, 1 failed, 0 skipped\n"), text)
    expect(status == 1, status)


@case("where many cases fail, five of them are tried again and the others have failed", profile="outside")
def many():
    text, status = told("first time only")
    expect(text.count("unsteady - number ") == 5 and text.count("not ok - number ") == 2, text)
    expect(text.endswith("\n5 unsteady: failed, and held when tried again\n5 passed, 2 failed, 0 skipped\n"), text)
    expect(status == 1, status)
