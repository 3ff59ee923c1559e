"""Ranks in Python: threads that hand a baton on, with the results of C++."""
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback

import numpy as np
import pytest

import kernbench as kb

TWO = kb.Machine("small", ["system.sips.count=2"])  # SIPs


def sum_of_ranks(torch, rank, seen):
    torch.ahbm.set_device(rank)
    x = torch.full((32, 64), rank + 1, "i32", dp=kb.DPPolicy(cube="column_wise", pe="column_wise"))
    torch.distributed.all_reduce(x)
    seen[rank] = (x.numpy()[3, 4], torch.distributed.get_rank())


@pytest.mark.parametrize("sips", [2, 8])
def test_ranks_add_up_their_tensors(sips):
    with kb.Torch(kb.Machine("small", [f"system.sips.count={sips}"])) as torch:
        seen = {}
        torch.distributed.init_process_group()
        torch.multiprocessing.spawn(lambda rank: sum_of_ranks(torch, rank, seen), nprocs=sips)
        # 1 + 2 + … + n
        assert seen == {r: (sips * (sips + 1) // 2, r) for r in range(sips)}


def test_256_ranks_that_are_pes():
    machine = kb.Machine("default")
    with kb.Torch(machine) as torch:
        torch.configure(overrides=["defaults.algorithm=ring_allreduce", "algorithms.ring_allreduce.world_size=256"])
        torch.distributed.init_process_group()
        seen = {}

        def fn(rank):
            torch.ahbm.set_device(rank)
            x = torch.full((16,), rank, "i32")
            torch.distributed.all_reduce(x)
            seen[rank] = int(x.numpy()[0])

        torch.multiprocessing.spawn(fn, nprocs=256)
        assert seen == {r: 255 * 256 // 2 for r in range(256)}


def test_the_clock_is_that_of_ranks_in_cpp():
    """Two ranks that launch at the same instant end at the instant at which one alone ends."""
    def copy(x, tl):
        tl.store(x, tl.load(x, (64,), "f32"))

    def run(nprocs):
        ends = []
        with kb.Torch(TWO) as torch:
            def fn(rank):
                torch.ahbm.set_device(rank)
                x = torch.empty((64,), "f32")
                torch.wait(torch.launch("fill", lambda x, tl: tl.store(x, tl.zeros(64, "f32")), x))
                ends.append(torch.now_ns)
            torch.multiprocessing.spawn(fn, nprocs=nprocs)
        return ends

    assert run(2) == run(1) * 2


def test_closures_write_into_the_callers_dicts_and_get_args():
    with kb.Torch(TWO) as torch:
        out = {}
        torch.multiprocessing.spawn(lambda rank, a, b: out.update({rank: (a, b)}), args=("x", 7), nprocs=2)
        assert out == {0: ("x", 7), 1: ("x", 7)}


def test_exceptions_of_two_ranks_keep_their_tracebacks():
    def waits(rank, torch):
        torch.ahbm.set_device(rank)
        x = torch.zeros((8, 4), "f32", dp=kb.DPPolicy(pe="row_wise", num_cubes=1))
        run = torch.launch_with_queues("stuck", lambda x, tl: tl.recv("W", (4,), "f32"), x, topology="intracube_ring")
        fails(torch, run)

    def fails(torch, run):
        torch.wait(run)

    with kb.Torch(TWO) as torch:
        with pytest.raises(kb.SpawnException) as caught:
            torch.multiprocessing.spawn(waits, args=(torch,), nprocs=2)
        errors = caught.value.errors
        assert list(errors) == [0, 1]
        for error in errors.values():
            assert isinstance(error, kb.IpcqDeadlock)
            assert [f.name for f in traceback.extract_tb(error.__traceback__)][-2:] == ["waits", "fails"]
        torch.multiprocessing.spawn(lambda rank: torch.zeros(4, "f32").numpy(), nprocs=2)  # the context works on


def test_both_ranks_fail_before_they_wait_for_anything_later():
    def fn(rank):
        raise ValueError(f"rank {rank}")

    with kb.Torch(TWO) as torch:
        with pytest.raises(kb.SpawnException) as caught:
            torch.multiprocessing.spawn(fn, nprocs=2)
        assert str(caught.value.errors[0]) == "rank 0" and caught.value.__cause__ is caught.value.errors[0]
        assert str(caught.value) == "spawn failed on ranks [0]: rank 0 raised ValueError('rank 0')"  # where, the tracebacks say


def test_a_rank_that_is_stopped_gets_what_except_exception_does_not_swallow():
    log = []

    def fn(rank, torch):
        torch.ahbm.set_device(rank)
        x = torch.zeros(4, "f32")
        if rank == 1:
            raise RuntimeError("first")
        try:
            while True:
                x.numpy()
        except Exception:
            log.append("swallowed")
        except BaseException as stopped:
            log.append(type(stopped).__name__)
            raise
        finally:
            log.append("finally")

    with kb.Torch(TWO) as torch:
        with pytest.raises(kb.SpawnException) as caught:
            torch.multiprocessing.spawn(fn, args=(torch,), nprocs=2)
        assert list(caught.value.errors) == [1]
    assert log == ["RankStopped", "finally"]


def test_threads_of_ranks_are_gone_and_nothing_grows():
    with kb.Torch(TWO, log="none", data=False) as torch:
        def resident():
            gc.collect()
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        def many(n):
            for _ in range(n):
                torch.multiprocessing.spawn(lambda rank: threading.current_thread(), nprocs=2)

        many(200)
        before, threads = resident(), threading.active_count()
        many(1000)
        assert threading.active_count() == threads
        assert resident() - before < 4 << 20


def test_a_missing_member_is_told():
    with kb.Torch(TWO) as torch:
        torch.distributed.init_process_group()

        def fn(rank):
            torch.ahbm.set_device(rank)
            x = torch.zeros((32, 64), "f16", dp=kb.DPPolicy(cube="column_wise", pe="column_wise"))
            if rank == 0:
                torch.distributed.all_reduce(x)

        with pytest.raises(kb.SpawnException, match="has ended"):
            torch.multiprocessing.spawn(fn, nprocs=2)


CTRL_C = """
import os, signal, sys, threading, kernbench as kb
where = sys.argv[1]
ranks = 64 if where == "starting" else 2  # the first of many ranks runs while the threads of the others are started
running = threading.Event()
def interrupt():
    running.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()

def copy(x, tl):
    for _ in range(2000):
        tl.store(x, tl.load(x, (64,), "f32"))

try:
    with kb.Torch(kb.Machine("small", [f"system.sips.count={ranks}"]), log="none", data=False) as torch:
        def fn(rank):
            torch.ahbm.set_device(rank)
            x = torch.zeros(64, "f32")
            running.set()
            while True:
                if where == "python":
                    sum(range(1000))
                else:
                    torch.wait(torch.launch("copy", copy, x))
        torch.multiprocessing.spawn(fn, nprocs=ranks) if where != "alone" else fn(0)
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("where", ["alone", "engine", "python", "starting"])
def test_ctrl_c_stops_a_run(where):
    done = subprocess.run([sys.executable, "-c", CTRL_C, where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a shell's background job has it ignored
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr


def test_async_collectives_and_messages_between_ranks():
    with kb.Torch(TWO) as torch:
        torch.distributed.init_process_group()
        got = {}

        def fn(rank):
            torch.ahbm.set_device(rank)
            dp = kb.DPPolicy(cube="column_wise", pe="column_wise")
            x = torch.full((32, 64), rank + 1, "f32", dp=dp)
            work = torch.distributed.all_reduce(x, op=kb.ReduceOp.MAX, async_op=True)
            work.wait()
            assert work.is_completed() and work.trace.total_ns > 0
            y = torch.full((32, 64), 10 * rank, "f32", dp=dp)
            if rank == 0:
                torch.distributed.send(y, 1)
            else:
                torch.distributed.recv(y, 0)
            torch.distributed.barrier()
            got[rank] = (x.numpy()[0, 0], y.numpy()[0, 0])

        torch.multiprocessing.spawn(fn, nprocs=2)
        assert got == {0: (2, 0), 1: (2, 0)}
