"""Wirings of whole machines by the prototype's names."""
from .install import wire


def configure_sfr_intercube_multisip(engine, spec=None, cfg=None):
    """Neighbouring cubes of a SIP (E, W, N, S) and the SIPs (global_…), between PE 0 of every cube."""
    cfg = cfg or {}
    return wire(engine, cfg, "intercube_intersip", "pe0_per_cube", "cube")


def configure_sfr_intracube_pe_ring(engine, spec=None, cfg=None):
    """The PEs of every cube in a ring (E, W)."""
    return wire(engine, cfg or {}, "intracube_ring", "all_pes", "sip")
