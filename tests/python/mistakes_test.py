"""What users are told when a module, a bench or an argument is not what KernBench expects."""
import os
import subprocess
import sys

import pytest

import kernbench as kb

RING = "def kernel(t_ptr, tl): pass\ndef second_pe(spec, rank): return [(0, 1)]\n"


def python_kernbench(*words, folder):
    """(exit code, standard error) of `python3 -m kernbench`."""
    done = subprocess.run([sys.executable, "-m", "kernbench", *words], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stderr


def folder_with(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml")
        path = path if path.suffix else path.with_suffix(".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


# ── modules that ccl.yaml names ──

@pytest.mark.parametrize("entry, said", [
    ("module: my_package.rign", "ccl.yaml: algorithms.mine.module: module 'my_package.rign' cannot be imported: "
                                "No module named 'my_package.rign'\n  hint: Python looks for modules on sys.path and in the folder of the ccl.yaml"),
    ("module: no_package.ring_allreduce", "module 'no_package.ring_allreduce' cannot be imported: No module named 'no_package'"),
    ("module: my_package.empty", "module 'my_package.empty' has no function 'kernel'"),
    ("module: my_package.ring, mapper: my_package.ring.nope",
     "ccl.yaml: algorithms.mine.mapper: module 'my_package.ring' has no function 'nope'\n  hint: its functions: kernel, second_pe"),
    ("module: my_package.ring, validator: my_package.rign.small", "algorithms.mine.validator: module 'my_package.rign' cannot be imported"),
    ("module: my_package.needs", "No module named 'a_module_that_is_not_there'")])  # with the traceback of the user's module
def test_path_in_ccl_yaml_that_cannot_be_imported_is_refused_with_the_reason(tmp_path, entry, said):
    folder = folder_with(tmp_path, my_package__ring=RING, my_package__empty="", my_package__needs="import a_module_that_is_not_there\n",
                         ccl_yaml=f"algorithms: {{mine: {{{entry}}}}}\n")
    code, err = python_kernbench("run", "--bench", "ccl-allreduce", "--topology", "small", folder=folder)
    assert (code, said in err) == (2, True), err
    assert "registered" not in err
    assert python_kernbench("list", folder=folder)[0] == 0  # it does not read the file


def test_kernbench_without_python_says_which_program_imports_modules(tmp_path):
    folder = folder_with(tmp_path, my_package__ring=RING, ccl_yaml="algorithms: {mine: {module: my_package.ring}}\n")
    done = subprocess.run([os.environ["KERNBENCH_BINARY"], "run", "--bench", "ccl-allreduce", "--topology", "small"], cwd=folder,
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert "'my_package.ring' is the import path of a Python module" in done.stderr and "python3 -m kernbench" in done.stderr


# ── plain functions as benches ──

WORKS = "    torch.zeros(64, 'f32')\n    torch.synchronize()\n"
PLAIN = f"import os.path as path\nfrom json import dumps\ndef _helper(): pass\ndef kernel(x, tl): pass\ndef plain(torch):\n{WORKS}"
TWO = f"{PLAIN}def other(torch, options):\n{WORKS}"
NONE = "def without(): pass\ndef four(a, b, c, d): pass\n"


@pytest.mark.parametrize("text, bench, said", [
    (TWO, "file.py", "file.py has 2 functions; say which one: file.py:plain, file.py:other"),
    (PLAIN, "file.py:palin", "file.py has no bench or function 'palin'; did you mean 'plain'?; it has plain"),
    ("", "file.py", "file.py has no bench; define a function of (torch)"),
    (NONE, "file.py:without", "without() takes no positional parameters; a bench takes (torch), (torch, options) or (torch, options, report)"),
    (NONE, "file.py:four", "four(a, b, c, d) takes 4 positional parameters")])
def test_bench_that_a_file_lacks_is_refused_with_what_it_has(tmp_path, text, bench, said):
    code, err = python_kernbench("run", "--bench", bench, "--topology", "small", folder=folder_with(tmp_path, file=text))
    assert (code, said in err, "Traceback" in err) == (2, True, False), err


def test_only_function_of_a_file_is_its_bench(tmp_path):
    assert python_kernbench("run", "--bench", "file.py", "--topology", "small", folder=folder_with(tmp_path, file=PLAIN)) == (0, "")


# ── arguments ──

def test_number_in_the_place_of_a_bench_is_refused():
    with pytest.raises(TypeError, match="run_bench takes the name of a bench or a host function, not 3"):
        kb.run_bench(3)
    with pytest.raises(TypeError, match=r"<lambda>\(\) takes no positional parameters; a bench takes \(torch\)"):
        kb.run_bench(lambda: None)


@pytest.mark.parametrize("given, said", [
    ("10", "rank_to_sip is '10'; it must be a list with the number of a SIP for each rank"),
    (1, "rank_to_sip is 1; it must be a list"), ([0, 0.5], r"rank_to_sip is \[0, 0.5\]; it must be a list"),
    ([0, 0], r"rank_to_sip is \[0, 0\], but it must name each of the SIPs 0, 1 exactly once")])
def test_map_of_ranks_that_is_not_a_list_of_all_sips_is_refused(given, said):
    with kb.Torch(kb.Machine("small", ["system.sips.count=2"])) as torch:
        with pytest.raises((TypeError, kb.InputError), match=said):
            torch.distributed.init_process_group(rank_to_sip=given)


def test_hint_for_numbers_without_data_names_the_options_of_python():
    with kb.Torch("small", data=False) as torch:
        x = torch.zeros(64, "f32")
        torch.launch("copy", lambda x, tl: tl.store(x, tl.load(x, (64,), "f32")), x)
        with pytest.raises(kb.NoData) as caught:
            x.numpy()
    assert all(option in caught.value.hint for option in ("--verify-data", "verify=True", "data=True"))
