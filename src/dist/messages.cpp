#include "dist/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dist/collective.hpp"
#include "dist/copies.hpp"
#include "kernbench/ccl_steps.hpp"

namespace kernbench::dist {
namespace {

bool sends(const State& state, const HeldMessage& message) { return message.pair.ranks[0] == state.rank(); }

/// Where the message goes to, or comes from, seen from one of this rank's PEs.
std::string direction(State& state, const HeldMessage& message, PeCoord pe) {
  const bool to = sends(state, message);
  const int peer = message.pair.ranks[to ? 1 : 0];
  const PeCoord other = message.pair.ranks_are_pes ? state.engine().pe_of(peer)
                                                   : PeCoord{state.engine().sip_of(peer), pe.cube, pe.pe};
  return (to ? "to " : "from ") + to_string(other);
}

/// What goes through one direction, message after message.
struct Traffic {
  std::string direction;
  bool sends = false;
  std::vector<ccl::Piece> pieces;
};

/// Round by round, in each what is sent first: then a round ends when the one before it has ended everywhere.
void take_turns(tl::Context& tl, const std::vector<Traffic>& all) {
  std::size_t rounds = 0;
  for (const Traffic& one : all) rounds = std::max(rounds, one.pieces.size());
  for (std::size_t k = 0; k < rounds; ++k) {
    for (const Traffic& one : all)
      if (one.sends && k < one.pieces.size()) tl.send(one.direction, ccl::load(tl, one.pieces[k]));
    for (const Traffic& one : all)
      if (!one.sends && k < one.pieces.size())
        ccl::store(tl, one.pieces[k], ccl::recv(tl, one.direction, one.pieces[k]));
  }
}

/// The messages of a rank made ready: their queues, and who works on which.
struct Batch {
  std::vector<device::WiringPtr> wirings;
  std::vector<std::shared_ptr<runtime::Request>> installs;
  std::vector<std::vector<PeCoord>> workers;  // by message, ascending
  std::vector<const runtime::TensorState*> tensors;
};

Batch prepare(State& state, const std::vector<HeldMessage>& messages) {
  Batch batch;
  for (const HeldMessage& message : messages) {
    const Wired& wired =
        state.wirings().ready(message.settings, plan_request(state, message.pair, message.call.tensor()));
    if (std::ranges::find(batch.wirings, wired.wiring) == batch.wirings.end()) {
      batch.wirings.push_back(wired.wiring);
      batch.installs.insert(batch.installs.end(), wired.installs.begin(), wired.installs.end());
    }
    batch.workers.push_back(targets(state, message.call, message.pair, wired.plan.members));
    batch.tensors.push_back(message.call.tensors.front().state().get());
  }
  return batch;
}

std::vector<Traffic> traffic_of(State& state, const std::vector<HeldMessage>& messages, const Batch& batch,
                                tl::Context& tl) {
  const PeCoord pe = tl.environment().pe;
  std::vector<Traffic> all;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!std::ranges::binary_search(batch.workers[i], pe)) continue;
    const std::string where = direction(state, messages[i], pe);
    auto found = std::ranges::find(all, where, &Traffic::direction);
    if (found == all.end()) found = all.insert(all.end(), {where, sends(state, messages[i]), {}});
    const auto more = ccl::pieces(tl, ccl::held(tl, messages[i].call.tensors.front().ptr()));
    found->pieces.insert(found->pieces.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace

Work post(State& state, const Invocation& call, const GroupKey& pair, bool async_op) {
  ccl::Settings settings = check_and_join(state, call, pair).settings;
  const std::string name = settings.name;
  settings.algorithm.clear();  // queues alone: the kernel is ours
  settings.topology = "one_way";
  auto requests = std::make_shared<Work::Requests>();
  requests->submit = [&state, mine = state.rank()] {
    if (state.rank() != mine)
      throw InputError({"dist.rank", "wait",
                        fmt::format("rank {} waits for a message of rank {}", state.rank(), mine),
                        "wait in the rank that has called send or recv"});
    state.release_held(nullptr);
  };
  state.hold({call, pair, std::move(settings), requests});
  const Work work(state.engine().shared_from_this(), std::move(requests), name);
  if (!async_op) work.wait();
  return work;
}

void launch_messages(State& state, const std::vector<HeldMessage>& messages) {
  const Batch batch = prepare(state, messages);
  std::set<PeCoord> pes;
  for (const auto& workers : batch.workers) pes.insert(workers.begin(), workers.end());
  const topology::Machine& machine = state.engine().machine();
  const runtime::LaunchSpec spec{.name = messages.front().settings.name,
                                 .targets = {pes.begin(), pes.end()},
                                 .num_programs = {machine.pes(), machine.cubes(), machine.sips()},
                                 .wiring = device::joined(batch.wirings),
                                 .after = batch.installs};
  const runtime::Handle launched(state.engine().launch(
      spec, batch.tensors, [&](tl::Context& tl) { take_turns(tl, traffic_of(state, messages, batch, tl)); }));
  for (const HeldMessage& message : messages) {
    message.requests->first = message.requests->last = launched;
    message.requests->submit = nullptr;
    const Tensor& tensor = message.call.tensors.front();
    if (sends(state, message) || !tensor.state()->layout().is_replicated()) continue;
    if (auto copy = copy_inside(state, tensor, message.pair))
      message.requests->last = runtime::Handle(std::move(copy));
  }
}

}  // namespace kernbench::dist
