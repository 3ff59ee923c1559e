#!/usr/bin/env python3
"""`kernbench web` over HTTP: what it answers, what it refuses, and that it goes on.

Usage: server_test.py ODD_BENCHES [-v] [TEST …]
"""
import concurrent.futures
import os
import pathlib
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from serving import Serving

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()


class WebServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.at = pathlib.Path(cls.folder.name)
        (cls.at / "runs").mkdir()
        for name, more in {"a.db": [], "b.db": ["variant=load_load"]}.items():
            subprocess.run([BINARY, "run", "--quiet", "--bench", "matmul-composite", "M=64", *more, "--topology", "small", "--save", cls.at / "runs" / name],
                           check=True, stdout=subprocess.DEVNULL)
        (cls.at / "secret.db").write_bytes((cls.at / "runs" / "a.db").read_bytes())
        os.symlink(cls.at / "secret.db", cls.at / "runs" / "link.db")
        (cls.at / "runs" / "broken.db").write_text("no database")
        cls.server = Serving(BINARY, cls.at, "runs")
        cls.addClassCleanup(cls.server.stop)

    def ask(self, *words, **more):
        return self.server.ask(*words, **more)

    def wait_for(self, job):
        for _ in range(6000):
            status, said = self.ask(f"/api/jobs/{job}")
            self.assertEqual(status, 200)
            if said["state"] not in ("waiting", "running"):
                return said
            time.sleep(0.05)
        self.fail(f"job {job} is never over: {said}")

    def check_alive(self):
        status, state = self.ask("/api/state")
        self.assertEqual(status, 200)
        return state

    def refused(self, status, path, body=None, **more):
        got, said = self.ask(path, body, **more)
        self.assertEqual(got, status, said)
        self.assertTrue(said["error"]["what"])
        return said["error"]

    def test_the_state_lists_what_there_is(self):
        state = self.check_alive()
        self.assertEqual(state["machines"], ["default", "realistic", "small"])
        self.assertIn("matmul-composite", [b["name"] for b in state["benches"]])
        runs = {run["name"]: run for run in state["runs"]}
        self.assertNotIn("link.db", runs)  # it leads out of the folder
        self.assertIn("error", runs["broken.db"])
        with sqlite3.connect(self.at / "runs" / "a.db") as db:
            total, = db.execute("SELECT value FROM run WHERE key = 'total_ps'").fetchone()
        self.assertEqual(runs["a.db"]["total_ps"], int(total))
        self.assertEqual(runs["a.db"]["bench"], "matmul-composite")

    def test_sweeps_in_folders_are_shown(self):
        plan = self.at / "runs" / "plan.yaml"
        plan.write_text("bench: matmul-composite\nvary: {M: [32, 64]}\ncolumns: [pe_exec_ns]\nplot: {x: M, y: pe_exec_ns}\n")
        subprocess.run([BINARY, "sweep", plan, "-o", self.at / "runs" / "swept", "--quiet"], check=True, capture_output=True)
        sweeps = self.check_alive()["sweeps"]
        self.assertEqual([(s["name"], s["bench"], s["points"]) for s in sweeps], [("swept", "matmul-composite", 2)])
        status, page = self.ask(f"/sweeps/{sweeps[0]['id']}")
        self.assertEqual(status, 200)
        self.assertIn(b"Sweep of matmul-composite", page)
        for path in ["/sweeps/99", "/sweeps/0", "/sweeps/-1"]:
            self.refused(404, path)
        for path in ["/sweeps/", "/sweeps/x", "/sweeps/1/../../secret"]:
            self.refused(404, path)

    def test_a_machine_is_checked_value_by_value(self):
        status, machine = self.ask("/api/machine", {"machine": "small", "set": ["sip.cube_mesh.w=3"]})
        self.assertEqual(status, 200)
        self.assertIn("× 6 cubes", machine["headline"])
        self.assertTrue(machine["plan"].startswith("<svg"))
        params = {p["key"]: p["value"] for g in machine["groups"] for p in g["params"]}
        self.assertEqual(params["sip.cube_mesh.w"], "3")
        error = self.refused(422, "/api/machine", {"machine": "small", "set": ["cube.hbm.access_ns=-1"]})
        self.assertIn("from 0 to", error["what"])
        self.assertIn("cube.hbm.access_ns", error["where"])
        self.refused(422, "/api/machine", {"set": ["no.such.key=1"]})

    def test_a_probe_equals_the_terminals(self):
        ends = ("sip0.cube0.pe0", "sip0.cube1.hbm_ctrl.pe0")
        status, said = self.ask("/api/probe", {"machine": "small", "from": ends[0], "to": ends[1], "bytes": 4096})
        self.assertEqual(status, 200)
        done = subprocess.run([BINARY, "probe", "latency", *ends, "--bytes", "4096", "--topology", "small", "--json", "-"], capture_output=True, text=True, check=True)
        self.assertIn(f'"total_ns": {said["total_ns"]}', done.stdout)
        self.assertIn("sip0", self.refused(422, "/api/probe", {"machine": "small", "from": "sip0.cube99.pe0", "to": ends[1]})["where"])
        self.refused(422, "/api/probe", {"machine": "small", "from": ends[0], "to": ends[1], "bytes": 1 << 40})

    def test_options_have_bare_defaults_and_the_condition_on_which_they_apply(self):
        options = {bench["name"]: {option["name"]: option for option in bench["options"]} for bench in self.ask("/api/state")[1]["benches"]}
        self.assertEqual(options["milestone-gqa-llama70b"]["contexts"]["value"], "2048,8192")
        self.assertEqual(options["milestone-gqa-llama70b"]["beside"]["value"], "")
        self.assertEqual(options["ccl-allreduce"]["buffer_kind"]["value"], "")
        self.assertTrue(options["memory"]["stride_bytes"]["doc"].startswith("only with pattern=stride: "), options["memory"]["stride_bytes"])

    def test_a_bench_runs_and_its_report_opens(self):
        status, said = self.ask("/api/run", {"bench": "matmul-composite", "options": ["M=32"], "machine": "small", "set": ["cube.hbm.access_ns=10"], "verify": True})
        self.assertEqual(status, 202)
        job = self.wait_for(said["job"])
        self.assertEqual(job["state"], "done", job)
        self.assertIn("--set cube.hbm.access_ns=10", job["command"])
        status, page = self.ask(f"/report?runs={job['run']}")
        self.assertEqual(status, 200)
        self.assertIn(b"matmul-composite 32", page)
        status, file = self.ask(f"/runs/{job['run']}.db")
        self.assertEqual(status, 200)
        self.assertTrue(file.startswith(b"SQLite format 3"))
        ids = [run["id"] for run in self.check_alive()["runs"] if "error" not in run]
        self.assertEqual(self.ask(f"/report?runs={ids[0]},{ids[1]}")[0], 200)

    def test_a_run_that_fails_says_why_and_one_that_is_long_can_be_stopped(self):
        job = self.wait_for(self.ask("/api/run", {"bench": "stuck"})[1]["job"])
        self.assertEqual(job["state"], "failed")
        self.assertIn("1 program cannot go on", job["failure"])
        self.assertEqual(self.ask(f"/report?runs={job['run']}")[0], 200)
        long = self.ask("/api/run", {"bench": "many", "options": ["ops=50000000"]})[1]["job"]
        behind = self.ask("/api/run", {"bench": "race", "machine": "small"})[1]["job"]
        self.assertEqual(self.ask(f"/api/jobs/{long}/stop", {})[0], 200)
        self.assertEqual(self.wait_for(long)["state"], "stopped")
        self.assertEqual(self.wait_for(behind)["state"], "done")

    def test_what_was_not_given_is_refused(self):
        for path in ["/../secret.db", "/runs/../secret.db", "/secret.db", "/runs/a.db", "/runs/%2e%2e/secret.db", "/etc/passwd", "//etc/passwd", "/api", "/runs/1.db/x"]:
            self.refused(404, path)
        self.refused(404, "/report?runs=999")
        self.refused(404, "/runs/999.db")
        self.refused(404, "/api/jobs/999")
        for name in ["/etc/passwd", str(self.at / "secret.db"), "../topology.yaml", "topology.yaml"]:
            self.refused(404, "/api/machine", {"machine": name})
            self.refused(404, "/api/run", {"bench": "race", "machine": name})
        for runs in ["", "x", "1,x", "1,,2", "-1", "1;2", ",".join(["1"] * 9), "99999999999999999999"]:
            self.assertIn(self.ask(f"/report?runs={runs}")[0], (400, 404), runs)
        self.refused(422, "/api/run", {"bench": "no-such-bench"})
        self.refused(422, "/api/run", {"bench": "matmul-composite", "options": ["M=-5"]})

    def test_bodies_that_are_none_of_ours_are_refused(self):
        for body in [b"", b"{", b"[]", b"7", b'"x"', b"\xff\xfe", b"{" * 10000, b"null"]:
            self.refused(400, "/api/machine", body)
        for body in [{"machine": 7}, {"set": "x"}, {"set": [1]}, {"set": ["a=1"] * 501}]:
            self.refused(400, "/api/machine", body)
        self.refused(400, "/api/probe", {"from": 1, "to": 2})
        self.refused(400, "/api/run", {"bench": ["x"]})
        self.refused(400, "/api/run", {"bench": "race", "verify": "yes"})
        self.refused(413, "/api/machine", b"x" * ((1 << 20) + 1))
        self.refused(415, "/api/machine", b"{}", headers={"Content-Type": "text/plain"})
        self.assertIn(self.ask("/api/state", method="DELETE")[0], (400, 404, 405))
        self.check_alive()

    def test_other_names_and_other_pages_are_refused(self):
        self.refused(403, "/api/state", headers={"Host": "evil.example"})
        self.refused(403, "/", headers={"Host": f"evil.example:{self.server.port}"})
        self.refused(403, "/api/machine", {}, headers={"Origin": "http://evil.example"})
        self.assertEqual(self.ask("/api/state", headers={"Host": f"localhost:{self.server.port}"})[0], 200)

    def test_it_listens_on_this_computer_alone(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
                mine = probe.getsockname()[0]
            except OSError:
                self.skipTest("this computer has no address but its own")
        if mine.startswith("127."):
            self.skipTest("this computer has no address but its own")
        with self.assertRaises(OSError):
            socket.create_connection((mine, self.server.port), timeout=5).close()

    def test_nonsense_does_not_end_it(self):
        chance = random.Random(18)
        host = f"Host: 127.0.0.1:{self.server.port}\r\n".encode()
        whole = b"POST /api/machine HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\nContent-Length: 21\r\n\r\n{\"machine\": \"default\"}"
        cases = [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 100, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000 + b"\r\n",
                 b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"y" * 20000 + b"\r\n\r\n",
                 b"POST /api/machine HTTP/1.1\r\n" + host + b"Content-Length: 99999999999999\r\n\r\n{}", b"POST /api/machine HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n{}",
                 b"POST /api/machine HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", b"GET /%zz%ff%00 HTTP/1.1\r\n" + host + b"\r\n"]
        for _ in range(200):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 8)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            cases.append(bytes(damaged[:chance.randint(1, len(damaged))]))
        for raw in cases:
            said = self.server.say(raw)
            self.assertNotIn(b"HTTP/1.1 500", said, raw)
        self.check_alive()

    def test_many_at_once_are_answered_or_refused(self):
        silent = [socket.create_connection(("127.0.0.1", self.server.port), timeout=60) for _ in range(40)]
        def answer(_):
            try:
                return self.ask("/api/machine", {"machine": "small"})[0]
            except ConnectionError:  # closed while it waited: refused as well
                return 503
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            answers = list(pool.map(answer, range(100)))
        for link in silent:
            link.close()
        self.assertLessEqual(set(answers), {200, 503})
        self.assertIn(200, answers)
        self.check_alive()

    def test_too_many_runs_are_refused(self):
        jobs, statuses = [], []
        for _ in range(20):
            status, said = self.ask("/api/run", {"bench": "many", "options": ["ops=50000000"]})
            statuses.append(status)
            jobs += [said["job"]] if status == 202 else []
        self.assertEqual(statuses[-1], 429)
        self.assertLessEqual(len(jobs), 17)
        for job in jobs:
            self.ask(f"/api/jobs/{job}/stop", {})
        for job in jobs:
            self.assertEqual(self.wait_for(job)["state"], "stopped")

    def test_runs_are_kept_if_wanted_and_it_stops_at_once(self):
        with Serving(BINARY, self.at, "--keep", "kept") as server:
            job = server.ask("/api/run", {"bench": "race", "machine": "small"})[1]["job"]
            while server.ask(f"/api/jobs/{job}")[1]["state"] in ("waiting", "running"):
                time.sleep(0.05)
            server.ask("/api/run", {"bench": "many", "options": ["ops=50000000"]})
            self.assertEqual(server.stop(), 0)  # though a run is under way
        self.assertEqual([file.name for file in (self.at / "kept").iterdir()], ["race-001.db"])

    def test_bad_words_are_refused(self):
        def refused(*words):
            done = subprocess.run([BINARY, "web", *words], cwd=self.at, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done)
            return done.stderr
        self.assertIn("missing.db", refused("missing.db"))
        self.assertIn("missing.yaml", refused("missing.yaml"))
        self.assertIn("port is taken", refused("--port", str(self.server.port)))
        self.assertIn("nobody can listen", refused("--host", "192.0.2.1"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
