"""ring in SimPy 3: see bench/sim/ring.cpp."""
import simpy

from peer import Lcg, report

RANKS, ROUNDS = 256, 255
NEAR, FAR = 2, 8  # ranks per link at both ends, in the middle
LATENCY = 20_000  # ps


class Link:
    """Serves in order of arrival: a message occupies the wire, then flies."""

    def __init__(self, env):
        self.env = env
        self.wire = simpy.Resource(env, capacity=1)

    def cross(self, occupancy):
        with self.wire.request() as turn:
            yield turn
            yield self.env.timeout(occupancy)
        yield self.env.timeout(LATENCY)


class Machine:
    def __init__(self, env):
        self.env = env
        self.up = [Link(env) for _ in range(RANKS // NEAR)]
        self.middle = [Link(env) for _ in range(RANKS // FAR)]
        self.down = [Link(env) for _ in range(RANKS // NEAR)]
        self.inbox = [simpy.Store(env) for _ in range(RANKS)]
        self.checksum = 0

    def send(self, source, target, occupancy):
        sent = self.env.now
        yield from self.up[source // NEAR].cross(occupancy)
        yield from self.middle[source // FAR].cross(occupancy)
        yield from self.down[target // NEAR].cross(occupancy)
        yield self.inbox[target].put(sent)


def rank(env, machine, own):
    draw = Lcg(own + 1).next
    right = (own + 1) % RANKS
    for _ in range(ROUNDS):
        yield from machine.send(own, right, 20_000 + (draw() >> 15))
        sent = yield machine.inbox[own].get()
        machine.checksum += env.now ^ sent
        yield env.timeout(1 + (draw() >> 12))


def main():
    env = simpy.Environment()
    machine = Machine(env)
    for own in range(RANKS):
        env.process(rank(env, machine, own))
    report(env.run, RANKS * ROUNDS, lambda: machine.checksum)


main()
