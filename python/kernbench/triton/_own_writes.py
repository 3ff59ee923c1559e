"""What a program has stored itself. Integers that it loads are known while it is recorded, as they lie in memory when the launch
begins; where the program has written since, they are what it wrote.
"""

import numpy as np

from ._record import Refused, kernel_line, line_text


class OwnWrites:
    """The integer stores of one program, the oldest first."""

    def __init__(self):
        self.writes = []
        self.low, self.high = 1 << 63, 0

    def add(self, addresses, size, numbers):
        """`numbers`: one for each address; None if they are computed."""
        if not len(addresses):
            return
        order = np.argsort(addresses, kind="stable")
        addresses = addresses[order]
        low, high = int(addresses[0]), int(addresses[-1]) + size
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.writes.append((low, high, addresses, size, None if numbers is None else numbers[order], kernel_line()))

    def seen(self, addresses, size, numbers):
        """The numbers of a load as the program sees them; None if one of them is computed."""
        if not len(addresses):
            return numbers
        low, high = int(addresses.min()), int(addresses.max()) + size
        if low >= self.high or high <= self.low:
            return numbers
        known = np.ones(len(addresses), bool)
        numbers = numbers.copy()
        for begin, end, theirs, their_size, stored, line in self.writes:
            if low >= end or high <= begin:
                continue
            last = np.searchsorted(theirs, addresses, side="right") - 1  # of lanes on one place the last one counts
            same = (last >= 0) & (theirs[last] == addresses)
            _check_sizes(addresses, size, theirs, their_size, same, line)
            known[same] = stored is not None
            if stored is not None:
                numbers[same] = stored[last[same]]
        return numbers if known.all() else None


def _check_sizes(addresses, size, theirs, their_size, same, line):
    """Elements of another size, or beside each other's borders, are not put together."""
    following = np.searchsorted(theirs, addresses, side="right")
    below = (following > 0) & (theirs[following - 1] + their_size > addresses)
    above = (following < len(theirs)) & (theirs[np.minimum(following, len(theirs) - 1)] < addresses + size)
    if size == their_size and not (above | (below & ~same)).any():
        return
    if (below | above).any():
        raise Refused(f"the integers loaded at {line_text(kernel_line())} are parts of what this program stored at {line_text(line)} in "
                      "elements of another size: load them in the size in which they were stored")
