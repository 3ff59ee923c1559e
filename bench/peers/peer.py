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
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    print(json.dumps({"rate": units / seconds, "checksum": str(checksum() % 2**64)}))
