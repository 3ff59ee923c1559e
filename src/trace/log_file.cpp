#include "trace/log_file.hpp"

#include <cstring>
#include <limits>

#include "base/new_file.hpp"
#include "kernbench/error.hpp"
#include "trace/hash.hpp"
#include "trace/info_bytes.hpp"
#include "trace/mapped_file.hpp"

namespace kernbench::trace {
namespace {

constexpr char kMagic[8] = {'K', 'B', 'O', 'P', 'L', 'O', 'G', '\n'};
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kAlign = 64;

struct Header {
  char magic[8];
  std::uint32_t version, record_bytes, partitions, zero;
  std::uint64_t checksum, info_bytes;
};
static_assert(sizeof(Header) == 40);
constexpr std::size_t kChecked = offsetof(Header, info_bytes);  // what the checksum covers begins here

void add_words(Hash& hash, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    hash.add(word);
  }
}

std::string_view as_text(const void* data, std::size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

/// Header, sizes and info: everything before the records.
std::string head_of(const Recording& run) {
  const std::string info = to_bytes(run.info);
  Header header{{}, kVersion, sizeof(OpRecord), static_cast<std::uint32_t>(run.records.size()),
                0,  0,        info.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string head(as_text(&header, sizeof header));
  for (const auto& p : run.records) {
    const std::uint64_t size = p.size();
    head += as_text(&size, sizeof size);
  }
  head += info;
  head.resize((head.size() + kAlign - 1) / kAlign * kAlign);
  return head;
}

[[noreturn]] void refuse(const std::string& path, const char* id, std::string what) {
  throw InputError({id, path, std::move(what), "save the log of the run again"});
}

/// Takes a file apart, checking before every step that what it needs is there.
class LogReader {
 public:
  explicit LogReader(const std::string& path)
      : path_(path),
        file_(std::make_shared<const MappedFile>(MappedFile::open(path))),
        bytes_(file_->content()) {}

  std::shared_ptr<const Recording> read() {
    read_header();
    read_sizes();
    check_checksum();
    auto info = read_info();
    auto records = read_records();
    if (const auto fault = find_fault(records, info)) refuse(path_, "op-log.damaged", *fault);
    return std::make_shared<const Recording>(std::move(records), std::move(info));
  }

 private:
  void read_header() {
    if (bytes_.size() < sizeof kMagic || std::memcmp(bytes_.data(), kMagic, sizeof kMagic) != 0)
      refuse(path_, "op-log.foreign", "this is not an op log of KernBench");
    need(sizeof header_);
    std::memcpy(&header_, bytes_.data(), sizeof header_);
    if (header_.version != kVersion || header_.record_bytes != sizeof(OpRecord))
      refuse(
          path_, "op-log.version",
          fmt::format("an op log of version {}; this program reads version {}", header_.version, kVersion));
    if (header_.zero != 0 || header_.partitions > UINT16_MAX) refuse_damaged();
  }

  void read_sizes() {
    need(sizeof header_ + std::size_t{header_.partitions} * 8);
    sizes_.resize(header_.partitions);
    std::memcpy(sizes_.data(), bytes_.data() + sizeof header_, sizes_.size() * 8);
    info_at_ = sizeof header_ + sizes_.size() * 8;
    if (header_.info_bytes > bytes_.size()) refuse_truncated();
    records_at_ = (info_at_ + header_.info_bytes + kAlign - 1) / kAlign * kAlign;
    std::size_t end = records_at_;
    need(end);
    for (const auto size : sizes_) {
      if (size > std::numeric_limits<std::int32_t>::max()) refuse_damaged();
      need(end += size * sizeof(OpRecord));
    }
    if (end != bytes_.size()) refuse_damaged();
  }

  void check_checksum() const {
    Hash hash;
    add_words(hash, bytes_.subspan(kChecked));
    if (hash.value() != header_.checksum) refuse_damaged();
  }

  RunInfo read_info() const {
    try {
      return info_from_bytes(bytes_.subspan(info_at_, header_.info_bytes));
    } catch (const BadBytes&) {
      refuse_damaged();
    }
  }

  Records read_records() const {
    Records records;
    const auto* next = reinterpret_cast<const OpRecord*>(bytes_.data() + records_at_);
    for (const auto size : sizes_) {
      records.push_back(PartitionRecords::contiguous(next, static_cast<std::uint32_t>(size), file_));
      next += size;
    }
    return records;
  }

  void need(std::size_t size) const {
    if (bytes_.size() < size) refuse_truncated();
  }
  [[noreturn]] void refuse_truncated() const { refuse(path_, "op-log.truncated", "the file ends too early"); }
  [[noreturn]] void refuse_damaged() const {
    refuse(path_, "op-log.damaged", "the content is not what was written: its checksum or sizes do not fit");
  }

  const std::string path_;
  const std::shared_ptr<const MappedFile> file_;
  const std::span<const std::byte> bytes_;
  Header header_{};
  std::vector<std::uint64_t> sizes_;  // records per partition
  std::size_t info_at_ = 0, records_at_ = 0;
};

}  // namespace

void write_log(const Recording& run, const std::string& path) {
  NewFile file(path);
  Hash hash;
  const auto head = head_of(run);
  file.write(head);
  add_words(hash, std::as_bytes(std::span(head)).subspan(kChecked));
  for (const auto& partition : run.records)
    for (std::uint32_t first = 0; first < partition.size(); first += kChunkRecords) {
      const auto n = std::min(kChunkRecords, partition.size() - first);
      const std::span chunk(&partition[first], n);
      file.write(as_text(chunk.data(), chunk.size_bytes()));
      add_words(hash, std::as_bytes(chunk));
    }
  const auto checksum = hash.value();
  file.rewrite(offsetof(Header, checksum), as_text(&checksum, sizeof checksum));
  file.commit();
}

std::shared_ptr<const Recording> read_log(const std::string& path) { return LogReader(path).read(); }

}  // namespace kernbench::trace
