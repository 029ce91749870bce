# SPDX-License-Identifier: Apache-2.0
"""The rows of tests/unsteady: which tests may be run once more when they fail, and why. All others have failed then.

test-report (for `make test`) and tests/e2e/suite.py (for `make e2e`) ask here.
"""

import fnmatch
import re

KINDS = ("test", "e2e")


def rows_of(path):
    """[(kind, pattern, reason)]; comments and empty lines are none. Columns are two blanks or more apart."""
    with open(path, encoding="utf-8") as lines:
        rows = [tuple(re.split(r" {2,}", line.strip(), maxsplit=2)) for line in lines
                if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) != 3 or row[0] not in KINDS:
            raise ValueError(f"'{path}': a row is test or e2e, a pattern, and a reason: {'  '.join(row)}")
    return rows


def reason_of(rows, kind, name):
    """Why it may be run again; None: it may not."""
    return next((reason for row, pattern, reason in rows if row == kind and fnmatch.fnmatchcase(name, pattern)), None)


def idle(rows, kind, names):
    """The patterns that no name is like."""
    return [pattern for row, pattern, _ in rows if row == kind and not fnmatch.filter(names, pattern)]
