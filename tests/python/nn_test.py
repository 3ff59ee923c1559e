"""Operations on tensors, against NumPy; distributed tensors; layers in plain contexts."""
import math

import numpy as np
import pytest

import kernbench as kb
from kernbench import dtensor, nn, tp
from kernbench.dtensor import DTensor, Partial, Replicate, Shard

COPY = kb.DPPolicy()
ROWS = kb.DPPolicy(cube="row_wise", pe="row_wise")
COLUMNS = kb.DPPolicy(cube="column_wise", pe="column_wise")


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def near(got, expected, tolerance=1e-5):
    return np.allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("a_dp, b_dp", [(COPY, COLUMNS), (ROWS, COPY), (COLUMNS, ROWS)])
def test_products_of_each_layout(torch, a_dp, b_dp):
    a, b = normal(1, 32, 64), normal(2, 64, 96)
    x, w = torch.from_numpy(a, dp=a_dp), torch.from_numpy(b, dp=b_dp)
    for y in (nn.matmul(x, w), x @ w, torch.matmul(x, w)):
        assert near(y.numpy(), a @ b, 1e-4)


def test_an_epilogue_and_another_dtype(torch):
    a, b, bias = normal(3, 32, 64), normal(4, 64, 32), normal(5, 32)
    y = nn.matmul(torch.from_numpy(a, dp=COPY), torch.from_numpy(b, dp=COLUMNS), epilogue=[("add", torch.from_numpy(bias, dp=COLUMNS)), ("maximum", 0)],
                  out_dtype="f16", name="layer")
    assert str(y.dtype) == "f16" and near(y.numpy(), np.maximum(a @ b + bias, 0), 2e-2)
    assert "layer" in [t.name for t in torch.traces]


UNARY = {"relu": lambda x: np.maximum(x, 0), "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
         "silu": lambda x: x / (1 + np.exp(-x)), "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor_by_each_name(torch, name):
    a = normal(6, 32, 48)
    x = torch.from_numpy(a, dp=ROWS)
    for function in (getattr(nn, name), getattr(torch, name), getattr(torch.nn.functional, name)):
        assert near(function(x).numpy(), UNARY[name](a))


def test_sums_and_products_of_tensors(torch):
    a, b, row = normal(7, 32, 48), normal(8, 32, 48), normal(9, 48)
    x, y, r = torch.from_numpy(a, dp=ROWS), torch.from_numpy(b, dp=ROWS), torch.from_numpy(row, dp=COPY)
    assert near((x + y).numpy(), a + b) and near((x * y).numpy(), a * b) and near(nn.add(x, r).numpy(), a + row)
    with pytest.raises(TypeError):
        x + 1


def test_norms(torch):
    a, w, b = normal(10, 32, 64), normal(11, 64), normal(12, 64)
    x, weight, bias = torch.from_numpy(a, dp=ROWS), torch.from_numpy(w, dp=COPY), torch.from_numpy(b, dp=COPY)
    rms = a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-5) * w
    layer = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) * w + b
    assert near(nn.rms_norm(x, weight).numpy(), rms, 1e-4) and near(nn.layer_norm(x, weight, bias).numpy(), layer, 1e-4)


def test_positions_and_a_table(torch):
    a = normal(13, 8, 16)
    cos, sin = nn.rope_tables(torch, 8, 16)
    angles = np.arange(8)[:, None] * 10000.0 ** (-2 * np.arange(8) / 16)
    assert near(cos.numpy(), np.cos(angles)) and near(sin.numpy(), np.sin(angles))
    first, second = a[:, :8], a[:, 8:]
    turned = np.concatenate([first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles)], 1)
    assert near(nn.rope(torch.from_numpy(a), cos, sin).numpy(), turned, 1e-4)
    table, ids = normal(14, 20, 16), np.array([3, 0, 19, 3], np.int32)
    assert np.array_equal(nn.embedding(torch.from_numpy(ids), torch.from_numpy(table)).numpy(), table[ids])


def test_a_tensor_is_moved_on_the_device(torch):
    a = normal(15, 32, 64)
    x = torch.from_numpy(a, dp=nn.spread(torch, "column_wise", 64))
    y = x.redistribute(COPY)
    assert y.dp == COPY and np.array_equal(y.numpy(), a) and np.array_equal(nn.redistribute(y, ROWS).numpy(), a)


def test_attention(torch):
    rng = np.random.default_rng(16)
    q, k, v = (rng.standard_normal((1, heads, 64, 32)).astype(np.float16) for heads in (4, 2, 2))
    tensors = [torch.from_numpy(q, dp=nn.attention_queries(torch, q.shape, 2))]
    tensors += [torch.from_numpy(t, dp=nn.attention_keys(torch, t.shape)) for t in (k, v)]
    kk, vv = (np.repeat(t.astype(np.float64), 2, 1) for t in (k, v))
    scores = np.einsum("bhid,bhjd->bhij", q.astype(np.float64), kk) / math.sqrt(32)
    scores = np.where(np.tril(np.ones((64, 64), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = np.einsum("bhij,bhjd->bhid", weights / weights.sum(-1, keepdims=True), vv)
    assert near(torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True).numpy(), expected, 2e-2)


def test_what_does_not_go_together_is_said(torch):
    x, w = torch.from_numpy(normal(17, 32, 64), dp=COLUMNS), torch.from_numpy(normal(18, 64, 32), dp=COLUMNS)
    with pytest.raises(ValueError, match="(?s)column-wise.*redistribute"):
        x @ w
    with kb.Torch("small") as other:
        with pytest.raises(ValueError, match="two contexts"):
            nn.add(x, other.zeros((32, 64), "f32", dp=COLUMNS))
    with pytest.raises(ValueError, match="the last axis"):
        torch.softmax(x, 0)
    assert {"matmul", "softmax", "redistribute"} <= {o["name"] for o in nn.operations()}


def test_results_are_of_their_context():
    with kb.Torch("small") as torch:
        y = nn.relu(torch.from_numpy(normal(19, 8, 8)))
        layer_input = y
    with pytest.raises(ValueError, match="context"):
        nn.relu(layer_input)


# ── ranks ──

def ranks(count, body):
    """Calls body(torch, rank) in each of so many ranks, which are SIPs."""
    with kb.Torch(kb.Machine("small", [f"system.sips.count={count}"])) as torch:
        torch.distributed.init_process_group()

        def worker(rank):
            torch.ahbm.set_device(rank)
            body(torch, rank)

        torch.multiprocessing.spawn(worker, nprocs=count)


def test_layers_in_a_plain_context():
    x, w1, w2, b2 = normal(20, 4, 16), normal(21, 16, 32), normal(22, 32, 16), normal(23, 16)
    seen = {}

    def body(torch, rank):
        tp.initialize_model_parallel(2, torch=torch)
        up = tp.ColumnParallelLinear(16, 32, dtype="f32", torch=torch)
        down = tp.RowParallelLinear(32, 16, bias=True, dtype="f32", torch=torch)
        assert (up.n_local, down.k_local, up.in_features, down.out_features, up.bias) == (16, 16, 16, 16, None)
        assert (tp.get_tensor_model_parallel_rank(torch), up.weight.shape) == (rank, (16, 16))
        mine = slice(16 * rank, 16 * rank + 16)
        up.weight.copy_(w1[:, mine]), down.weight.copy_(w2[mine]), down.bias.copy_(b2)
        seen[rank] = down(nn.relu(up(torch.from_numpy(x)))).numpy()

    ranks(2, body)
    assert near(seen[0], np.maximum(x @ w1, 0) @ w2 + b2, 1e-4) and np.array_equal(seen[0], seen[1])


def test_a_layer_used_after_its_context_raises():
    kept = []

    def body(torch, rank):
        tp.initialize_model_parallel(2, torch=torch)
        kept.append(tp.ColumnParallelLinear(16, 32, torch=torch))

    ranks(2, body)
    with pytest.raises(ValueError, match="context"):
        kept[0].weight
    kept.clear()


def test_distributed_tensors_over_a_mesh():
    a, b = normal(24, 16, 32), normal(25, 32, 48)
    seen = {}

    def body(torch, rank):
        mesh = dtensor.DeviceMesh(torch, (2, 2), ("dp", "tp"))
        assert (mesh.ndim, mesh.size(1), mesh.dim("tp"), mesh.get_local_rank(0), mesh.get_local_rank(1)) == (2, 2, 1, rank // 2, rank % 2)
        x = dtensor.distribute_tensor(torch.from_numpy(a), mesh, [Shard(0), Replicate()])
        w = dtensor.distribute_tensor(torch.from_numpy(b), mesh, [Replicate(), Shard(1)])
        y = dtensor.relu(x @ w)
        assert y.placements == (Shard(0), Shard(1)) and y.shape == (16, 48) and y.to_local().shape == (8, 24)
        z = (y + y).redistribute([Replicate(), Shard(0)])
        assert z.placements[1].is_shard(0) and not z.placements[0].is_shard()
        seen[rank] = (y.full_tensor().numpy(), z.full_tensor().numpy())

    ranks(4, body)
    expected = np.maximum(a @ b, 0)
    assert all(near(y, expected, 1e-4) and near(z, 2 * expected, 1e-4) for y, z in seen.values())


def test_partial_tensors_are_added_up_and_what_cannot_be_is_refused():
    seen = {}

    def body(torch, rank):
        mesh = dtensor.DeviceMesh(torch, [2])
        x = DTensor.from_local(torch.full((4, 8), rank + 1, "f32"), mesh, [Partial()])
        seen[rank] = x.redistribute([Replicate()]).to_local().numpy()
        whole = dtensor.distribute_tensor(torch.ones((4, 8), "f32"), mesh, [Replicate()])
        with pytest.raises(ValueError, match="Partial"):
            whole.redistribute([Partial()])

    ranks(2, body)
    assert (seen[0] == 3).all() and (seen[1] == 3).all()
    assert repr(Shard(1)) == "Shard(1)" and Shard(1) == Shard(1) != Shard(0) and Partial("max") != Partial()
