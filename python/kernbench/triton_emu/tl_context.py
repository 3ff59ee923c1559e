"""Recording a kernel without any machine, by the prototype's names."""
from .._core import TlContext
from .._kernels import run_kernel as _run_kernel


class TLContext(TlContext):
    """`tl` of one PE. Pointers may be plain integers; any direction is accepted."""

    def __init__(self, pe_id=0, num_programs=1, cube_id=0, num_cubes=1, dispatch_cycles=0, scratch_base=0, scratch_size=1 << 20,
                 sip_id=0, num_sips=1, **ignored):
        super().__init__(pe=(sip_id, cube_id, pe_id), num_programs=(num_programs, num_cubes, num_sips), scratch=scratch_size)
        self.pe_id, self.cube_id, self.dispatch_cycles, self.scratch_base = pe_id, cube_id, dispatch_cycles, scratch_base


def run_kernel(kernel, tl, *args, **kw):
    """Records `kernel(*args, tl=tl)`; `tl.commands` then holds its commands."""
    _run_kernel(kernel, tl, *args, **kw)
    return tl.commands
