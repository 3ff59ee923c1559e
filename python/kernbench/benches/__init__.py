"""Benches by the names of the earlier prototype."""
