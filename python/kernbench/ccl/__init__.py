"""Names of the earlier prototype for collectives."""
