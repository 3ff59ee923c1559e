#!/usr/bin/env python3
"""Runs clang-tidy over the sources that changed since they last passed.

Usage: scripts/lint.py BUILD_DIR [--jobs N] [--changed | FILE.cpp ...]

Takes the flags from BUILD_DIR/compile_commands.json, all of its sources inside the repository if no file is named. With --changed it
takes those that differ from where the branch left main; on main itself, from the commit before; in a shallow clone, which does not
know either, all of them. For a header that changed it looks at one source that includes it. Files that a
unity build compiles together are looked at together: most of the time goes into the headers of others. A source that passed
leaves a stamp in BUILD_DIR/tidy: a hash of the source, of every header of ours that it includes, directly or not, of its flags,
of .clang-tidy and of the tool's version. Exit code 1 if a source does not pass.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = "clang-tidy-16"  # 14, the default of Debian 12, does not know std::source_location
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.M)
FOLDER = re.compile(r"-I(\S+)")


def our_files(source, command):
    """The source and every header of ours that it reaches."""
    folders = [pathlib.Path(folder) for folder in FOLDER.findall(command)]
    found, open_ends = {source}, [source]
    while open_ends:
        path = open_ends.pop()
        for name in INCLUDE.findall(path.read_bytes()):
            hits = [place / name.decode() for place in [path.parent, *folders] if (place / name.decode()).is_file()]
            if hits and hits[0] not in found:
                found.add(hits[0])
                open_ends.append(hits[0])
    return sorted(found)


def fingerprint(source, command, tool):
    digest = hashlib.sha256(f"{tool}\n{command}\n".encode())
    for path in [ROOT / ".clang-tidy", *our_files(source, command)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def check(source, build_dir):
    """True and nothing, or False and what clang-tidy says."""
    run = subprocess.run([TOOL, "-quiet", "-p", build_dir, source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return run.returncode == 0, run.stdout or run.stderr


def sources_of(build_dir, named):
    """Path and flags of the sources to look at."""
    commands = {pathlib.Path(entry["file"]).resolve(): entry["command"]
                for entry in json.loads((build_dir / "compile_commands.json").read_text())}
    wanted = [pathlib.Path(name).resolve() for name in named] or sorted(commands)
    unknown = [str(path) for path in wanted if path not in commands]
    if unknown:
        sys.exit(f"no flags known for {', '.join(unknown)}")
    made = build_dir.resolve()
    return {path: commands[path] for path in wanted
            if ROOT in path.parents and (made not in path.parents or path.parent.name == "Unity")}


def git(*words):
    """What git prints, or None if it fails."""
    run = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return run.stdout.strip() if run.returncode == 0 else None


def changed_files():
    """The files that differ from the base of --changed, or None where there is no such base."""
    if git("rev-parse", "--is-shallow-repository") != "false":
        return None
    base = next(filter(None, (git("merge-base", "HEAD", main) for main in ("main", "origin/main"))), None)
    if base == git("rev-parse", "HEAD"):
        base = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    if base is None:
        return None
    names = git("diff", "--name-only", "--diff-filter=d", base).splitlines()
    names += git("ls-files", "--others", "--exclude-standard").splitlines()
    return [ROOT / name for name in names if name.endswith((".cpp", ".hpp"))]


def sources_that_reach(files, sources):
    """Of `sources` those that contain the files: each file's own source, and for a header the first source that includes it."""
    reached = {source: set(our_files(source, command)) for source, command in sources.items()}
    wanted = set()
    for file in files:
        twin = file.with_suffix(".cpp")
        holders = [source for source in sources if file in reached[source]]
        wanted.update(sorted(holders, key=lambda source: (twin not in reached[source], len(reached[source])))[:1])
    return {source: sources[source] for source in sorted(wanted)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build_dir", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    tool = subprocess.run([TOOL, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    stamps = args.build_dir / "tidy"
    stamps.mkdir(exist_ok=True)
    sources = sources_of(args.build_dir, args.files)
    if args.changed and (files := changed_files()) is not None:
        sources = sources_that_reach(files, sources)
    hashes = {path: fingerprint(path, command, tool) for path, command in sources.items()}
    due = [path for path in sources if not (stamps / hashes[path]).exists()]

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {pool.submit(check, path, args.build_dir): path for path in due}
        for run in concurrent.futures.as_completed(runs):
            passed, text = run.result()
            if passed:
                (stamps / hashes[runs[run]]).touch()
            else:
                failed += 1
                print(f"{runs[run].relative_to(ROOT)}\n{text}", flush=True)
    print(f"clang-tidy: {len(sources)} sources, {len(due)} changed since they passed, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
