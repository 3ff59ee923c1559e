// What the host knows of a tensor without asking the machine: what it wrote, where no command may have written since.
// It serves host reads with data off, and `load_scalar`. Of a fill it keeps the element alone.
//
// Calls come in the order of the stream, so what was launched before a call comes before it in the machine as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/requests.hpp"
#include "runtime/written_bytes.hpp"

namespace kernbench::runtime {

/// It does not keep the bytes that the host passes to larger tensors.
inline constexpr std::int64_t kImageBytes = 1 << 20;

/// The launches on a SIP, in the order of submission.
using Launches = std::vector<std::shared_ptr<LaunchRequest>>;

class HostImage {
 public:
  HostImage(const Storage& storage, const Launches& launches);

  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  /// The host writes the bytes of all chunks.
  void write(std::span<const Chunk> chunks, const Bytes& buffer);
  /// The host writes this element everywhere in the chunks.
  void fill(std::span<const Chunk> chunks, std::span<const std::byte> element);
  /// The host writes bytes that are not kept.
  void lose(std::span<const Chunk> chunks);
  bool has_lost() const { return lost_; }
  /// Copies what the host knows of the chunks; false if it does not know all of it.
  bool read(std::span<const Chunk> chunks, std::span<std::byte> buffer);
  /// The same for some bytes of the storage.
  bool read(std::int64_t offset, std::span<std::byte> out);

  /// Takes note of what was launched since it was asked last.
  void catch_up();
  /// The last launch that may have written to the tensor; null if none has.
  std::shared_ptr<LaunchRequest> last_writer();

 private:
  /// A stretch of known bytes: of a buffer, or an element again and again.
  struct Known {
    std::int64_t end;
    Bytes buffer;         // null: the element
    std::int64_t at = 0;  // of its first byte in the buffer
    std::array<std::byte, 8> element{};
    std::size_t itemsize = 0;
  };

  template <class Make>
  void learn(std::span<const Chunk> chunks, const Make& make);
  void forget(std::int64_t begin, std::int64_t end);
  void written(const WrittenBytes::Range& range);
  static void copy(std::int64_t begin, const Known& known, std::int64_t from, std::span<std::byte> out);

  const std::uint64_t base_;
  const std::int64_t size_;
  const Launches& launches_;
  std::size_t launches_seen_;
  std::map<std::int64_t, Known> known_;  // by where they begin, apart from each other
  bool lost_ = false;
  std::shared_ptr<LaunchRequest> last_writer_;
};

}  // namespace kernbench::runtime
