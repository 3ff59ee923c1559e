#!/usr/bin/env python3
"""Checks that code shown in the docs is code that the tests compile and run.

Usage: scripts/check_doc_quotes.py DOC.md ...

A fenced block after the line `<!-- quote: FILE NAME -->` must equal the part of FILE between the comments `[NAME]` and `[/NAME]`,
less its indentation. Exit code 1 and a diff for each that does not.
"""
import difflib
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"^<!-- quote: (\S+) (\S+) -->\n```\w*\n(.*?)^```$", re.M | re.S)


def region(path, name):
    found = re.search(rf"^ *(?://|#) \[{name}\]\n(.*?)^ *(?://|#) \[/{name}\]$", (ROOT / path).read_text("utf-8"), re.M | re.S)
    return textwrap.dedent(found[1]) if found else None


def check(doc):
    """Number of quotes, number of wrong ones."""
    text = pathlib.Path(doc).read_text("utf-8")
    quotes = QUOTE.findall(text)
    wrong = text.count("<!-- quote:") - len(quotes)
    if wrong:
        print(f"{doc}: {wrong} quote mark(s) without a code block")
    for path, name, shown in quotes:
        real = region(path, name)
        if shown == real:
            continue
        wrong += 1
        print(f"{doc}: the quote of [{name}] differs from {path}")
        sys.stdout.writelines(difflib.unified_diff((real or "").splitlines(True), shown.splitlines(True), path, doc))
    return len(quotes), wrong


def main():
    results = [check(doc) for doc in sys.argv[1:]]
    quotes, wrong = (sum(column) for column in zip(*results))
    print(f"{quotes} quotes checked, {wrong} wrong")
    return 1 if wrong or not quotes else 0


if __name__ == "__main__":
    sys.exit(main())
