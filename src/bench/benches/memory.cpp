// memory: what an HBM slice delivers, for accesses of one size and a pattern.
//
// Each PE loads and stores pieces of HBM and keeps so many of them in flight; nothing is computed. `one_bank` visits rows that
// lie in one bank of one pseudo-channel where the memory has banks and no hash; where it has none, bursts of one channel. A
// command carries one access, or several at equal distances.
#include <fmt/format.h>

#include <random>

#include "bench/shipped.hpp"
#include "kernbench/error.hpp"

namespace kernbench::bench {
namespace {

using namespace kernbench::dtypes;

/// One command of a PE: so many accesses, each a row of the transfer.
struct MemoryAccess {
  std::int64_t offset = 0;
  std::int64_t rows = 1;
  std::int64_t distance = 0;  // bytes, from a row to the next
  bool writes = false;
};

/// From a row of a bank to its next, without a hash.
std::int64_t bank_stride(const ParamSet& hbm) {
  const std::int64_t stripe = hbm.integer("num_pcs") * hbm.integer("burst_bytes");
  if (!hbm.find("banks") || !hbm.find("row_bytes")) return stripe;
  return hbm.integer("num_pcs") * hbm.integer("banks") * hbm.integer("row_bytes");
}

/// The accesses of one PE within `space` bytes. Random ones of one command begin anywhere, and lie any
/// odd number of places apart: even ones would leave out bank groups and banks.
std::vector<MemoryAccess> make_accesses(const Options& options, const ParamSet& hbm, std::int64_t space,
                                        std::uint64_t pe) {
  const std::string& pattern = options.text("pattern");
  const std::int64_t bytes = options.integer("bytes");
  const std::int64_t step = pattern == "one_bank" ? bank_stride(hbm)
                            : pattern == "stride" ? options.integer("stride_bytes")
                                                  : bytes;
  const std::int64_t places = std::max<std::int64_t>((space - bytes) / step + 1, 1);
  const bool in_order = pattern == "sequential" || pattern == "stride";
  std::mt19937_64 random(static_cast<std::uint64_t>(options.integer("seed")) * 1000 + pe);
  const auto pick = [&](std::int64_t values) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(values));
  };
  std::vector<MemoryAccess> all;
  for (std::int64_t i = 0; i < options.integer("count"); i += all.back().rows) {
    MemoryAccess& access = all.emplace_back();
    access.rows = std::min({options.integer("rows"), options.integer("count") - i, places});
    const std::int64_t gaps = access.rows - 1;
    const std::int64_t most = gaps == 0 ? 1 : (places - 1) / gaps;  // steps from a row to the next
    const std::int64_t steps = in_order || gaps == 0 ? 1 : 1 + 2 * pick((most + 1) / 2);
    const std::int64_t firsts = places - gaps * steps;
    access.offset = (in_order ? i % firsts : pick(firsts)) * step;
    access.distance = steps * step;
    access.writes = pick(100) < options.integer("writes");
  }
  return all;
}

/// The kernel: all commands of the PE, `in_flight` of them not waited for.
void access_memory(tl::Context& tl, tl::Ptr base, const std::vector<std::vector<MemoryAccess>>& of_pe,
                   const std::vector<std::int64_t>& begin, std::int64_t bytes, std::size_t in_flight) {
  const auto pe = static_cast<std::size_t>(tl.program_id(0));
  const std::int64_t rows = of_pe[pe].front().rows, last = of_pe[pe].back().rows;
  const tl::Tile ones = tl.full({rows, bytes}, 1, u8);
  const tl::Tile last_ones = last == rows ? ones : tl.full({last, bytes}, 1, u8);
  std::vector<std::function<void()>> open;  // waits for each
  for (const MemoryAccess& access : of_pe[pe]) {
    if (open.size() >= in_flight) open[open.size() - in_flight]();
    const tl::Ptr at = base + begin[pe] + access.offset;
    const tl::Dims shape{access.rows, bytes}, strides{access.distance, 1};
    if (access.writes)
      open.push_back([&tl, op = tl.store(at, access.rows == rows ? ones : last_ones, {.strides = strides})] {
        tl.wait(op);
      });
    else
      open.push_back([&tl, tile = tl.load(at, shape, u8, {.strides = strides})] { tl.wait(tile); });
  }
}

struct Plan {
  Tensor tensor;
  std::vector<std::int64_t> begin;  // of each PE's part of it
  std::int64_t space = 0;           // bytes of a part
};

/// Every PE has its own part: of its own slice, or of PE 0's. Where numbers are kept, what is read must have been written.
Plan lay_out(Torch& torch, const Options& options, bool verify) {
  const auto pes = options.integer("pes");
  const bool shared = options.text("slice") == "one";
  const Bytes slice = torch.machine().hbm_slice();
  const std::int64_t most = slice.count() / 2 / (shared ? pes : 1);
  const std::int64_t stride = bank_stride(torch.machine().at("cube.hbm"));
  Plan plan;
  plan.space = std::min<std::int64_t>(options.integer("space_mb") << 20, most) / stride * stride;
  if (plan.space < options.integer("bytes"))
    throw InputError(
        {"bench.option", fmt::format("bytes={}", options.integer("bytes")),
         fmt::format("a slice of {} has no room for such accesses by {} PEs", to_string(slice), pes),
         "take fewer PEs, smaller accesses or a larger slice"});
  for (std::int64_t pe = 0; pe < pes; ++pe) plan.begin.push_back(pe * plan.space);
  const DPPolicy policy =
      shared ? DPPolicy::whole()
             : DPPolicy{.pe = Split::row_wise, .num_cubes = 1, .num_pes = static_cast<int>(pes)};
  const Shape shape{pes, plan.space};
  plan.tensor = verify ? torch.zeros(shape, u8, policy, "space") : torch.empty(shape, u8, policy, "space");
  return plan;
}

/// What was stored is there.
void verify(const Plan& plan, const std::vector<std::vector<MemoryAccess>>& accesses, std::int64_t bytes,
            BenchReport& report) {
  const NdArray got = plan.tensor.numpy();
  bool right = true;
  for (std::size_t pe = 0; pe < accesses.size(); ++pe)
    for (const MemoryAccess& access : accesses[pe])
      for (std::int64_t b = 0; access.writes && b < access.rows * bytes; ++b) {
        const std::int64_t at = access.offset + b / bytes * access.distance + b % bytes;
        right = right && got.bytes()[static_cast<std::size_t>(plan.begin[pe] + at)] == std::byte{1};
      }
  report.verified(right, right ? "" : "bytes that were stored are not there");
}

/// `64`, or how many of them the DMA engine lets through.
std::string in_flight_text(const Options& options, const ParamSet& dma) {
  const auto asked = options.integer("in_flight");
  const auto most = dma.integer("outstanding") * options.integer("rows");
  if (asked <= most) return fmt::format("{} in flight", asked);
  return fmt::format("{} in flight (pe_dma.outstanding lets {} of a direction)", asked, most);
}

void run_memory(Torch& torch, const Options& options, BenchReport& report) {
  const auto pes = options.integer("pes"), bytes = options.integer("bytes"), count = options.integer("count");
  if (pes > torch.machine().pes())
    throw InputError({"bench.option", fmt::format("pes={}", pes),
                      fmt::format("a cube has {} PEs", torch.machine().pes()),
                      "take at most as many, or a machine with more"});
  const Plan plan = lay_out(torch, options, report.verify());
  const ParamSet& hbm = torch.machine().at("cube.hbm");
  std::vector<std::vector<MemoryAccess>> accesses;
  for (std::int64_t pe = 0; pe < pes; ++pe)
    accesses.push_back(make_accesses(options, hbm, plan.space, static_cast<std::uint64_t>(pe)));
  const auto in_flight = std::max<std::int64_t>(1, options.integer("in_flight") / options.integer("rows"));
  const auto launch = torch.launch(
      LaunchOptions{.name = "access_memory", .grid = Grid{static_cast<int>(pes), 1}}, access_memory,
      plan.tensor, accesses, plan.begin, bytes, static_cast<std::size_t>(in_flight));
  torch.wait(launch);
  if (report.verify()) verify(plan, accesses, bytes, report);

  const double ns = launch.trace().pe_exec_ns();
  const double gbs = static_cast<double>(pes * count * bytes) / ns;
  const auto slices = options.text("slice") == "one" ? 1 : pes;
  const double share = gbs / (hbm.number("hbm_to_router_bw_gbs") * static_cast<double>(slices));
  report.result("gbs", gbs);
  report.result("share_of_peak", share);
  report.result("ns_per_access", ns / static_cast<double>(count));
  report.line(
      fmt::format("memory {} {} × {} B, {} % writes, {}, {} PE{}, {} slice{}: {:.3f} us, {:.2f} GB/s, {:.4f} "
                  "of peak: {}",
                  options.text("pattern"), count, bytes, options.integer("writes"),
                  in_flight_text(options, torch.machine().at("pe.pe_dma")), pes, pes == 1 ? "" : "s", slices,
                  slices == 1 ? "" : "s", ns / 1e3, gbs, share, report.verdict()));
}

}  // namespace

Bench memory() {
  return {
      "memory",
      "what HBM slices deliver: streams, random accesses, one bank, reads and writes, so many in flight",
      {Param::choice("pattern", "sequential", {"sequential", "stride", "random", "one_bank"},
                     "which bytes: one after the other, `stride_bytes` apart, anywhere, rows of one bank"),
       Param::integer("bytes", 64, {1, 1 << 20}, "bytes of an access"),
       Param::integer("stride_bytes", 4096, {1, 1 << 30}, "from an access to the next"),
       Param::integer("count", 4000, {1, 1 << 24}, "accesses of each PE"),
       Param::integer("rows", 1, {1, 1 << 16},
                      "accesses of one command, at equal distances; with pattern=random any distance"),
       Param::integer("writes", 0, {0, 100}, "percentage of writes, mixed at random"),
       Param::integer("in_flight", 64, {1, 1 << 20},
                      "accesses of a PE that are not waited for; pe_dma.outstanding bounds them as well"),
       Param::integer("pes", 1, {1, 4096}, "PEs of cube 0 that access memory"),
       Param::choice("slice", "own", {"own", "one"}, "each PE its own slice, or all that of PE 0"),
       Param::integer("space_mb", 64, {1, 65536},
                      "MiB that a PE's accesses are in, where the slice has them"),
       Param::integer("seed", 7, {0, 1 << 30}, "of random places and directions")},
      run_memory,
      {{{"stride_bytes"}, "pattern", {"stride"}}},
      {"gbs", "share_of_peak", "ns_per_access"}};
}

}  // namespace kernbench::bench
