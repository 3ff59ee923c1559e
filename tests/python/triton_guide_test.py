"""The code of docs/triton.md runs, from its first block to its last."""
import os
import pathlib
import re

GUIDE = pathlib.Path(os.environ["KERNBENCH_SOURCE"]) / "docs" / "triton.md"


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = {}
    blocks = re.findall(r"```python(?: file=(\S+))?\n(.*?)```", GUIDE.read_text(), re.S)
    assert [name for name, _ in blocks] == ["softmax.py", "", ""]
    for number, (name, code) in enumerate(blocks):
        if name:
            (tmp_path / name).write_text(code)
            continue
        file = tmp_path / f"block{number}.py"  # kernels are read from a file
        file.write_text(code)
        exec(compile(code, str(file), "exec"), space)
    text = capsys.readouterr().out
    assert "softmax.py:" in text and "strided" in text  # transfers and time by line of the kernel's own file
