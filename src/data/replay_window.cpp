#include "data/replay_window.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/threads.hpp"
#include "data/memory_store.hpp"

namespace kernbench::data {

WorkRef ReplayWindow::add(std::uint32_t strand, Work work) {
  if (strand >= strands_.size()) strands_.resize(strand + 1);
  auto& entries = strands_[strand].entries;
  const WorkRef ref{strand, static_cast<std::uint32_t>(entries.size())};
  entries.push_back({std::move(work), size_++, {}});
  sequence_.push_back(ref);
  return ref;
}

void ReplayWindow::order(WorkRef earlier, WorkRef later) {
  if (earlier.strand == later.strand) return;
  auto& after = strands_[later.strand].entries[later.position].after;
  const auto same = std::ranges::find(after, earlier.strand, &WorkRef::strand);
  if (same == after.end())
    after.push_back(earlier);
  else
    same->position = std::max(same->position, earlier.position);
}

void ReplayWindow::touch(WorkRef work, PageUse& page, bool write) {
  if (page.written) order(page.writer, work);
  if (!write) {
    const auto same = std::ranges::find(page.readers, work.strand, &WorkRef::strand);
    if (same == page.readers.end())
      page.readers.push_back(work);
    else
      *same = work;
    return;
  }
  for (const auto reader : page.readers) order(reader, work);
  page.readers.clear();
  page.written = true;
  page.writer = work;
}

void ReplayWindow::touches(WorkRef work, std::span<const Piece> pieces, bool write) {
  if (threads_ == 1) return;  // done in the order it was added
  auto last = ~std::uint64_t{0};
  for (const auto& p : pieces) {
    const auto begin = p.at.raw() / MemoryStore::kPageBytes;
    const auto end = (p.at.raw() + static_cast<std::uint64_t>(p.bytes) - 1) / MemoryStore::kPageBytes;
    for (auto page = begin == last ? begin + 1 : begin; page <= end; ++page) touch(work, pages_[page], write);
    last = end;
  }
}

/// The threads at work on a window. A strand is held by one of them at a time; who finds that the next piece
/// of work has to wait for another strand goes on to the next strand. The earliest work that is not done
/// never has to wait, so somebody always gets on.
class ReplayWindow::Crew {
 public:
  Crew(std::vector<Strand>& strands, int threads)
      : strands_(strands), threads_(threads), states_(std::make_unique<State[]>(strands.size())) {
    for (const auto& s : strands) busy_ += s.entries.empty() ? 0 : 1;
  }

  void run() {
    {
      const auto helper = [this](int i) { work(i); };
      const auto helpers = start_helpers(std::min(threads_, busy_.load()) - 1, helper);
      work(0);
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct State {
    std::atomic<std::uint32_t> done{0};
    std::atomic_flag held = ATOMIC_FLAG_INIT;
  };

  void work(int first) {
    const auto n = strands_.size();
    while (busy_ > 0) {
      bool got_on = false;
      for (std::size_t i = 0; i < n; ++i) got_on |= advance((i + static_cast<std::size_t>(first)) % n);
      if (!got_on) std::this_thread::yield();
    }
  }

  bool is_ready(const Entry& entry) const {
    return std::ranges::all_of(entry.after, [&](WorkRef w) {
      return states_[w.strand].done.load(std::memory_order_acquire) > w.position;
    });
  }

  bool advance(std::size_t strand) {
    auto& state = states_[strand];
    auto& entries = strands_[strand].entries;
    if (state.done.load(std::memory_order_relaxed) == entries.size()) return false;
    if (state.held.test_and_set(std::memory_order_acquire)) return false;
    auto position = state.done.load(std::memory_order_relaxed);
    const auto begin = position;
    while (position < entries.size() && is_ready(entries[position])) {
      perform(entries[position]);
      state.done.store(++position, std::memory_order_release);
    }
    if (position == entries.size() && position != begin) --busy_;
    state.held.clear(std::memory_order_release);
    return position != begin;
  }

  /// After an error only what came before it is still done: so the earliest error is found, whoever is
  /// faster.
  void perform(Entry& entry) {
    if (entry.serial > error_serial_) return;
    try {
      entry.work(std::max(1, threads_ / std::max(1, busy_.load())));
    } catch (...) {
      const std::scoped_lock lock(error_mutex_);
      if (entry.serial < error_serial_) error_ = std::current_exception(), error_serial_ = entry.serial;
    }
  }

  std::vector<Strand>& strands_;
  int threads_;
  std::unique_ptr<State[]> states_;
  std::atomic<int> busy_{0};  // strands with work left
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::atomic<std::uint64_t> error_serial_{UINT64_MAX};
};

void ReplayWindow::run_alone() {
  for (const auto ref : sequence_) strands_[ref.strand].entries[ref.position].work(threads_);
}

void ReplayWindow::clear() {
  for (auto& s : strands_) s.entries.clear();
  sequence_.clear();
  pages_.clear();
  size_ = 0;
  ++generation_;
}

void ReplayWindow::run() {
  if (size_ == 0) return;
  struct Clear {
    ReplayWindow& window;
    ~Clear() { window.clear(); }
  } clear_at_the_end{*this};
  const auto busy = std::ranges::count_if(strands_, [](const Strand& s) { return !s.entries.empty(); });
  if (threads_ == 1 || busy < 2) return run_alone();
  Crew(strands_, threads_).run();
}

}  // namespace kernbench::data
