#!/usr/bin/env python3
"""Prints which tests the last run of ctest skipped, and why.

Usage: scripts/skipped_tests.py BUILD_DIR

Reads the log that ctest leaves in BUILD_DIR. A test that is skipped as a whole prints a line `skipped: REASON`; pytest (with -rs) and
unittest (with verbosity 2) print a line for each of theirs.
"""
import pathlib
import re
import sys

# The line that introduces a test in ctest's log, and the lines in which a test says that it, or a part of it, was skipped.
TEST = re.compile(r"^\d+/\d+ Test: (?P<name>.*)$")
SKIPPED = [re.compile(r"^skipped: (?P<reason>.*)$"),
           re.compile(r"^SKIPPED \[\d+\] (?P<part>\S+?): (?P<reason>.*)$"),
           re.compile(r"^(?P<part>\w+) \(.*\.\.\. skipped ['\"](?P<reason>.*)['\"]$")]


def skipped_tests(log):
    """(name of the test, reason) of each test that the log of ctest reports as skipped."""
    name = None
    for line in log.splitlines():
        if test := TEST.match(line):
            name = test["name"]
        for pattern in SKIPPED:
            if found := pattern.match(line):
                part = found.groupdict().get("part")
                yield (f"{name}, {part}" if part else name), found["reason"]


def main():
    skipped = list(skipped_tests((pathlib.Path(sys.argv[1]) / "Testing" / "Temporary" / "LastTest.log").read_text(errors="replace")))
    print(f"{len(skipped)} tests were skipped:" if skipped else "No test was skipped.")
    for name, reason in skipped:
        print(f"  {name}: {reason}")


if __name__ == "__main__":
    main()
