// The kinds that ship: one function per part of the machine, one line per parameter.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernbench/dtype.hpp"
#include "kernbench/math_op.hpp"
#include "kernbench/registry.hpp"
#include "models/shipped.hpp"

namespace kernbench::topology {
namespace {

constexpr Range kLatencyNs = {0, 1e6};
constexpr Range kBandwidthGbs = {1e-3, 1e6};
constexpr Range kCycles = {0, 1e6};

Param overhead(double ns, std::string doc = "latency a message pays on arrival here; it occupies nobody") {
  return Param::number("overhead_ns", ns, kLatencyNs, std::move(doc));
}

Param bandwidth(std::string name, double gbs, std::string doc) {
  return Param::number(std::move(name), gbs, kBandwidthGbs, std::move(doc));
}

using Kinds = std::vector<Kind>;

/// How long a class of the vector unit's operations takes; lists all of them.
Param cycles(std::string name, MathCost cost) {
  std::vector<std::string> ops;
  for (const MathOpInfo& op : math_ops())
    if (op.cost == cost) ops.emplace_back(op.name);
  const char* passes = cost == MathCost::simple ? "; scans and sorts: for each pass over the elements" : "";
  return Param::number(std::move(name), default_cycles(cost), kCycles,
                       "cycles per vector of " + join(ops) + passes);
}

/// A kind with the one builtin impl that carries its name.
Kind kind(const std::string& name, const std::string& doc, std::vector<Param> params,
          Behaviour behaviour = Fixed{}) {
  return {name, doc, std::move(params), {{"builtin." + name, doc, {}, std::move(behaviour)}}};
}

/// What routers and the like do with the packets that want one of their links.
Behaviour first_come() { return models::links<models::RegularLink>(); }

/// Below this no driver hands over a request.
constexpr double kLeastSubmitNs = 100;

Kind host() {
  Kind host = kind(
      "host", "the computer that submits requests",
      {overhead(0),
       Param::number("submit_ns", 0, kLatencyNs,
                     "before a request leaves: its driver's work; requests of different streams do not wait"),
       Param::number("complete_ns", 0, kLatencyNs, "after a completion has come: until the host knows")});
  host.impls.front().idealised = [](const ParamSet& params) -> std::vector<std::string> {
    const double ns = params.number("submit_ns");
    if (ns >= kLeastSubmitNs) return {};
    return {fmt::format("launch cost {} ns", ns)};
  };
  return host;
}

void register_system(Kinds& kinds) {
  kinds.push_back(host());
  kinds.push_back(kind("switch", "joins the host and the SIPs' PCIe endpoints", {overhead(5)}, first_come()));
}

void register_io_chiplet(Kinds& kinds) {
  kinds.push_back(kind("pcie_ep", "a SIP's PCIe endpoint", {overhead(5)}, first_come()));
  kinds.push_back(
      kind("io_cpu", "receives requests and fans them out to the cubes; one at a time", {overhead(10)}));
  kinds.push_back(kind("io_noc", "joins endpoint, IO CPU and the UCIe ports of the top row",
                       {overhead(0), bandwidth("bw_gbs", 512, "each of its links, per direction")},
                       first_come()));
}

void register_cube(Kinds& kinds) {
  kinds.push_back(kind(
      "router", "the grid of routers under a cube's HBM stack",
      {overhead(2.5), bandwidth("bw_gbs", 512, "each link between two routers, per direction"),
       Param::integer("rows", 6, {2, 64}, "routers from north to south"),
       Param::integer("cols", 6, {4, 64}, "routers from west to east"),
       Param::numbers(
           "hole", {2, 2}, {0, 62},
           "rows and columns left out at the centre: so many that as many stay on both sides, or none"),
       Param::integer("buffer_packets", 0, {0, 65536},
                      "packets that an input holds for each channel; with unbounded flow a run counts those "
                      "that came when more were before them; 0: nobody looks"),
       Param::choice("flow", "unbounded", {"unbounded", "credits"},
                     "unbounded: packets wait in buffers without end; credits: a packet starts when the next "
                     "router has room for it"),
       Param::integer("channels", 1, {1, 64},
                      "virtual channels of data, with credits; requests and acknowledgements have their own"),
       Param::choice(
           "eject", "auto", {"auto", "port", "unbounded"},
           "how messages for a router itself leave the network there; port: over one port as fast as "
           "a link, one packet at a time; unbounded: one packet at a time from each of its links; "
           "auto: port with flow: credits, else unbounded")},
      first_come()));
  kinds.push_back(kind(
      "m_cpu", "a cube's management CPU; serves one message at a time",
      {overhead(5), Param::numbers("at_mm", {7.5, 2.0}, {0, 1000}, "its place; joins the nearest router")}));
  kinds.push_back(
      kind("sram", "memory shared by the PEs of a cube",
           {overhead(2), bandwidth("bw_gbs", 128, "its port, per direction"),
            Param::number("capacity_mb", 32, {1.0 / 1024, 512}, "its size"),
            Param::numbers("at_mm", {1.5, 9.0}, {0, 1000}, "its place; joins the nearest router")}));
  kinds.push_back(
      kind("ucie", "a die-to-die port: several connections side by side",
           {overhead(8, "latency of one port; a crossing passes two"),
            bandwidth("bw_gbs", 128, "each connection, per direction"),
            Param::integer("connections", 4, {1, 64}, "connections per port; at most the routers of a side")},
           first_come()));
}

/// Below 10 ns an access is better than any memory we know of.
std::vector<std::string> ideal_access(const ParamSet& hbm) {
  const double ns = hbm.number("access_ns");
  if (ns >= 10) return {};
  return {fmt::format("HBM access {} ns", ns)};
}

Impl plain_hbm() {
  return {.name = "builtin.hbm",
          .doc = "every burst takes the same time of its pseudo-channel",
          .params = {},
          .behaviour = models::plain_hbm(),
          .summary =
              [](const ParamSet& hbm) { return fmt::format("plain, access {} ns", hbm.number("access_ns")); },
          .idealised = ideal_access};
}

std::optional<Refusal> check_rows(const ParamSet& hbm) {
  if (hbm.integer("row_bytes") % hbm.integer("burst_bytes") != 0)
    return Refusal{"row_bytes", "a row must hold whole bursts", "make row_bytes a multiple of burst_bytes"};
  if (hbm.number("row_hit_ns") > hbm.number("row_closed_ns") ||
      hbm.number("row_closed_ns") > hbm.number("row_conflict_ns"))
    return Refusal{"row_hit_ns", "an open row must not be slower than a closed one, nor that than a conflict",
                   "order them row_hit_ns ≤ row_closed_ns ≤ row_conflict_ns"};
  if (hbm.number("refresh_ns") >= hbm.number("refresh_interval_ns"))
    return Refusal{"refresh_ns",
                   fmt::format("a refresh of {} ns lasts until the next one, which comes after {} ns",
                               hbm.number("refresh_ns"), hbm.number("refresh_interval_ns")),
                   "make refresh_ns less than refresh_interval_ns, or 0 for no refresh"};
  return std::nullopt;
}

std::vector<Param> rows_params() {
  return {
      Param::integer("banks", 16, {1, 1024}, "banks of a pseudo-channel"),
      Param::integer("row_bytes", 1024, {64, 1 << 20}, "bytes of a row; a multiple of burst_bytes"),
      Param::number("row_hit_ns", 15, kLatencyNs, "access to the open row; at most row_closed_ns"),
      Param::number("row_closed_ns", 35, kLatencyNs,
                    "access to a bank with no open row; at most row_conflict_ns"),
      Param::number("row_conflict_ns", 50, kLatencyNs, "access to a bank with another row open"),
      Param::number("turnaround_ns", 8, kLatencyNs, "pause between a read and a write of a channel"),
      Param::number("refresh_ns", 350, kLatencyNs,
                    "length of an all-bank refresh (tRFC), less than refresh_interval_ns; 0: no refresh"),
      Param::number("refresh_interval_ns", 3900, {1, 1e9}, "time between two refreshes (tREFI)"),
  };
}

Impl rows_hbm() {
  return {.name = "builtin.hbm_rows",
          .doc = "banks with row buffers, turn-around of the bus, refresh",
          .params = rows_params(),
          .behaviour = models::rows_hbm(),
          .check = check_rows,
          .summary = [](const ParamSet& hbm) {
            return fmt::format("rows {}/{}/{} ns hit/closed/conflict", hbm.number("row_hit_ns"),
                               hbm.number("row_closed_ns"), hbm.number("row_conflict_ns"));
          }};
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

std::optional<Refusal> check_hash(const ParamSet& hbm) {
  if (hbm.text("hash") == "none") return std::nullopt;
  if (!is_power_of_two(hbm.integer("num_pcs")) || hbm.integer("num_pcs") > 8)
    return Refusal{"hash", "there are masks for 1, 2, 4 or 8 pseudo-channels",
                   "make num_pcs one of these, or hash none"};
  if (!is_power_of_two(hbm.integer("banks")))
    return Refusal{"hash", "rows are folded into the bits of a bank",
                   "make banks a power of 2, or hash none"};
  return std::nullopt;
}

/// Between two refreshes of a bank a row must be opened and read or written once, or no burst would ever go.
std::optional<Refusal> check_refresh(const ParamSet& hbm) {
  if (hbm.text("refresh") == "none") return std::nullopt;
  const char* const length = hbm.text("refresh") == "per_bank" ? "refresh_bank_ns" : "refresh_ns";
  const Time refresh = hbm.time(length), interval = hbm.time("refresh_interval_ns");
  for (const char* const activate : {"trcd_read_ns", "trcd_write_ns"})
    if (refresh > Time() && refresh + hbm.time(activate) > interval)
      return Refusal{
          length,
          fmt::format("a refresh of {}, and {} from activate to command ({}), take longer than the {} "
                      "from one refresh to the next",
                      to_string(refresh), to_string(hbm.time(activate)), activate, to_string(interval)),
          fmt::format("make {} + {} at most refresh_interval_ns, or refresh none", length, activate)};
  return std::nullopt;
}

std::optional<Refusal> check_scheduled(const ParamSet& hbm) {
  if (hbm.integer("row_bytes") % hbm.integer("burst_bytes") != 0)
    return Refusal{"row_bytes", "a row must hold whole bursts", "make row_bytes a multiple of burst_bytes"};
  if (!is_power_of_two(hbm.integer("bank_groups")) || hbm.integer("banks") % hbm.integer("bank_groups") != 0)
    return Refusal{"bank_groups", "bank groups must be of one size and a power of two",
                   "make bank_groups 1, 2, 4 …, and banks a multiple of it"};
  if (hbm.integer("write_low") >= hbm.integer("write_high"))
    return Refusal{"write_low", "a batch of writes would have no end", "make write_low less than write_high"};
  if (hbm.integer("write_high") > hbm.integer("queue_bursts"))
    return Refusal{"write_high", "so many writes never wait", "make write_high at most queue_bursts"};
  if (const auto refusal = check_refresh(hbm)) return refusal;
  return check_hash(hbm);
}

/// HBM3-6400, as docs/validation.md compares it.
std::vector<Param> scheduled_params() {
  const auto ns = [](const char* name, double value, const char* doc) {
    return Param::number(name, value, kLatencyNs, doc);
  };
  return {
      Param::integer(
          "banks", 32, {1, 1024},
          "banks of a pseudo-channel, all stack ids and groups together; a multiple of bank_groups"),
      Param::integer("bank_groups", 4, {1, 64},
                     "groups they are in, a power of two; consecutive bursts go to consecutive groups"),
      Param::integer("row_bytes", 1024, {64, 1 << 20}, "bytes of a row; a multiple of burst_bytes"),
      Param::choice("hash", "none", {"none", "xor"},
                    "none: channel and bank are bits of the address; xor: folded, so that strides do not "
                    "meet; then num_pcs is 1, 2, 4 or 8 and banks a power of two"),
      Param::integer(
          "queue_bursts", 20, {1, 65536},
          "reads, and as many writes, that a channel chooses among; behind it issuers wait in turn"),
      Param::integer("cap", 64, {0, 60000}, "younger bursts that may pass an older one"),
      Param::integer("write_high", 13, {1, 65536},
                     "writes are served when so many wait, or no reads do; at most queue_bursts"),
      Param::integer("write_low", 3, {0, 65536}, "until so few are left; less than write_high"),
      ns("command_ns", 0.625, "a burst's first command goes so much after it came"),
      ns("tcl_ns", 13.75, "read command to the first byte"),
      ns("tcwl_ns", 7.5, "write command to the first byte"),
      ns("trcd_read_ns", 20, "activate to read command"),
      ns("trcd_write_ns", 10, "activate to write command"),
      ns("trp_ns", 15.625, "precharge to activate"),
      ns("tras_ns", 28.75, "activate to precharge"),
      ns("trc_ns", 44.375, "activate to activate of one bank"),
      ns("trrd_ns", 2.5, "activate to activate of another bank"),
      ns("tfaw_ns", 15, "any five activates are so far apart"),
      ns("tccd_l_ns", 5,
         "column command to column command of one group; of others a burst's time on the bus (tCCD_S)"),
      ns("trtp_ns", 8.75, "read command to precharge"),
      ns("twr_ns", 30.625, "write command to precharge"),
      ns("trtw_ns", 13.75, "read command to write command"),
      ns("twtr_ns", 13.125, "write command to read command"),
      Param::choice("refresh", "all_bank", {"none", "all_bank", "per_bank"},
                    "which banks are refreshed together"),
      ns("refresh_ns", 350,
         "length of an all-bank refresh (tRFC); 0: no refresh. With the longer trcd at most "
         "refresh_interval_ns"),
      ns("refresh_bank_ns", 200,
         "length of a bank's refresh with `per_bank`; 0: no refresh. With the longer trcd at most "
         "refresh_interval_ns"),
      Param::number("refresh_interval_ns", 3900, {1, 1e9},
                    "each bank is refreshed once in this time (tREFI)"),
  };
}

std::vector<std::string> ideal_refresh(const ParamSet& hbm) {
  if (hbm.text("refresh") != "none") return {};
  return {"HBM is never refreshed"};
}

Impl scheduled_hbm() {
  return {.name = "builtin.hbm_scheduled",
          .doc = "banks behind queues and a scheduler: first ready first, writes in batches",
          .params = scheduled_params(),
          .behaviour = models::scheduled_hbm(),
          .check = check_scheduled,
          .summary =
              [](const ParamSet& hbm) {
                return fmt::format("scheduled, queues of {}, hash {}, refresh {}",
                                   hbm.integer("queue_bursts"), hbm.text("hash"), hbm.text("refresh"));
              },
          .idealised = ideal_refresh};
}

void register_hbm(Kinds& kinds) {
  std::vector<Param> shape = {
      Param::number("hbm_total_gb_per_cube", 48, {1.0 / 1024, 128},
                    "capacity of a cube, split evenly over its PEs"),
      bandwidth("hbm_to_router_bw_gbs", 256, "one PE's slice, reads and writes together"),
      Param::integer("num_pcs", 8, {1, 256}, "pseudo-channels of a slice, interleaved burst by burst"),
      Param::integer("burst_bytes", 256, {16, 65536}, "bytes of one access of a pseudo-channel"),
      Param::number("access_ns", 0, kLatencyNs, "latency added to every access"),
  };
  kinds.push_back({.name = "hbm",
                   .doc = "a cube's DRAM, one slice and controller per PE",
                   .params = std::move(shape),
                   .impls = {plain_hbm(), rows_hbm(), scheduled_hbm()},
                   .former = FormerChoice{"model",
                                          {{"plain", "builtin.hbm"},
                                           {"rows", "builtin.hbm_rows"},
                                           {"scheduled", "builtin.hbm_scheduled"}}}});
}

void register_pe_control(Kinds& kinds) {
  kinds.push_back(
      kind("pe_cpu", "issues the commands of a program to the engines",
           {overhead(2, "start of a launch"),
            Param::choice(
                "issue", "run_ahead", {"run_ahead", "in_order"},
                "run_ahead: queues let loads run ahead; in_order: one command at a time, recv_async apart"),
            Param::integer("queue_depth", 16, {1, 65536}, "commands an engine's queue holds"),
            Param::integer("dispatch_cycles", 1, {0, 1e6}, "cycles to issue one command")}));
  kinds.push_back(
      kind("pe_scheduler", "turns a composite command into a stream of tile steps",
           {overhead(1, "start of a composite"),
            Param::integer("pipeline_depth", 3, {1, 1024}, "tile buffers that bound what is in flight")}));
  kinds.push_back(kind("pe_mmu", "translates virtual addresses",
                       {overhead(0, "one look-up; any number overlap: latency, not throughput")}));
  kinds.push_back(kind("pe_ipcq", "queues to other PEs, with credits", {overhead(0, "one queue operation")}));
}

Impl window_dma() {
  return {.name = "builtin.pe_dma",
          .doc = "requests within a window",
          .params = {Param::integer("window_bytes", 0, {0, 1 << 30},
                                    "what a channel may have asked for and not received, or sent and not "
                                    "seen acknowledged; 0: any number of bytes")},
          .behaviour = models::dma<models::WindowDma>(),
          .summary = [](const ParamSet& dma) -> std::string {
            if (dma.integer("window_bytes") == 0) return "no window";
            return "window " + to_string(dma.bytes("window_bytes"));
          },
          .idealised = [](const ParamSet& dma) -> std::vector<std::string> {
            if (dma.integer("window_bytes") > 0) return {};
            return {"DMA window unbounded"};
          }};
}

/// A unit for which all types are alike is better than any we know of, and so is one that needs no filling.
std::vector<std::string> ideal_matrix_unit(const ParamSet& gemm) {
  std::vector<std::string> notes;
  const NumberTable& rates = gemm.table("rates");
  if (std::all_of(rates.begin(), rates.end(), [](const auto& rate) { return rate.second == 1; }))
    notes.emplace_back("matrix unit alike in all dtypes");
  if (gemm.integer("fill_cycles") == 0) notes.emplace_back("matrix unit filled in 0 cycles");
  return notes;
}

Impl tiled_gemm() {
  std::vector<std::string> types;
  for (const DType type : kAllDTypes) types.emplace_back(to_string(type));
  return {
      .name = "builtin.pe_gemm",
      .doc = "tiles of one size, each in the same time",
      .params = {Param::integer("tile_m", 32, {1, 65536}, "rows of a tile"),
                 Param::integer("tile_k", 64, {1, 65536}, "depth of a tile"),
                 Param::integer("tile_n", 32, {1, 65536}, "columns of a tile"),
                 Param::integer("tile_cycles", 16, {1, 1e9}, "cycles of one tile at rate 1"),
                 Param::table("rates", types, {1.0 / 1024, 1024},
                              "how much faster than tile_cycles a tile of operands of a type is, in whole "
                              "cycles; 1 for types that are left out; of two operands the slower counts"),
                 Param::integer("fill_cycles", 0, {0, 1e9},
                                "cycles before the first tile of a product, a dot's or a composite's")},
      .behaviour = models::tiled_matrix_unit(),
      .summary =
          [](const ParamSet& gemm) {
            return fmt::format("tile {} × {} × {} (M × K × N) in {} cycle{}", gemm.integer("tile_m"),
                               gemm.integer("tile_k"), gemm.integer("tile_n"), gemm.integer("tile_cycles"),
                               gemm.integer("tile_cycles") == 1 ? "" : "s");
          },
      .idealised = ideal_matrix_unit};
}

Impl lane_math() {
  return {.name = "builtin.pe_math",
          .doc = "lanes side by side, as wide as the widest element",
          .params = {Param::integer("vector_bytes", 256, {1, 1 << 20}, "bytes worked on per cycle"),
                     cycles("simple_cycles", MathCost::simple), cycles("divide_cycles", MathCost::division),
                     cycles("transcendental_cycles", MathCost::transcendental)},
          .behaviour = models::lane_vector_unit(),
          .summary = [](const ParamSet& math) {
            return fmt::format("{} B a cycle", math.integer("vector_bytes"));
          }};
}

void register_pe_engines(Kinds& kinds) {
  kinds.push_back(
      {.name = "pe_dma",
       .doc = "moves data between the PE and the fabric; the PE's port",
       .params = {overhead(0, "of a command; the next one's begins when it is over"),
                  bandwidth("bw_gbs", 512, "the PE's link to its router, per direction"),
                  Param::choice(
                      "strided", "auto", {"auto", "linear", "gather"},
                      "HBM bursts of several rows: linear: as if stored one after the other; gather: "
                      "each row at its own address; auto: as the memory's impl has it, "
                      "linear for builtin.hbm, gather for memories with rows"),
                  Param::integer("outstanding", 8, {1, 65536}, "transfers in flight per channel")},
       .impls = {window_dma()}});
  kinds.push_back(kind("pe_fetch_store", "moves operands and results between TCM and registers", {}));
  kinds.push_back({.name = "pe_gemm", .doc = "the matrix unit", .params = {}, .impls = {tiled_gemm()}});
  kinds.push_back({.name = "pe_math", .doc = "the vector unit", .params = {}, .impls = {lane_math()}});
  kinds.push_back(
      kind("pe_tcm", "the PE's private memory",
           {bandwidth("read_bw_gbs", 512, "its read port"), bandwidth("write_bw_gbs", 512, "its write port"),
            Param::number("capacity_mb", 16, {1.0 / 1024, 256}, "its size"),
            Param::number("scheduler_mb", 4, {0, 256}, "kept for the scheduler's tile buffers"),
            Param::number("kernel_scratch_mb", 1, {1.0 / 1024, 256}, "kept for the tiles of a kernel")}));
}

}  // namespace

Registry builtin_components() {
  Kinds kinds;
  register_system(kinds);
  register_io_chiplet(kinds);
  register_cube(kinds);
  register_hbm(kinds);
  register_pe_control(kinds);
  register_pe_engines(kinds);
  return Registry(std::move(kinds));
}

}  // namespace kernbench::topology
