# SPDX-License-Identifier: Apache-2.0
"""unit_tap: runs unittest cases and prints one TAP line for each."""

import os
import sys
import unittest


class Tap(unittest.TextTestResult):
    """One TAP line per test."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.lines = []

    def say(self, verdict, test, more=""):
        self.lines.append(test)
        print(f"{verdict} {len(self.lines)} - {test.id().removeprefix('__main__.')}{more}", flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        self.say("ok", test, f" # SKIP {reason}")

    def fail(self, test, error):
        self.say("not ok", test)
        for line in self._exc_info_to_string(error, test).splitlines():
            print(f"# {line}", flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.fail(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.fail(test, error)


def skip_chosen(suite):
    """UNIT_SKIP=NAME,NAME...: cases that this run cannot carry, see tools/test-report --skips."""
    names = os.environ.get("UNIT_SKIP", "").split(",")
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            skip_chosen(part)
        elif part.id().rpartition(".")[2] in names:
            setattr(part, part.id().rpartition(".")[2], lambda part=part: part.skipTest("not carried here"))


def run(module, words):
    """Runs the module's tests and ends the program; the words choose among them by name."""
    loader = unittest.defaultTestLoader
    loader.testNamePatterns = [f"*{word}*" for word in words] or None
    suite = loader.loadTestsFromModule(sys.modules[module])
    skip_chosen(suite)
    print(f"1..{suite.countTestCases()}", flush=True)
    with open(os.devnull, "w", encoding="utf-8") as null:
        result = unittest.TextTestRunner(resultclass=Tap, stream=null, verbosity=0).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
