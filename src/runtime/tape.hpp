// What a machine did from one moment at rest to the next: what it was asked, when it answered, and its records; and how this is
// taken over later in time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "device/op_writer.hpp"
#include "device/rest.hpp"
#include "kernbench/table.hpp"
#include "runtime/question.hpp"

namespace kernbench::runtime {

class Request;

/// What tells one moment at rest from another.
struct RestState {
  std::vector<std::uint32_t> positions;              // see device::Rest
  std::vector<std::shared_ptr<const Storage>> maps;  // that MMUs know of
  friend bool operator==(const RestState& a, const RestState& b);
};

struct Tape {
  /// A request leaves the host, or is back there.
  struct Step {
    Time at;
    std::uint32_t asked = 0;  // which of those
    bool leaves = true;
    device::Cause before;  // of one that leaves
    device::OpRef record;  // of one that is back
  };
  struct Asked {
    const Request* request;
    Question question;
    std::uint32_t first_origin, origins;
    std::uint32_t place = 0;  // of the first, when origins are counted over those of the tape alone
  };
  /// The records of a partition, as they were written; once closed with origins as counted over those of the tape.
  struct alignas(64) Part {
    Table<device::OpRecord> records;
    std::vector<device::Departure> departures;
    std::vector<std::uint32_t> send_rings;  // of the records that are sends
    bool too_long = false;
  };

  explicit Tape(std::size_t partitions) : parts(partitions) {}

  RestState state;               // at its begin
  device::MachineCounts before;  // likewise
  Time began;
  std::vector<Asked> asked;
  std::vector<Step> steps;
  std::vector<Part> parts;  // by partition
  device::MachineCounts more;
  std::uint64_t used = 0;  // when it was last taken over

  void leaves(Request& request, Question question, std::pair<std::uint32_t, std::uint32_t> origins, Time at,
              const device::Cause& before);
  void is_back(const Request& request, Time at, device::OpRef record);
  /// The machine is at rest again. False: something in it refers to what was before, or it is too long.
  bool close(const device::MachineCounts& now, const device::Origins& origins);
  std::size_t bytes() const;

 private:
  bool refers_to_itself(const device::OpRecord& record) const;
  void number_origins();
  std::uint32_t place_of(std::uint32_t origin) const;

  std::vector<const Asked*> by_origin_;
};

/// A tape as it goes on at another time.
class TapeShift {
 public:
  /// From `began` on, in a machine that has counted so much more than when the tape began.
  TapeShift(const Tape& tape, Time began, device::MachineCounts further);

  /// The request in the place of the tape's next one has origins from there on.
  void add_origins(std::uint32_t asked, std::uint32_t first);
  Time time(Time on_tape) const { return on_tape + by_; }
  device::OpRef record(device::OpRef on_tape) const {
    return {on_tape.partition, on_tape.serial + serials_[on_tape.partition]};
  }
  bool is_same(const device::Cause& on_tape, const device::Cause& now) const;
  /// Hands on records and departures up to and with an instant, each once.
  void hand_on(Time until, device::OpSink& sink);
  /// Of each partition so far.
  const std::vector<std::size_t>& handed_on() const { return records_; }
  const std::vector<std::size_t>& departures_handed_on() const { return departures_; }

 private:
  struct OriginShift {
    std::uint32_t now = 0;
    std::uint16_t partition = 0;
  };

  device::OpRecord shifted(const Tape::Part& part, std::size_t partition, const device::OpRecord& record);

  const Tape& tape_;
  const Time by_;
  const std::vector<std::uint32_t> serials_, rings_;       // how much further they are
  std::vector<OriginShift> origins_;                       // as counted over those of the tape
  std::vector<std::size_t> records_, departures_, sends_;  // handed on, by partition
};

/// Passes records on, and keeps them on a tape, and drops those that were handed on already.
class RecordTap final : public device::OpSink {
 public:
  RecordTap(device::OpSink& next, std::size_t partitions) : next_(next), dropped_(partitions) {}
  /// Null: none.
  void keep_on(Tape* tape, std::size_t most) { tape_ = tape, most_ = most; }
  void drop_first(std::size_t partition, std::size_t records, std::size_t departures) {
    dropped_[partition] = {records, departures};
  }
  bool drops() const;

  void append(int partition, const device::OpRecord& record) override;
  void departed(int partition, const device::Departure& departure) override;

 private:
  struct alignas(64) Dropped {
    std::size_t records = 0, departures = 0;  // that are to come and are known
  };
  device::OpSink& next_;
  Tape* tape_ = nullptr;
  std::size_t most_ = 0;  // records of a partition
  std::vector<Dropped> dropped_;
};

}  // namespace kernbench::runtime
