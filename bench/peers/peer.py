"""What the SimPy peers share: the pseudo-random numbers and the report that bench/run.py reads."""
import json
import time


class Lcg:
    def __init__(self, seed):
        self.x = seed

    def next(self):
        self.x = (self.x * 1103515245 + 12345) & 0x7FFFFFFF
        return self.x


def report(run, units, checksum):
    """Runs and reports units per second of CPU time, as the C++ side does."""
    start = time.process_time()
    run()
    seconds = time.process_time() - start
    print(json.dumps({"rate": units / seconds, "checksum": str(checksum() % 2**64)}))
