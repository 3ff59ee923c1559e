#!/usr/bin/env python3
"""A person's session with `kernbench web` in headless Chromium.

Usage: session_test.py ODD_BENCHES CHROMIUM [--pictures FOLDER] [-v] [TEST …]
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

from browser import Browser
from serving import Serving

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
CHROMIUM = sys.argv.pop(1)
PICTURES = None
if "--pictures" in sys.argv:
    at = sys.argv.index("--pictures")
    PICTURES = pathlib.Path(sys.argv[at + 1])
    del sys.argv[at:at + 2]


class Session(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.at = pathlib.Path(cls.folder.name)
        subprocess.run([BINARY, "run", "--quiet", "--bench", "matmul-composite", "M=64", "--topology", "small", "--save", cls.at / "before.db"], check=True,
                       stdout=subprocess.DEVNULL)
        machine = pathlib.Path(__file__).resolve().parents[2] / "topologies" / "small.yaml"
        (cls.at / "mine.yaml").write_text(machine.read_text())
        cls.server = Serving(BINARY, cls.at, "before.db", "mine.yaml")
        cls.addClassCleanup(cls.server.stop)
        cls.browser = Browser(CHROMIUM)
        cls.addClassCleanup(cls.browser.stop)

    def open(self, path="", **options):
        page = self.browser.open(self.server.url + path, **options)
        self.addCleanup(page.close)
        if not path:
            page.wait("document.body.dataset.ready === 'yes'", "the page to be ready")
        return page

    def picture(self, page, name):
        if PICTURES:
            page.picture(PICTURES / f"{name}.png")

    def check_quiet(self, page, refusals=0):
        """No error but for refusals, which Chromium lists as failed requests; nothing asked of anybody else."""
        self.assertEqual([e for e in page.errors if "status of 422" not in e], [])
        self.assertEqual(len(page.errors), refusals, page.errors)
        self.assertEqual([r for r in page.requests if not r.startswith((self.server.url, "data:"))], [])

    def set_value(self, page, key, value):
        page.run(f"document.querySelector(`[name='{key}']`).closest('details').open = true")
        page.type(f"[name='{key}']", value)

    def choose(self, page, selector, value):
        page.run(f"(() => {{ const s = document.querySelector('{selector}'); s.value = '{value}'; s.dispatchEvent(new Event('change')); }})()")

    def click_node(self, page, path):
        """On the floor plan, as a person would."""
        page.click_at(*page.run("(() => { const root = document.querySelector('#machine-values .drawing').shadowRoot;"
                                f"const e = root.querySelector(`[data-node='{path}']`); e.scrollIntoView({{ block: 'center' }});"
                                "const b = e.getBoundingClientRect(); return [b.x + b.width / 6, b.y + b.height / 4]; })()"))  # routers lie in the middle

    def test_a_value_is_refused_with_its_reason_and_another_redraws_the_plan(self):
        page = self.open()  # what was given comes first
        self.assertEqual(page.run("document.querySelector('#machine').value"), "mine.yaml")
        self.assertIn("4 cubes", page.text("#headline"))
        cubes = "document.querySelector('#machine-values .drawing').shadowRoot.querySelectorAll('.cube rect').length"
        before = page.run(cubes)
        self.set_value(page, "sip.cube_mesh.w", "0")
        page.wait("!document.querySelector('#refusal').hidden", "a refusal")
        self.assertIn("'w' must be a whole number from 1 to", page.text("#refusal"))
        self.assertEqual(page.run("document.querySelector(`[name='sip.cube_mesh.w']`).getAttribute('aria-invalid')"), "true")
        self.assertEqual(page.run(cubes), before)
        self.picture(page, "refused")
        self.set_value(page, "sip.cube_mesh.w", "3")
        page.wait("document.querySelector('#refusal').hidden", "the refusal to go")
        page.wait("document.querySelector('#headline').textContent.includes('6 cubes')", "the plan of six cubes")
        self.assertGreater(page.run(cubes), before)
        self.assertIn("sip.cube_mesh.w=3", page.text("#runs-on"))
        self.check_quiet(page, refusals=1)

    def test_two_nodes_are_probed(self):
        page = self.open()
        self.click_node(page, "sip0.cube0.pe0")
        self.assertEqual(page.run("document.querySelector('#probe-from').value"), "sip0.cube0.pe0")
        self.click_node(page, "sip0.cube3.sram")
        page.wait("document.querySelector('#probe-total')", "the answer")
        shown = float(page.run("document.querySelector('#probe-total').dataset.value"))
        done = subprocess.run([BINARY, "probe", "latency", "sip0.cube0.pe0", "sip0.cube3.sram", "--topology", "small", "--json", "-"], capture_output=True, text=True, check=True)
        self.assertIn(f'"total_ns": {shown}', done.stdout)
        self.picture(page, "probed")
        page.type("#probe-to", "sip0.cube77.sram")
        page.click("#measure")
        page.wait("document.querySelector('#probe-result .bad')", "a refusal")
        self.assertIn("cube77", page.text("#probe-result"))
        self.check_quiet(page, refusals=1)

    def test_a_bench_runs_its_report_opens_and_two_are_compared(self):
        page = self.open()
        self.choose(page, "#machine", "small")
        page.wait("document.querySelector('#runs-on').textContent.includes('small')", "the small machine")
        self.choose(page, "#bench", "matmul-composite")
        page.type("#run-bench [name='M']", "-3")
        page.click("#run")
        page.wait("!document.querySelector('#run-refusal').hidden", "a refusal")
        self.assertIn("'M' must be", page.text("#run-refusal"))
        page.type("#run-bench [name='M']", "64")
        page.run("(() => { const s = document.querySelector(`#run-bench [name='variant']`); s.value = 'load_load'; s.dispatchEvent(new Event('input')); })()")
        page.click("#run")
        page.wait("document.querySelector('#jobs a')", "the run's end")
        self.assertIn("kernbench run --bench matmul-composite M=64 variant=load_load --topology small", page.text("#jobs"))
        page.wait("document.querySelectorAll('#saved-runs tbody tr').length >= 2", "the run in the list")
        self.picture(page, "session")
        address = page.run("document.querySelector('#jobs a').href")
        report = self.open(address.removeprefix(self.server.url))
        self.assertEqual(report.errors, [])
        self.assertIn("load_load", report.text("#what"))
        for box in page.run("[...document.querySelectorAll('[data-run]')].map((e) => e.dataset.run)")[:2]:
            page.click(f"[data-run='{box}']")
        both = self.open(page.run("document.querySelector('#compare').href").removeprefix(self.server.url))
        self.assertEqual(both.errors, [])
        self.assertIn("2 runs side by side", both.text())
        self.assertIn("before.db", both.text())
        self.check_quiet(page, refusals=1)

    def test_a_choice_without_default_is_empty_and_a_text_is_edited_without_quotes(self):
        page = self.open()
        self.choose(page, "#bench", "ccl-allreduce")
        self.assertEqual(page.run("document.querySelector(`#run-bench [name='buffer_kind']`).value"), "")
        self.choose(page, "#bench", "traffic")
        field = "document.querySelector(`#run-bench [name='load']`).value"
        self.assertEqual(page.run(field), "0.01,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8")
        self.check_quiet(page)

    def test_progress_is_shown_and_a_long_run_is_stopped_in_another_tab(self):
        page = self.open()
        self.choose(page, "#bench", "many")
        page.type("#run-bench [name='ops']", "20000000")
        page.click("#run")
        page.wait("/of .* requests, .* simulated/.test(document.querySelector('#jobs').innerText)", "progress")
        other = self.open()
        other.wait("document.querySelector('#jobs .job button')", "the job in the other tab")
        other.click("#jobs .job button")
        page.wait("document.querySelector('#jobs').innerText.includes('stopped')", "the end")
        self.check_quiet(page)

    def test_a_phone_and_the_dark(self):
        for look in [{"width": 390, "phone": True}, {"dark": True}]:
            page = self.open(**look)
            self.assertLessEqual(page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)
            self.picture(page, "app-" + "-".join(look))
            self.check_quiet(page)


if __name__ == "__main__":
    unittest.main()
