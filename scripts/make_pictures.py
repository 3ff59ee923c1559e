#!/usr/bin/env python3
"""Makes the pictures of docs/seeing.md: pages of the two runs of that guide, in headless Chromium.

Usage: scripts/make_pictures.py KERNBENCH [--chromium PROGRAM] [--check]

docs/images/seeing.json says what they were made from: the hashes of the runs, and the files of web/. With --check nothing is
made; exit code 1 if they were made from something else. That needs no browser.
"""
import argparse
import hashlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
RUNS = {"before.db": [], "after.db": ["variant=load_load"]}
# picture → (page, part of it, how much of its height, scale)
PICTURES = {"seeing-why": ("before", "#why", 620, 0.8), "seeing-plan": ("before", "#plan", 560, 0.62), "seeing-timeline": ("before", "#timeline", 620, 0.8),
            "seeing-compare": ("both", "#compare", 640, 0.72), "seeing-web": ("web", "#machine-values", 640, 0.6)}
MOST_BYTES = 100_000


def made_from(binary, folder):
    """What decides how the pictures look."""
    hashes = {}
    for name, words in RUNS.items():
        subprocess.run([binary, "run", "--bench", "matmul-composite", *words, "--quiet", "--save", name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with sqlite3.connect(pathlib.Path(folder) / name) as run:
            hashes[name], = run.execute("SELECT value FROM run WHERE key = 'hash'").fetchone()
    files = hashlib.sha256()
    for file in sorted((ROOT / "web").glob("*.*")):
        if file.suffix != ".md":
            files.update(file.name.encode() + b"\0" + file.read_bytes())
    return {"runs": hashes, "web": files.hexdigest()[:16]}


def shoot(binary, chromium, folder):
    sys.path.insert(0, str(ROOT / "tests" / "web"))
    from browser import Browser
    from serving import Serving
    for name, runs in {"before": ["before.db"], "both": ["before.db", "after.db"]}.items():
        subprocess.run([binary, "report", *runs, "-o", f"{name}.html"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    shutil.copy(ROOT / "topologies" / "small.yaml", folder)
    with Browser(chromium) as browser, Serving(binary, folder, "small.yaml") as server:
        for name, (page, part, height, scale) in PICTURES.items():
            url = server.url if page == "web" else (pathlib.Path(folder) / f"{page}.html").as_uri()
            tab = browser.open(url, width=1200 if page == "web" else 1000)
            if page == "web":
                tab.wait("document.body.dataset.ready === 'yes'", "the page to be ready")
            tab.run("new Promise((done) => setTimeout(done, 500))")
            tab.picture(IMAGES / f"{name}.png", part, height, scale)
            tab.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--check", action="store_true")
    words = parser.parse_args()
    binary, note = str(pathlib.Path(words.binary).resolve()), IMAGES / "seeing.json"
    with tempfile.TemporaryDirectory() as folder:
        now = made_from(binary, folder)
        if words.check:
            large = [f"{name}.png" for name in PICTURES if (IMAGES / f"{name}.png").stat().st_size > MOST_BYTES]
            if large:
                sys.exit(f"larger than {MOST_BYTES} bytes: {', '.join(large)}")
            if json.loads(note.read_text("utf-8")) != now:
                sys.exit(f"the pictures of docs/seeing.md show something else than what is there now: {now}\n  make them again: scripts/make_pictures.py {words.binary}")
            return
        shoot(binary, words.chromium, folder)
        note.write_text(json.dumps(now, indent=2) + "\n", "utf-8")


main()
