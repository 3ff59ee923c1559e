"""Where a PE stands among those of its launch."""


from ... import _core


def dtype_of(t):
    """The dtype of the tensor that a pointer leads to; of plain numbers f16."""
    return getattr(t, "dtype", None) or "f16"


def bytes_of(t):
    return _core.dtype_of(dtype_of(t)).itemsize


def rank_of(tl):
    """PEs of a cube first, then the cubes."""
    return tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)


def toward(tl, acc, n_elem, dtype, position, length, root, low, high):
    """Reduces a line to its root; the root returns the sum."""
    if position < root:
        if position > 0:
            acc = acc + tl.recv(low, (n_elem,), dtype)
        tl.send(high, acc)
    elif position > root:
        if position < length - 1:
            acc = acc + tl.recv(high, (n_elem,), dtype)
        tl.send(low, acc)
    else:
        if root > 0:
            acc = acc + tl.recv(low, (n_elem,), dtype)
        if root < length - 1:
            acc = acc + tl.recv(high, (n_elem,), dtype)
    return acc


def back(tl, acc, n_elem, dtype, position, length, root, low, high):
    """Hands the root's tile to everybody on a line."""
    if position < root:
        acc = tl.recv(high, (n_elem,), dtype)
        if position > 0:
            tl.send(low, acc)
    elif position > root:
        acc = tl.recv(low, (n_elem,), dtype)
        if position < length - 1:
            tl.send(high, acc)
    else:
        if root > 0:
            tl.send(low, acc)
        if root < length - 1:
            tl.send(high, acc)
    return acc


def around(tl, acc, n_elem, dtype, size, to, come):
    """Everybody's tile goes round a ring once; each adds up what passes."""
    passing = acc
    for _ in range(size - 1):
        tl.send(to, passing)
        passing = tl.recv(come, (n_elem,), dtype)
        acc = acc + passing
    return acc
