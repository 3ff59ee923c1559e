#include "report/probe_json.hpp"

#include <nlohmann/json.hpp>

namespace kernbench::report {
namespace {

using device::CatalogueCase;
using device::Direction;
using device::ProbeLeg;
using device::ProbeParts;
using device::ProbeResult;
using Json = nlohmann::ordered_json;

const char* leg_name(ProbeLeg leg) {
  return leg == ProbeLeg::request ? "request" : leg == ProbeLeg::data ? "data" : "ack";
}

Json parts_json(const ProbeParts& parts) {
  return {{"wire_ns", parts.wire.ns()},
          {"overhead_ns", parts.overhead.ns()},
          {"serialization_ns", parts.serialization.ns()},
          {"memory_ns", parts.memory.ns()},
          {"ack_ns", parts.ack.ns()},
          {"window_ns", parts.window.ns()}};
}

Json point_json(const ProbeResult& result) {
  return {{"bytes", result.what.bytes.count()},
          {"total_ns", result.total.ns()},
          {"effective_gbs", result.effective_gbs()},
          {"utilization", result.utilization()}};
}

}  // namespace

const char* op_name(const ProbeResult& result) {
  if (!result.what.op) return "message";
  return *result.what.op == Direction::read ? "read" : "write";
}

Json probe_json(const topology::Graph& graph, const ProbeResult& result) {
  Json json = {{"from", graph.path(result.what.from)},
               {"to", graph.path(result.what.to)},
               {"op", op_name(result)},
               {"bytes", result.what.bytes.count()},
               {"offset", result.what.offset},
               {"total_ns", result.total.ns()},
               {"formula_ns", result.formula.parts.total().ns()},
               {"formula_is", result.formula.exact ? "exact" : "lower bound"},
               {"no_formula_of", result.formula.without},
               {"parts", parts_json(result.parts)},
               {"memory_is", result.formula.exact ? "formula" : "remainder"},
               {"effective_gbs", result.effective_gbs()},
               {"bottleneck_gbs", result.bottleneck_gbs()},
               {"utilization", result.utilization()},
               {"hops", Json::array()}};
  if (const auto& window = result.formula.window)
    json["window"] = {{"in_flight_bytes", window->in_flight.count()},
                      {"round_trip_ns", window->round_trip.ns()},
                      {"gbs", window->gbs()}};
  for (const device::ProbeHop& hop : result.hops)
    json["hops"].push_back(
        {{"node", graph.path(hop.node)}, {"at_ns", hop.head.ns()}, {"leg", leg_name(hop.leg)}});
  return json;
}

Json catalogue_json(const topology::Machine& machine, const topology::Graph& graph,
                    const device::Catalogue& catalogue) {
  Json json = {{"machine", machine.source()},
               {"ok", catalogue.holds()},
               {"cases", Json::array()},
               {"saturation", Json::array()},
               {"invariants", Json::array()}};
  for (const CatalogueCase& c : catalogue.cases) {
    for (const ProbeResult* result : {&c.write, &c.read}) {
      Json one = {{"name", c.distance.name}};
      one.update(probe_json(graph, *result));
      json["cases"].push_back(std::move(one));
    }
    Json points = Json::array();
    for (const ProbeResult& result : c.growing) points.push_back(point_json(result));
    json["saturation"].push_back({{"name", c.distance.name},
                                  {"from", graph.path(c.distance.from)},
                                  {"to", graph.path(c.distance.to)},
                                  {"op", "read"},
                                  {"bottleneck_gbs", c.read.bottleneck_gbs()},
                                  {"points", std::move(points)}});
  }
  for (const device::Invariant& i : catalogue.invariants)
    json["invariants"].push_back({{"name", i.name}, {"pass", i.holds()}, {"broken", i.broken}});
  return json;
}

}  // namespace kernbench::report
