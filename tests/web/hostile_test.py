#!/usr/bin/env python3
"""`kernbench web` and callers that mean it no good: what they can make it hold, wait for, read and write.

Usage: hostile_test.py ODD_BENCHES [-v] [TEST …]
"""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from serving import Serving

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
FOREVER = "3600"  # seconds: no test waits for it
ENDLESS = 256 << 20  # bytes: more than the server takes from anybody


class WithServer(unittest.TestCase):
    """A folder `runs` that the server is given, beside it a `secret.csv` that it is not, and room for its temporary folder."""

    WORDS = []

    def setUp(self):
        self.at = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.at)
        self.runs = self.at / "runs"
        for folder in [self.runs, self.at / "tmp", self.at / "here"]:
            folder.mkdir()
        (self.at / "secret.csv").write_text("secret")
        (self.runs / "mine.csv").write_text("mine")
        self.server = self.serve("../runs", *self.WORDS)

    def serve(self, *words):
        server = Serving(BINARY, self.at / "here", *words, env={**os.environ, "TMPDIR": str(self.at / "tmp")})
        self.addCleanup(server.stop)
        return server

    def ask(self, *words, **more):
        return self.server.ask(*words, **more)

    def check_alive(self):
        status, state = self.ask("/api/state")
        self.assertEqual(status, 200)
        return state

    def refused(self, status, path, body=None):
        got, said = self.ask(path, body)
        self.assertEqual(got, status, said)
        return said["error"]

    def connect(self, sent=b"", buffer=None):
        link = socket.socket()
        if buffer:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        link.settimeout(60)
        link.connect(("127.0.0.1", self.server.port))
        self.addCleanup(link.close)
        link.sendall(sent)
        return link

    def request(self, line, more=b""):
        return b"%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n" % (line, self.server.port, more)

    def run_bench(self, bench, *options, **more):
        status, said = self.ask("/api/run", {"bench": bench, "options": list(options), "machine": "small", **more})
        self.assertEqual(status, 202, said)
        return said["job"]

    def over(self, job):
        while True:
            said = self.ask(f"/api/jobs/{job}")[1]
            if said["state"] not in ("waiting", "running"):
                return said
            time.sleep(0.02)

    def running(self, job):
        while self.ask(f"/api/jobs/{job}")[1]["state"] == "waiting":
            time.sleep(0.02)

    def peak_memory(self):
        """MiB"""
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) >> 10


class Bounds(WithServer):
    WORDS = ["--patience", FOREVER]

    def test_headers_and_lines_without_end_are_refused_and_not_kept(self):
        before = self.peak_memory()
        for start, more in [(self.request(b"GET /")[:-2], b"A: b\r\n" * 10000), (b"GET /", b"a" * 60000), (self.request(b"GET /")[:-2] + b"X: ", b"y" * 60000),
                            (b"", b"\r" * 60000), (b"", b"\0" * 60000)]:
            link = self.connect(start)
            said = b""
            with contextlib.suppress(ConnectionError):
                for _ in range(ENDLESS // len(more)):
                    link.sendall(more)
            with contextlib.suppress(ConnectionError):
                said = b"".join(iter(lambda: link.recv(65536), b""))
            self.assertRegex(said, rb"^(HTTP/1\.1 4\d\d |$)")  # the answer is lost where the connection was ended first
        self.check_alive()
        self.assertLess(self.peak_memory() - before, 100)

    def test_headers_that_are_too_long_are_answered(self):
        self.assertIn(b"HTTP/1.1 431 ", self.server.say(self.request(b"GET /", b"A: b\r\n" * 3000)))
        self.assertIn(b"HTTP/1.1 431 ", self.server.say(self.request(b"GET /", b"X: " + b"y" * 20000 + b"\r\n")))
        self.assertIn(b"HTTP/1.1 414 ", self.server.say(self.request(b"GET /" + b"a" * 5000)))

    def test_a_body_needs_a_length_and_one_within_the_limit(self):
        json = b"Content-Type: application/json\r\n"
        self.assertIn(b"HTTP/1.1 411 ", self.server.say(self.request(b"POST /api/machine", json + b"Transfer-Encoding: chunked\r\n") + b"2\r\n{}\r\n0\r\n\r\n"))
        self.assertIn(b"HTTP/1.1 413 ", self.server.say(self.request(b"POST /api/machine", json + b"Content-Length: 1048577\r\n")))
        self.assertIn(b"HTTP/1.1 413 ", self.server.say(self.request(b"POST /api/machine", json + b"Content-Length: 99999999999999999999999\r\n")))
        for length in [b"-1", b"+2", b"2x", b"0x2", b"2\r\nContent-Length: 3"]:
            self.assertIn(b"HTTP/1.1 400 ", self.server.say(self.request(b"POST /api/machine", json + b"Content-Length: " + length + b"\r\n") + b"{}"), length)
        self.assertIn(b"HTTP/1.1 200 ", self.server.say(self.request(b"POST /api/machine", json + b"Content-Length: 2\r\n") + b"{}"))

    def test_a_request_that_comes_byte_by_byte_is_answered(self):
        link = self.connect()
        for byte in self.request(b"GET /api/state"):
            link.sendall(bytes([byte]))
        self.assertIn(b"HTTP/1.1 200 OK\r\n", link.recv(65536))

    def test_callers_who_never_end_their_request_do_not_keep_others_out(self):
        links = [self.connect(self.request(b"GET /")[:-2] + b"A: b") for _ in range(300)]  # more than the server holds
        for link in links[-50:]:
            link.sendall(b"c")
        self.check_alive()
        with contextlib.suppress(ConnectionResetError):  # it had sent what nobody has read
            self.assertEqual(links[0].recv(1), b"")  # the oldest had to go

    def test_callers_who_never_read_do_not_keep_others_out(self):
        with open(self.runs / "big.db", "wb") as file:
            file.truncate(64 << 20)  # more than sockets hold
        number = next(run["id"] for run in self.check_alive()["runs"] if run["name"] == "big.db")
        links = [self.connect(self.request(b"GET /runs/%d.db" % number), buffer=4096) for _ in range(100)]
        for link in links:
            self.assertEqual(link.recv(1), b"H")
        self.check_alive()
        status, content = self.ask(f"/runs/{number}.db")
        self.assertEqual((status, len(content)), (200, 64 << 20))

    def test_it_ends_at_once_whatever_is_open_and_leaves_nothing(self):
        for sent in [b"", b"GET", self.request(b"GET /")[:-2], self.request(b"POST /api/run", b"Content-Length: 100\r\n")]:
            self.connect(sent)
        self.connect(self.request(b"GET /"), buffer=4096)
        self.over(self.run_bench("race"))
        self.running(self.run_bench("endless"))
        self.run_bench("race")
        self.assertTrue(list((self.at / "tmp").rglob("*.db")))
        self.assertEqual(self.server.stop(), 0)  # within Serving's limit, far below the patience of this server
        self.assertEqual(list((self.at / "tmp").iterdir()), [])


class Deadlines(WithServer):
    WORDS = ["--patience", "1"]

    def answer(self, sent):
        """What comes when no more is sent. A test that was so slow that it said nothing in time tries again."""
        while True:
            with contextlib.suppress(ConnectionError):
                if said := self.connect(sent).recv(65536):
                    return said

    def test_a_request_that_does_not_come_in_time_is_refused(self):
        self.assertIn(b"HTTP/1.1 408 ", self.answer(self.request(b"GET /")[:-2]))
        self.assertIn(b"HTTP/1.1 408 ", self.answer(self.request(b"POST /api/run", b"Content-Type: application/json\r\nContent-Length: 10\r\n") + b"{"))

    def test_a_caller_who_says_nothing_is_left(self):
        self.assertEqual(self.connect().recv(1), b"")


class Runs(WithServer):
    def test_a_run_that_crashes_is_told_and_the_next_one_runs(self):
        crashed, behind = self.run_bench("crash"), self.run_bench("race")
        said = self.over(crashed)
        self.assertEqual(said["state"], "failed")
        self.assertIn("signal 6", said["failure"])
        self.assertEqual(self.over(behind)["state"], "done")

    def test_a_run_that_never_looks_up_can_be_stopped(self):
        endless, behind = self.run_bench("endless"), self.run_bench("race")
        self.running(endless)
        self.assertEqual(self.ask(f"/api/jobs/{endless}/stop", {})[0], 200)
        self.assertEqual(self.over(endless)["state"], "stopped")
        self.assertEqual(self.over(behind)["state"], "done")

    def test_a_run_over_the_limit_is_ended_and_the_next_one_runs(self):
        self.server = self.serve("--run-limit", "1")
        endless = self.run_bench("endless")
        said = self.over(endless)
        self.assertEqual(said["state"], "stopped")
        self.assertIn("--run-limit", said["failure"])
        self.server = self.serve("--run-limit", "0")
        self.assertEqual(self.over(self.run_bench("race"))["state"], "done")

    def test_a_request_as_long_as_it_may_be_runs_or_is_refused(self):
        for value in ["1" * 1000, "1" * 250000]:
            status, said = self.ask("/api/run", {"bench": "race", "machine": "small", "set": [f"cube.hbm.access_ns={value}"] * 4})
            self.assertIn(status, (202, 413, 422))
            if status == 202:
                self.over(said["job"])
        self.assertEqual(self.over(self.run_bench("race"))["state"], "done")


class Files(WithServer):
    def setUp(self):
        super().setUp()
        os.symlink(self.at / "secret.csv", self.runs / "link.csv")
        os.symlink(self.runs / "mine.csv", self.runs / "inside.csv")
        os.mkfifo(self.runs / "pipe.csv")
        os.mkfifo(self.runs / "pipe.db")

    def content(self):
        return sorted(str(path.relative_to(self.at)) for path in self.at.rglob("*") if not path.is_relative_to(self.at / "tmp"))

    def test_files_to_read_are_those_that_were_given(self):
        for name, text in [("shipped", "shipped"), (str(self.runs / "mine.csv"), "mine"), ("../runs/mine.csv", "mine"), (str(self.runs / "inside.csv"), "mine")]:
            said = self.over(self.run_bench("files", f"in={name}"))
            self.assertEqual((said["state"], said["line"]), ("done", f"files: {text}"), said)

    def test_other_files_are_refused_in_the_same_words(self):
        words = set()
        for name in [self.at / "secret.csv", "../secret.csv", self.runs / "link.csv", self.runs / ".." / "secret.csv", self.runs / "pipe.csv", self.runs, self.at / "none.csv",
                     "/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/environ"]:
            words.add(self.refused(422, "/api/run", {"bench": "files", "options": [f"in={name}"]})["what"])
            for bench in ["llama", "milestone-gqa-llama70b"]:
                words.add(self.refused(422, "/api/run", {"bench": bench, "options": [f"beside={name}"]})["what"])
        self.assertEqual(len(words), 1, words)

    def test_no_request_writes_a_file(self):
        before = self.content()
        for name in [self.at / "new.txt", "new.txt", self.runs / "new.txt", self.at / "secret.csv"]:
            self.assertIn("names a file to write", self.refused(422, "/api/run", {"bench": "files", "options": [f"out={name}"]})["what"])
            self.refused(422, "/api/run", {"bench": "milestone-gqa-llama70b", "options": [f"output={name}"]})
        self.assertEqual(self.over(self.run_bench("files"))["state"], "done")  # by default it would write one
        self.assertEqual(self.content(), before)
        shown = {bench["name"]: [option["name"] for option in bench["options"]] for bench in self.check_alive()["benches"]}
        self.assertEqual(shown["files"], ["in"])

    def test_code_is_not_named(self):
        for value in ["../evil.py", "/tmp/evil.py", "os.path", "evil.py:f"]:
            self.assertEqual(self.refused(422, "/api/run", {"bench": "race", "machine": "small", "set": [f"ccl.algorithms.ring_allreduce.module={value}"]})["id"], "web.name")

    def test_pipes_in_a_folder_are_not_opened(self):
        self.assertEqual(self.check_alive()["runs"], [])

    def test_a_file_that_became_a_pipe_or_a_link_is_gone(self):
        subprocess.run([BINARY, "run", "--quiet", "--bench", "race", "--topology", "small", "--save", self.runs / "a.db"], check=True, stdout=subprocess.DEVNULL)
        small = pathlib.Path(__file__).resolve().parents[2] / "topologies" / "small.yaml"
        shutil.copy(small, self.at / "here" / "m.yaml")
        self.server = self.serve("../runs", "m.yaml")
        number = self.check_alive()["runs"][0]["id"]
        self.assertEqual(self.ask("/api/machine", {"machine": "m.yaml"})[0], 200)
        os.replace(self.runs / "a.db", self.at / "secret.db")
        (self.at / "here" / "m.yaml").unlink()
        os.mkfifo(self.at / "here" / "m.yaml")
        for replace in [lambda: os.mkfifo(self.runs / "a.db"), lambda: os.symlink(self.at / "secret.db", self.runs / "a.db")]:
            replace()
            self.refused(404, f"/runs/{number}.db")
            self.refused(404, f"/report?runs={number}")
            self.assertEqual(self.check_alive()["runs"], [])
            (self.runs / "a.db").unlink()
        self.refused(422, "/api/machine", {"machine": "m.yaml"})
        self.refused(422, "/api/run", {"bench": "race", "machine": "m.yaml"})

    def test_sweeps_with_links_are_not_shown(self):
        (self.at / "sweep.json").write_text('{"bench": "secret", "rows": []}')
        for name in ["direct", "gemm"]:
            (self.runs / name).mkdir()
        os.symlink(self.at / "sweep.json", self.runs / "direct" / "sweep.json")
        (self.runs / "gemm" / "sweep.json").write_text('{"bench": "x", "rows": []}')
        os.symlink(self.at / "sweep.json", self.runs / "gemm" / "gemm_sweep.json")
        os.symlink(self.runs / "gemm", self.runs / "linked")
        self.assertEqual(self.check_alive()["sweeps"], [])

    def test_what_if_writes_nothing_that_the_file_names(self):
        saved, written = self.at / "run.db", self.at / "written.txt"
        subprocess.run([BINARY, "run", "--quiet", "--bench", "files", f"out={written}", "--topology", "small", "--save", saved], check=True, stdout=subprocess.DEVNULL)
        written.unlink()
        before = self.content()
        for words in [["--what-if", "cube.hbm.access_ns=10"], ["--sensitivity"]]:
            done = subprocess.run([BINARY, "explain", saved, *words], cwd=self.at / "here", capture_output=True, text=True, check=True)
            self.assertIn("ns", done.stdout)
        self.assertEqual(self.content(), before)


if __name__ == "__main__":
    unittest.main()
