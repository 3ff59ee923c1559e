// Three components on the event kernel, as docs/sim.md shows them: a router, a server with a queue, a
// rendezvous. Prints what happens when.
#include <fmt/core.h>
#include <kernbench/sim.hpp>

#include <deque>

using namespace kernbench;
using namespace kernbench::sim;

namespace {

void say(const Partition& here, const char* what, int id) {
  fmt::print("{:>6} ps  {} {}\n", here.now().ps(), what, id);
}

// [router]
struct Packet {
  int id = 0;
  std::size_t port = 0;
  Time occupancy;  // what its bytes take on a link
};

/// Looks up the route of one packet at a time; waits while the packet's port is full.
Process router(Fifo<Packet>& in, std::deque<Fifo<Packet>>& ports) {
  while (true) {
    const Packet packet = co_await in.get();
    co_await delay(2_ns);
    co_await ports[packet.port].put(packet);
  }
}

/// Sends the packets of one port, one after the other.
Process port(Partition& here, Fifo<Packet>& queue) {
  while (true) {
    const Packet packet = co_await queue.get();
    co_await delay(packet.occupancy);
    say(here, "has left: packet", packet.id);
  }
}
// [/router]

// [server]
struct Request {
  int id = 0;
  Signal* done = nullptr;
};

/// A memory bank: requests wait in its queue; each takes 8 ns.
Process bank(Fifo<Request>& queue) {
  while (true) {
    const Request request = co_await queue.get();
    co_await delay(8_ns);
    request.done->notify();
  }
}

/// Issues a request, waits for room in the queue, then for completion.
Process reader(Partition& here, Fifo<Request>& queue, int id) {
  Signal done(here);
  co_await queue.put(Request{id, &done});
  co_await done.wait();
  say(here, "served: request", id);
}
// [/server]

// [rendezvous]
/// A FIFO without room: who comes first waits for the other.
Process producer(Partition& here, Fifo<int>& meeting) {
  for (int item = 1; item <= 2; ++item) {
    co_await delay(3_ns);
    co_await meeting.put(item);
    say(here, "handed over: item", item);
  }
}

Process consumer(Partition& here, Fifo<int>& meeting) {
  for (int i = 0; i < 2; ++i) {
    const int item = co_await meeting.get();
    say(here, "received: item", item);
    co_await delay(10_ns);
  }
}
// [/rendezvous]

void run_router() {
  // [run]
  Simulation sim;
  Partition& here = sim.partition();
  Fifo<Packet> in(here, 4);
  std::deque<Fifo<Packet>> ports;
  for (int i = 0; i < 2; ++i) here.spawn(port(here, ports.emplace_back(here, 4)));
  here.spawn(router(in, ports));
  for (int id = 0; id < 4; ++id) in.try_put({id, id == 2 ? 1U : 0U, 4_ns});
  sim.run();
  // [/run]
}

void run_server() {
  Simulation sim;
  Fifo<Request> queue(sim.partition(), 1);
  sim.partition().spawn(bank(queue));
  for (int id = 0; id < 3; ++id) sim.partition().spawn(reader(sim.partition(), queue, id));
  sim.run();
}

void run_rendezvous() {
  Simulation sim;
  Fifo<int> meeting(sim.partition(), 0);
  sim.partition().spawn(producer(sim.partition(), meeting));
  sim.partition().spawn(consumer(sim.partition(), meeting));
  sim.run();
}

}  // namespace

int main() {
  run_router();
  run_server();
  run_rendezvous();
}
