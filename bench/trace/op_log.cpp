// Appending records to the op log through its interface, beside a plain array they are copied to: what the
// memory costs. Unit: a record of 64 bytes. The memory is warm: the price of fresh pages is the system's.
#include "trace/op_log.hpp"

#include <malloc.h>

#include <vector>

#include "workload.hpp"

namespace kernbench::bench {
namespace {

constexpr std::uint32_t kRecords = 1u << 20;

/// Some records to append again and again, made beforehand.
std::vector<device::OpRecord> made_records() {
  std::vector<device::OpRecord> records(1024);
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    records[i].end = Time::from_ps(1000);
    records[i].serial = i + 1, records[i].kind = static_cast<device::OpKind>(i % device::kOpKinds);
  }
  return records;
}

/// Freed memory stays with the process.
void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

Result op_log() {
  keep_memory();
  trace::OpLog log(1);
  device::OpSink& sink = log;
  const auto records = made_records();
  const double seconds = seconds_of([&] {
    for (std::uint32_t i = 0; i < kRecords; ++i) sink.append(0, records[i % 1024]);
  });
  return {kRecords, log.size(), seconds};
}

Result op_log_array() {
  static std::vector<device::OpRecord> array(kRecords);
  const auto records = made_records();
  const double seconds = seconds_of([&] {
    for (std::uint32_t i = 0; i < kRecords; ++i) {
      array[i] = records[i % 1024];
      asm volatile("" : : "r"(array.data()) : "memory");
    }
  });
  return {kRecords, kRecords, seconds};
}

}  // namespace kernbench::bench
