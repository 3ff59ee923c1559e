"""Physical and virtual addresses by the names of the earlier prototype."""
