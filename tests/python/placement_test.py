"""Placement of one's own, and transfers whose lanes lie anywhere."""
import numpy as np
import pytest

import kernbench as kb

ARRAY = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)


@pytest.mark.parametrize("dp", [
    kb.interleaved(), kb.interleaved(bytes=1024), kb.DPPolicy.whole_on((1, 3)),
    kb.DPPolicy(cube="row_wise", pe="column_wise").on((1, 3), (2, 6)),
    kb.DPPolicy.dealt((16, 20), "zigzag"), kb.DPPolicy.dealt((16, 16), [(0, 0), (3, 1), (2, 7)]),
    kb.DPPolicy.dealt((10, 48), lambda number, row, column: (row % 4, column)), kb.DPPolicy.by_head(4, 2)], ids=str)
def test_a_tensor_comes_back_as_it_was_written(dp):
    with kb.Torch("small") as torch:
        x = torch.from_numpy(ARRAY, dp=dp)
        assert np.array_equal(x.numpy(), ARRAY)
        assert np.array_equal(x[3:40, 5:21], ARRAY[3:40, 5:21])


def test_a_policy_is_refused_with_what_was_expected():
    with pytest.raises(TypeError, match="'zigzag', a list of"):
        kb.DPPolicy.dealt((4, 4), "zagzig")
    with pytest.raises(TypeError, match=r"\(cube, pe\)"):
        kb.DPPolicy.dealt((4, 4), [(1, 2, 3)])


def test_strides_and_likes_are_of_the_logical_tensor():
    with kb.Torch("small") as torch:
        x = torch.from_numpy(ARRAY, dp=kb.interleaved())
        assert x.stride() == (48, 1) and x.stride(0) == 48
        y = torch.zeros_like(x)
        assert (y.shape, y.dtype, y.dp) == (x.shape, x.dtype, x.dp)
        assert np.array_equal(y.numpy(), 0 * ARRAY)


def reverse(x, y, tl):
    there = np.arange(8, dtype=np.uint64) * 4
    on = np.array([1, 1, 1, 1, 1, 1, 0, 1], np.uint8)
    numbers = tl.peek(np.uint64(int(x)) + there, "i32")
    assert list(numbers) == list(range(8))
    tile = tl.load_at(np.uint64(int(x)) + there, (8,), "i32", on=on, other=-1)
    assert tl.last_runs() == 0
    tl.store_at(np.uint64(int(y)) + there[::-1].copy(), tile)
    assert tl.last_runs() == 8


def test_lanes_lie_anywhere():
    with kb.Torch("small") as torch:
        x, y = torch.from_numpy(np.arange(8, dtype=np.int32)), torch.zeros((8,), "i32")
        torch.launch("reverse", reverse, x, y)
        assert list(y.numpy()) == [7, -1, 5, 4, 3, 2, 1, 0]
