// Bursts that wait for the pseudo-channels of a slice: streams in turn, each in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/burst_answers.hpp"
#include "kernbench/memory_model.hpp"
#include "kernbench/units.hpp"

namespace kernbench::device {

/// Whose turn it is: the reads, or the writes, of one issuer.
struct Stream {
  std::uint32_t issuer = 0;
  models::Direction direction = models::Direction::read;
  friend bool operator==(const Stream&, const Stream&) = default;
};

/// An access some of whose bursts wait, or may have to wait again.
/// `latest` of a write is that of what was taken before it was opened.
struct OpenAccess : BurstAnswers {
  Stream stream;
  std::int64_t missing = 0;  // not taken
  bool delivered = false;    // writes: all bytes have come
  bool changed = false;      // since its packets were last looked at
  bool kept = false;         // what was taken may have to be taken back
};

/// A burst of an open access.
struct OpenBurst {
  OpenAccess* of = nullptr;
  std::int64_t number = 0;  // in the slice
  std::size_t index = 0;    // of the access
  Time at;                  // when it came
};

/// Each channel takes one burst of the stream whose turn it is; then that one waits behind the others. Who comes waits
/// behind those who are there.
class Turns {
 public:
  explicit Turns(models::PromptMemory& dram) : dram_(dram), channels_(dram.channels()) {}

  void add(const OpenBurst& burst);
  bool idle() const { return waiting_ == 0; }
  /// Whether all that wait are of one stream.
  bool is_lone() const { return streams_.size() == 1; }
  Stream lone() const { return streams_.front().stream; }
  /// When the next one is taken; `never` if none waits.
  Time next() const;
  /// Takes all that are taken before `until`: each is in `taken`.
  void take(Time until, std::vector<OpenBurst>& taken);
  /// All that wait, channel by channel. Of one stream.
  void give_up(std::vector<OpenBurst>& all);

 private:
  struct Queue {
    std::vector<OpenBurst> bursts;
    std::size_t first = 0;
  };
  struct Channel {
    std::vector<std::unique_ptr<Queue>> queues;  // in turn
  };
  struct Count {
    Stream stream;
    std::int64_t bursts;
  };

  Queue& queue_of(Channel& channel, Stream stream);
  Time taken_at(std::size_t channel) const;
  void take_one(std::size_t channel, Time at, std::vector<OpenBurst>& taken);
  void forget_one(Stream stream);

  models::PromptMemory& dram_;
  std::vector<Channel> channels_;
  std::vector<std::unique_ptr<Queue>> spare_;
  std::vector<Count> streams_;
  std::int64_t waiting_ = 0;
};

}  // namespace kernbench::device
