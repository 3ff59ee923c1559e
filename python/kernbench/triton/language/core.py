"""`triton.language.core`: names that some files import from here."""

from . import *  # noqa: F401,F403
from . import constexpr, dtype, tensor  # noqa: F401
