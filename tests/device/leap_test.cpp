// Packets that cross free links without a stop: what that spares, what happens when somebody comes between, and that nobody can tell.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "device/traffic.hpp"

namespace kernbench::device::leap_test {
namespace {

using testing::Random;
using testing::seeds;
using testing::World;
using topology::NodeId;
using topology::NodeKind;

constexpr FabricOptions kPacketByPacket = {.shortcuts = false};

/// A message of which only the end matters: nobody is told of its packets.
class Silent final : public Message {
 public:
  Silent(World& world, NodeId from, NodeId to, Bytes size)
      : simulation_(world.simulation), fabric_(world.fabric), start_(*this) {
    route = &world.fabric.route(from, to);
    bytes = size;
    followed = false;
  }
  void send_at(Time at) {
    sent = at;
    simulation_.partition(route->partition).schedule_at(start_, at);
  }
  void follow() {
    followed = true;
    look_at_packets(false);
  }
  Time sent = Time::never();
  Time left = Time::never();
  Time delivered = Time::never();

 private:
  void start() { fabric_.send(*this); }
  void on_left() override { left = simulation_.partition(route->partition).now(); }
  void on_delivered() override { delivered = simulation_.partition(route->last_partition).now(); }
  void on_packet(std::int64_t, Time) override { ADD_FAILURE() << "nobody wants to know"; }
  void on_run(const Run&) override { ADD_FAILURE() << "nobody wants to know"; }
  sim::Simulation& simulation_;
  Fabric& fabric_;
  sim::MemberEvent<&Silent::start> start_;
};

struct Cube : World {
  using World::World;
  NodeId dma(int pe) { return graph.pe({0, 0, pe}, NodeKind::pe_dma); }
  NodeId tcm(int pe) { return graph.pe({0, 0, pe}, NodeKind::pe_tcm); }
};

// It is sent, and it is there: two events. Packet by packet its source chooses, and each link but the first is one more.
TEST(Leap, AMessageThatMeetsNobodyIsTwoEvents) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    Cube cube({}, options);
    Silent message(cube, cube.tcm(0), cube.tcm(7), 64_B);
    const Route& way = *message.route;
    ASSERT_GT(way.hops.size(), 4u);
    message.send_at(0_ps);
    cube.simulation.run();
    EXPECT_EQ(message.delivered, way.latency + way.pace.of(0, 64_B));
    EXPECT_EQ(cube.simulation.counters().events, options.shortcuts ? 2 : 3 + way.hops.size() - 1);
    EXPECT_EQ(cube.fabric.counters().packet_hops, way.hops.size());
  }
}

// A leap is over 25 links at most. Behind the first one, each begins where a link was taken: n links are sent, and 1 + ⌈(n − 25) / 26⌉
// landings.
TEST(Leap, ALongWayIsCrossedInSeveralLeaps) {
  World world;
  const int last = world.graph.cubes() - 1;
  Silent message(world, world.graph.pe({0, 0, 0}, NodeKind::pe_dma),
                 world.graph.pe({0, last, 7}, NodeKind::pe_tcm), 64_B);
  const std::size_t links = message.route->hops.size();
  ASSERT_GT(links, 25u);
  message.send_at(0_ps);
  world.simulation.run();
  EXPECT_EQ(message.delivered, message.route->latency + message.route->pace.of(0, 64_B));
  EXPECT_EQ(world.simulation.counters().events, 2 + (links - 25 + 25) / 26);
}

/// The first link that two ways share.
const Hop& shared(const Route& a, const Route& b) {
  for (const Hop& hop : a.hops)
    for (const Hop& other : b.hops)
      if (hop.link == other.link) return hop;
  ADD_FAILURE() << "the ways do not meet";
  return a.first();
}

Time before(const Route& way, topology::LinkId link) {
  for (const Hop& hop : way.hops)
    if (hop.link == link) return hop.before;
  return Time::never();
}

// B's head reaches a link a picosecond before A's, which was sent earlier and is to cross it without a stop. B has the link for the
// time of its slowest link so far, and A waits for that less a picosecond; from there on B stays ahead of it.
TEST(Leap, WhoComesBetweenGoesFirst) {
  for (const FabricOptions options : {FabricOptions{}, kPacketByPacket}) {
    Cube cube({}, options);
    Silent a(cube, cube.dma(0), cube.tcm(7), 256_B), b(cube, cube.dma(6), cube.tcm(7), 256_B);
    const Hop& meeting = shared(*a.route, *b.route);
    const Time b_sent = meeting.before - 1_ps - before(*b.route, meeting.link);
    ASSERT_GT(meeting.before, 0_ps);
    ASSERT_GT(b_sent, 0_ps) << "A is on its way by then";
    a.send_at(0_ps);
    b.send_at(b_sent);
    cube.simulation.run();
    const Time wait = meeting.longest - 1_ps;
    EXPECT_EQ(b.delivered, b_sent + b.route->latency + b.route->pace.full());
    EXPECT_EQ(a.delivered, a.route->latency + a.route->pace.full() + wait);
    EXPECT_EQ(cube.fabric.use(meeting.link).deepest_wait, wait);
  }
}

// Messages of one sender go the same way 200 ps after each other. One of another sender, which is nearer and is sent later, meets
// their links between them: each is through before the next one comes. They are two events each.
TEST(Leap, WhoAreThroughBeforeTheNextOneComesDoNotStop) {
  Cube cube;
  std::vector<std::unique_ptr<Silent>> messages;
  for (const int pe : {0, 0, 6, 0, 0})
    messages.push_back(std::make_unique<Silent>(cube, cube.dma(pe), cube.tcm(7), 64_B));
  const Hop& meeting = shared(*messages[0]->route, *messages[2]->route);
  ASSERT_LE(messages[0]->route->pace.of(0, 64_B), 200_ps) << "a message is through by then";
  Time reaches = 100_ns;
  for (const auto& message : messages) {
    message->send_at(reaches - before(*message->route, meeting.link));
    reaches += 200_ps;
  }
  ASSERT_GT(messages[2]->sent, messages[3]->sent);
  cube.simulation.run();
  for (const auto& message : messages)
    EXPECT_EQ(message->delivered - message->sent, message->route->latency + message->route->pace.of(0, 64_B));
  EXPECT_EQ(cube.simulation.counters().events, 5 * 2);
}

/// When messages of three PEs are delivered whose heads would all reach the last link but one at 100 ns.
std::vector<Time> meet_before_the_end(int end, std::array<int, 3> pes, FabricOptions options) {
  Cube cube({}, options);
  std::vector<std::unique_ptr<Silent>> messages;
  for (const int pe : pes) {
    messages.push_back(std::make_unique<Silent>(cube, cube.dma(pe), cube.tcm(end), 64_B));
    messages.back()->send_at(100_ns - messages.back()->route->hops.rbegin()[1].before);
  }
  cube.simulation.run();
  std::vector<Time> delivered;
  for (const auto& message : messages) delivered.push_back(message->delivered);
  return delivered;
}

// A's packets go to the next cube, 2 ns after each other, for that is what UCIe takes. Each has a router's link for half a nanosecond.
// B's packet comes to such a link 1 ns behind the fourth: it neither stops nor changes anything, and makes two events more.
TEST(Leap, APacketGoesBetweenThoseOfATrain) {
  const auto run = [](bool with_b) {
    Cube cube;
    Silent a(cube, cube.dma(0), cube.graph.pe({0, 1, 0}, NodeKind::pe_tcm), 2048_B);
    Silent b(cube, cube.dma(1), cube.tcm(3), 64_B);
    EXPECT_EQ(a.route->pace.full(), 2_ns);
    const Hop& meeting = shared(*a.route, *b.route);
    EXPECT_EQ(meeting.full, 500_ps);
    a.send_at(100_ns);
    if (with_b) b.send_at(100_ns + 3 * 2_ns + meeting.before + 1_ns - before(*b.route, meeting.link));
    cube.simulation.run();
    EXPECT_EQ(a.delivered, 100_ns + a.route->latency + 8 * 2_ns);
    const Time on_its_way = b.route->latency + b.route->pace.of(0, 64_B);
    EXPECT_EQ(b.delivered, with_b ? b.sent + on_its_way : Time::never());
    EXPECT_EQ(cube.fabric.use(meeting.link).bytes, with_b ? 2112_B : 2048_B);
    EXPECT_EQ(cube.fabric.use(meeting.link).deepest_wait, 0_ps);
    return cube.simulation.counters().events;
  };
  EXPECT_EQ(run(true), run(false) + 2);
}

// Whoever comes first and goes on without a stop may have to go behind those who come after it at the same instant.
TEST(Leap, ThreeWhoMeetAtOneInstantGoInTheirOrder) {
  for (int number = 0; number < 8 * 8 * 8 * 8; ++number) {
    const int end = number % 8, a = number / 8 % 8, b = number / 64 % 8, c = number / 512;
    if (a >= b || b >= c || a == end || b == end || c == end) continue;
    EXPECT_EQ(meet_before_the_end(end, {a, b, c}, {}), meet_before_the_end(end, {a, b, c}, kPacketByPacket))
        << a << ' ' << b << ' ' << c << " to " << end;
  }
}

// A link that a packet has not reached has not carried it, whatever it is booked for.
TEST(Leap, LinksHaveCarriedWhatHasCome) {
  Cube cube;
  Silent message(cube, cube.dma(0), cube.tcm(7), 256_B);
  message.send_at(0_ps);
  const Hop& last = message.route->hops.back();
  ASSERT_GT(last.before, 2_ps);
  cube.simulation.run({.until = last.before - 1_ps});
  EXPECT_EQ(cube.fabric.use(message.route->hops[1].link).bytes, 256_B);
  EXPECT_EQ(cube.fabric.use(last.link).bytes, 0_B);
  cube.simulation.run({.until = last.before});
  EXPECT_EQ(cube.fabric.use(last.link).bytes, 256_B);
}

/// Small messages among the PEs of two SIPs, most of them of one packet, many at one instant.
class Flurry : Random {
 public:
  Flurry(std::uint32_t seed, FabricOptions options, int threads)
      : Random(seed), world_({pick(0, 1) ? "fabric.header_bytes=16" : "fabric.header_bytes=0"}, options) {
    const Time grid = Time::from_ps(pick({1, 30, 500, 2500}));
    const int spread = pick({0, 3, 40, 400});
    for (int i = pick(2, 120); i > 0; --i) add(grid * pick(0, spread));
    for (const Time until : {700_ps, 9_ns, 40_ns, Time::never()}) look(until, threads);
    for (const auto& m : messages_) seen.push_back(m->delivered.ps()), seen.push_back(m->left.ps());
  }
  std::vector<std::int64_t> seen;

 private:
  NodeId node() {
    const NodeKind kind = pick(0, 1) ? NodeKind::pe_tcm : pick(0, 1) ? NodeKind::pe_dma : NodeKind::pe_ipcq;
    return world_.graph.pe({pick(0, 9) == 0 ? 1 : 0, pick(0, 1), pick(0, 7)}, kind);
  }
  void add(Time at) {
    const NodeId from = node(), to = node();
    if (from == to) return;
    messages_.push_back(std::make_unique<Silent>(world_, from, to, Bytes(pick({1, 4, 64, 256, 300, 2000}))));
    Silent& message = *messages_.back();
    message.channel = static_cast<Channel>(pick(0, 2));
    message.rank = static_cast<std::uint32_t>(messages_.size());
    if (pick(0, 1)) message.follow();
    message.send_at(at);
  }
  void look(Time until, int threads) {
    world_.simulation.run({.until = until, .threads = threads});
    for (std::uint32_t i = 0; i < world_.graph.link_count(); ++i) {
      const LinkUse use = world_.fabric.use({i});
      seen.insert(seen.end(), {use.bytes.count(), use.deepest_wait.ps(), use.note.overhead.count()});
    }
  }

  World world_;
  std::vector<std::unique_ptr<Silent>> messages_;
};

TEST(Leap, NobodyCanTell) {
  const auto [first, end] = seeds(0, 100);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    const auto expected = Flurry(seed, kPacketByPacket, 1).seen;
    ASSERT_EQ(Flurry(seed, {}, 1).seen, expected) << "seed " << seed;
    if (seed % 16 == 0) {
      ASSERT_EQ(Flurry(seed, {}, 2).seen, expected) << "seed " << seed << ", two threads";
    }
  }
}

}  // namespace
}  // namespace kernbench::device::leap_test
