// The memory with a scheduler: HBM3-6400, one pseudo-channel of 25.6 GB/s unless a test says otherwise. A burst of 64 B has the bus for 2.5 ns.
//
// A burst lies in group b mod 4, then column, bank, row: 4 groups · 16 columns · 8 banks of a group.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <random>

#include "kernbench/machine.hpp"
#include "models/dram_channel.hpp"
#include "models/dram_map.hpp"

namespace kernbench::models::hbm_scheduled_test {
namespace {

constexpr std::int64_t kColumn = 4;       // bursts to the next column of a row
constexpr std::int64_t kBank = 4 * 16;    // to the next bank of a group
constexpr std::int64_t kRow = 8 * kBank;  // to the next row of a bank

using Values = std::vector<std::pair<std::string, ParamValue>>;

/// The parameters of builtin.hbm_scheduled: one channel without refresh, and what else is given.
ParamSet params(const Values& values = {}) {
  const topology::Registry registry = topology::builtin_registry();
  const topology::Kind& hbm = *registry.find("hbm");
  const auto scheduled = std::find_if(hbm.impls.begin(), hbm.impls.end(),
                                      [](const auto& impl) { return impl.name == "builtin.hbm_scheduled"; });
  std::vector<Param> all = hbm.params;
  all.insert(all.end(), scheduled->params.begin(), scheduled->params.end());
  ParamSet set(all);
  set.set("hbm_to_router_bw_gbs", 25.6);
  set.set("num_pcs", std::int64_t{1});
  set.set("burst_bytes", std::int64_t{64});
  set.set("refresh", std::string("none"));
  for (const auto& [name, value] : values) set.set(name, value);
  return set;
}

/// The memory by itself. Requests are made at given times.
class Memory : MemoryAnswers {
 public:
  explicit Memory(const ParamSet& hbm) {
    const topology::Registry registry = topology::builtin_registry();
    for (const auto& impl : registry.find("hbm")->impls)
      if (impl.name == "builtin.hbm_scheduled")
        model_ = std::get<MemoryBehaviour>(impl.behaviour).make(hbm, {simulation_.partition(0), *this});
  }

  /// Its number: `through` has when it is.
  std::size_t ask(Time at, std::int64_t burst, Direction direction = Direction::read,
                  std::uint32_t issuer = 0, std::int64_t count = 1) {
    const std::size_t number = times_.size();
    times_.push_back(Time::never());
    starts_.push_back(
        std::make_unique<Start>(*model_, MemoryRequest{burst, count, direction, at, issuer, number}));
    simulation_.partition(0).schedule_at(*starts_.back(), at);
    return number;
  }
  void run() { simulation_.run(); }
  MemoryActivity activity() const { return model_->activity().value(); }
  Time through(std::size_t number) const { return times_[number]; }

  /// Keeps so many bursts in flight, from `next`, and gives the share of the bus that they had.
  double share(int in_flight, int count, std::function<MemoryRequest(int)> next) {
    next_ = std::move(next);
    left_ = count;
    for (int i = 0; i < in_flight; ++i) ask_next(Time());
    simulation_.run();
    return count * 2.5 / last_.ns();
  }

 private:
  struct Start : sim::Event {
    Start(MemoryModel& m, const MemoryRequest& r) : Event(&fire), model(m), request(r) {}
    static void fire(sim::Event& e) { static_cast<Start&>(e).model.request(static_cast<Start&>(e).request); }
    MemoryModel& model;
    MemoryRequest request;
  };

  void ask_next(Time at) {
    if (left_ == 0) return;
    --left_;
    const MemoryRequest r = next_(asked_++);
    ask(at, r.first, r.direction, r.issuer);
  }
  void through(std::uint64_t tag, std::int64_t, std::span<const Time> at) override {
    times_[tag] = at.back();
    last_ = std::max(last_, at.back());
    if (next_) ask_next(at.back());
  }

  sim::Simulation simulation_;
  std::vector<Time> times_;
  std::vector<std::unique_ptr<Start>> starts_;
  std::unique_ptr<MemoryModel> model_;
  std::function<MemoryRequest(int)> next_;
  int left_ = 0, asked_ = 0;
  Time last_;
};

// A command's time of 0.625 ns, then 20 to open the row, 13.75 to the data and 2.5 for it; 15.625 to close another row.
TEST(Scheduled, TheThreeLatencies) {
  Memory m(params());
  const auto closed = m.ask(0_ns, 0), hit = m.ask(1_us, kColumn), conflict = m.ask(2_us, kRow);
  m.run();
  EXPECT_EQ(m.through(closed), 36'875_ps);
  EXPECT_EQ(m.through(hit) - 1_us, 16'875_ps);
  EXPECT_EQ(m.through(conflict) - 2_us, 52'500_ps);
}

// A write: 10 ns to open the row, 7.5 to its data.
TEST(Scheduled, AWriteIsThroughWithItsData) {
  Memory m(params({{"access_ns", 3.0}}));
  const auto write = m.ask(0_ns, 0, Direction::write);
  m.run();
  EXPECT_EQ(m.through(write), 625_ps + 10_ns + 7'500_ps + 2'500_ps + 3_ns);
}

// Column commands of one group are 5 ns apart, of two groups 2.5.
TEST(Scheduled, AGroupNeedsTimeBetweenColumns) {
  Memory m(params());
  m.ask(0_ns, 0), m.ask(0_ns, 1);
  const auto first = m.ask(1_us, kColumn), same_group = m.ask(1_us, 2 * kColumn),
             other = m.ask(1_us, 1 + kColumn);
  m.run();
  EXPECT_EQ(m.through(first) - 1_us, 16'875_ps);
  EXPECT_EQ(m.through(other) - 1_us, 16'875_ps + 2'500_ps);  // can go earlier, and does
  EXPECT_EQ(m.through(same_group) - 1_us, 16'875_ps + 5_ns);
}

// Activates are 2.5 ns apart, the fifth is 15 ns after the first.
TEST(Scheduled, TheFifthActivateWaitsForTheFirst) {
  Memory m(params());
  std::vector<std::size_t> all;
  for (int i = 0; i < 5; ++i) all.push_back(m.ask(0_ns, i % 4 + i / 4 * kBank));  // five banks
  m.run();
  EXPECT_EQ(m.through(all[3]), 36'875_ps + 7'500_ps);
  EXPECT_EQ(m.through(all[4]), 36'875_ps + 15_ns);
}

// One bank, other rows: activates 44.375 ns apart.
TEST(Scheduled, ABankTakesARowCycleForEachRow) {
  Memory m(params());
  const auto first = m.ask(0_ns, 0), second = m.ask(0_ns, kRow);
  m.run();
  EXPECT_EQ(m.through(second) - m.through(first), 44'375_ps);
}

// Read command at 20.625 ns. The write command 13.75 later, its data 7.5 after that.
TEST(Scheduled, TheBusIsTurned) {
  Memory m(params());
  m.ask(0_ns, 0);
  const auto write = m.ask(0_ns, kColumn, Direction::write);
  const auto read = m.ask(30_ns, 2 * kColumn);
  m.run();
  EXPECT_EQ(m.through(write), 20'625_ps + 13'750_ps + 7'500_ps + 2'500_ps);
  EXPECT_EQ(m.through(read), 20'625_ps + 13'750_ps + 13'125_ps + 16'250_ps);
}

// A burst has a slow bus for 100 ns, longer than the bus takes to turn: commands of both directions are 100 ns apart.
TEST(Scheduled, TheBusIsNotTurnedBeforeItIsFree) {
  Memory m(params({{"hbm_to_router_bw_gbs", 0.64}}));
  m.ask(0_ns, 0);
  const auto write = m.ask(0_ns, kColumn, Direction::write);
  const auto read = m.ask(130_ns, 2 * kColumn);
  m.run();
  EXPECT_EQ(m.through(write), 20'625_ps + 100_ns + 7'500_ps + 100_ns);
  EXPECT_EQ(m.through(read), 20'625_ps + 100_ns + 100_ns + 13'750_ps + 100_ns);
}

/// The order in which 4 reads and some writes of one open row are through.
std::string order_of(int writes) {
  Memory m(params());
  m.ask(0_ns, 0), m.ask(0_ns, 1), m.ask(0_ns, 2), m.ask(0_ns, 3);
  std::vector<std::pair<std::size_t, char>> all;
  for (int i = 0; i < writes; ++i) all.emplace_back(m.ask(1_us, i, Direction::write), 'w');
  for (int i = 0; i < 4; ++i) all.emplace_back(m.ask(1_us, i), 'r');
  m.run();
  // A read has its data 6.25 ns later after its command than a write.
  std::map<Time, char> commands;
  for (const auto& [number, kind] : all) commands[m.through(number) - (kind == 'r' ? 6'250_ps : 0_ps)] = kind;
  std::string order;
  for (const auto& [time, kind] : commands) order += kind;
  return order;
}

TEST(Scheduled, WritesWaitForABatch) {
  EXPECT_EQ(order_of(12), "rrrrwwwwwwwwwwww");
  EXPECT_EQ(order_of(13), "wwwwwwwwwwrrrrwww");  // drained from 13 to 3
}

// A row's columns pass a burst of another row of the bank, but only so many.
TEST(Scheduled, HitsPassAnOlderBurstUpToTheCap) {
  const auto passed = [](std::int64_t cap) {
    Memory m(params({{"cap", cap}}));
    m.ask(0_ns, 0);
    const auto old = m.ask(10_ns, kRow);
    std::vector<std::size_t> hits;
    for (int i = 1; i < 12; ++i) hits.push_back(m.ask(10_ns, i * kColumn));
    m.run();
    return std::count_if(hits.begin(), hits.end(), [&](auto hit) { return m.through(hit) < m.through(old); });
  };
  EXPECT_EQ(passed(3), 3);
  EXPECT_EQ(passed(64), 11);
}

// A refresh of all banks from 3900 to 4250 ns.
TEST(Scheduled, ARefreshClosesAllBanks) {
  Memory m(params({{"refresh", std::string("all_bank")}}));
  m.ask(0_ns, 0);
  const auto during = m.ask(4_us, kColumn), after = m.ask(5_us, 2 * kColumn), later = m.ask(1_ms, 0);
  m.run();
  EXPECT_EQ(m.through(during), 4250_ns + 36'250_ps);  // an activate at its end
  EXPECT_EQ(m.through(after) - 5_us, 16'875_ps);
  EXPECT_EQ(m.through(later) - 1_ms, 36'875_ps);  // 256 refreshes later, in none: 256 · 3900 + 350 < 10⁶
}

// With `per_bank`, bank b is refreshed (b + 1) · 3900 / 32 ns after the start and every 3900 ns: bank 0 from 121.875 to 321.875.
TEST(Scheduled, ABanksRefreshClosesItAlone) {
  Memory m(params({{"refresh", std::string("per_bank")}}));
  m.ask(0_ns, 0), m.ask(0_ns, 1);
  const auto closed = m.ask(200_ns, kColumn), open = m.ask(200_ns, 1 + kColumn);
  m.run();
  EXPECT_EQ(m.through(open) - 200_ns, 16'875_ps);
  EXPECT_EQ(m.through(closed), 321'875_ps + 36'250_ps);
}

// Bank 0 is refreshed from 121.875 to 321.875 ns, while only bank 28 is used (its own refresh is due at 3534.375 ns). At 400 ns bank 0
// is closed and free: 0.625 ns for the command, 20 to open the row, 16.25 to the data. A burst that comes at 310 ns waits for the end.
TEST(Scheduled, ARefreshThatIsDueWhileItsBankIsIdleDelaysNoLaterBurst) {
  for (const auto& [at, through] :
       {std::pair{400_ns, 400_ns + 36'875_ps}, {310_ns, 321'875_ps + 36'250_ps}}) {
    Memory m(params({{"refresh", std::string("per_bank")}}));
    m.ask(0_ns, 7 * kBank);
    m.ask(300_ns, 7 * kBank + kColumn);
    const auto wanted = m.ask(at, 0);
    m.run();
    EXPECT_EQ(m.through(wanted), through);
  }
}

// A lone random read takes 52.5 ns, as another row is open. In 3900 ns there are about 73 of them; a refresh has closed the bank before the
// first one of each of 32 · (1 − e^(−73/32)) = 28.7 banks, and saves 15.625 ns: 6.1 ns on average. 200 / 3900 of the reads come during a
// refresh of their bank and wait for half of it (5.1 ns on average), and 36.25 / 3900 come so shortly before it that their column command
// would come after it: they wait for all of it and 18 ns (2.0).
TEST(Scheduled, LoneRandomReadsMeetFewRefreshesOfTheirBank) {
  std::mt19937_64 random(5);
  Memory m(params({{"refresh", std::string("per_bank")}}));
  const double share = m.share(1, 8000, [&random](int) {
    return MemoryRequest{static_cast<std::int64_t>(random() >> 44), 1, Direction::read};
  });
  EXPECT_NEAR(2.5 / share, 52.5 - 6.1 + 5.1 + 2.0, 0.5);
}

// Behind 1,000 bursts of another issuer: those in the queue go first, some tens of ns.
TEST(Scheduled, IssuersFillTheQueuesInTurn) {
  Memory m(params());
  const auto many = m.ask(0_ns, 0, Direction::read, 1, 1000);
  const auto one = m.ask(100_ns, 0, Direction::read, 2);
  m.run();
  EXPECT_LT(m.through(one) - 100_ns, 20 * 2'500_ps + 60_ns);
  EXPECT_GT(m.through(many), 2500_ns);
}

struct Arrival {
  Time at;
  std::int64_t burst;
  Direction direction;
};

/// When each is through, if every decision is made at its instant: the channel steps from decision to decision. Who finds no room
/// waits in one line.
std::vector<Time> decided_in_time(const ParamSet& hbm, const std::vector<Arrival>& all) {
  const DramMap map(hbm);
  DramChannel channel(DramSpec::of(hbm));
  std::vector<Time> through(all.size());
  std::deque<std::size_t> waiting;
  const auto enter = [&](std::size_t number, Time at) {
    const DramMap::Place place = map.place(all[number].burst);
    DramChannel::Burst& burst = channel.enter(all[number].direction, at);
    burst.tag = number;
    burst.row = place.row;
    burst.bank = place.bank;
  };
  for (std::size_t next = 0, served = 0; served < all.size(); ++served) {
    const bool idle = channel.empty() && waiting.empty();
    const Time decides = idle ? std::max(channel.decides_at(), all[next].at) : channel.decides_at();
    for (; next < all.size() && all[next].at <= decides; ++next) {
      if (waiting.empty() && channel.has_room(all[next].direction))
        enter(next, all[next].at);
      else
        waiting.push_back(next);
    }
    for (; !waiting.empty() && channel.has_room(all[waiting.front()].direction); waiting.pop_front())
      enter(waiting.front(), decides);
    const DramChannel::Served one = channel.serve(decides);
    through[one.tag] = one.through;
  }
  return through;
}

/// Crowds of reads, up to 60 at an instant; or, few enough for the queues, reads and writes.
std::vector<Arrival> random_arrivals(std::mt19937_64& random, bool mixed) {
  const auto pick = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<Arrival> all;
  Time at;
  while (all.size() < 300) {
    at += Time::from_ps(1 + pick(mixed ? 400'000 : 20'000) * pick(3));
    for (std::int64_t n = 1 + pick(mixed ? 3 : 60); n > 0; --n)
      all.push_back({at, pick(1 << 14), mixed && pick(2) == 0 ? Direction::write : Direction::read});
  }
  return all;
}

TEST(Scheduled, DecidesLateWhatItWouldHaveDecidedInTime) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    const char* refreshes[] = {"none", "all_bank", "per_bank"};
    const ParamSet hbm = params({{"refresh", std::string(refreshes[round % 3])}});
    const std::vector<Arrival> all = random_arrivals(random, round % 2 == 0);
    const std::vector<Time> expected = decided_in_time(hbm, all);
    Memory m(hbm);
    for (const Arrival& a : all) m.ask(a.at, a.burst, a.direction);
    m.run();
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(m.through(i), expected[i]) << round << ", " << i;
  }
}

// Column commands at 20.625, 1000.625 and 2036.25 ns, though the bus could have had them at 0, 1000 and 2000.
TEST(Scheduled, CountsRowsAndWhatTheyTook) {
  Memory m(params());
  m.ask(0_ns, 0), m.ask(1_us, kColumn), m.ask(2_us, kRow);
  m.run();
  const MemoryActivity a = m.activity();
  EXPECT_EQ(a.closed, 1);
  EXPECT_EQ(a.hits, 1);
  EXPECT_EQ(a.conflicts, 1);
  EXPECT_EQ(a.reads, 3);
  EXPECT_EQ(a.writes, 0);
  EXPECT_EQ(a.data, 3 * 2'500_ps);
  EXPECT_EQ(a.rows, 20'625_ps + 625_ps + 36'250_ps);
  EXPECT_EQ(a.waited_for(), a.data + a.rows);
}

// As in TheBusIsTurned: 13.75 and 13.125 ns between commands that could be 2.5 apart.
TEST(Scheduled, CountsTurnsOfTheBus) {
  Memory m(params());
  m.ask(0_ns, 0);
  m.ask(0_ns, kColumn, Direction::write);
  m.ask(30_ns, 2 * kColumn);
  m.run();
  EXPECT_EQ(m.activity().turns, 11'250_ps + 10'625_ps);
  EXPECT_EQ(m.activity().rows, 20'625_ps);
}

// The refresh from 3900 to 4250 ns keeps up a burst of 4000; then its row is opened.
TEST(Scheduled, CountsTheWaitForARefresh) {
  Memory m(params({{"refresh", std::string("all_bank")}}));
  m.ask(4_us, 0);
  m.run();
  EXPECT_EQ(m.activity().refresh, 250_ns);
  EXPECT_EQ(m.activity().rows, 20_ns);
}

// Two columns of one group, 5 ns apart instead of 2.5.
TEST(Scheduled, CountsTheDistanceWithinAGroup) {
  Memory m(params());
  m.ask(0_ns, 0);
  m.ask(1_us, kColumn), m.ask(1_us, 2 * kColumn);
  m.run();
  EXPECT_EQ(m.activity().groups, 2'500_ps);
}

/// Share of the peak of a pattern, queues kept full.
double pattern(const std::string& name, const std::string& refresh, int writes) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  Memory m(params({{"refresh", refresh}}));
  return m.share(64, 40'000, [&](int i) {
    const std::int64_t burst = name == "sequential" ? i
                               : name == "random"   ? pick(1 << 21)
                                                    : kRow * pick(4096);
    return MemoryRequest{.first = burst,
                         .direction = pick(100) < writes ? Direction::write : Direction::read};
  });
}

// Ramulator 2.1, tests/validation/data/dram_hbm3_6400.csv.
TEST(Scheduled, ReachesWhatACycleSteppingSimulatorDoes) {
  struct Row {
    const char* name;
    int writes;
    double alone, refreshed;
  };
  for (const Row& row : {Row{"sequential", 0, 0.999, 0.898}, Row{"random", 0, 0.661, 0.590},
                         Row{"one bank", 0, 0.0556, 0.0502}, Row{"sequential", 50, 0.701, 0.627},
                         Row{"random", 50, 0.454, 0.407}}) {
    EXPECT_NEAR(pattern(row.name, "none", row.writes) / row.alone, 1, 0.05) << row.name << row.writes;
    EXPECT_NEAR(pattern(row.name, "all_bank", row.writes) / row.refreshed, 1, 0.05) << row.name << row.writes;
  }
}

TEST(DramMap, EveryRowHoldsAsManyBurstsAsItHasColumns) {
  for (const char* hash : {"none", "xor"}) {
    const DramMap map(params({{"num_pcs", std::int64_t{8}}, {"hash", std::string(hash)}}));
    std::map<std::tuple<std::size_t, std::uint32_t, std::int64_t>, int> bursts;
    for (std::int64_t b = 0; b < 8 * 32 * 16 * 8; ++b) {
      const DramMap::Place place = map.place(b);
      ASSERT_LT(place.channel, 8u);
      ASSERT_LT(place.bank, 32u);
      ++bursts[{place.channel, place.bank, place.row}];
    }
    EXPECT_EQ(bursts.size(), 8u * 32 * 8) << hash;
    for (const auto& [place, count] : bursts) ASSERT_EQ(count, 16) << hash;
  }
}

TEST(DramMap, ChannelBitsAreParitiesOfTheBurstsNumber) {
  const DramMap map(params({{"num_pcs", std::int64_t{8}}, {"hash", std::string("xor")}}));
  EXPECT_EQ(map.place(1).channel, 1u);   // bit 0 is in the first mask alone
  EXPECT_EQ(map.place(2).channel, 2u);   // bit 1 in the second
  EXPECT_EQ(map.place(4).channel, 4u);   // bit 2 in the third
  EXPECT_EQ(map.place(8).channel, 3u);   // bit 3: …9 = 1001 and …a = 1010
  EXPECT_EQ(map.place(16).channel, 5u);  // bit 4: …7_ = 0111, …c_ = 1100, …9_ = 1001
}

/// How evenly a stride falls on channels: the mean over the largest share.
double evenness(const char* hash, std::int64_t stride) {
  const DramMap map(params({{"num_pcs", std::int64_t{8}}, {"hash", std::string(hash)}}));
  std::vector<int> bursts(8);
  for (std::int64_t i = 0; i < 512; ++i) ++bursts[map.place(i * stride / 64).channel];
  return 64.0 / *std::max_element(bursts.begin(), bursts.end());
}

TEST(DramMap, AHashSpreadsStridesOverChannels) {
  for (const std::int64_t stride : {512, 1024, 4096, 65536}) {
    EXPECT_EQ(evenness("none", stride), 0.125) << stride;
    EXPECT_GT(evenness("xor", stride), 0.6) << stride;
  }
  EXPECT_GT(evenness("xor", 576), 0.6);
}

}  // namespace
}  // namespace kernbench::models::hbm_scheduled_test
