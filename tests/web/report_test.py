#!/usr/bin/env python3
"""Opens pages of `kernbench report` in headless Chromium and uses them as a person would.

Usage: report_test.py ODD_BENCHES CHROMIUM [--pictures FOLDER] [-v] [TEST …]

ODD_BENCHES is the command line with some benches more (odd_benches.cpp). --pictures keeps what the pages looked like.
"""
import csv
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from browser import Browser

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
CHROMIUM = sys.argv.pop(1)
PICTURES = None
if "--pictures" in sys.argv:
    at = sys.argv.index("--pictures")
    PICTURES = pathlib.Path(sys.argv[at + 1])
    del sys.argv[at:at + 2]

SECTIONS = ["what", "why", "plan", "timeline", "performance", "caveats"]
# The benches of odd_benches.cpp; all others are built in.
ODD_BENCHES = {"stuck", "race", "many", "endless", "crash", "files"}
# Options that make shipped benches small enough for a test; others run as they are.
SMALL = {
    "ccl-allreduce": ["n_elem=256", "--verify-data"],
    "matmul-composite": ["M=128", "--topology", "small"],
    "gpt3-qkv": ["tokens=8", "d_model=256", "--topology", "small"],
    "va-offset-verify": ["--verify-data"],
    "tp-mlp": ["hidden=256", "ffn=512", "tokens=16"],
    "milestone-gqa-llama70b": ["scale=validation"],
    "llama": ["model=custom", "batch=3", "context=40", "--verify-data", "--topology", "small"],
    "traffic": ["load=0.5", "messages=5", "--verify-data"],
    "ccl-neighbour": ["--verify-data"],
    "memory": ["count=200"],
}


# One point has more in its TCM than that holds.
SWEEP = """
bench: matmul-composite
harness: gemm
vary: {variant: [ref_ref, load_ref, load_load]}
zip: {M: [32, 8, 128, 4096], K: [128, 128, 64, 4096], N: [128, 32, 64, 32]}
columns: [pe_exec_ns, results.tflops, utilization.gemm, op_log_summary.engines.gemm.macs]
plot:
  - {x: K, y: pe_exec_ns, lines: [variant, M], log: xy}
  - {x: K, y: op_log_summary.engines.gemm.macs, lines: variant, log: xy}
  - {x: pe_exec_ns, y: results.tflops}
"""


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.at = pathlib.Path(cls.folder.name)
        cls.browser = Browser(CHROMIUM)
        cls.addClassCleanup(cls.browser.stop)

    def command(self, *words, code=0):
        done = subprocess.run([BINARY, *words], cwd=self.at, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def save(self, name, *words, code=0):
        self.command("run", "--quiet", "--save", name, "--bench", *words, code=code)

    def open(self, *runs, look="", **options):
        """The page of some saved runs, in the browser. `look` names the picture of it."""
        self.command("report", *runs, "-o", "report.html")
        page = self.browser.open((self.at / "report.html").as_uri(), **options)
        self.addCleanup(page.close)
        page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # until charts are drawn
        if PICTURES and look:
            page.picture(PICTURES / f"{look}.png")
        return page

    def facts(self, run):
        with sqlite3.connect(self.at / run) as db:
            return {key: json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
                    for key, value in db.execute("SELECT key, value FROM run")}

    def check_quiet(self, page):
        """No error, no request but for the file itself, nothing sticks out at the right, and no figure cuts its numbers off."""
        self.assertEqual(page.errors, [])
        self.assertEqual(page.requests, [(self.at / "report.html").as_uri()])
        self.assertLessEqual(page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)
        self.assertEqual(page.run("[...document.querySelectorAll('#figures svg text, #explore svg text')]"
                                  ".filter((t) => t.getBoundingClientRect().left < t.closest('svg').getBoundingClientRect().left).map((t) => t.textContent)"), [])

    def check_numbers(self, page, facts):
        values = page.run("Object.fromEntries([...document.querySelectorAll('[data-key]')].map((e) => [e.dataset.key, e.dataset.value]))")
        self.assertEqual(float(values["sim.total_ns"]), facts["sim"]["total_ns"])
        self.assertEqual(values["sim.op_log_hash"], facts["sim"]["op_log_hash"])
        self.assertEqual(float(values["lower_bound_ns"]), facts["lower_bound_ns"])
        self.assertEqual(int(values["ops"]), facts["ops"])
        self.assertEqual(values["critical_path.0.resource"], facts["critical_path"][0]["resource"])
        for key in ["gemm", "math", "dma_read", "dma_write", "hbm", "link_max"]:
            self.assertEqual(float(values["utilization." + key]), facts["utilization"][key])

    def tips(self, page, most=40):
        """What the timeline says under the pointer, here and there."""
        box = page.box(".scroller canvas")
        texts = set()
        for y in range(28, int(min(box["height"], 200)), 7):
            for x in range(0, int(box["width"]), 60):
                page.hover(box["x"] + x, box["y"] + y)
                text = page.run("tip.hidden ? '' : tip.textContent")
                if text:
                    texts.add(text)
                if len(texts) >= most:
                    return texts
        return texts

    def test_energy_has_a_section_where_the_machine_has_prices(self):
        self.save("energy.db", "matmul-composite", "M=128", "--topology", "realistic")
        page, energy = self.open("energy.db", look="energy"), self.facts("energy.db")["energy"]
        self.check_quiet(page)
        values = page.run("Object.fromEntries([...document.querySelectorAll('#energy [data-key]')].map((e) => [e.dataset.key, e.dataset.value]))")
        for key in ["total_pj", "average_w", "peak_w", "pj_per_flop"]:
            self.assertEqual(float(values["energy." + key]), energy[key])
        for part in ["static", "hbm", "tile_gemm", "Power over time", "matmul"]:
            self.assertIn(part, page.text("#energy"))
        self.assertEqual(page.run("document.querySelectorAll('#energy .fitted svg').length"), 1)

    def test_every_shipped_bench(self):
        names = {line.split()[0] for line in self.command("list", "benches").splitlines()[1:]} - ODD_BENCHES
        self.assertGreaterEqual(len(names), 6)
        for bench in sorted(names):
            with self.subTest(bench):
                self.save(f"{bench}.db", bench, *SMALL.get(bench, []))
                page = self.open(f"{bench}.db", look=bench)
                self.check_quiet(page)
                self.check_numbers(page, self.facts(f"{bench}.db"))
                self.assertEqual(page.run("[...document.querySelectorAll('section')].map((s) => s.id)"), SECTIONS)
                self.assertIn(bench, page.text("#what"))
                self.assertTrue(self.tips(page, most=1))

    def test_a_collective_has_its_table_and_causes_have_names(self):
        self.save("allreduce.db", "ccl-allreduce", "n_elem=256", "--verify-data")
        page = self.open("allreduce.db")
        text = page.text()
        for words in ["numbers verified", "busbw (GB/s)", "intercube_allreduce", "To run it again"]:
            self.assertIn(words, text)
        tips = self.tips(page)
        self.assertTrue(any("waited" in tip and ": host_map of" in tip for tip in tips), tips)

    def test_zoom_hover_and_slider(self):
        self.save("matmul.db", "matmul-composite", "M=128", "--topology", "small")
        page = self.open("matmul.db")
        whole = page.text("#timeline-range")
        for _ in range(3):
            page.click("#zoom-in")
        self.assertNotEqual(page.text("#timeline-range"), whole)
        box = page.box(".scroller canvas")
        page.mouse("mouseWheel", box["x"] + 500, box["y"] + 60, deltaX=0, deltaY=-200, modifiers=2)
        deeper = page.text("#timeline-range")
        page.mouse("mouseWheel", box["x"] + 500, box["y"] + 60, deltaX=0, deltaY=200, modifiers=2)
        self.assertNotEqual(page.text("#timeline-range"), deeper)
        page.click("#zoom-all")
        self.assertEqual(page.text("#timeline-range"), whole)
        self.assertTrue(any("on the critical path" in tip for tip in self.tips(page)))
        fills = "[...document.querySelector('.drawing').shadowRoot.querySelectorAll('.pe rect')].map((e) => e.style.fill).join()"
        average = page.run(fills)
        page.run("(() => { const s = document.querySelector('.slider input'); s.value = s.max / 2; s.dispatchEvent(new Event('input')); })()")
        self.assertIn("–", page.text(".slider output"))
        self.assertNotEqual(page.run(fills), average)
        self.check_quiet(page)

    def test_a_phone_the_dark_and_paper(self):
        self.save("matmul.db", "matmul-composite", "M=128")
        phone = self.open("matmul.db", width=390, height=844, phone=True, look="phone")
        self.check_quiet(phone)
        self.assertEqual(phone.run("innerWidth"), 390)
        self.assertTrue(self.tips(phone, most=1))
        dark = self.open("matmul.db", dark=True, look="dark")
        self.check_quiet(dark)
        ground = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(dark.run(ground), "rgb(18, 23, 29)")
        dark.run("document.querySelector('header button').click()")
        self.assertEqual(dark.run(ground), "rgb(246, 247, 249)")
        dark.run("document.querySelector('header button').click()")
        dark.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(dark.run(ground), "rgb(255, 255, 255)")
        self.assertEqual(dark.run("getComputedStyle(document.querySelector('.controls')).display"), "none")
        if PICTURES:
            dark.pdf(PICTURES / "paper.pdf")

    def test_a_run_that_got_stuck_says_why(self):
        self.save("stuck.db", "stuck", code=1)
        page = self.open("stuck.db", look="stuck")
        self.check_quiet(page)
        for words in ["the program failed", "1 program cannot go on", "recv"]:
            self.assertIn(words, page.text("#what"))
        self.assertTrue(self.tips(page, most=1))

    def test_hazards_are_named(self):
        self.save("careless.db", "race")
        self.assertIn("Not looked for in this run", self.open("careless.db").text("#caveats"))
        self.save("race.db", "race", "--hazards")
        page = self.open("race.db", look="race")
        self.check_quiet(page)
        self.assertIn("1 hazard", page.text("#what"))
        self.assertIn("race: <b>two</b> writers & no order", page.text("#what"))
        self.assertIn("write-write", page.text("#caveats"))

    def test_two_runs_side_by_side(self):
        self.save("matmul.db", "matmul-composite", "M=128", "--topology", "small")
        self.save("loaded.db", "matmul-composite", "M=128", "variant=load_load", "--topology", "small", "--set", "cube.hbm.access_ns=30")
        page = self.open("matmul.db", "loaded.db", look="two")
        self.check_quiet(page)
        first, second = self.facts("matmul.db"), self.facts("loaded.db")
        value = "Number(document.querySelector(`[data-key='runs.%d.total_ps']`).dataset.value)"
        self.assertEqual(page.run(value % 0), first["total_ps"])
        self.assertEqual(page.run(value % 1), second["total_ps"])
        self.assertIn("2 runs side by side", page.text())
        self.assertIn("cube.hbm.access_ns", page.text("#compare"))
        page.run("[...document.querySelectorAll('#page > .row button')][1].click()")
        self.assertEqual(page.run("document.querySelector(`[data-key='sim.op_log_hash']`).dataset.value"), second["hash"])
        self.assertEqual(page.errors, [])

    def test_a_sweep(self):
        (self.at / "plan.yaml").write_text(SWEEP)
        self.assertIn("look at swept/report.html", self.command("sweep", "plan.yaml", "-o", "swept", "--quiet", code=1))
        for options in [{"look": "sweep"}, {"look": "sweep-dark", "dark": True}, {"look": "sweep-phone", "width": 390, "height": 844, "phone": True}]:
            page = self.open("swept", **options)
            self.check_quiet(page)
        sections = page.run("[...document.querySelectorAll('section')].map((s) => s.id)")
        self.assertEqual(sections, ["what", "figures", "gemm", "explore", "table"])
        rows = list(csv.DictReader((self.at / "swept/results.csv").open()))
        self.assertEqual(page.run("document.querySelectorAll('#table tbody tr').length"), len(rows))
        text = page.text()
        for words in ["pe_exec (ns)", "MAC utilisation", "pe.pe_gemm.tile_cycles", "8×128×32 *", "No point is faster than the theory", "TCM"]:
            self.assertIn(words, text)
        self.assertTrue(page.run("[...document.querySelectorAll('#explore svg.chart path')].length > 5"))
        before = page.run("document.querySelector('#explore svg').outerHTML")
        page.run("(() => { const s = document.querySelectorAll('#explore select')[1]; s.value = 'results.tflops'; s.dispatchEvent(new Event('change')); })()")
        self.assertNotEqual(page.run("document.querySelector('#explore svg').outerHTML"), before)
        self.assertNotIn("false", page.text("#explore"))  # controls that are left out leave nothing
        lines = [page.run(f"document.querySelectorAll('#figures svg.chart')[{i}].querySelectorAll('path.line').length") for i in range(3)]
        self.assertGreater(lines[0], 0)
        self.assertEqual(lines[2], 0)  # one measured value against another, to and fro: points
        page.run("document.querySelector('#table th a').click()")
        self.assertIn("↑", page.text("#table thead"))
        self.assertEqual(page.errors, [])

    def test_a_million_operations(self):
        self.save("many.db", "many", "ops=1000000", "--threads", "1")
        self.assertGreaterEqual(self.facts("many.db")["ops"], 1_000_000)
        page = self.open("many.db", look="many")
        self.assertLess((self.at / "report.html").stat().st_size, 5_000_000)
        self.check_quiet(page)
        self.check_numbers(page, self.facts("many.db"))
        self.assertTrue(self.tips(page, most=1))
        paint = page.run("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        print(f"a million operations: first paint after {paint} ms", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
