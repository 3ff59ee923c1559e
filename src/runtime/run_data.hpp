// The numbers and the hazards of a run: feeds its records to replay and to the hazard detector, as far as the clock
// has come, and tells both what they ask.
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <vector>

#include "data/hazards.hpp"
#include "data/replay.hpp"
#include "runtime/requests.hpp"
#include "trace/op_log.hpp"

namespace kernbench::runtime {

/// What records refer to.
struct RunBooks {
  device::Processors& processors;
  const trace::OpLog& log;
  const Requests& requests;
};

/// Address maps as they were when a request was at work. Asked in the order of records, it follows the run: a request
/// sees what requests before it have mapped. An unmap needs no look, for addresses are given out again only when it
/// is complete, and with it everything that knew the old tensor.
class MapHistory {
 public:
  explicit MapHistory(const Requests& requests) : requests_(requests) {}
  /// The tensor at a virtual address as the request saw it.
  const Storage& at(address::VirtAddr address, std::uint32_t request);

 private:
  void add(const std::shared_ptr<const Storage>& storage);
  const Requests& requests_;
  std::size_t next_ = 0;
  std::map<address::VirtAddr, std::shared_ptr<const Storage>> tensors_;  // by base; they do not overlap
  const Storage* last_ = nullptr;
};

class Facts : public data::RunFacts {
 public:
  explicit Facts(const RunBooks& books) : books_(books), maps_(books.requests) {}

  const device::Origin& origin(std::uint32_t index) override { return books_.processors.origins()[index]; }
  void translate(std::uint32_t origin, address::VirtAddr begin, Bytes size,
                 std::vector<address::PhysPiece>& out) override;
  data::Message message(const device::OpRecord& record) override;
  data::Ring ring(std::uint32_t ring) override;
  /// Without the bytes.
  data::HostTransfer host_transfer(const device::OpRecord& record) override;
  data::RequestOrder request_order(std::uint32_t request) override;

  Request& request_of(const device::OpRecord& record) {
    return *books_.requests[books_.processors.origins()[record.origin].launch];
  }

 protected:
  const RunBooks books_;

 private:
  MapHistory maps_;
};

/// How far the records and departures of a run have been looked at.
class RunCursor {
 public:
  /// Calls `ended(record)` for all from here on that ended by now, in their total order, and `departed(departure)` for
  /// those that left by now, each after the records that ended by then.
  template <class Ended, class Departed>
  void advance(const RunBooks& books, Time now, const Ended& ended, const Departed& departed);

 private:
  std::vector<device::Departure> departures(const RunBooks& books, Time now);
  std::vector<std::uint32_t> next_;
  std::vector<std::size_t> next_departure_;
};

/// Computes what memories hold.
class RunReplay {
 public:
  RunReplay(const RunBooks& books, const TorchOptions& options);
  ~RunReplay();

  /// Does everything that ended by now, and says how many bytes of content writes had kept for it. Buffers of host
  /// reads are filled then. Throws what replay throws, Interrupted among it, and again if asked again.
  std::int64_t advance(Time now);
  const data::MemoryStore& store() const { return store_; }
  data::MemoryStore& store() { return store_; }

 private:
  class ReplayFacts;
  void take(const device::OpRecord& record);
  void check_interrupt() const;
  void settle();
  void host_read(const device::OpRecord& record);
  void unmapped(const Storage& storage);

  const RunBooks books_;
  const std::atomic<bool>* const interrupt_;
  data::MemoryStore store_;
  std::unique_ptr<ReplayFacts> facts_;
  data::ReplayExecutor executor_;
  RunCursor cursor_;
  std::exception_ptr failure_;
};

/// Finds hazards.
class RunHazards {
 public:
  explicit RunHazards(const RunBooks& books);
  /// Those of everything that ended by now; with `at_end` also messages that nobody received.
  const std::vector<data::Hazard>& advance(Time now, bool at_end);
  /// Those it has looked at.
  std::uint64_t records() const { return records_; }

 private:
  void host_map(const Request& request);

  const RunBooks books_;
  Facts facts_;
  data::NamedRanges names_;
  data::HazardDetector detector_;
  RunCursor cursor_;
  std::uint64_t records_ = 0;
  bool ended_ = false;
};

}  // namespace kernbench::runtime
