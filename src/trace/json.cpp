#include "trace/json.hpp"

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace kernbench::trace {
namespace {

using Json = nlohmann::ordered_json;

Json use_of(const EngineUse& use, const char* unit) {
  return {{"count", use.count}, {unit, use.amount}, {"busy_ns", use.busy.ns()}};
}

void put_counts(Json& out, const EngineUses& uses) {
  out["gemm_count"] = uses.gemm.count;
  out["math_count"] = uses.math.count;
  out["dma_read_count"] = uses.dma_read.count;
  out["dma_write_count"] = uses.dma_write.count;
  out["ipcq_send_count"] = uses.ipcq_send.count;
  out["ipcq_recv_count"] = uses.ipcq_recv.count;
}

Json engines_of(const EngineUses& uses) {
  return {{"gemm", use_of(uses.gemm, "macs")},
          {"math", use_of(uses.math, "elements")},
          {"dma_read", use_of(uses.dma_read, "bytes")},
          {"dma_write", use_of(uses.dma_write, "bytes")},
          {"ipcq_send", use_of(uses.ipcq_send, "bytes")},
          {"ipcq_recv", use_of(uses.ipcq_recv, "bytes")}};
}

Json changes_of(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const auto& c : changes) list.push_back({{"resource", c.name}, {"by_ns", c.by.ns()}});
  return list;
}

Json moved_of(const Moved& moved, const RunLog& after) {
  Json out = {{"op", to_string(after.op(moved.after))},
              {"start_by_ns", moved.start_by.ns()},
              {"end_by_ns", moved.end_by.ns()}};
  if (!moved.resource.empty())
    out["resource"] = moved.resource, out["resource_by_ns"] = moved.resource_by.ns();
  return out;
}

}  // namespace

Json json_of(const Summary& summary) {
  Json out;
  put_counts(out, summary.total);
  out["record_count"] = summary.records;
  out["engines"] = engines_of(summary.total);
  auto& pes = out["pes"] = Json::array();
  for (const auto& pe : summary.pes) {
    Json one = {{"pe", to_string(pe.pe)}};
    put_counts(one, pe.engines);
    one["exec_ns"] = pe.exec.ns();
    one["engines"] = engines_of(pe.engines);
    pes.push_back(std::move(one));
  }
  return out;
}

Json json_of(const Utilization& u) {
  return {{"gemm", u.gemm}, {"math", u.math}, {"dma_read", u.dma_read}, {"dma_write", u.dma_write}};
}

Json json_of(const std::vector<Share>& shares, const char* key) {
  Json list = Json::array();
  for (const auto& s : shares) list.push_back({{key, s.name}, {"ns", s.time.ns()}, {"share", s.fraction}});
  return list;
}

Json json_of(const CriticalPath& path) { return json_of(path.by_resource, "resource"); }

Json json_of(const Comparison& c, const RunLog& after) {
  Json out = {{"length_by_ns", c.length_by.ns()},
              {"matched", c.matched},
              {"moved", c.moved},
              {"only_before", c.only_before},
              {"only_after", c.only_after},
              {"critical_path", changes_of(c.critical_path)},
              {"resources", changes_of(c.by_resource)}};
  auto& list = out["largest"] = Json::array();
  for (const auto& moved : c.largest) list.push_back(moved_of(moved, after));
  return out;
}

std::string to_json(const Summary& summary) { return dump_json(json_of(summary), 2); }
std::string to_json(const Utilization& utilization) { return dump_json(json_of(utilization), 2); }
std::string to_json(const CriticalPath& path) { return dump_json(json_of(path), 2); }
std::string to_json(const Comparison& comparison, const RunLog& after) {
  return dump_json(json_of(comparison, after), 2);
}

}  // namespace kernbench::trace
