"""Kernels written for Triton, untouched, against NumPy. The same files run under Triton itself: triton/under_triton.py."""
import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton

HERE = pathlib.Path(__file__).parent / "triton"
sys.path.insert(0, str(HERE))
from cases import all_cases, near, vector_add  # noqa: E402

triton.install()
_spec = importlib.util.spec_from_file_location("triton_kernels", HERE / "kernels.py")
kernels = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kernels)


def run(case, machine="small", **options):
    with kb.Torch(machine, hazards=True) as torch:
        args = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in case.args]
        launch = getattr(kernels, case.kernel)[case.grid](*args, **case.meta, **options)
        got = {place: args[place].numpy() for place in case.expected}
        return got, launch, torch.hazards()


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_a_kernel_gives_the_numbers_it_gives_under_triton(case):
    got, launch, hazards = run(case)
    for place, expected in case.expected.items():
        assert near(got[place], expected, max(case.tolerance, 1e-6)) is None
    assert not hazards


def test_affine_addresses_are_strided_transfers_and_gathers_go_run_by_run():
    _, launch, _ = run(vector_add(1000))
    assert all(count.scattered == 0 for count in launch.transfers.values())
    # 10 rows of an embedding in 3 programs of 4: the table's rows are a run each, unless neighbours were asked for.
    case = next(c for c in all_cases() if c.kernel == "embedding_kernel")
    _, launch, _ = run(case)
    table = [count for line, count in launch.transfers.items() if count.scattered]
    assert len(table) == 1 and 3 <= table[0].runs <= 10
