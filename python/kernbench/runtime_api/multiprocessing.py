"""What a failed `spawn` raises."""
from .._errors import SpawnException

__all__ = ["SpawnException"]
