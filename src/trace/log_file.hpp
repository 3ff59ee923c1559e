// Saved logs. Little-endian, in this order:
//
//   magic (8 bytes) · version u32 · bytes per record u32 · partitions u32 · 0 u32 · checksum u64 ·
//   bytes of the info u64 · records per partition, u64 each ·
//   the info, padded with zeros to a multiple of 64 from the beginning of the file · records, partition by
//   partition
//
// The checksum (trace/hash.hpp) is over everything behind it, in words of 8 bytes. Another layout of records
// is another version.
#pragma once

#include <string>

#include "trace/recording.hpp"

namespace kernbench::trace {

void write_log(const Recording& run, const std::string& path);
/// InputError: `op-log.foreign`, `op-log.version`, `op-log.truncated`, `op-log.damaged`.
std::shared_ptr<const Recording> read_log(const std::string& path);

}  // namespace kernbench::trace
