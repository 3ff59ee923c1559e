// The DRAM behind a controller (kind `hbm`), as a model: requests in, completions out.
//
// The controller in front of it (one for each PE's slice) turns reads and writes into requests for consecutive bursts,
// and sends the data of a read, and the acknowledgement of a write, as bursts complete. A model sees neither packets
// nor messages.
//
//   class Fair : public models::MemoryModel {
//    public:
//     Fair(const ParamSet& params, const models::MemoryPlace& place) : place_(place), …
//     void request(const models::MemoryRequest& r) override { queue_.push_back(r); … place_.partition.schedule(next_, …); }
//    private:
//     void next() { … place_.answers.through(r.tag, burst, {&when, 1}); … }
//   };
//   registry.components.add_impl("hbm", {"acme.fair_hbm", "…", {…}, models::memory<Fair>()});
//
// Contract. `request` is called at the instant `at` (`at == partition.now()`), in order; at one instant writes come
// before reads, reads by issuer. Every burst of every request is answered exactly once, now or at any later event, in any order; the time
// of an answer is not before the present and is final. A model may schedule events of its partition, nothing periodic: when
// nothing is asked of it, it schedules nothing. It calls `through` only from within `request` or one of its own events.
// Who else comes: nothing is known of later instants. Within `request`, more requests may come at the same instant; a model that
// chooses among all of an instant asks for it, `place.partition.choose(event, UINT64_MAX)`, and is called when everybody has come.
// A `PromptMemory`, whose answers nobody who comes later changes, is asked late instead, many requests at a time.
// kernbench/testing/model_contracts.hpp checks this for any model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "kernbench/param.hpp"
#include "kernbench/sim.hpp"
#include "kernbench/units.hpp"

namespace kernbench::models {

enum class Direction : std::uint8_t { read, write };

/// Bursts first … first + count − 1 of the slice, burst b being bytes b · burst_bytes …, all asked for at once.
struct MemoryRequest {
  std::int64_t first = 0;
  std::int64_t count = 1;
  Direction direction = Direction::read;
  Time at;
  std::uint32_t issuer = 0;  // who asks: equal numbers are the same component
  std::uint64_t tag = 0;     // comes back with the answer
};

/// Whom a memory tells.
class MemoryAnswers {
 public:
  virtual ~MemoryAnswers() = default;
  /// Bursts first, first + 1 … of the request with this tag, counted from 0, are through at these times: read, or written.
  virtual void through(std::uint64_t tag, std::int64_t first, std::span<const Time> at) = 0;
};

/// Where a model stands.
struct MemoryPlace {
  sim::Partition& partition;
  MemoryAnswers& answers;
};

/// What a memory has done so far with the time in which something waited for it, all pseudo-channels together. The times are
/// apart from each other: a channel either moves data or waits, and then for one thing.
struct MemoryActivity {
  std::int64_t channels = 1;           // that were used
  std::int64_t reads = 0, writes = 0;  // bursts
  std::int64_t hits = 0, closed = 0,
               conflicts = 0;  // of them: their row was open, no row was, another one was
  Time data;                   // the bus carried bytes
  Time rows;                   // rows were opened and closed
  Time groups;                 // commands of one bank group had to keep their distance
  Time turns;                  // the bus was turned between reads and writes
  Time refresh;
  Time waited_for() const { return data + rows + groups + turns + refresh; }
  MemoryActivity& operator+=(const MemoryActivity& other) {
    channels += other.channels;
    reads += other.reads, writes += other.writes;
    hits += other.hits, closed += other.closed, conflicts += other.conflicts;
    data += other.data, rows += other.rows, groups += other.groups;
    turns += other.turns, refresh += other.refresh;
    return *this;
  }
};

class PromptMemory;

class MemoryModel {
 public:
  virtual ~MemoryModel() = default;
  virtual void request(const MemoryRequest& request) = 0;
  /// The model itself, if nobody who comes later changes when a burst is through; null otherwise.
  virtual PromptMemory* prompt() { return nullptr; }
  /// Whether it is as new once all it was asked for is through: neither what came before nor the time of day makes a
  /// difference. Then what a machine has done once need not be simulated again (docs/adr/0043-repeats-are-taken-over.md). No row
  /// buffers, no refresh.
  virtual bool forgets() const { return false; }
  /// For `explain` and `run --json` (`dram`); none: it does not count.
  virtual std::optional<MemoryActivity> activity() const { return std::nullopt; }
};

/// A memory that knows when a burst is through as soon as it is asked for, whoever comes later. It may be asked late, in
/// the order of arrival: so it costs no events.
///
/// One that can be copied takes turns: a pseudo-channel takes the bursts of different issuers, and of one issuer's reads and
/// writes, in turn, each issuer's in order. A burst is then asked for when its channel takes it: not before `free_at`. Who is
/// alone is served ahead of time; when somebody comes between, what was not yet taken is asked for again, from a copy.
class PromptMemory : public MemoryModel {
 public:
  explicit PromptMemory(const MemoryPlace& place) : answers_(place.answers) {}
  PromptMemory* prompt() final { return this; }
  void request(const MemoryRequest& request) final;

  /// When the burst, asked for at `at`, is through. Called in the order of `at`.
  virtual Time serve(std::int64_t burst, Direction direction, Time at) = 0;
  // The same for many at once; a model that knows a shorter way says so.
  /// Consecutive bursts from `first` on, all asked for at once: when each is through.
  virtual void serve_all(std::int64_t first, Direction direction, Time at, std::span<Time> through);
  /// Consecutive bursts, asked for one by one, `period` apart: when all are through.
  virtual Time serve_series(std::int64_t first, std::int64_t count, Direction direction, Time at,
                            Time period);

  // Turns.
  /// The same memory in the same state; null: it takes every burst as it comes, whoever asks.
  virtual std::unique_ptr<PromptMemory> copy() const { return nullptr; }
  /// Goes into the state of `other`, which is a copy of this one.
  virtual void become(const PromptMemory& /*other*/) {}
  virtual std::size_t channels() const { return 1; }
  virtual std::size_t channel_of(std::int64_t /*burst*/) const { return 0; }
  /// When the channel can take its next burst.
  virtual Time free_at(std::size_t /*channel*/) const { return {}; }
  /// When the last burst so far was taken.
  virtual Time taken_by() const { return {}; }

 protected:
  /// When a burst that is asked for at `at` is taken.
  Time taken_at(std::int64_t burst, Time at) const { return std::max(at, free_at(channel_of(burst))); }

 private:
  MemoryAnswers& answers_;
};

/// What a memory adds to an access in an idle machine: before its first byte leaves (read), after its last one came (write).
struct MemoryFormula {
  Time read, write;
  bool bursts_alike =
      false;  // every burst takes its time on its pseudo-channel and no more: then it is exact
};

/// No access is shorter, and no more bytes go through in a time.
struct MemoryBound {
  Time access;
  Bandwidth rate;
};

/// An impl of kind `hbm`: how its model is made, and what is known of it without running it.
struct MemoryBehaviour {
  std::function<std::unique_ptr<MemoryModel>(const ParamSet&, const MemoryPlace&)> make;
  /// For `kernbench probe`; none: it measures, and says that there is no formula.
  std::function<MemoryFormula(const ParamSet&)> formula;
  /// For the lower bound of a launch; none: the memory has no part in it, and results say so.
  std::function<MemoryBound(const ParamSet&)> at_least;
  /// With `pe_dma.strided: auto`: whether each row of a transfer is charged at its own address.
  bool gathers = true;
};

/// For models that are made from their parameters and their place.
template <class Model>
MemoryBehaviour memory() {
  return {.make = [](const ParamSet& params, const MemoryPlace& place) {
    return std::make_unique<Model>(params, place);
  }};
}

/// A burst's time on its pseudo-channel: burst_bytes / (hbm_to_router_bw_gbs / num_pcs).
Time burst_time(const ParamSet& hbm);

}  // namespace kernbench::models
