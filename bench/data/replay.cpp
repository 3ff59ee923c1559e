// Replay of a composite 1024³ GEMM from f16 to f16 on one thread: all its tile records, in the order a PE
// would write them.
#include "data/replay.hpp"

#include <vector>

#include "kernbench/tl.hpp"
#include "workload.hpp"

namespace kernbench::bench {
namespace {

constexpr int kSize = 1024;
constexpr std::int64_t kMacs = std::int64_t{kSize} * kSize * kSize;
constexpr data::TileShape kTile{32, 32, 64};
constexpr tl::Ptr kA{0x1000000}, kB{0x2000000}, kC{0x3000000};

address::PhysAddr phys(std::uint64_t address) {
  return address::hbm_addr({0, 0}, Bytes(static_cast<std::int64_t>(address)));
}

/// One PE that sees the HBM of its cube as it is.
class OnePe : public data::RunFacts {
 public:
  explicit OnePe(const isa::Program& program) : origin_{&program, {0, 0, 0}, 0} {}

  const device::Origin& origin(std::uint32_t) override { return origin_; }
  void translate(std::uint32_t, address::VirtAddr begin, Bytes size,
                 std::vector<address::PhysPiece>& out) override {
    out.assign({{phys(begin.raw()), size}});
  }
  data::Message message(const device::OpRecord&) override { return {}; }
  data::Ring ring(std::uint32_t) override { return {}; }
  data::HostTransfer host_transfer(const device::OpRecord&) override { return {}; }
  data::RequestOrder request_order(std::uint32_t) override { return {}; }

 private:
  device::Origin origin_;
};

void kernel(tl::Context& tl) {
  const auto matrix = [&](tl::Ptr at) { return tl.ref(at, {kSize, kSize}, DType::f16); };
  tl.composite("gemm", matrix(kA), matrix(kB), matrix(kC));
}

std::vector<device::OpRecord> tile_records() {
  using device::OpKind;
  const data::TilePlan plan(kSize, kSize, kSize, kTile);
  std::vector<device::OpRecord> records;
  const auto add = [&](OpKind kind) {
    device::OpRecord r;
    r.end = Time::from_ps(static_cast<std::int64_t>(records.size()));
    r.command = 0;
    r.kind = kind;
    records.push_back(r);
  };
  for (std::int64_t step = 0; step < plan.steps(); ++step) {
    for (const auto kind : {OpKind::tile_dma_in, OpKind::tile_dma_in, OpKind::tile_gemm}) add(kind);
    if ((step + 1) % plan.k_steps() == 0) add(OpKind::tile_dma_out);
  }
  return records;
}

std::vector<std::byte> random_matrix(std::uint32_t seed) {
  Lcg random(seed);
  NdArray m(DType::f16, {kSize, kSize});
  for (auto& x : m.view<F16>()) x = F16(static_cast<float>(random.next() >> 7) * 0x1p-23f - 1);  // −1 … 1
  return {m.bytes().begin(), m.bytes().end()};
}

}  // namespace

Result gemm_replay() {
  tl::Context tl;
  const auto& program = run_kernel(kernel, tl);
  static const auto records = tile_records();
  data::MemoryStore store;
  store.write(phys(kA.address()), random_matrix(1));
  store.write(phys(kB.address()), random_matrix(2));
  const double seconds = seconds_of([&] {
    OnePe facts(program);
    data::ReplayExecutor replay(store, facts, {.threads = 1, .gemm_tile = kTile});
    for (const auto& r : records) replay.append(r);
    replay.finish();
  });
  std::vector<std::byte> c(std::size_t{2} * kSize * kSize);
  store.read(phys(kC.address()), c);
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const auto byte : c) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211ull;
  return {kMacs, hash, seconds};
}

}  // namespace kernbench::bench
