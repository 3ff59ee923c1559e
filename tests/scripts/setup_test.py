#!/usr/bin/env python3
"""scripts/setup.sh with an apt-get, a dpkg-query, an id and a sudo of the test's own: nothing is installed."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "setup.sh"
TOOLS = ["bash", "env", "grep", "mkdir", "dirname", "cat", "tail", "wc", "seq"]
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)"


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "scripts").mkdir()
        shutil.copy(SETUP, self.root / "scripts")
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.command("sleep", "exit 0")
        self.command("chromium", "exit 0")
        self.command("apt-get", f'echo "$*" >> {self.root}/calls; echo "words of apt"')
        self.user(0)
        self.installed(lambda package: True)

    def command(self, name, text):
        path = self.bin / name
        path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
        path.chmod(0o755)

    def user(self, number):
        self.command("id", f"echo {number}")

    def installed(self, has):
        every = subprocess.run(["bash", "-c", f"source <(sed -n '/^[a-z]*=(/p' {SETUP}); echo ${{build[@]}} ${{python[@]}} ${{test[@]}} chromium ccache"],
                               stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        missing = " ".join(package for package in every if not has(package))
        self.command("dpkg-query", f'for p in {missing} -; do [ "$p" != "${{@: -1}}" ] || exit 1; done; echo -n "ii "')

    def run_setup(self, what="build"):
        return subprocess.run([self.bin / "bash", self.root / "scripts" / "setup.sh", what], env={"PATH": str(self.bin)}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def calls(self):
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def log(self):
        return (self.root / "build" / "setup.log").read_text()

    def test_nothing_missing_prints_nothing_and_calls_nobody(self):
        done = self.run_setup("test")
        self.assertEqual((done.returncode, done.stdout, self.calls()), (0, "", []))

    def test_missing_package_is_named_in_one_line_and_apt_writes_to_the_log(self):
        self.installed(lambda package: package != "libfmt-dev")
        done = self.run_setup()
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertIn("installing libfmt-dev", done.stdout)
        self.assertEqual(self.log().count("words of apt"), 2)  # update and install
        self.assertIn("libfmt-dev", self.calls()[-1])

    def test_failed_installation_shows_the_words_of_apt(self):
        self.installed(lambda package: package != "libfmt-dev")
        self.command("apt-get", 'case "$*" in *install*) echo "E: no such thing"; exit 100;; esac')
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: no such thing", done.stdout)
        self.assertIn("could not install libfmt-dev", done.stdout)

    def test_a_held_lock_is_waited_for(self):
        self.installed(lambda package: package not in ("libfmt-dev", "chromium"))
        (self.bin / "chromium").unlink()
        # The first two calls of every kind find the lock held.
        self.command("apt-get", f'''kind=other; case "$*" in *update*) kind=update;; *chromium*) kind=chromium;; *install*) kind=install;; esac
echo x >> {self.root}/tries.$kind
[ "$(wc -l < {self.root}/tries.$kind)" -gt 2 ] || {{ echo "{LOCKED}"; exit 100; }}
echo "$*" >> {self.root}/calls''')
        done = self.run_setup("test")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("another package manager is at work", done.stdout)
        for words, call in zip(["update", "libfmt-dev", "chromium"], self.calls()):
            self.assertIn(words, call)
        self.assertEqual(len(self.calls()), 3)

    def test_optional_package_that_cannot_be_installed_is_left_out(self):
        self.installed(lambda package: package != "ccache")
        self.command("apt-get", 'case "$*" in *install*) exit 100;; esac')
        done = self.run_setup()
        self.assertEqual(done.returncode, 0)
        self.assertIn("ccache could not be installed; going on without it", done.stdout)

    def test_without_root_and_sudo_the_packages_and_the_command_are_named(self):
        self.installed(lambda package: package not in ("ccache", "libfmt-dev", "cmake"))
        self.user(1000)
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing and you may not install them: cmake libfmt-dev", done.stdout)
        self.assertIn("apt-get install --no-install-recommends cmake libfmt-dev ccache", done.stdout)
        self.assertEqual(self.calls(), [])

    def test_without_root_and_sudo_an_optional_package_is_left_out(self):
        self.installed(lambda package: package != "ccache")
        self.user(1000)
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("going on without ccache", done.stdout)

    def test_sudo_that_asks_for_a_password_is_not_used_without_a_terminal(self):
        self.installed(lambda package: package != "libfmt-dev")
        self.user(1000)
        self.command("sudo", 'case "$1" in -n) exit 1;; esac; exit 0')
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main()
