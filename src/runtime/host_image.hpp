// What the host knows of a small tensor without asking the machine: the bytes it wrote, where no command may have
// written since. It serves host reads with data off, and `load_scalar`.
//
// Calls come in the order of the stream, so what was launched before a call comes before it in the machine as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/requests.hpp"

namespace kernbench::runtime {

/// Tensors up to this size have one.
inline constexpr std::int64_t kImageBytes = 1 << 20;

/// The launches on a SIP, in the order of submission.
using Launches = std::vector<std::shared_ptr<LaunchRequest>>;

class HostImage {
 public:
  HostImage(const Storage& storage, const Launches& launches);

  /// The host writes `buffer`, the bytes of all chunks.
  void write(std::span<const Chunk> chunks, std::span<const std::byte> buffer);
  /// Copies what the host knows of the chunks; false if it does not know all of it.
  bool read(std::span<const Chunk> chunks, std::span<std::byte> buffer);
  /// The same for some bytes of the storage.
  bool read(std::int64_t offset, std::span<std::byte> out);

  /// Takes note of what was launched since it was asked last.
  void catch_up();
  /// The last launch that may have written to the tensor; null if none has.
  std::shared_ptr<LaunchRequest> last_writer();

 private:
  void forget(std::uint64_t address, std::int64_t bytes);

  const std::uint64_t base_;
  const Launches& launches_;
  std::size_t launches_seen_;
  std::vector<std::byte> bytes_;
  std::vector<bool> known_;
  std::shared_ptr<LaunchRequest> last_writer_;
};

/// Calls `fn(address, bytes)` for everything the commands of a program may write to memory.
void for_each_write(const isa::Program& program, const std::function<void(std::uint64_t, std::int64_t)>& fn);

}  // namespace kernbench::runtime
