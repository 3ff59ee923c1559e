"""PE 0 of every cube: rows, then the root's column, to the root cube; root cubes between SIPs; and back the same way."""
from ._common import around, back, bytes_of, dtype_of, toward

#: What `sip_topo_kind` means.
TOPO_NAME_TO_KIND = {"ring_1d": 0, "torus_2d": 1, "mesh_2d": 1, "mesh_2d_no_wrap": 2}
RING, TORUS, MESH = 0, 1, 2


def kernel_args(world_size, n_elem, kernel_cube_w=4, kernel_cube_h=4, kernel_n_sips=1, kernel_sip_rank=0, kernel_sip_topo_kind=0,
                kernel_sip_topo_w=1, kernel_sip_topo_h=1, **_):
    return (n_elem, kernel_cube_w, kernel_cube_h, kernel_n_sips, kernel_sip_rank, kernel_sip_topo_kind, kernel_sip_topo_w,
            kernel_sip_topo_h)


def kernel(t, n_elem, cube_w, cube_h, n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h, tl):
    cube = tl.program_id(1)
    x, y = cube % cube_w, cube // cube_w
    root_x, root_y = cube_w // 2, cube_h // 2
    mine = t + cube * n_elem * bytes_of(t)
    row = (x, cube_w, root_x, "W", "E")
    column = (y, cube_h, root_y, "N", "S")
    acc = toward(tl, tl.load(mine, (n_elem,), dtype_of(t)), n_elem, dtype_of(t), *row)
    if x == root_x:
        acc = toward(tl, acc, n_elem, dtype_of(t), *column)
        if y == root_y and n_sips > 1:
            acc = exchange(tl, acc, n_elem, dtype_of(t), n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h)
        acc = back(tl, acc, n_elem, dtype_of(t), *column)
    tl.store(mine, back(tl, acc, n_elem, dtype_of(t), *row))


def exchange(tl, acc, n_elem, dtype, n_sips, sip_rank, kind, w, h):
    """Between the root cubes of the SIPs."""
    if kind == RING:
        return around(tl, acc, n_elem, dtype, n_sips, "global_E", "global_W")
    if kind == TORUS:
        acc = around(tl, acc, n_elem, dtype, w, "global_E", "global_W")
        return around(tl, acc, n_elem, dtype, h, "global_S", "global_N")
    x, y = sip_rank % w, sip_rank // w
    row, column = (x, w, 0, "global_W", "global_E"), (y, h, 0, "global_N", "global_S")
    acc = toward(tl, acc, n_elem, dtype, *row)
    if x == 0:
        acc = back(tl, toward(tl, acc, n_elem, dtype, *column), n_elem, dtype, *column)
    return back(tl, acc, n_elem, dtype, *row)
