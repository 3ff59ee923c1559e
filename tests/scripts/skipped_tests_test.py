#!/usr/bin/env python3
"""What scripts/skipped_tests.py finds in a log of ctest."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from skipped_tests import skipped_tests

LOG = """Start testing: Nov 19 22:00 UTC
----------------------------------------------------------
1/4 Testing: sim: Clock.StandsStill
1/4 Test: sim: Clock.StandsStill
Output:
[       OK ] Clock.StandsStill (0 ms)
<end of output>
2/4 Test: web: report in Chromium
Output:
skipped: no Chromium here (scripts/setup.sh test installs it)
<end of output>
3/4 Test: python: sweep
Output:
SKIPPED [2] ../tests/python/sweep_test.py:49: there is no mpirun that works
5 passed, 2 skipped in 1.2s
<end of output>
4/4 Test: web: server
Output:
test_bind (server_test.Server.test_bind) ... skipped 'this computer has no address but its own'
test_other (server_test.Server.test_other) ... ok
<end of output>
"""


class SkippedTests(unittest.TestCase):
    def test_skipped_tests_are_named_with_their_reasons(self):
        self.assertEqual(list(skipped_tests(LOG)), [
            ("web: report in Chromium", "no Chromium here (scripts/setup.sh test installs it)"),
            ("python: sweep, ../tests/python/sweep_test.py:49", "there is no mpirun that works"),
            ("web: server, test_bind", "this computer has no address but its own")])

    def test_log_without_skipped_tests_gives_none(self):
        self.assertEqual(list(skipped_tests("1/1 Test: sim: A\n[       OK ] A\n")), [])


if __name__ == "__main__":
    unittest.main()
