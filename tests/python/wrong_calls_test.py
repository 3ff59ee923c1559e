"""Calls that nobody means are refused, and the process goes on."""
import copy
import pickle

import numpy as np
import pytest

import kernbench as kb
from kernbench import nn, triton
from kernbench.policy.address.allocator import Memory


@triton.jit
def kernel(x):
    pass


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_cpp_holds_is_not_pickled_by_any_protocol(torch, protocol):
    x = torch.zeros((4,), "f32")
    for value in (kb.DPPolicy(), torch, x, kb.Machine("small"), kb.TlContext(kernel="k", shards=[])):
        with pytest.raises(TypeError, match="cannot pickle or copy"):
            pickle.dumps(value, protocol)


def test_what_cpp_holds_is_not_copied():
    with pytest.raises(TypeError, match="cannot pickle or copy a DPPolicy"):
        copy.copy(kb.DPPolicy())


def test_a_pointer_modulo_0_is_a_division_by_zero():
    assert kb.Ptr(4100) % 64 == 4
    with pytest.raises(ZeroDivisionError):
        kb.Ptr(4096) % 0


def test_keys_and_queries_of_other_than_four_axes_are_refused(torch):
    for shape in ((), (4,), (4, 4, 4), (2, 0, 4, 4)):
        with pytest.raises(kb.InputError, match="attention"):
            nn.attention_keys(torch, shape)
        with pytest.raises(kb.InputError, match="attention"):
            nn.attention_queries(torch, shape, 1)
    with pytest.raises(kb.InputError, match="h_q a multiple of h_kv"):
        nn.attention_queries(torch, (1, 8, 4, 64), 0)


def test_a_section_that_a_machine_lacks_is_an_input_error():
    with pytest.raises(kb.InputError, match="the machine has no 'cube.hmb'"):
        kb.Machine("small")["cube.hmb"]


@pytest.mark.parametrize("capacity, granule", [(-1, 1), (2**63 - 1, 1), (2**70, 1), (64, 0), (64, -4), (64, 3)])
def test_a_memory_of_an_impossible_size_is_an_input_error(capacity, granule):
    with pytest.raises(kb.InputError):
        Memory(capacity, "here", granule)


@pytest.mark.parametrize("ranks", [-1, 0, 2**31 - 1, 2**31, 2**64])
def test_spawn_of_an_impossible_number_of_ranks_is_refused_at_once(torch, ranks):
    torch.distributed.init_process_group()
    with pytest.raises((kb.InputError, TypeError)):
        torch.multiprocessing.spawn(lambda rank: None, nprocs=ranks)


@pytest.mark.parametrize("links", [[1, 2], [[0, "E", 1]], [(0, "E")], [(0, "E", 2)], [(-1, "E", 1)]])
def test_links_that_are_none_are_refused(links):
    with pytest.raises((TypeError, ValueError), match="a link "):
        kb.run_functional(lambda t, tl: None, 2, links, [np.zeros(4, np.float32)] * 2)


def test_a_jit_function_is_no_sequence(torch):
    with pytest.raises(TypeError, match="not iterable"):
        iter(kernel)
    with pytest.raises((kb.Error, TypeError)):
        torch.zeros(kernel, "f32")
