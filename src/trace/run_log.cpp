#include "kernbench/error.hpp"
#include "kernbench/trace.hpp"
#include "trace/recording.hpp"

namespace kernbench::trace {

RunLog::RunLog(std::shared_ptr<const Recording> recording) : recording_(std::move(recording)) {}

std::uint64_t RunLog::size() const { return count(recording_->records); }

void RunLog::for_each(const std::function<void(const Op&)>& fn) const {
  in_total_order(recording_->records, [&](OpId id, const OpRecord&) { fn(decode(*recording_, id)); });
}

std::vector<Op> RunLog::ops() const {
  std::vector<Op> all;
  all.reserve(size());
  for_each([&](const Op& op) { all.push_back(op); });
  return all;
}

Op RunLog::op(OpId id) const {
  const auto& records = recording_->records;
  if (id.partition >= records.size() || id.id >= records[id.partition].size())
    throw InputError({"op-log.no-such-op", "",
                      fmt::format("the log has no record {} of partition {}", id.id, id.partition),
                      "ids come from the log's own records"});
  return decode(*recording_, id);
}

Summary RunLog::summary() const { return summarize(*recording_); }
CriticalPath RunLog::critical_path() const { return find_critical_path(*recording_); }
CriticalPath RunLog::critical_path(std::uint32_t request, Time begin) const {
  return find_critical_path(*recording_, request, begin);
}
std::uint64_t RunLog::hash() const { return hash_of(*recording_); }

std::string to_string(const Op& op) {
  std::string text = op.pe.cube < 0 ? "host" : to_string(op.pe);
  text += fmt::format(" {} {}", op.kind, op.name);
  if (op.command != Op::kNoCommand) text += fmt::format(" #{} {}:{}", op.command, op.file, op.line);
  return text;
}

}  // namespace kernbench::trace
