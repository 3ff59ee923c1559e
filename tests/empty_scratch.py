#!/usr/bin/env python3
"""Makes the folder for the temporary files of a test run, and empties it of what earlier runs left there.

Usage: empty_scratch.py FOLDER
"""
import os
import pathlib
import shutil
import sys


def users(folder):
    """Processes whose TMPDIR is the folder: tests of another run, or what an interrupted one left behind."""
    wanted, found = b"TMPDIR=" + os.fsencode(folder), []
    for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in environment.read_bytes().split(b"\0"):
                found.append(environment.parent.name)
        except OSError:  # the process has ended, or is somebody else's
            pass
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    left = list(folder.iterdir())  # before the look at the processes: what starts later keeps its files
    if running := users(folder):
        print(f"{folder} is not emptied: processes {', '.join(running)} use it")
        return
    for entry in left:
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


main()
