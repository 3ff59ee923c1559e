#include "sweep/gemm_theory.hpp"

#include <algorithm>
#include <array>

namespace kernbench::sweep {
namespace {

std::int64_t tiles(std::int64_t extent, std::int64_t tile) {
  return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
}

/// The extent of the last tile.
std::int64_t rest(std::int64_t extent, std::int64_t tile) {
  return extent - (tiles(extent, tile) - 1) * tile;
}

/// Bytes of one step: of its tiles of A and B, and of the output tile.
struct StepBytes {
  double streamed = 0, fetched = 0, out = 0;
  StepBytes(const GemmShape& s, std::int64_t rows, std::int64_t depth, std::int64_t cols) {
    const auto bytes = [&](std::int64_t a, std::int64_t b) {
      return static_cast<double>(a * b * s.itemsize);
    };
    const double a = bytes(rows, depth), b = bytes(depth, cols);
    streamed = (s.a_streamed ? a : 0) + (s.b_streamed ? b : 0);
    fetched = a + b;
    out = bytes(rows, cols);
  }
};

}  // namespace

GemmConstants::GemmConstants(const topology::Machine& machine, DType type) {
  const ParamSet& tcm = machine.at("pe.pe_tcm");
  const auto unit = machine.behaviour<models::MatrixFactory>("pe.pe_gemm")(machine.at("pe.pe_gemm"));
  const models::TileShape tile = unit->tile();
  tile_m = tile.m, tile_k = tile.k, tile_n = tile.n;
  tile_ns =
      unit->cycles({tile.m, tile.k, tile.n, type, type, type, true}) / machine.at("pe").number("clock_ghz");
  hbm_gbs = machine.at("cube.hbm").bandwidth("hbm_to_router_bw_gbs").gbs();
  dma_gbs = machine.at("pe.pe_dma").bandwidth("bw_gbs").gbs();
  tcm_read_gbs = tcm.bandwidth("read_bw_gbs").gbs(), tcm_write_gbs = tcm.bandwidth("write_bw_gbs").gbs();
}

std::vector<NamedConstant> named(const GemmConstants& c) {
  return {{"tile rows", static_cast<double>(c.tile_m), "", {"pe.pe_gemm.tile_m"}},
          {"tile depth", static_cast<double>(c.tile_k), "", {"pe.pe_gemm.tile_k"}},
          {"tile columns", static_cast<double>(c.tile_n), "", {"pe.pe_gemm.tile_n"}},
          {"tile time", c.tile_ns, "ns", {"pe.pe_gemm.tile_cycles", "pe.clock_ghz"}},
          {"HBM slice", c.hbm_gbs, "GB/s", {"cube.hbm.hbm_to_router_bw_gbs"}},
          {"PE port", c.dma_gbs, "GB/s", {"pe.pe_dma.bw_gbs"}},
          {"TCM read", c.tcm_read_gbs, "GB/s", {"pe.pe_tcm.read_bw_gbs"}},
          {"TCM write", c.tcm_write_gbs, "GB/s", {"pe.pe_tcm.write_bw_gbs"}}};
}

GemmTheory gemm_theory(const GemmShape& s, const GemmConstants& c) {
  const double mt = static_cast<double>(tiles(s.m, c.tile_m)), kt = static_cast<double>(tiles(s.k, c.tile_k)),
               nt = static_cast<double>(tiles(s.n, c.tile_n));
  const StepBytes all(s, s.m, s.k, s.n);
  const double a = static_cast<double>(s.m * s.k * s.itemsize),
               b = static_cast<double>(s.k * s.n * s.itemsize);
  const double in_gbs = std::min({c.hbm_gbs, c.dma_gbs, c.tcm_write_gbs});
  const double out_gbs = std::min({c.hbm_gbs, c.dma_gbs, c.tcm_read_gbs});
  const double streamed = (s.a_streamed ? a * nt : 0) + (s.b_streamed ? b * mt : 0);

  GemmTheory t;
  t.load_ns = (a + b - all.streamed) / in_gbs;
  t.dma_in_ns = streamed / in_gbs;
  t.fetch_ns = (a * nt + b * mt) / c.tcm_read_gbs;
  t.gemm_ns = mt * kt * nt * c.tile_ns;
  t.dma_out_ns = all.out / out_gbs;

  const StepBytes first(s, std::min(s.m, c.tile_m), std::min(s.k, c.tile_k), std::min(s.n, c.tile_n));
  const StepBytes last(s, rest(s.m, c.tile_m), rest(s.k, c.tile_k), rest(s.n, c.tile_n));
  const double fill_in = first.streamed / in_gbs, fill_fetch = first.fetched / c.tcm_read_gbs;
  const double drain_out = last.out / c.tcm_write_gbs + last.out / out_gbs;
  const double drain_fetch = last.fetched / c.tcm_read_gbs;
  struct Candidate {
    const char* stage;
    double ns;
  };
  const std::array candidates = {Candidate{"gemm", fill_in + fill_fetch + t.gemm_ns + drain_out},
                                 Candidate{"dma_in", t.dma_in_ns + drain_fetch + c.tile_ns + drain_out},
                                 Candidate{"fetch", fill_in + t.fetch_ns + c.tile_ns + drain_out},
                                 Candidate{"dma_out", fill_in + fill_fetch + kt * c.tile_ns +
                                                          first.out / c.tcm_write_gbs + t.dma_out_ns},
                                 Candidate{"hbm", (streamed + all.out) / c.hbm_gbs}};
  const auto& slowest = *std::ranges::max_element(candidates, {}, &Candidate::ns);
  t.ns = t.load_ns + slowest.ns, t.limited_by = slowest.stage;
  return t;
}

double mac_utilization(const GemmShape& s, const GemmConstants& c, double ns) {
  const double macs_per_ns = static_cast<double>(c.tile_m * c.tile_k * c.tile_n) / c.tile_ns;
  return ns > 0 ? static_cast<double>(s.macs()) / macs_per_ns / ns : 0;
}

bool is_under_a_tile(const GemmShape& s, const GemmConstants& c) {
  return s.m < c.tile_m || s.k < c.tile_k || s.n < c.tile_n;
}

}  // namespace kernbench::sweep
