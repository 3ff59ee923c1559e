// Tables for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "base/append.hpp"
#include "kernbench/trace.hpp"

namespace kernbench::trace {
namespace {

constexpr std::size_t kMostRows = 20;

void put_shares(std::string& out, std::string_view title, const std::vector<Share>& shares) {
  std::size_t width = title.size();
  const std::size_t rows = std::min(shares.size(), kMostRows);
  for (std::size_t i = 0; i < rows; ++i) width = std::max(width, shares[i].name.size());
  append(out, "{:<{}} {:>15} {:>7}\n", title, width, "ns", "share");
  for (std::size_t i = 0; i < rows; ++i)
    append(out, "{:<{}} {:>15.3f} {:>6.1f}%\n", shares[i].name, width, shares[i].time.ns(),
           100 * shares[i].fraction);
  Time rest;
  for (std::size_t i = rows; i < shares.size(); ++i) rest += shares[i].time;
  if (rows < shares.size())
    append(out, "{:<{}} {:>15.3f}\n", fmt::format("and {} more", shares.size() - rows), width, rest.ns());
}

void put_changes(std::string& out, std::string_view title, const std::vector<Change>& changes) {
  append(out, "\n{:<24} {:>15}\n", title, "change, ns");
  for (const auto& c : changes) append(out, "{:<24} {:>+15.3f}\n", c.name, c.by.ns());
}

void put_engine(std::string& out, std::string_view name, const EngineUse& use, std::string_view unit) {
  if (use.count == 0) return;
  append(out, "{:<10} {:>12} {:>20} {:<8} {:>15.3f}\n", name, use.count, use.amount, unit, use.busy.ns());
}

}  // namespace

std::string to_text(const Summary& s) {
  std::string out = fmt::format("{} records, {} PEs\n", s.records, s.pes.size());
  append(out, "{:<10} {:>12} {:>20} {:<8} {:>15}\n", "engine", "operations", "amount", "", "busy, ns");
  put_engine(out, "gemm", s.total.gemm, "macs");
  put_engine(out, "math", s.total.math, "elements");
  put_engine(out, "dma_read", s.total.dma_read, "bytes");
  put_engine(out, "dma_write", s.total.dma_write, "bytes");
  put_engine(out, "ipcq_send", s.total.ipcq_send, "bytes");
  put_engine(out, "ipcq_recv", s.total.ipcq_recv, "bytes");
  return out;
}

std::string to_text(const CriticalPath& path) {
  std::string out =
      fmt::format("critical path: {:.3f} ns in {} pieces\n\n", path.length().ns(), path.pieces.size());
  put_shares(out, "resource", path.by_resource);
  out += '\n';
  put_shares(out, "reason", path.by_reason);
  out += '\n';
  put_shares(out, "line", path.by_line);
  return out;
}

std::string to_text(const Comparison& c, const RunLog& after) {
  std::string out = fmt::format("the run takes {:+.3f} ns; {} of {} operations moved", c.length_by.ns(),
                                c.moved, c.matched);
  if (c.only_before + c.only_after > 0)
    append(out, "; {} only before, {} only after", c.only_before, c.only_after);
  out += '\n';
  put_changes(out, "critical path", c.critical_path);
  put_changes(out, "within operations", c.by_resource);
  if (c.largest.empty()) return out;
  append(out, "\n{:>15} {:>15}  {}\n", "start, ns", "end, ns", "operation");
  for (const auto& m : c.largest) {
    append(out, "{:>+15.3f} {:>+15.3f}  {}", m.start_by.ns(), m.end_by.ns(), to_string(after.op(m.after)));
    if (!m.resource.empty()) append(out, " ({} {:+.3f})", m.resource, m.resource_by.ns());
    out += '\n';
  }
  return out;
}

}  // namespace kernbench::trace
