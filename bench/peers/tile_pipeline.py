"""tile-pipeline in SimPy 3: see bench/device/composite.cpp.

One PE of the default machine and its HBM slice: 512 x 512 x 512 in f16, tiles of 32 x 64 and 64 x 32. Per step DMA-in of a tile of A
and one of B into one of three buffers, fetch, GEMM; after the 8 steps of an output tile its store and DMA-out. The resources are
those of docs/model.md, so that every operation starts and ends at the same picosecond as in KernBench:
- the slice: 8 pseudo-channels, a burst of 256 B takes 8 ns of one; reads ask for all their bursts at once, writes as packets come;
  a channel serves reads and writes in turn;
- the way between slice and TCM: packets of 256 B, at most one a nanosecond each way, cut-through, 1 ps per wire,
  2.5 ns in the router;
- the TCM's write port (0.5 ns a packet, a store 4 ns, in order of arrival) and read port (fetches of 16 ns and packets in
  turn: a fetch leaves the port, at a multiple of 0.5 ns since it got it, to a packet that can go).
"""
import collections

import simpy

from peer import report

SIZE, TILE_M, TILE_K, TILE_N, ITEM = 512, 32, 64, 32, 2
MT, KT, NT = SIZE // TILE_M, SIZE // TILE_K, SIZE // TILE_N
BUFFERS = 3
PACKET = 256                                # bytes; a burst has as many
CHANNELS, BURST = 8, 8000                   # ps from here on
WIRE = 1
ROUTER = 2500                               # once on each way between slice and TCM
PACE = 1000                                 # of packets, by the slice's link
PORT_PACKET, PORT_STORE, PORT_FETCH = 500, 4000, 16000
GEMM = 16000
BEGIN = 2000 + 1000 + 1000                  # the PE's CPU starts, dispatches; the scheduler plans
A, B, C = 0, 16 << 20, 32 << 20             # where the matrices begin in the slice
TILE_PACKETS = TILE_M * TILE_K * ITEM // PACKET
OUT_PACKETS = TILE_M * TILE_N * ITEM // PACKET


def tile_address(base, row, col):
    return base + (row * SIZE + col) * ITEM


class Slice:
    """Each channel takes one burst of the stream (reads, or writes) whose turn it is; then that one waits behind the other."""

    def __init__(self, env):
        self.env = env
        self.waiting = [[] for _ in range(CHANNELS)]    # per channel: streams in turn, each with its bursts
        self.asked = [env.event() for _ in range(CHANNELS)]
        for channel in range(CHANNELS):
            env.process(self.run(channel))

    def ask(self, stream, burst):
        """An event: the burst is through."""
        channel, through = burst % CHANNELS, self.env.event()
        for name, bursts in self.waiting[channel]:
            if name == stream:
                bursts.append(through)
                return through
        self.waiting[channel].append((stream, collections.deque([through])))
        if not self.asked[channel].triggered:
            self.asked[channel].succeed()
        return through

    def run(self, channel):
        waiting = self.waiting[channel]
        while True:
            if not waiting:
                self.asked[channel] = self.env.event()
                yield self.asked[channel]
            yield self.env.timeout(0)       # who comes at this instant is there
            stream, bursts = waiting.pop(0)
            through = bursts.popleft()
            if bursts:
                waiting.append((stream, bursts))
            yield self.env.timeout(BURST)
            through.succeed()


class WritePort:
    """Packets and stores in the order in which they come."""

    def __init__(self):
        self.free_at = 0

    def packet(self, head, tail):
        self.free_at = max(max(head, self.free_at) + PORT_PACKET, tail)
        return self.free_at

    def store(self, now):
        self.free_at = max(now, self.free_at) + PORT_STORE
        return self.free_at


class ReadPort:
    """Fetches and packets of DMA-outs in turn."""

    def __init__(self, env):
        self.env = env
        self.fetch_done = None              # the fetch that waits,
        self.fetch_left = 0                 # and what of it is to come
        self.fetch_turn = False
        self.next_offer = 0                 # of a packet
        self.outputs = []                   # DMA-outs that have packets left, oldest first
        self.asked = env.event()

    def wake(self):
        if not self.asked.triggered:
            self.asked.succeed()

    def fetch(self):
        self.fetch_done, self.fetch_left = self.env.event(), PORT_FETCH
        self.wake()
        return self.fetch_done

    def send(self, output):
        self.outputs.append(output)
        self.wake()

    def hold(self):
        """The fetch has the port to its end, or to the end of the turn in which a packet can go."""
        since, end = self.env.now, self.env.now + self.fetch_left
        known, until = len(self.outputs), end
        if self.outputs:
            until = self.turn_end(since, end, self.next_offer)
        while self.env.now < until:
            self.asked = self.env.event()
            yield simpy.AnyOf(self.env, [self.asked, self.env.timeout(until - self.env.now)])
            if len(self.outputs) > known:
                known = len(self.outputs)
                until = min(until, self.turn_end(since, end, max(self.next_offer, self.env.now + 1)))
        self.fetch_left = end - until
        if not self.fetch_left:
            done, self.fetch_done = self.fetch_done, None
            done.succeed()

    @staticmethod
    def turn_end(since, end, wanted):
        turns = max(-((since - wanted) // PORT_PACKET), 1)
        return min(since + turns * PORT_PACKET, end)

    def run(self, pipeline):
        while True:
            now = self.env.now
            offered = self.outputs and self.next_offer <= now
            if self.fetch_done and (self.fetch_turn or not offered):
                self.fetch_turn = False
                yield from self.hold()
            elif offered:
                self.next_offer = now + PACE
                output = self.outputs[0]
                self.env.process(pipeline.write_packet(output, output.sent))
                output.sent += 1
                self.fetch_turn = output.sent < OUT_PACKETS
                yield self.env.timeout(PORT_PACKET)
                if output.sent == OUT_PACKETS:
                    self.outputs.pop(0)
            else:
                self.asked = self.env.event()
                waits = [self.asked]
                if self.outputs:
                    waits.append(self.env.timeout(self.next_offer - now))
                yield simpy.AnyOf(self.env, waits)


class Output:
    def __init__(self, address, start):
        self.address, self.start = address, start
        self.sent = 0
        self.bursts = []                    # those that the slice was asked to write


class Pipeline:
    def __init__(self, env):
        self.env = env
        self.slice, self.write_port, self.read_port = Slice(env), WritePort(), ReadPort(env)
        self.buffers = simpy.Container(env, BUFFERS, BUFFERS)
        self.answers = simpy.Store(env)     # reads, in the order of their requests
        self.next_offer = 0                 # of a packet of theirs
        self.arrivals = simpy.Store(env)    # their packets on the way
        self.loaded = simpy.Store(env)      # steps with their transfers, in order
        self.unit = simpy.Resource(env)     # the GEMM unit
        self.store_stage = simpy.Resource(env)
        self.checksum = 0
        env.process(self.feed())
        env.process(self.answer())
        env.process(self.arrive())
        env.process(self.fetch())
        env.process(self.read_port.run(self))

    def note(self, start, weight):
        self.checksum += start + weight * self.env.now

    def feed(self):
        yield self.env.timeout(BEGIN)
        for m in range(MT):
            for n in range(NT):
                for k in range(KT):
                    yield self.buffers.get(1)
                    a = self.env.process(self.read(tile_address(A, m * TILE_M, k * TILE_K)))
                    b = self.env.process(self.read(tile_address(B, k * TILE_K, n * TILE_N)))
                    self.loaded.put((a, b, tile_address(C, m * TILE_M, n * TILE_N) if k + 1 == KT else None))

    def read(self, address):
        start = self.env.now
        yield self.env.timeout(2 * WIRE + ROUTER)
        first, done = address // PACKET, self.env.event()
        self.answers.put(([self.slice.ask("reads", first + p) for p in range(TILE_PACKETS)], done))
        yield done
        self.note(start, 3)

    def answer(self):
        """Data of reads leaves the slice, packet after packet."""
        while True:
            bursts, done = yield self.answers.get()
            for through in bursts:
                yield through
                offer = max(self.env.now, self.next_offer)
                self.next_offer = offer + PACE
                self.arrivals.put((offer + 2 * WIRE + ROUTER, done if through is bursts[-1] else None))

    def arrive(self):
        """It reaches the TCM's write port."""
        while True:
            head, done = yield self.arrivals.get()
            yield self.env.timeout(head - self.env.now)
            tail = self.write_port.packet(head, head + PACE)
            if done:
                self.env.process(self.deliver(tail + WIRE, done))

    def deliver(self, at, done):
        yield self.env.timeout(at - self.env.now)
        done.succeed()

    def fetch(self):
        while True:
            a, b, out = yield self.loaded.get()
            yield a
            yield b
            start = self.env.now
            yield self.read_port.fetch()
            self.buffers.put(1)
            unit = self.unit.request()
            yield unit
            self.env.process(self.compute(start, unit, out))

    def compute(self, start, unit, out):
        yield self.env.timeout(GEMM)
        stage = self.store_stage.request()
        yield stage
        self.unit.release(unit)
        if out is not None:
            yield self.env.timeout(self.write_port.store(self.env.now) - self.env.now)
        self.store_stage.release(stage)
        self.note(start, 5)
        if out is not None:
            self.read_port.send(Output(out, self.env.now))

    def write_packet(self, output, packet):
        yield self.env.timeout(3 * WIRE + ROUTER + PACE)
        output.bursts.append(self.slice.ask("writes", output.address // PACKET + packet))
        if packet + 1 < OUT_PACKETS:
            return
        yield self.env.all_of(output.bursts)
        yield self.env.timeout(2 * WIRE + ROUTER)
        self.note(output.start, 7)


def main():
    env = simpy.Environment()
    pipeline = Pipeline(env)
    records = MT * NT * KT * 3 + MT * NT
    report(env.run, records, lambda: pipeline.checksum)


main()
