// traffic: places of the machine send messages to each other at an offered load; how long they take, and how much arrives.
//
// It uses the fabric alone: no kernels, no memories. With a load of 0.01 messages meet nobody; where what is accepted falls behind what is
// offered, the fabric is saturated.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "bench/shipped.hpp"
#include "bench/traffic.hpp"
#include "kernbench/error.hpp"
#include "runtime/engine.hpp"

namespace kernbench::bench {
namespace {

/// A load of messages shorter than their header is not simulated if it asks the busiest link for this many times what it
/// carries: messages would only pile up, in great numbers.
constexpr double kHopeless = 2;

TrafficSpec spec_of(const Options& options, const Torch& torch) {
  const auto pattern = std::find(kPatterns.begin(), kPatterns.end(), options.text("pattern"));
  const std::int64_t bytes = options.integer("bytes");
  return {.pattern = static_cast<Pattern>(pattern - kPatterns.begin()),
          .over_cubes = options.text("over") == "cubes",
          .message = bytes > 0 ? Bytes(bytes) : torch.machine().at("fabric").bytes("packet_bytes"),
          .hot_share = options.number("hot_share"),
          .messages = options.integer("messages"),
          .seed = static_cast<std::uint64_t>(options.integer("seed")),
          .interrupt = torch.engine().options().interrupt};
}

std::vector<double> loads_of(const std::string& text) {
  const Param load = Param::number("load", 0.1, {0.0001, 1}, "share of what a place can send");
  std::vector<double> loads;
  for (const YamlNode& item : parse_yaml("[" + text + "]", "load=" + text).items)
    loads.push_back(std::get<double>(load.read(item)));
  if (loads.empty())
    throw InputError({"bench.option", "load=" + text, "no load is given", "load=0.1,0.2,0.4"});
  return loads;
}

void add_results(BenchReport& report, const std::vector<TrafficPoint>& points) {
  const auto column = [&](const char* name, double TrafficPoint::*value) {
    std::vector<double> all;
    for (const TrafficPoint& point : points) all.push_back(point.*value);
    report.result(name, std::move(all));
  };
  column("load", &TrafficPoint::load);
  column("offered_gbs", &TrafficPoint::offered_gbs);
  column("accepted_gbs", &TrafficPoint::accepted_gbs);
  column("mean_ns", &TrafficPoint::mean_ns);
  column("p99_ns", &TrafficPoint::p99_ns);
  column("most_ns", &TrafficPoint::most_ns);
  std::vector<double> stable;  // 1: yes
  for (const TrafficPoint& point : points) stable.push_back(point.stable ? 1 : 0);
  report.result("stable", std::move(stable));
}

/// The loads that are oversaturated beyond doubt, because most of what links carry are headers.
std::vector<double> hopeless_loads(const Traffic& traffic, const TrafficSpec& spec, Bytes header,
                                   const std::vector<double>& loads) {
  std::vector<double> hopeless;
  if (spec.message >= header) return hopeless;
  const double demand = traffic.demand();
  for (const double load : loads)
    if (load * demand >= kHopeless) hopeless.push_back(load);
  return hopeless;
}

std::string oversaturated(const std::vector<double>& hopeless, const Traffic& traffic, Bytes message,
                          Bytes header) {
  if (hopeless.empty()) return "";
  std::vector<std::string> names;
  for (const double load : hopeless) names.push_back(fmt::format("{:g}", load));
  const double least = *std::ranges::min_element(hopeless);
  return fmt::format(
      "\noversaturated and not simulated: load {}; with {} of header on {} of message the busiest link is "
      "asked for {:.1f} "
      "times what it carries at a load of {:g}, and saturates at {:.2g}",
      join(names), to_string(header), to_string(message), least * traffic.demand(), least,
      1 / traffic.demand());
}

std::string table(const std::vector<TrafficPoint>& points) {
  if (points.empty()) return "";
  std::string text = fmt::format("\n{:>6} {:>13} {:>14} {:>12} {:>12} {:>12}", "load", "offered GB/s",
                                 "accepted GB/s", "mean ns", "99 % ns", "most ns");
  for (const TrafficPoint& p : points)
    text += fmt::format("\n{:>6.3g} {:>13.3f} {:>14.3f} {:>12.3f} {:>12.3f} {:>12.3f}", p.load, p.offered_gbs,
                        p.accepted_gbs, p.mean_ns, p.p99_ns, p.most_ns) +
            (p.stable ? "" : "  not stable");
  const auto behind = std::find_if(points.begin(), points.end(), [](const TrafficPoint& p) {
    return p.accepted_gbs < kKeepsUp * p.offered_gbs;
  });
  text += behind == points.end() ? "\nit keeps up with every load above"
                                 : fmt::format("\nit keeps up to a load below {:g}", behind->load);
  return text;
}

void run_traffic(Torch& torch, const Options& options, BenchReport& report) {
  const TrafficSpec spec = spec_of(options, torch);
  Traffic traffic(torch.engine().device(), spec);
  std::vector<TrafficPoint> points;
  const std::vector<double> loads = loads_of(options.text("load"));
  const Bytes header = torch.machine().at("fabric").bytes("header_bytes");
  const std::vector<double> hopeless = hopeless_loads(traffic, spec, header, loads);
  for (const double load : loads)
    if (std::ranges::find(hopeless, load) == hopeless.end()) points.push_back(traffic.run(load));
  torch.zeros({1}, DType::f32, {}, "the end");  // on the host's clock, which the run ends with
  if (report.verify())
    report.verified(traffic.lost() == 0 && traffic.too_fast() == 0,
                    fmt::format("{} messages did not arrive, {} were faster than their way lets them",
                                traffic.lost(), traffic.too_fast()));
  add_results(report, points);
  report.result("nodes", static_cast<std::int64_t>(traffic.nodes().size()));
  report.result("full_rate_gbs", traffic.full_rate().gbs());
  report.line(fmt::format("traffic {} over {} {}, {} a message, {:g} GB/s at a load of 1: {}{}{}",
                          options.text("pattern"), traffic.nodes().size(), options.text("over"),
                          to_string(spec.message), traffic.full_rate().gbs(), report.verdict(), table(points),
                          oversaturated(hopeless, traffic, spec.message, header)));
}

}  // namespace

Bench traffic() {
  return {
      "traffic",
      "routers or cubes send messages to each other at an offered load: latency and throughput of the fabric",
      {Param::choice(
           "pattern", "uniform", kPatterns,
           "uniform: to any other; hotspot: hot_share of them to the one nearest the middle, the others "
           "uniform; transpose: from "
           "(x, y) to (y, x); neighbour: to the next in the row, the last to the first; "
           "complement: to the opposite place"),
       Param::choice("over", "routers", {"routers", "cubes"},
                     "routers: of sip0.cube0, from router to router; cubes: of sip0, from any PE's TCM to "
                     "any PE's of the other cube"),
       Param::text(
           "load", "0.01,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8",
           "shares of what a place can send, one after the other: a router one link's bandwidth, a cube "
           "that of one UCIe port; from 0.0001 to 1"),
       Param::integer("bytes", 0, {0, 1 << 20}, "of a message; 0: one full packet"),
       Param::integer("messages", 200, {1, 1'000'000},
                      "of each place in two intervals of time; after some to warm up, intervals are measured "
                      "until the mean is stable"),
       Param::number("hot_share", 0.25, {0, 1}, "of the messages that go to the hot spot"),
       Param::integer("seed", 1, {0, 1 << 30}, "of the random choices")},
      run_traffic,
      {{{"hot_share"}, "pattern", {"hotspot"}}},
      {"load", "offered_gbs", "accepted_gbs", "mean_ns", "p99_ns", "most_ns", "nodes", "full_rate_gbs",
       "stable"}};
}

}  // namespace kernbench::bench
