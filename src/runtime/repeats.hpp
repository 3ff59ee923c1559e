// What comes again in the same state is taken over, not simulated.
//
// The run is cut into stretches at moments at which the machine is at rest. From then on what it does follows from its state and
// from what it is asked. A stretch that begins with a request that was seen before is kept on a tape. If a later one begins in
// the same state with the same request, the machine stands still: as long as the host sends what it sent then, when it sent it
// then, it gets the answers it got then, and the log gets the records, all shifted in time. If the host sends something else,
// the machine is asked everything from the begin of the stretch on, and goes on from there by itself
// (docs/adr/0043-repeats-are-taken-over.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/tape.hpp"

namespace kernbench::runtime {

class Repeats final : public Border {
 public:
  Repeats(device::Processors& processors, Clock& clock, const TorchOptions& options);
  ~Repeats() override;

  /// Where records go.
  void set_sink(device::OpSink& sink);
  /// As that of the clock.
  bool run_until_stopped(const Request* awaited);
  /// Whether the machine stands still while the host is told what it did before.
  bool plays() const { return shift_.has_value(); }
  /// For who wants to look at the machine: it is where the clock is.
  void catch_up();
  /// Catches up, and takes over nothing until `go_on`.
  void stop();
  /// The machine may be another one.
  void go_on();
  /// Launches that were taken over.
  std::uint64_t launches() const { return launches_; }

  void leaves(Request& request, const device::Cause& before) override;
  void is_back(Request& request) override;
  void is_lost(Request& request) override;

 private:
  /// A request that has left since the stretch began.
  struct Sent {
    Request* request;
    device::Cause before;
    Time at;
  };

  bool may_rest() const { return !stopped_for_good_ && out_ == 0 && work_ >= enough_; }
  void begin_stretch();
  void decide(Request& request, const device::Cause& before);
  void send(Request& request, const device::Cause& before);
  void note(Request& request, const device::Cause& before);
  void let_held_go();
  bool simulate_until_stopped(const Request* awaited);

  RestState state() const;
  Tape* find(const Question& question, const device::Cause& before);
  void begin_tape();
  void end_tape();
  void make_room(std::size_t bytes);
  void choose_sink();

  bool play();
  bool follows(Request& request, const device::Cause& before);
  void diverge(std::uint64_t digest);
  void copy_steps();
  void simulate_again();
  void resend();
  void complete();
  void apply_maps();
  void note_map(const Question& question);
  void check_interrupt();

  device::Processors& processors_;
  sim::Simulation& simulation_;
  sim::Partition& host_;
  Clock& clock_;
  const TorchOptions& options_;
  device::Rest rest_;
  const bool on_;
  const std::uint64_t enough_;  // commands of a stretch, at least
  device::OpSink* sink_ = nullptr;
  std::unique_ptr<RecordTap> tap_;

  bool stopped_for_good_ = false;  // until `go_on`
  bool running_ = false;           // the clock
  bool told_ = false;              // a request that stops the clock is back
  std::size_t out_ = 0;            // requests that have left and are not back
  std::uint64_t work_;             // commands since the stretch began
  std::vector<Sent> held_;         // may leave when it is known whether the machine is at rest
  std::map<address::VirtAddr, std::shared_ptr<const Storage>> maps_;

  // The stretch.
  bool undecided_ = false;  // it begins with the next request
  Time began_;
  std::optional<RestState> state_;
  std::unique_ptr<Tape> taping_;
  Tape* playing_ = nullptr;
  std::optional<TapeShift> shift_;
  std::size_t next_ = 0;  // step of the tape
  std::vector<Sent> sent_;
  std::size_t resent_ = 0;
  sim::MemberEvent<&Repeats::resend> resend_;

  std::unordered_set<std::uint64_t>
      seen_;  // digests of requests that were simulated, and of how stretches left their tape
  std::vector<std::unique_ptr<Tape>> tapes_;
  std::uint64_t uses_ = 0;
  std::uint64_t launches_ = 0;
};

}  // namespace kernbench::runtime
