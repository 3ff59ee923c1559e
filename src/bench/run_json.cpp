#include "bench/run_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernbench/version.hpp"
#include "topology/machine_json.hpp"
#include "trace/energy_json.hpp"
#include "trace/json.hpp"
#include "trace/stages.hpp"

namespace kernbench::bench {
namespace {

using Json = nlohmann::ordered_json;

struct ValueToJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& v) const {
    return v;
  }
};

Json options_json(const Options& options) {
  Json out = Json::object();
  for (const Param& option : options.params())
    if (options.applies(option.name))
      out[option.name] = std::visit(ValueToJson{}, options.value(option.name));
  return out;
}

Json results_json(const BenchReport& report) {
  Json out = Json::object();
  for (const auto& [name, value] : report.results()) out[name] = std::visit(ValueToJson{}, value);
  return out;
}

/// What a launch took; null without prices. A launch that took nothing is not among the requests.
Json energy_json(const RunResult& result, const LaunchResult& launch) {
  if (!result.energy) return nullptr;
  trace::RequestEnergy own{.request = launch.number};
  for (const trace::RequestEnergy& one : result.energy->requests)
    if (one.request == launch.number) own = one;
  return trace::json_of(own, launch.trace.pe_exec, result.energy->sip_static_mw);
}

Json launches_json(const RunResult& result) {
  Json list = Json::array();
  for (const LaunchResult& launch : result.launches) {
    const auto& [trace, bound, number] = launch;
    list.push_back({{"name", trace.name},
                    {"request", number},
                    {"sip", trace.sip},
                    {"total_ns", trace.total_ns()},
                    {"pe_exec_ns", trace.pe_exec_ns()},
                    {"network_ns", trace.network_ns()},
                    {"queued_ns", trace.queued_ns()},
                    {"late_starts", trace.late_starts},
                    {"note", trace.note},
                    {"compulsory_ns", trace.compulsory.ns()},
                    {"lower_bound_ns", bound.time.ns()},
                    {"bound_by", bound.resource},
                    {"bound_without", bound.without},
                    {"energy", energy_json(result, launch)}});
  }
  return list;
}

Json utilization_json(const Utilization& utilization) {
  Json out = trace::json_of(utilization.engines);
  out["hbm"] = utilization.hbm;
  out["link_max"] = utilization.link_max;
  out["busiest_link"] = utilization.busiest_link;
  return out;
}

/// Null without composites, or without a log.
Json stages_json(const RunResult& result) {
  if (!result.log) return nullptr;
  const auto stages = trace::composite_stages(result.log->recording());
  return stages ? trace::json_of(*stages) : Json();
}

Json links_json(const std::vector<runtime::LinkQueue>& links) {
  Json list = Json::array();
  for (const auto& l : links)
    list.push_back({{"link", l.link},
                    {"bytes", l.carried.count()},
                    {"deepest_wait_ns", l.deepest_wait.ns()},
                    {"deepest_queue_bytes", l.deepest_bytes},
                    {"overhead_bytes", l.overhead.count()},
                    {"pushed_back", l.pushed_back},
                    {"stalled_ns", l.stalled.ns()},
                    {"stalls", l.stalls}});
  return list;
}

/// Null if nobody looked.
Json push_back_json(const RunResult& result) {
  const std::optional<PushBack> all = push_back(result);
  if (!all) return nullptr;
  return {{"flow", all->credits ? "credits" : "unbounded"},
          {"buffer_packets", all->buffer_packets},
          {"packets", all->packets},
          {"stalled_ns", all->stalled.ns()},
          {"links", all->links},
          {"most_at", all->most ? Json(all->most->link) : Json()}};
}

Json activity_json(const models::MemoryActivity& a) {
  return {{"channels", a.channels},      {"reads", a.reads},
          {"writes", a.writes},          {"row_hits", a.hits},
          {"row_closed", a.closed},      {"row_conflicts", a.conflicts},
          {"data_ns", a.data.ns()},      {"rows_ns", a.rows.ns()},
          {"groups_ns", a.groups.ns()},  {"turns_ns", a.turns.ns()},
          {"refresh_ns", a.refresh.ns()}};
}

/// Null if the memory does not count what it does, or did nothing.
Json dram_json(const std::vector<runtime::SliceActivity>& slices) {
  if (slices.empty()) return nullptr;
  models::MemoryActivity all{.channels = 0};
  for (const runtime::SliceActivity& slice : slices) all += slice.activity;
  Json busiest = activity_json(slices.front().activity);
  busiest["slice"] = slices.front().slice;
  return {{"slices", slices.size()}, {"all", activity_json(all)}, {"busiest", busiest}};
}

Json hazards_json(const std::vector<runtime::HazardReport>& hazards) {
  Json list = Json::array();
  for (const auto& h : hazards)
    list.push_back({{"kind", h.kind}, {"text", h.text}, {"occurrences", h.occurrences}});
  return list;
}

}  // namespace

Json to_json(const RunResult& result) {
  const auto& outcome = result.report.outcome();
  return {{"kernbench", version()},
          {"bench", result.bench},
          {"options", options_json(result.options)},
          {"device", result.device},
          {"machine", topology::to_json(result.machine, topology::Graph(result.machine))},
          {"ccl", result.ccl},
          {"ok", result.ok()},
          {"verified", outcome ? Json(*outcome) : Json()},
          {"complaints", result.report.complaints()},
          {"failure", result.failure.empty() ? Json() : Json(result.failure)},
          {"sim", {{"total_ns", result.total.ns()}, {"op_log_hash", fmt::format("{:016x}", result.hash)}}},
          {"launches", launches_json(result)},
          {"op_log_summary", trace::json_of(result.summary)},
          {"stages", stages_json(result)},
          {"utilization", utilization_json(result.utilization)},
          {"links", links_json(result.links)},
          {"push_back", push_back_json(result)},
          {"dram", dram_json(result.slices)},
          {"energy", result.energy ? trace::json_of(*result.energy) : Json()},
          {"lower_bound_ns", result.lower_bound.time.ns()},
          {"critical_path", result.log ? trace::json_of(result.critical_path) : Json()},
          {"hazards", result.hazards ? hazards_json(*result.hazards) : Json()},
          {"warnings", result.warnings},
          {"results", results_json(result.report)},
          {"wall",
           {{"seconds", result.wall.seconds},
            {"events", result.wall.events},
            {"events_per_s", result.wall.events_per_s()},
            {"peak_rss_mb", result.wall.peak_rss_mb},
            {"launches_taken_over", result.wall.taken_over}}}};
}

}  // namespace kernbench::bench
