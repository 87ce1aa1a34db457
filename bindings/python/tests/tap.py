# SPDX-License-Identifier: MIT
"""Run unit tests and say it in TAP: python3 tap.py MODULE..."""

import sys
import unittest


class TapResult(unittest.TestResult):
    """A line for each test as it ends; its docstring is the sentence."""

    count = 0

    def _line(self, verdict: str, test: unittest.TestCase, why: str = ""):
        self.count += 1
        print("%s %d - %s%s" % (verdict, self.count, test.shortDescription()
                                or test.id(), why), flush=True)

    def _failed(self, test, error):
        self._line("not ok", test)
        for line in self._exc_info_to_string(error, test).splitlines():
            print("# " + line, flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def addSkip(self, test, reason):
        self._line("ok", test, " # SKIP " + reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = TapResult()
    suite.run(result)
    print("1..%d" % result.count)
    sys.exit(not result.wasSuccessful())
