"""Watching queues by the prototype's names. `KERNBENCH_CCL_TRACE=1` turns the printing on."""
import os

from .._errors import IpcqDeadlock

_enabled = None


def trace_enabled():
    """Whether sends and receives are printed, as the environment said when it was asked first."""
    if _enabled is None:
        reload_trace_setting()
    return _enabled


def reload_trace_setting():
    """Looks at the environment again."""
    global _enabled
    _enabled = os.environ.get("KERNBENCH_CCL_TRACE", "") not in ("", "0")
    return _enabled


def log_send(*, t_ns, sender, direction, nbytes, sender_seq):
    if trace_enabled():
        print(f"[ccl] t={t_ns:.3f} ns send {sender} dir={direction} nbytes={nbytes} seq={sender_seq}")


def log_recv(*, t_ns, receiver, direction, nbytes):
    if trace_enabled():
        print(f"[ccl] t={t_ns:.3f} ns recv {receiver} dir={direction} nbytes={nbytes}")


def pointer_dump(engine):
    """The pointers of every queue, and where messages arrive: one line for each PE and direction."""
    from .install import _torch_of
    from ..policy.address.phyaddr import PhysAddr
    lines = [f"{pe} {direction}: my_head={my_head} my_tail={my_tail} peer_head_cache={peer_head} peer_tail_cache={peer_tail} "
             f"rx_base={PhysAddr.decode(rx_base)}"
             for pe, direction, my_head, my_tail, peer_head, peer_tail, rx_base in _torch_of(engine)._queue_pointers()]
    return "\n".join(lines)
