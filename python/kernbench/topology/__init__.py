"""Names of the earlier prototype: `from kernbench.topology.builder import resolve_topology`."""
