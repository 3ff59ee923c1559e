"""PE 0 of every cube: rows, then the root's column, to the root cube; root cubes between SIPs; and back the same way."""
from ._common import around, back, toward

#: What `sip_topo_kind` means.
TOPO_NAME_TO_KIND = {"ring_1d": 0, "torus_2d": 1, "mesh_2d": 1, "mesh_2d_no_wrap": 2}
RING, TORUS, MESH = 0, 1, 2


def kernel(t, n_elem, cube_w, cube_h, n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h, tl):
    cube = tl.program_id(1)
    x, y = cube % cube_w, cube // cube_w
    root_x, root_y = cube_w // 2, cube_h // 2
    mine = t + cube * n_elem * 2
    row = (x, cube_w, root_x, "W", "E")
    column = (y, cube_h, root_y, "N", "S")
    acc = toward(tl, tl.load(mine, (n_elem,), "f16"), n_elem, "f16", *row)
    if x == root_x:
        acc = toward(tl, acc, n_elem, "f16", *column)
        if y == root_y and n_sips > 1:
            acc = exchange(tl, acc, n_elem, n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h)
        acc = back(tl, acc, n_elem, "f16", *column)
    tl.store(mine, back(tl, acc, n_elem, "f16", *row))


def exchange(tl, acc, n_elem, n_sips, sip_rank, kind, w, h):
    """Between the root cubes of the SIPs."""
    if kind == RING:
        return around(tl, acc, n_elem, "f16", n_sips, "global_E", "global_W")
    if kind == TORUS:
        acc = around(tl, acc, n_elem, "f16", w, "global_E", "global_W")
        return around(tl, acc, n_elem, "f16", h, "global_S", "global_N")
    x, y = sip_rank % w, sip_rank // w
    row, column = (x, w, 0, "global_W", "global_E"), (y, h, 0, "global_N", "global_S")
    acc = toward(tl, acc, n_elem, "f16", *row)
    if x == 0:
        acc = back(tl, toward(tl, acc, n_elem, "f16", *column), n_elem, "f16", *column)
    return back(tl, acc, n_elem, "f16", *row)
