// Which requests of which streams are known to be complete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace kernbench::runtime {

/// What somebody has waited for: the last request of every stream it knows anything of. What many began with alike is
/// kept once, so that the books of thousands of ranks about each other do not grow with the square of their number.
class Seen {
 public:
  struct Last {
    int stream = 0;
    std::uint32_t request = 0;
  };
  /// Shared by those who began with it; requests are those of `last`.
  struct Base {
    std::vector<Last> last;  // by stream
    std::vector<std::uint32_t> requests;
  };
  using BasePtr = std::shared_ptr<const Base>;

  const BasePtr& base() const { return base_; }
  /// Beside the base, by stream.
  const std::vector<Last>& own() const { return own_; }

  /// Returns whether that is news.
  bool note(const Last& what) {
    if (base_ && knows(base_->last, what)) return false;
    const auto at = std::ranges::lower_bound(own_, what.stream, {}, &Last::stream);
    if (at == own_.end() || at->stream != what.stream) return own_.insert(at, what), true;
    if (at->request >= what.request) return false;
    at->request = what.request;
    return true;
  }

  /// From now on this base, which knows all that the one before did. Returns whether it is another one.
  bool begin_with(const BasePtr& base) {
    if (base == base_) return false;
    base_ = base;
    return true;
  }

  /// Whoever comes after it would have to list so much that one base is better.
  bool is_long() const { return own_.size() > 64 && (!base_ || own_.size() > base_->last.size() / 8); }
  /// Makes one base of all of it, for others to begin with.
  void share() {
    if (own_.empty()) return;
    auto all = std::make_shared<Base>();
    if (base_) all->last = base_->last;
    const auto before = static_cast<std::ptrdiff_t>(all->last.size());
    all->last.insert(all->last.end(), own_.begin(), own_.end());
    std::ranges::inplace_merge(all->last, all->last.begin() + before, newer_behind);
    keep_newest(all->last);
    for (const Last& last : all->last) all->requests.push_back(last.request);
    base_ = std::move(all);
    own_.clear();
  }

 private:
  static bool newer_behind(const Last& a, const Last& b) {
    return a.stream != b.stream ? a.stream < b.stream : a.request < b.request;
  }
  static bool knows(const std::vector<Last>& last, const Last& what) {
    const auto at = std::ranges::lower_bound(last, what.stream, {}, &Last::stream);
    return at != last.end() && at->stream == what.stream && at->request >= what.request;
  }
  static void keep_newest(std::vector<Last>& sorted) {
    std::size_t kept = 0;
    for (const Last& last : sorted) {
      if (kept > 0 && sorted[kept - 1].stream == last.stream) --kept;
      sorted[kept++] = last;
    }
    sorted.resize(kept);
  }

  BasePtr base_;
  std::vector<Last> own_;
};

}  // namespace kernbench::runtime
