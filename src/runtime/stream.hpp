// Streams, and the requests in them.
//
// A request is put in a stream by a call of the host program, leaves the host when the one before it has completed
// there, and is complete when its answer is back. All of this happens in the host's partition.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/launch.hpp"
#include "kernbench/torch.hpp"
#include "runtime/question.hpp"
#include "runtime/seen.hpp"

namespace kernbench::runtime {

class Request;
class Stream;

/// A thread of control of the host: the host program, or under spawn one for each rank.
struct HostThread {
  int device = 0;           // the current one: the number of its stream
  bool device_set = false;  // by a call; else it is the one it began with
  bool submitted = false;   // anything
  device::Cause waited;     // the request it waited for last
  Seen seen;                // what it has waited for
};

/// Is told when a request completes that it waits for.
class CompletionWatcher {
 public:
  virtual ~CompletionWatcher() = default;
  /// From within the event.
  virtual void on_complete(Request& request) = 0;
};

/// What requests pass on their way to the machine, and when they are back.
class Border {
 public:
  virtual ~Border() = default;
  /// The request may leave, at this instant, because of `before`.
  virtual void leaves(Request& request, const device::Cause& before) = 0;
  /// It is complete.
  virtual void is_back(Request& request) = 0;
  /// It has left and was given up: it will never be complete.
  virtual void is_lost(Request& request) = 0;
};

class Request : public std::enable_shared_from_this<Request> {
 public:
  Request(Phase phase, std::string name) : phase_(phase), name_(std::move(name)) {}
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Phase phase() const { return phase_; }
  virtual const std::string& name() const { return name_; }
  std::uint32_t number() const { return number_; }  // in order of submission, over all streams
  Stream& stream() const { return *stream_; }
  bool done() const { return completed_ != Time::never(); }
  Time completed() const { return completed_; }
  /// The record of its completion.
  device::OpRef record() const { return record_; }
  /// Requests of other streams that the host had waited for when it submitted this one, as far as no earlier request
  /// of the stream knew.
  const std::vector<std::uint32_t>& after() const { return after_; }
  /// More of them, which many requests have in common; null: no more.
  const Seen::BasePtr& after_all() const { return after_all_; }
  /// Not null: it was given up, and will never be done. Waiting for it throws this.
  const std::exception_ptr& failure() const { return failure_; }
  virtual Trace trace() const;

  /// Before it is submitted: it does not leave before `other` is complete, whatever stream that is in.
  void comes_after(std::shared_ptr<Request> other) { needs_.push_back(std::move(other)); }

  /// Whether the clock is to stand still when it completes.
  bool stops_clock = false;
  /// Is told then; null: nobody.
  CompletionWatcher* watcher = nullptr;

 protected:
  friend class Stream;
  friend class Completed;
  friend class Repeats;
  /// Goes out, at this instant, because of `before`.
  virtual void leave(const device::Cause& before) = 0;
  /// It is complete and nobody of the machine looks at it any more: what it needed there may go.
  virtual void let_go() = 0;
  void complete(device::OpRef record);

  // What comes again (repeats.hpp).
  /// What it asks of the machine.
  virtual Question question() const = 0;
  /// Where its records come from: the first, and how many.
  virtual std::pair<std::uint32_t, std::uint32_t> origins() const = 0;
  /// Is complete now, as `like` was: the machine would have done the same.
  virtual void take_over(const Request& /*like*/, device::OpRef record) { complete(record); }

 private:
  const Phase phase_;
  const std::string name_;
  std::uint32_t number_ = 0;
  Stream* stream_ = nullptr;
  Time submitted_, left_, completed_ = Time::never();
  device::Cause host_;  // what the host waited for before it submitted this
  device::OpRef record_;
  std::vector<std::uint32_t> after_;
  Seen::BasePtr after_all_;
  std::exception_ptr failure_;
  std::vector<std::shared_ptr<Request>> needs_;
  std::vector<Stream*> held_up_;  // streams whose first request needs this one
};

/// The requests of a run by number.
using Requests = std::vector<std::shared_ptr<Request>>;

/// Requests that have completed, or were given up, since what they needed was freed.
class Completed {
 public:
  void add(Request& request) { requests_.push_back(&request); }
  /// Frees what they needed. Not from within an event.
  void let_go();

 private:
  std::vector<Request*> requests_;
};

class Stream {
 public:
  Stream(int number, int sip, sim::Partition& host, Requests& requests, Completed& completed, Border& border)
      : number_(number),
        sip_(sip),
        host_(host),
        requests_(requests),
        completed_(completed),
        border_(border) {}

  int number() const { return number_; }
  int sip() const { return sip_; }
  sim::Partition& host() { return host_; }

  /// The number the next request of the run will have.
  std::uint32_t next_number() const { return static_cast<std::uint32_t>(requests_.size()); }
  void submit(std::shared_ptr<Request> request, HostThread& by);
  /// The last one that was submitted; null if there was none.
  Request* last() const { return last_; }
  /// Not complete, oldest first.
  const std::deque<Request*>& open() const { return open_; }
  /// Launches and installations that are not complete never will be: the machine has given up those at work, and the
  /// others go with them. Not from within an event.
  void give_up(const std::exception_ptr& why);

 private:
  friend class Request;
  void note_order(Request& request, HostThread& by);
  void send_first();
  void first_completed();

  const int number_, sip_;
  sim::Partition& host_;
  Requests& requests_;
  Completed& completed_;
  Border& border_;
  std::deque<Request*> open_;
  bool first_left_ = false;
  Request* last_ = nullptr;
  device::Cause last_completion_;
  Seen seen_;  // what its requests come after
};

}  // namespace kernbench::runtime
