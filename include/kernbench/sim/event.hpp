// Events: the intrusive nodes that the queue links.
#pragma once

#include <kernbench/units.hpp>

namespace kernbench::sim {

/// Something that happens at an instant: a handler, a time, a link. Events are embedded in what they concern
/// (a packet, a timer, a process), so that scheduling allocates nothing. An event is scheduled at most once
/// at a time and must stay alive until it has fired, been cancelled, or the simulation is reset or gone.
class Event {
 public:
  using Handler = void (*)(Event&);

  explicit Event(Handler handler) : handler_(handler) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool scheduled() const { return next_ != nullptr; }
  /// When it fires, or last fired.
  Time time() const { return time_; }
  void fire() { handler_(*this); }
  bool calls(Handler h) const { return handler_ == h; }

 private:
  friend class EventQueue;
  friend class Mailbox;
  friend class WaitList;

  Event* next_ = nullptr;  // null exactly when no queue, mailbox or wait list holds it
  Event* prev_ =
      nullptr;  // in a queue: the one before it, or stale if it is the first; null outside of queues
  Time time_;
  Handler handler_;
};

/// An event that calls a member function of its owner: `MemberEvent<&Timer::expire> expire_{*this};`
template <auto Method>
class MemberEvent;

template <class Owner, void (Owner::*Method)()>
class MemberEvent<Method> : public Event {
 public:
  explicit MemberEvent(Owner& owner) : Event(&call), owner_(owner) {}

 private:
  static void call(Event& e) { (static_cast<MemberEvent&>(e).owner_.*Method)(); }
  Owner& owner_;
};

}  // namespace kernbench::sim
