#include "trace/op_log.hpp"

#include <unistd.h>

#include "base/new_file.hpp"
#include "kernbench/error.hpp"
#include "trace/mapped_file.hpp"
#include "trace/recording.hpp"

namespace kernbench::trace {

namespace {
constexpr std::size_t kChunkBytes = kChunkRecords * sizeof(OpRecord);
}

OpLog::OpLog(int partitions, OpLogOptions options)
    : options_(std::move(options)), parts_(static_cast<std::size_t>(partitions)) {
  if (options_.storage == Storage::disk) ::close(open_nameless_file(options_.folder));
}

OpLog::~OpLog() {
  for (const auto& part : parts_)
    if (part.file >= 0) ::close(part.file);
}

void OpLog::append(int partition, const device::OpRecord& record) {
  Part& part = parts_[static_cast<std::size_t>(partition)];
  KB_ASSERT(record.end >= part.last_end,
            "partition {} writes a record that ends at {} after one that ends at {}", partition,
            to_string(record.end), to_string(part.last_end));
  part.last_end = record.end;
  ++part.counts[static_cast<std::size_t>(record.kind)];
  if (part.next == part.limit) {
    if (options_.storage == Storage::none) return tell(part, record);
    make_room(part);
  }
  *part.next++ = record;
}

void OpLog::departed(int partition, const device::Departure& departure) {
  if (options_.storage == Storage::none) return;
  parts_[static_cast<std::size_t>(partition)].departures.push_back(departure);
}

void OpLog::tell(Part& part, const OpRecord& record) const {
  const auto from = [&] { return trace::from((*options_.origins)[record.origin]); };
  part.hash.add(record);
  if (record.kind == device::OpKind::program) part.sums.settle(from().pe);
  part.sums.add(record, from);
}

Summary OpLog::summary() const {
  Summarizer all;
  for (std::size_t i = 0; i < options_.origins->size(); ++i) all.expect(from((*options_.origins)[i]));
  for (const Part& part : parts_) all.add(part.sums);
  return all.finish(size());
}

std::uint64_t OpLog::hash(const RunInfo& info) const {
  std::vector<RecordHash> partitions;
  for (const Part& part : parts_) partitions.push_back(part.hash);
  return hash_of(info, partitions);
}

void OpLog::make_room(Part& part) {
  if (options_.storage == Storage::disk && part.next != nullptr) return write_out(part);
  add_chunk(part);
}

void OpLog::add_chunk(Part& part) {
  part.chunks.push_back(std::make_shared_for_overwrite<std::byte[]>(kChunkBytes));
  part.next = reinterpret_cast<OpRecord*>(part.chunks.back().get());
  part.limit = part.next + kChunkRecords;
}

void OpLog::write_out(Part& part) {
  auto* const first = part.limit - kChunkRecords;
  const auto bytes = static_cast<std::size_t>(part.next - first) * sizeof(OpRecord);
  if (part.file < 0) part.file = open_nameless_file(options_.folder);
  append_to_file(part.file, {reinterpret_cast<const char*>(first), bytes}, options_.folder);
  part.written += bytes;
  part.next = first;
}

std::uint64_t OpLog::count(device::OpKind kind) const {
  std::uint64_t n = 0;
  for (const auto& part : parts_) n += part.counts[static_cast<std::size_t>(kind)];
  return n;
}

std::uint64_t OpLog::size() const {
  std::uint64_t n = 0;
  for (const auto& part : parts_)
    for (const auto one : part.counts) n += one;
  return n;
}

PartitionRecords OpLog::in_memory(const Part& part) const {
  if (part.chunks.empty()) return {};
  std::vector<const OpRecord*> firsts;
  for (const auto& chunk : part.chunks) firsts.push_back(reinterpret_cast<const OpRecord*>(chunk.get()));
  const auto size = part.chunks.size() * kChunkRecords - static_cast<std::size_t>(part.limit - part.next);
  using Chunks = std::vector<std::shared_ptr<std::byte[]>>;
  return {std::move(firsts), static_cast<std::uint32_t>(size), std::make_shared<const Chunks>(part.chunks)};
}

/// Full chunks are in the file; the last one is copied, for its place is used again.
PartitionRecords OpLog::on_disk(const Part& part) const {
  if (part.chunks.empty()) return {};
  struct Kept {
    std::unique_ptr<MappedFile> file;
    std::vector<OpRecord> last;
  };
  auto kept = std::make_shared<Kept>();
  std::vector<const OpRecord*> firsts;
  if (part.written > 0) {
    kept->file = std::make_unique<MappedFile>(part.file, part.written, options_.folder);
    const auto* first = reinterpret_cast<const OpRecord*>(kept->file->content().data());
    for (std::uint64_t i = 0; i < part.written / sizeof(OpRecord); i += kChunkRecords)
      firsts.push_back(first + i);
  }
  kept->last.assign(part.limit - kChunkRecords, part.next);
  firsts.push_back(kept->last.data());
  const auto size = part.written / sizeof(OpRecord) + kept->last.size();
  return {std::move(firsts), static_cast<std::uint32_t>(size), std::move(kept)};
}

Records OpLog::records() const {
  KB_ASSERT(options_.storage != Storage::none, "the op log of this run was switched off");
  Records records;
  for (const auto& part : parts_)
    records.push_back(options_.storage == Storage::disk ? on_disk(part) : in_memory(part));
  return records;
}

RunLog OpLog::so_far(RunInfo info) const {
  Records all = records();
  const auto fault = find_fault(all, info);
  KB_ASSERT(!fault, "{}", *fault);
  return RunLog(std::make_shared<const Recording>(std::move(all), std::move(info)));
}

RunLog OpLog::finish(RunInfo info) {
  RunLog log = so_far(std::move(info));
  for (const auto& part : parts_)
    if (part.file >= 0) ::close(part.file);
  std::vector<Part>(parts_.size()).swap(parts_);
  return log;
}

}  // namespace kernbench::trace
