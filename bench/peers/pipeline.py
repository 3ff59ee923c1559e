"""pipeline in SimPy 3: see bench/sim/pipeline.cpp."""
import simpy

from peer import report

CHAINS, STAGES, ITEMS, DEPTH = 64, 8, 250, 16
STEP = 5000  # ps


class Sink:
    def __init__(self):
        self.checksum = 0

    def take(self, now, item):
        self.checksum += now ^ item


def source(env, out, chain):
    for i in range(ITEMS):
        yield out.put(chain * ITEMS + i)
        yield env.timeout(STEP)


def stage(env, inlet, out):
    while True:
        item = yield inlet.get()
        yield env.timeout(STEP)
        yield out.put(item)


def last_stage(env, inlet, sink):
    while True:
        item = yield inlet.get()
        yield env.timeout(STEP)
        sink.take(env.now, item)


def main():
    env = simpy.Environment()
    sink = Sink()
    for chain in range(CHAINS):
        inlet = simpy.Store(env, capacity=DEPTH)
        env.process(source(env, inlet, chain))
        for _ in range(1, STAGES):
            out = simpy.Store(env, capacity=DEPTH)
            env.process(stage(env, inlet, out))
            inlet = out
        env.process(last_stage(env, inlet, sink))
    report(env.run, CHAINS * STAGES * ITEMS, lambda: sink.checksum)


main()
