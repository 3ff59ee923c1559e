// Who has joined which collective of a group.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernbench/error.hpp"

namespace kernbench::dist {

/// Members that do not call the same collectives: one is missing, or calls another one.
class CollectiveMismatch : public SimulationError {
  using SimulationError::SimulationError;
};

/// A call as far as all members must agree on it.
struct JoinedCall {
  std::string text;   // for people: `all_reduce(SUM) of 'x' f16[16, 1024]`
  std::string terms;  // equal if and only if the calls fit together
};

/// The collectives of a group that have begun. The n-th call of each member is its part of the n-th collective.
class Gatherings {
 public:
  /// What a rank does that has not joined: `has ended`.
  using Excuse = std::function<std::string(int rank)>;

  /// `group` names it in messages: `the SIPs`. Members are ranks of the host program.
  Gatherings(std::string group, std::vector<int> ranks);

  /// Returns the number of the collective. Throws CollectiveMismatch if the call does not fit what others have joined,
  /// or `has_ended` says that a member which has not joined never will.
  std::size_t join(int rank, JoinedCall call, const std::function<bool(int rank)>& has_ended,
                   const Excuse& excuse);
  /// Others have joined something that this rank has not.
  bool is_awaited(int rank) const;
  /// Somebody has joined something that not all have.
  bool is_open() const { return !open_.empty(); }
  /// Lists who has joined what of the oldest one that is open. `what`: why it never will be complete.
  [[noreturn]] void fail_open(const std::string& what, const Excuse& excuse) const;
  /// The same of the first one that this rank, which has ended, has not joined. It must be awaited.
  [[noreturn]] void fail_without(int rank, const Excuse& excuse) const;

 private:
  struct Gathering {
    std::vector<std::optional<JoinedCall>> calls;  // by member
    std::size_t joined = 0;                        // of them
    std::string terms;                             // that all of them have
  };

  std::size_t member(int rank) const;
  bool is_without(const Gathering& gathering, const std::function<bool(int)>& has_ended) const;
  std::string list(const Gathering& gathering, const Excuse& excuse) const;
  [[noreturn]] void fail(std::size_t number, const std::string& what, const Excuse& excuse) const;

  std::string group_;
  std::vector<int> ranks_;
  std::unordered_map<int, std::size_t> members_;  // by rank
  std::vector<std::size_t> joined_;               // how many each has joined
  std::deque<Gathering> open_;
  std::size_t complete_ = 0;  // how many all have joined
};

}  // namespace kernbench::dist
