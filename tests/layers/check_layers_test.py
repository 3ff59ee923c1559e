#!/usr/bin/env python3
"""scripts/check_layers.py finds what points the wrong way, and only that."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"


class CheckLayers(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, SCRIPT, root], stdout=subprocess.PIPE, text=True)
            return done.returncode, done.stdout

    def test_downward_includes_and_links_are_fine(self):
        self.assertEqual(self.check({
            "src/sim/a.cpp": '#include "base/b.hpp"\n#include "kernbench/units.hpp"\n#include <vector>\n',
            "include/kernbench/units.hpp": "namespace kernbench {\n}\n",
            "src/topology/CMakeLists.txt": "kernbench_layer(topology\n  SOURCES a.cpp\n  USES base sim)\n",
        }), (0, ""))

    def test_an_include_from_below_is_named_with_its_line(self):
        code, text = self.check({"src/base/a.cpp": '// first\n#include "topology/graph.hpp"\n'})
        self.assertEqual(code, 1)
        self.assertIn("src/base/a.cpp:2: base must not include topology/graph.hpp of topology", text)

    def test_public_headers_belong_to_the_layer_of_their_namespace(self):
        code, text = self.check({
            "src/sim/a.cpp": '#include "kernbench/graph.hpp"\n',
            "include/kernbench/graph.hpp": "namespace kernbench::topology {\n}\n",
            "include/kernbench/error.hpp": '#include "kernbench/graph.hpp"\nnamespace kernbench {\n}\n',
        })
        self.assertEqual(code, 1)
        self.assertIn("src/sim/a.cpp:1:", text)
        self.assertIn("include/kernbench/error.hpp:1:", text)

    def test_a_header_of_no_layer_is_as_low_as_what_it_includes(self):
        headers = {
            "include/kernbench/isa.hpp": "namespace kernbench::isa {\n}\n",
            "include/kernbench/matchers.hpp": '#include "kernbench/isa.hpp"\nnamespace kernbench::matchers {\n}\n',
        }
        include = '#include "kernbench/matchers.hpp"\n'
        self.assertEqual(self.check({**headers, "src/tl/a.cpp": include}), (0, ""))
        self.assertEqual(self.check({**headers, "src/sim/a.cpp": include})[0], 1)

    def test_a_link_from_below_and_an_unknown_folder_are_named(self):
        code, text = self.check({
            "src/base/CMakeLists.txt": "kernbench_layer(base SOURCES a.cpp USES cli)\n",
            "src/attic/a.cpp": "",
        })
        self.assertEqual(code, 1)
        self.assertIn("base must not use cli", text)
        self.assertIn("'attic' is no layer", text)

    def test_tl_and_device_never_meet(self):
        self.assertEqual(self.check({"src/device/a.cpp": '#include "tl/context.hpp"\n'})[0], 1)


if __name__ == "__main__":
    unittest.main()
