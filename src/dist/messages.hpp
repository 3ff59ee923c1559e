// Messages between two ranks: sends and receives that a rank calls one after the other are held back and become one
// launch, in which they take turns.
#pragma once

#include "dist/choice.hpp"

namespace kernbench::dist {

/// One send or receive that was called and is not launched yet.
struct HeldMessage {
  Invocation call;
  GroupKey pair;  // from, to
  ccl::Settings settings;
  std::shared_ptr<Work::Requests> requests;
};

/// A call of `send` or `recv`: checked, joined, held back; without `async_op` launched and waited for.
Work post(State& state, const Invocation& call, const GroupKey& pair, bool async_op);
/// Launches what the calling rank holds back.
void launch_messages(State& state, const std::vector<HeldMessage>& messages);

}  // namespace kernbench::dist
