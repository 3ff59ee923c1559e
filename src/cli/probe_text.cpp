#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/percent.hpp"
#include "cli/probe_report.hpp"
#include "report/probe_json.hpp"
#include "topology/figures.hpp"

namespace kernbench::cli {
namespace {

using device::Catalogue;
using device::CatalogueCase;
using device::Invariant;
using device::ProbeHop;
using device::ProbeLeg;
using device::ProbeResult;
using topology::Graph;
using topology::Node;
using topology::NodeKind;

constexpr std::size_t kWidth = 118;  // of a line

const char* leg_name(const ProbeResult& result, ProbeLeg leg) {
  if (leg == ProbeLeg::request) return "request";
  if (leg == ProbeLeg::ack) return "acknowledgement";
  return result.what.op ? "data" : "message";
}

/// Nanoseconds to the picosecond, for columns.
std::string ns(Time t) { return fmt::format("{:.3f}", t.ns()); }

/// `= simulated`, `≥ 136.004 ns`: what the formula says of a result.
std::string verdict(const ProbeResult& result) {
  if (!result.agrees()) return fmt::format("{} MISMATCH", ns(result.formula.parts.total()));
  return (result.formula.exact ? "= " : "≥ ") + ns(result.formula.parts.total());
}

/// Lines of words no longer than the width, the later ones indented.
std::string wrapped(const std::string& head, const std::vector<std::string>& words, std::size_t indent) {
  std::string text = head;
  std::size_t column = head.size();
  for (const std::string& word : words) {
    if (column + word.size() + 2 > kWidth) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    }
    text += "  " + word;
    column += word.size() + 2;
  }
  return text + "\n";
}

/// The node's name inside its cube or SIP, where that was named before.
std::string short_name(const Graph& graph, const ProbeHop& hop, const std::string& container) {
  const std::string path = graph.path(hop.node);
  return !container.empty() && path.starts_with(container) ? path.substr(container.size()) : path;
}

std::string container_of(const Graph& graph, const ProbeHop& hop) {
  const Node node = graph.node(hop.node);
  if (node.cube >= 0) return fmt::format("sip{}.cube{}.", node.sip, node.cube);
  return node.sip >= 0 ? fmt::format("sip{}.", node.sip) : "";
}

/// Nodes with times. Of several routers in a row only the first and the last are shown.
std::vector<std::string> leg_words(const Graph& graph, const ProbeResult& result, ProbeLeg leg) {
  std::vector<ProbeHop> hops;
  for (const ProbeHop& hop : result.hops)
    if (hop.leg == leg) hops.push_back(hop);
  const auto router = [&](std::size_t i) {
    return i < hops.size() && graph.node(hops[i].node).kind == NodeKind::router;
  };
  std::vector<std::string> words;
  std::string container;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (i > 0 && router(i - 1) && router(i) && router(i + 1)) continue;
    words.push_back(fmt::format("{} {}", short_name(graph, hops[i], container), ns(hops[i].head)));
    container = container_of(graph, hops[i]);
  }
  return words;
}

std::string hops_text(const Graph& graph, const std::string& name, const ProbeResult& result) {
  std::string text = fmt::format("{}, {}\n", name, report::op_name(result));
  for (const ProbeLeg leg : {ProbeLeg::request, ProbeLeg::data, ProbeLeg::ack})
    if (const auto words = leg_words(graph, result, leg); !words.empty())
      text += wrapped(fmt::format("  {:<16}", leg_name(result, leg)), words, 18);
  return text;
}

std::string times_table(const Catalogue& catalogue) {
  std::string text = fmt::format("{:<28} {:<6} {:>12} {:>12} {:>12} {:>9}   {}\n", "32 KiB, ns and GB/s", "",
                                 "time", "effective", "bottleneck", "used", "formula");
  for (const CatalogueCase& c : catalogue.cases)
    for (const ProbeResult* r : {&c.write, &c.read})
      text += fmt::format("{:<28} {:<6} {:>12} {:>12.2f} {:>12.2f} {:>9}   {}\n",
                          r == &c.write ? c.distance.name : "", report::op_name(*r), ns(r->total),
                          r->effective_gbs(), r->bottleneck_gbs(), percent(r->utilization()), verdict(*r));
  return text;
}

std::string parts_table(const Catalogue& catalogue) {
  const bool windows =
      std::any_of(catalogue.cases.begin(), catalogue.cases.end(),
                  [](const CatalogueCase& c) { return c.read.parts.window + c.write.parts.window > Time(); });
  const auto window = [&](const std::string& column) {
    return windows ? fmt::format(" {:>10}", column) : std::string();
  };
  std::string text =
      fmt::format("{:<28} {:<6} {:>10} {:>11} {:>14} {:>10} {:>10}{} {:>12}\n", "where the time goes, ns", "",
                  "wires", "overheads", "serialisation", "memory", "ack", window("window"), "= time");
  for (const CatalogueCase& c : catalogue.cases)
    for (const ProbeResult* r : {&c.write, &c.read})
      text += fmt::format("{:<28} {:<6} {:>10} {:>11} {:>14} {:>10} {:>10}{} {:>12}\n",
                          r == &c.write ? c.distance.name : "", report::op_name(*r), ns(r->parts.wire),
                          ns(r->parts.overhead), ns(r->parts.serialization), ns(r->parts.memory),
                          ns(r->parts.ack), window(ns(r->parts.window)), ns(r->parts.total()));
  const bool all_exact =
      std::all_of(catalogue.cases.begin(), catalogue.cases.end(),
                  [](const CatalogueCase& c) { return c.read.formula.exact && c.write.formula.exact; });
  return all_exact ? text
                   : text + "Where the formula is a lower bound (≥), memory is what the other parts leave.\n";
}

std::string saturation_table(const Catalogue& catalogue) {
  std::string text = fmt::format("{:<28}", "saturation of reads, GB/s");
  for (const ProbeResult& r : catalogue.cases.front().growing)
    text += fmt::format(" {:>16}", to_string(r.what.bytes));
  text += "\n";
  for (const CatalogueCase& c : catalogue.cases) {
    text += fmt::format("{:<28}", c.distance.name);
    for (const ProbeResult& r : c.growing)
      text += fmt::format(" {:>7.2f} {:>8}", r.effective_gbs(), percent(r.utilization()));
    text += "\n";
  }
  return text;
}

std::string invariants_text(const Catalogue& catalogue) {
  std::string text;
  for (const Invariant& i : catalogue.invariants) {
    text += fmt::format("{}  {}\n", i.holds() ? "PASS" : "FAIL", i.name);
    for (const std::string& broken : i.broken) text += fmt::format("      {}\n", broken);
  }
  return text;
}

}  // namespace

std::string probe_text(const Graph& graph, const ProbeResult& result) {
  std::string text = fmt::format("{} {} → {}, {}", report::op_name(result), graph.path(result.what.from),
                                 graph.path(result.what.to), to_string(result.what.bytes));
  if (result.what.offset != 0) text += fmt::format(" at offset {}", result.what.offset);
  text += fmt::format("\n\n{:<16} {:>14} ns\n", "time", ns(result.total));
  const auto part = [&](const char* name, Time time, const char* remark = "") {
    if (time != Time()) text += fmt::format("  {:<14} {:>14}{}\n", name, ns(time), remark);
  };
  part("wires", result.parts.wire);
  part("overheads", result.parts.overhead);
  part("serialisation", result.parts.serialization);
  part("memory", result.parts.memory, result.formula.exact ? "" : "     what the other parts leave");
  part("acknowledgement", result.parts.ack);
  part("window", result.parts.window, "     the DMA engine has enough in flight");
  text += fmt::format("{:<16} {:>14} ns, {}\n", "formula", ns(result.formula.parts.total()),
                      !result.agrees()       ? std::string("which the simulation CONTRADICTS")
                      : result.formula.exact ? "the same"
                      : !result.formula.without.empty()
                          ? fmt::format("as a lower bound: there is no formula of {}", result.formula.without)
                          : "as a lower bound: memory is taken to keep up");
  if (result.what.bytes > 0_B)
    text += fmt::format("{:<16} {:>14.2f} GB/s, {} of the bottleneck's {:.2f} GB/s\n", "effective",
                        result.effective_gbs(), percent(result.utilization()), result.bottleneck_gbs());
  if (const auto& window = result.formula.window)
    text +=
        fmt::format("{:<16} {:>14.2f} GB/s: {} in flight, {} there and back; the slowest link {:.2f} GB/s\n",
                    "window", window->gbs(), to_string(window->in_flight), to_string(window->round_trip),
                    result.formula.bottleneck.gbs());
  text += fmt::format("\n{:<40} {:>12}\n", "the head is at", "after ns");
  ProbeLeg leg = ProbeLeg::ack;
  for (const ProbeHop& hop : result.hops) {
    if (&hop == &result.hops.front() || hop.leg != leg)
      text += fmt::format("{}\n", leg_name(result, hop.leg));
    leg = hop.leg;
    text += fmt::format("  {:<38} {:>12}\n", graph.path(hop.node), ns(hop.head));
  }
  return text;
}

std::string catalogue_text(const topology::Machine& machine, const Graph& graph, const Catalogue& catalogue) {
  std::string text = fmt::format("{}: {}\n", machine.source(), topology::headline(machine));
  if (const auto ideal = machine.idealised(); !ideal.empty())
    text += fmt::format("idealised: {}\n", join(ideal));
  text += "\n" + times_table(catalogue) + "\n" + parts_table(catalogue) + "\n" + saturation_table(catalogue);
  text += "\nWhen the head is where, in ns; of routers in a row the first and the last.\n";
  for (const CatalogueCase& c : catalogue.cases)
    for (const ProbeResult* r : {&c.write, &c.read}) text += hops_text(graph, c.distance.name, *r);
  return text + "\n" + invariants_text(catalogue);
}

}  // namespace kernbench::cli
