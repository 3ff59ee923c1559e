"""hold in SimPy 3: see bench/sim/hold.cpp."""
import simpy

from peer import Lcg, report

PROCESSES = 10_000
TIMEOUTS = 50


class World:
    def __init__(self):
        self.lcg = Lcg(1)
        self.checksum = 0


def holder(env, world, ident):
    draw = world.lcg.next
    for _ in range(TIMEOUTS):
        yield env.timeout(1 + (draw() >> 11))
        world.checksum += env.now ^ ident


def main():
    env = simpy.Environment()
    world = World()
    for ident in range(PROCESSES):
        env.process(holder(env, world, ident))
    report(env.run, PROCESSES * TIMEOUTS, lambda: world.checksum)


main()
