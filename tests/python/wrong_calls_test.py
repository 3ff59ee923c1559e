"""Calls that nobody means are refused, and the process goes on."""
import pytest

import kernbench as kb
from kernbench import triton
from kernbench.policy.address.allocator import Memory


@triton.jit
def kernel(x):
    pass


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


@pytest.mark.parametrize("capacity, granule", [(-1, 1), (2**63 - 1, 1), (2**70, 1), (64, 0), (64, -4), (64, 3)])
def test_a_memory_of_an_impossible_size_is_an_input_error(capacity, granule):
    with pytest.raises(kb.InputError):
        Memory(capacity, "here", granule)


@pytest.mark.parametrize("ranks", [-1, 0, 2**31 - 1, 2**31, 2**64])
def test_spawn_of_an_impossible_number_of_ranks_is_refused_at_once(torch, ranks):
    torch.distributed.init_process_group()
    with pytest.raises((kb.InputError, TypeError)):
        torch.multiprocessing.spawn(lambda rank: None, nprocs=ranks)


def test_a_jit_function_is_no_sequence(torch):
    with pytest.raises(TypeError, match="not iterable"):
        iter(kernel)
    with pytest.raises((kb.Error, TypeError)):
        torch.zeros(kernel, "f32")
