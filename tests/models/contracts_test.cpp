// Every model that ships or is shown in a guide keeps its contract; and the suites find those that do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernbench/machine.hpp"
#include "kernbench/testing/model_contracts.hpp"
#include "own_models.hpp"

namespace kernbench::models::contracts_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using topology::Behaviour;
using topology::Impl;
using topology::Kind;
using topology::Registry;

ParamSet defaults(const Kind& kind, const Impl& impl) {
  std::vector<Param> params = kind.params;
  params.insert(params.end(), impl.params.begin(), impl.params.end());
  return ParamSet(params);
}

/// Which of the open behaviours it is, tried.
struct Trial {
  const ParamSet& params;
  Complaints operator()(std::monostate) const { return {"it has no behaviour"}; }
  Complaints operator()(const topology::Fixed&) const { return {}; }
  Complaints operator()(const MatrixFactory& make) const { return broken_promises(*make(params)); }
  Complaints operator()(const VectorFactory& make) const { return broken_promises(*make(params)); }
  Complaints operator()(const MemoryBehaviour& memory) const { return broken_promises(memory, params); }
  Complaints operator()(const LinkFactory& make) const { return broken_promises(make, params); }
  Complaints operator()(const DmaFactory& make) const { return broken_promises(*make(params)); }
};

TEST(Contracts, AreKeptByAllModelsThatShipOrAreShown) {
  const Registry registry = kernbench::testing::registry_with_own_models();
  for (const Kind& kind : registry.kinds())
    for (const Impl& impl : kind.impls) {
      const ParamSet params = defaults(kind, impl);
      EXPECT_THAT(std::visit(Trial{params}, impl.behaviour), IsEmpty()) << impl.name;
    }
}

class Boastful : public MatrixModel {
 public:
  TileShape tile() const override { return {16, 16, 16}; }
  double cycles(const Product& p) const override { return static_cast<double>(p.m); }
  std::optional<double> at_least(const Product& p) const override { return static_cast<double>(p.m + 1); }
};

TEST(Contracts, AUnitIsNotFasterThanItsLeast) {
  EXPECT_THAT(broken_promises(Boastful()), Contains(HasSubstr("less than its least")));
}

/// Answers as it is told to.
class Odd : public MemoryModel {
 public:
  enum Fault { none, silent, twice, past };
  Odd(const MemoryPlace& place, Fault fault) : place_(place), fault_(fault) {}
  void request(const MemoryRequest& r) override {
    if (fault_ == silent) return;
    const Time at = fault_ == past ? place_.partition.now() - 1_ps : place_.partition.now() + 1_us;
    for (std::int64_t i = 0; i < r.count; ++i) place_.answers.through(r.tag, i, {&at, 1});
    if (fault_ == twice) place_.answers.through(r.tag, 0, {&at, 1});
  }

 private:
  const MemoryPlace place_;
  const Fault fault_;
};

Complaints complaints_about(Odd::Fault fault) {
  const Registry registry = topology::builtin_registry();
  const Kind& hbm = *registry.find("hbm");
  const MemoryBehaviour odd{.make = [fault](const ParamSet&, const MemoryPlace& place) {
    return std::make_unique<Odd>(place, fault);
  }};
  return broken_promises(odd, defaults(hbm, hbm.impls.front()));
}

TEST(Contracts, AMemoryAnswersEveryBurstOnceAndNotInThePast) {
  EXPECT_THAT(complaints_about(Odd::none), IsEmpty());
  EXPECT_THAT(complaints_about(Odd::silent), Contains(HasSubstr("never answered")));
  EXPECT_THAT(complaints_about(Odd::twice), Contains(HasSubstr("twice")));
  EXPECT_THAT(complaints_about(Odd::past), Contains(HasSubstr("past")));
}

struct Generous : LinkModel {
  explicit Generous(const ParamSet&) {}
  Passing pass(const WaitingPacket&, Time) override { return {}; }
};
struct Lost : LinkModel {
  explicit Lost(const ParamSet&) {}
  std::size_t choose(std::span<const WaitingPacket> waiting, Time) override { return waiting.size(); }
};

TEST(Contracts, ALinkLetsOneOfThoseWhoWaitPassInItsTime) {
  EXPECT_THAT(broken_promises(links<Generous>(), {}), Contains(HasSubstr("has the link for 0 ps")));
  EXPECT_THAT(broken_promises(links<Lost>(), {}), Contains(HasSubstr("it chose packet")));
}

struct Careless : DmaModel {
  void split(const DmaRows& piece, std::vector<DmaRows>& requests) const override {
    requests.push_back({.offset = piece.offset, .row_bytes = piece.row_bytes});  // other rows are forgotten
  }
};
struct Timid : DmaModel {
  bool may_request(const DmaLoad&, Bytes next) const override { return next < 512_B; }
};

TEST(Contracts, AreKeptByWindowsOfAllSizes) {
  for (const Bytes window : {0_B, 1_B, 100_B, 256_B, 1000_B, 4_KiB, 64_KiB, 256_KiB})
    EXPECT_THAT(broken_promises(WindowDma(window)), IsEmpty()) << window.count();
}

TEST(Contracts, ADmaEngineMovesEveryByteAndDoesNotStandStill) {
  EXPECT_THAT(broken_promises(Careless()), Contains(HasSubstr("not the bytes of the transfer")));
  EXPECT_THAT(broken_promises(Timid()), Contains(HasSubstr("nothing in flight")));
}

}  // namespace
}  // namespace kernbench::models::contracts_test
