// The programs of all ranks at work, in the functional runner.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ccl/functional_memory.hpp"
#include "data/tiles.hpp"
#include "kernbench/functional.hpp"

namespace kernbench::ccl {

/// Each rank executes its program in order until it must wait; ranks take turns until none can go on. A `recv_async` is
/// posted and the rank goes on; a command that needs what a posted receive has not got yet waits for it.
class FunctionalRun {
 public:
  FunctionalRun(const FunctionalWorld& world, const FunctionalOptions& options, FunctionalMemory& memory,
                const std::vector<isa::Program>& programs);

  /// Throws `functional.deadlock` if somebody waits in vain.
  void run();
  /// Messages, bytes, rounds and what nobody received.
  void report(FunctionalResult& result) const;

 private:
  struct Message {
    data::Buffer content;
    Bytes size;
    std::int64_t depth;  // messages in the longest chain that ends with this one
    int sender;
    isa::CommandIndex command;
  };
  struct Ring {  // what a PE receives from one direction
    int receiver = 0, sender = 0;
    std::string direction, sender_direction;
    std::deque<Message> messages;
    std::deque<bool>
        in_use;  // of the slots that were filled and are not free; they become free in this order
    std::uint64_t first_in_use = 0, received = 0;  // counted over all messages
    Bytes sent;
  };
  static constexpr std::size_t kShown = 16;  // in a message
  static constexpr std::size_t kNoRing = SIZE_MAX;
  struct Ends {  // of one direction of a PE
    std::size_t in = kNoRing, out = kNoRing;
  };
  struct InSlot {  // a received tile that holds its slot
    std::size_t ring;
    std::uint64_t number;
    std::uint32_t readers_left;
  };
  struct Rank {
    const isa::Program* program;
    data::LiveTiles tiles;
    isa::CommandIndex next = 0;
    std::vector<isa::CommandIndex> posted;  // receives whose message has not come, in program order
    std::map<std::string, Ends, std::less<>> ends;
    std::vector<std::int64_t> depth;  // of each value: messages in the longest chain it depends on
    std::unordered_map<isa::ValueId, InSlot> in_slot;
    std::size_t any_received = 0;
    std::string last_any;  // the direction that the last `recv_any` took from
    bool at_end() const { return next == program->commands().size(); }
    bool ended() const { return at_end() && posted.empty(); }
  };

  int count() const { return static_cast<int>(ranks_.size()); }
  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  const Rank& rank(int r) const { return ranks_[static_cast<std::size_t>(r)]; }

  void connect(const FunctionalWorld& world);
  bool advance(int r);
  bool take_posted(int r);
  bool execute(int r);
  void perform(int r, const isa::Command& c);
  void answer(int r, const isa::Command& c, const data::Buffer& content);
  bool send(int r, const isa::Command& c);
  data::Buffer content(int r, isa::ValueId sent);
  bool receive(int r, isa::CommandIndex index);
  void deliver(int r, isa::CommandIndex index, Ring& ring);
  bool needs(int r, isa::CommandIndex index, isa::CommandIndex posted) const;
  std::optional<isa::CommandIndex> posted_before(int r, isa::CommandIndex index) const;
  isa::CommandIndex waits_at(int r) const;
  void retire(int r, const isa::Command& c);
  static void free_slot(Ring& ring, std::uint64_t number);

  /// The direction a receive takes from; of `recv_any` by the order given, else in turn.
  std::string_view direction_of(int r, isa::CommandIndex index) const;
  std::string_view next_in_turn(const Rank& me) const;
  FunctionalMemory::Access access(int r, isa::CommandIndex index) const;
  std::string place(int r, isa::CommandIndex command) const;
  std::string rank_text(int r) const;
  const Ring& awaited(int r) const;
  int waits_for(int r) const;
  std::string waiting_text(int r) const;
  std::vector<std::string> waiting_lines(const std::vector<int>& waiting) const;
  std::vector<int> cycle() const;
  static std::string cycle_text(const std::vector<int>& cycle);
  [[noreturn]] void fail_deadlock() const;

  const FunctionalOptions& options_;
  FunctionalMemory& memory_;
  std::vector<Rank> ranks_;
  std::vector<Ring> rings_;
  std::int64_t messages_ = 0, rounds_ = 0;
  Bytes bytes_;
};

}  // namespace kernbench::ccl
