"""Names of the earlier prototype."""
