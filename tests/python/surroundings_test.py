"""What surrounds the package: names of files, the folder for temporary files, and streams that are not UTF-8."""
import os
import subprocess
import sys

import pytest

import kernbench as kb

BENCH = '''
import kernbench as kb

@kb.bench(name="eigener", description="says what it is for", options={"n": 64})
def eigener(torch, options, report):
    torch.zeros(options.n, "f32")
    torch.synchronize()
    report.line("für → alle")
'''


def kernbench(*words, folder, **environment):
    """(exit code, standard output, standard error) of the package's command line, as bytes."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONUTF8", "PYTHONIOENCODING")}
    done = subprocess.run([sys.executable, "-m", "kernbench", *words], cwd=folder, env={**plain, **environment}, capture_output=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    here, temporary = tmp_path / "käse platz", tmp_path / "für später"
    here.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield here
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(sys.getfilesystemencoding() != "utf-8", reason="names of files are not UTF-8 here")
def test_names_with_spaces_and_other_letters_work(folder):
    (folder / "meine bänke.py").write_text(BENCH, "utf-8")
    (folder / "gerät 1.yaml").write_text(kb.Machine("small").to_yaml(), "utf-8")
    code, out, err = kernbench("run", "--bench", "meine bänke.py:eigener", "n=32", "--topology", "gerät 1.yaml", "--save", "lauf ä.db", "--quiet",
                               folder=folder)
    assert code == 0, err.decode()
    assert kb.SavedRun(folder / "lauf ä.db").explain()
    rows = kb.sweep({"bench": "va-offset-verify", "machine": str(folder / "gerät 1.yaml"), "vary": {"n_elem": [64, 128]}}, folder / "reihe ü")
    assert [row["ok"] for row in rows] == [True, True]
    assert kb.probe("sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", str(folder / "gerät 1.yaml"))["total_ns"] > 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_an_output_cannot_encode_is_escaped(folder, encoding):
    (folder / "b.py").write_text(BENCH, "utf-8")
    words = ["run", "--bench", "b.py:eigener", "--topology", "small"]

    def lines(encoding):
        code, out, err = kernbench(*words, folder=folder, PYTHONIOENCODING=encoding)
        assert (code, err) == (0, b"")
        return out.splitlines()[:-1]  # the last one says how long the host took

    expected = [line.decode() for line in lines("utf-8")]
    assert expected[0] == "für → alle"
    assert lines(encoding) == [line.encode(encoding, "backslashreplace") for line in expected]


def test_words_of_the_command_line_reach_files_byte_for_byte(folder):
    """In a Latin-1 locale Python reads the two bytes of ä as two letters; the file's name still has these two bytes."""
    code, out, err = kernbench("topology", "draw", "small", "-o", "plan ä.svg", folder=folder, PYTHONCOERCECLOCALE="0", PYTHONUTF8="0", LC_ALL="C")
    assert code == 0, err
    assert [file.name for file in folder.iterdir()] == ["plan ä.svg"]
