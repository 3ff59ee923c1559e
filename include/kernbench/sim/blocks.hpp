// Building blocks of components: queues, servers, links, signals, resources.
//
// A block belongs to one partition. Who waits is served in the order of arrival, and goes on as an event of
// the present instant. Processes await the blocks; plain handlers use the functions that return at once.
#pragma once

#include <kernbench/sim/process.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace kernbench::sim {

/// A queue of bounded capacity: `co_await fifo.put(x)` waits for room, `co_await fifo.get()` for an item.
/// With capacity 0 a put waits for a get to take the item: a rendezvous. `T` is default-constructible and
/// movable.
template <class T>
class alignas(64) Fifo {
 public:
  static constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();

  explicit Fifo(Partition& partition, std::uint32_t capacity = kUnbounded)
      : capacity_(capacity), getters_(partition), putters_(partition) {}

  std::uint32_t size() const { return size_; }
  std::uint32_t capacity() const { return capacity_; }

  class [[nodiscard]] Put : public Waiting {
   public:
    Put(Fifo& fifo, T item) : Waiting(fifo.putters_), fifo_(fifo), item_(std::move(item)) {}
    bool await_ready() { return fifo_.try_put(item_); }

   private:
    friend class Fifo;
    Fifo& fifo_;
    T item_;
  };

  class [[nodiscard]] Get : public Waiting {
   public:
    explicit Get(Fifo& fifo) : Waiting(fifo.getters_), fifo_(fifo) {}
    bool await_ready() { return fifo_.try_get(item_); }
    T await_resume() { return std::move(item_); }

   private:
    friend class Fifo;
    Fifo& fifo_;
    T item_{};
  };

  Put put(T item) { return Put(*this, std::move(item)); }
  Get get() { return Get(*this); }

  /// Puts `item` if there is room or somebody waits for it; otherwise leaves it as it is and returns false.
  bool try_put(T& item) {
    if (!getters_.empty()) {
      static_cast<Get&>(getters_.front()).item_ = std::move(item);
      getters_.wake_first();
      return true;
    }
    if (size_ >= capacity_) return false;
    push(std::move(item));
    return true;
  }
  bool try_put(T&& item) { return try_put(item); }

  /// Takes the first item into `item`; false if there is none.
  bool try_get(T& item) {
    if (size_ == 0 && putters_.empty()) return false;
    if (size_ != 0) item = pop();
    if (putters_.empty()) return true;
    T& offered = static_cast<Put&>(putters_.front()).item_;
    if (capacity_ == 0)
      item = std::move(offered);
    else
      push(std::move(offered));
    putters_.wake_first();
    return true;
  }

 private:
  void push(T&& item) {
    if (size_ == slots_) [[unlikely]]
      grow();
    ring_[(head_ + size_++) & (slots_ - 1)] = std::move(item);
  }
  T pop() {
    T item = std::move(ring_[head_]);
    head_ = (head_ + 1) & (slots_ - 1);
    --size_;
    return item;
  }
  [[gnu::noinline]] void grow() {
    auto larger = std::make_unique<T[]>(slots_ == 0 ? 4 : 2 * std::size_t{slots_});
    for (std::uint32_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(head_ + i) & (slots_ - 1)]);
    ring_ = std::move(larger);
    slots_ = slots_ == 0 ? 4 : 2 * slots_;
    head_ = 0;
  }

  std::unique_ptr<T[]> ring_;  // grown when needed
  std::uint32_t slots_ = 0;    // a power of two
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
  const std::uint32_t capacity_;
  WaitList getters_;  // at most one of the two is not empty
  WaitList putters_;
};

/// Serves one after the other, in order of arrival: `co_await server.serve(8_ns)` ends when the own service
/// has ended.
class Server {
 public:
  explicit Server(Partition& partition) : partition_(partition) {}

  Until serve(Time service) { return Until(reserve(service)); }
  /// Books the service and returns its end, for handlers.
  Time reserve(Time service) { return free_at_ = std::max(free_at_, partition_.now()) + service; }
  /// When everything booked so far is served.
  Time free_at() const { return free_at_; }

 private:
  Partition& partition_;
  Time free_at_;
};

/// A wire shared in order of arrival: a message waits for its turn, occupies the link
/// (`bandwidth.time_for(bytes)`), and arrives `latency` after its last bit has left. One event per crossing.
class Link {
 public:
  Link(Partition& partition, Time latency) : wire_(partition), latency_(latency) {}

  Until cross(Time occupancy) { return Until(reserve(occupancy)); }
  /// Books the crossing and returns the time of arrival, for handlers.
  Time reserve(Time occupancy) { return wire_.reserve(occupancy) + latency_; }
  Time free_at() const { return wire_.free_at(); }

 private:
  Server wire_;
  Time latency_;
};

/// A pulse: `notify` lets everybody go on who waits now. It is not remembered; what it is about is state that
/// the waiting process looks at: `while (!ready) co_await changed.wait();`.
class Signal {
 public:
  explicit Signal(Partition& partition) : waiting_(partition) {}

  Waiting wait() { return Waiting(waiting_); }
  void notify() {
    while (!waiting_.empty()) waiting_.wake_first();
  }
  /// Like `notify`, for a signal that at most one process waits for: it runs inside the present event and costs no
  /// event of its own. The caller must expect that everything the process may change has changed when this returns.
  void resume() {
    KB_ASSERT(!waiting_.has_several(), "several processes wait for a signal that resumes only one");
    if (!waiting_.empty()) waiting_.resume_first();
  }

 private:
  WaitList waiting_;
};

/// A number of units (credits, buffers) to acquire and release. A large request is not overtaken by small
/// ones behind it.
class Resource {
 public:
  Resource(Partition& partition, std::int64_t units)
      : partition_(partition), units_(units), free_(units), waiting_(partition) {}

  /// Units held by a scope.
  class [[nodiscard]] Hold {
   public:
    Hold(Resource& resource, std::int64_t n)
        : resource_(&resource), partition_(&resource.partition_), n_(n) {}
    Hold(Hold&& other) noexcept
        : resource_(std::exchange(other.resource_, nullptr)), partition_(other.partition_), n_(other.n_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      // When the simulation destroys the holding process, the resource may be gone.
      if (resource_ != nullptr && !partition_->closing()) resource_->release(n_);
    }

   private:
    Resource* resource_;
    Partition* partition_;
    std::int64_t n_;
  };

  class [[nodiscard]] Acquire : public Waiting {
   public:
    Acquire(Resource& resource, std::int64_t n) : Waiting(resource.waiting_), resource_(resource), n_(n) {}
    bool await_ready() { return resource_.try_acquire(n_); }

   protected:
    friend class Resource;
    Resource& resource_;
    const std::int64_t n_;
  };
  class [[nodiscard]] AcquireHold : public Acquire {
   public:
    using Acquire::Acquire;
    Hold await_resume() const { return Hold(resource_, n_); }
  };

  std::int64_t free() const { return free_; }
  Acquire acquire(std::int64_t n = 1) { return Acquire(*this, checked(n)); }
  /// `const auto hold = co_await resource.hold(2);` releases at the end of the scope.
  AcquireHold hold(std::int64_t n = 1) { return AcquireHold(*this, checked(n)); }

  bool try_acquire(std::int64_t n = 1) {
    if (!waiting_.empty() || free_ < n) return false;
    free_ -= n;
    return true;
  }
  void release(std::int64_t n = 1) {
    free_ += n;
    KB_ASSERT(free_ <= units_, "{} units are free of a resource of {}: more were released than acquired",
              free_, units_);
    while (!waiting_.empty()) {
      const std::int64_t wanted = static_cast<Acquire&>(waiting_.front()).n_;
      if (wanted > free_) return;
      free_ -= wanted;
      waiting_.wake_first();
    }
  }

 private:
  std::int64_t checked(std::int64_t n) const {
    KB_ASSERT(n >= 0 && n <= units_, "{} units were asked of a resource of {}", n, units_);
    return n;
  }

  Partition& partition_;
  const std::int64_t units_;
  std::int64_t free_;
  WaitList waiting_;
};

}  // namespace kernbench::sim
