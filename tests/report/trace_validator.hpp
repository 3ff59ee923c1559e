// The rules of trace-event JSON, as far as viewers rely on them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace kernbench::report {

class TraceValidator {
 public:
  explicit TraceValidator(const nlohmann::json& trace) {
    for (const auto& event : trace.at("traceEvents")) take(event);
    check_rows();
    check_flows();
  }

  const std::vector<std::string>& faults() const { return faults_; }
  std::size_t slices() const { return slice_count_; }
  /// How many arrows there are of one category.
  std::size_t flows(const std::string& category) const {
    std::size_t n = 0;
    for (const auto& [id, flow] : flows_) n += flow.category == category;
    return n;
  }
  std::set<std::string> counters;
  std::set<std::string> threads, processes;

 private:
  using Row = std::pair<std::int64_t, std::int64_t>;
  struct Slice {
    std::int64_t begin, end;  // ps
  };
  struct Flow {
    std::string category;
    int starts = 0, ends = 0;
    Row from, to;
    std::int64_t leaves = 0, arrives = 0;
  };

  static std::int64_t ps(const nlohmann::json& value) { return std::llround(value.get<double>() * 1e6); }
  template <class... Args>
  void fault(fmt::format_string<Args...> text, Args&&... args) {
    if (faults_.size() < 20) faults_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void take(const nlohmann::json& e) {
    const std::string phase = e.at("ph");
    const Row row(e.at("pid"), e.at("tid"));
    if (phase == "M") return take_name(e, row);
    if (phase == "C") return take_counter(e, row);
    if (phase == "s" || phase == "f") return take_flow(e, row, phase == "s");
    if (phase != "X") return fault("an event of phase {}", phase);
    ++slice_count_;
    if (!e.at("name").is_string() || e.at("name").get<std::string>().empty()) fault("a slice without a name");
    const std::int64_t begin = ps(e.at("ts")), length = ps(e.at("dur"));
    if (begin < 0 || length < 0) fault("a slice at {} of length {}", begin, length);
    slices_[row].push_back({begin, begin + length});
  }

  void take_name(const nlohmann::json& e, Row row) {
    const std::string what = e.at("name");
    if (what == "process_name") processes.insert(e["args"].at("name")), named_processes_.insert(row.first);
    if (what == "thread_name") threads.insert(e["args"].at("name")), named_rows_.insert(row);
    if (what == "thread_sort_index" &&
        !sort_.emplace(std::pair(row.first, e["args"].at("sort_index").get<int>())).second)
      fault("two rows of process {} have one place", row.first);
  }

  void take_counter(const nlohmann::json& e, Row row) {
    const std::string name = e.at("name");
    counters.insert(name);
    for (const auto& [key, value] : e.at("args").items())
      if (!value.is_number()) fault("counter {} has a value that is no number", name);
    auto& last = counter_at_[{row.first, name}];
    if (ps(e.at("ts")) < last) fault("counter {} goes back in time", name);
    last = ps(e.at("ts"));
  }

  void take_flow(const nlohmann::json& e, Row row, bool start) {
    Flow& flow = flows_[e.at("id").get<std::int64_t>()];
    const std::string category = e.at("cat");
    if (!flow.category.empty() && flow.category != category) fault("a flow of two categories");
    if (e.at("name") != category) fault("a flow that is not called by its category");
    flow.category = category;
    ++(start ? flow.starts : flow.ends);
    (start ? flow.from : flow.to) = row;
    (start ? flow.leaves : flow.arrives) = ps(e.at("ts"));
    if (!start && e.at("bp") != "e") fault("an arrow that does not point at the slice around it");
  }

  void check_rows() {
    for (auto& [row, slices] : slices_) {
      if (!named_rows_.contains(row)) fault("row {} of process {} has no name", row.second, row.first);
      if (!named_processes_.contains(row.first)) fault("process {} has no name", row.first);
      std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
        return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end);
      });
      std::vector<std::int64_t> open;
      for (const Slice& slice : slices) {
        while (!open.empty() && open.back() <= slice.begin) open.pop_back();
        if (!open.empty() && slice.end > open.back())
          fault("row {} of process {}: a slice from {} to {} overlaps one that ends at {}", row.second,
                row.first, slice.begin, slice.end, open.back());
        open.push_back(slice.end);
      }
    }
  }

  bool is_in_slice(Row row, std::int64_t at) const {
    const auto found = slices_.find(row);
    return found != slices_.end() &&
           std::ranges::any_of(found->second, [&](const Slice& s) { return s.begin <= at && at <= s.end; });
  }

  void check_flows() {
    for (const auto& [id, flow] : flows_) {
      if (flow.starts != 1 || flow.ends != 1)
        fault("flow {} has {} starts and {} ends", id, flow.starts, flow.ends);
      if (flow.leaves > flow.arrives) fault("flow {} arrives before it leaves", id);
      if (!is_in_slice(flow.from, flow.leaves) || !is_in_slice(flow.to, flow.arrives))
        fault("flow {} touches no slice", id);
    }
  }

  std::map<Row, std::vector<Slice>> slices_;
  std::map<std::int64_t, Flow> flows_;
  std::set<Row> named_rows_;
  std::set<std::int64_t> named_processes_;
  std::set<std::pair<std::int64_t, int>> sort_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> counter_at_;
  std::size_t slice_count_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace kernbench::report
