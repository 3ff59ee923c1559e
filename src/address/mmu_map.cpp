#include "address/mmu_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kernbench::address {

MapSegment::MapSegment(VirtAddr base, std::vector<PhysPiece> pieces, std::string name)
    : base_(base), name_(std::move(name)) {
  KB_ASSERT(!pieces.empty(), "the mapping of {} has no pieces", name_);
  pieces_.reserve(pieces.size());
  uniform_ = pieces.front().size;
  for (const auto& [begin, size] : pieces) {
    KB_ASSERT(size > 0_B && size <= room_after(begin), "{} maps {} B at {}, which leave its range", name_,
              size.count(), to_string(begin));
    // A piece starts where the equal ones before it end; only the last may then be of another size.
    if (size_.count() != static_cast<std::int64_t>(pieces_.size()) * uniform_.count()) uniform_ = 0_B;
    pieces_.push_back({size_, begin});
    size_ += size;
  }
  KB_ASSERT(end() > base_, "the mapping of {} at {} wraps around", name_, to_string(base_));
}

std::size_t MapSegment::index_of(Bytes offset) const {
  if (uniform_ > 0_B) {
    // A last piece longer than the others has no piece after it.
    return std::min(static_cast<std::size_t>(offset.count() / uniform_.count()), pieces_.size() - 1);
  }
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                      [](Bytes b, const Place& place) { return b < place.offset; });
  return static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

Bytes MapSegment::end_of(std::size_t index) const {
  return index + 1 < pieces_.size() ? pieces_[index + 1].offset : size_;
}

void MapSegment::append_pieces(Bytes offset, Bytes size, std::vector<PhysPiece>& out) const {
  const Bytes end = offset + size;
  for (std::size_t i = index_of(offset); offset < end; ++i) {
    const Bytes piece_end = std::min(end, end_of(i));
    out.push_back({pieces_[i].begin + (offset - pieces_[i].offset), piece_end - offset});
    offset = piece_end;
  }
}

PhysAddr MapSegment::address_of(Bytes offset) const {
  const Place& place = pieces_[index_of(offset)];
  return place.begin + (offset - place.offset);
}

/// The first window that ends after `a`: the one that holds it, or else the nearest above. Tensors are mostly mapped behind all
/// others, and dropped in the order in which they were mapped: the two ends are looked at first.
std::size_t MmuMap::first_ending_after(VirtAddr a) const {
  if (window_count() == 0 || windows_.back().end <= a) return windows_.size();
  if (windows_[gone_].end > a) return gone_;
  const auto it =
      std::partition_point(windows_.begin(), windows_.end(), [a](const Window& w) { return w.end <= a; });
  return static_cast<std::size_t>(it - windows_.begin());
}

std::optional<PhysAddr> MapSegment::in_one_piece(Bytes offset, Bytes size) const {
  if (end_of(index_of(offset)) < offset + size) return std::nullopt;
  return address_of(offset);
}

void MmuMap::insert(std::shared_ptr<const MapSegment> segment) {
  const std::size_t i = first_ending_after(segment->begin());
  KB_ASSERT(i == windows_.size() || segment->end() <= windows_[i].begin,
            "{}: mapping {} at [{}, {}), where {} is mapped at [{}, {})", to_string(pe_), segment->name(),
            to_string(segment->begin()), to_string(segment->end()), windows_[i].segment->name(),
            to_string(windows_[i].begin), to_string(windows_[i].end));
  windows_.insert(windows_.begin() + static_cast<std::ptrdiff_t>(i),
                  Window{segment->begin(), segment->end(), std::move(segment)});
}

void MmuMap::insert(VirtAddr base, PhysPiece piece, std::string name) {
  insert(std::make_shared<const MapSegment>(base, std::vector{piece}, std::move(name)));
}

Bytes MmuMap::erase(VirtAddr begin, Bytes size) {
  const VirtAddr end = begin + size;
  KB_ASSERT(size >= 0_B && end >= begin, "unmapping {} B at {}", size.count(), to_string(begin));
  if (size == 0_B) return 0_B;
  const std::size_t first = first_ending_after(begin);
  std::vector<Window> left_over;  // at most a head and a tail
  Bytes removed;
  std::size_t last = first;
  for (; last < windows_.size() && windows_[last].begin < end; ++last) {
    const Window* w = &windows_[last];
    removed += std::min(w->end, end) - std::max(w->begin, begin);
    if (w->begin < begin) left_over.push_back({w->begin, begin, w->segment});
    if (w->end > end) left_over.push_back({end, w->end, w->segment});
  }
  remove(first, last);
  if (left_over.empty()) return removed;
  const std::size_t at = first_ending_after(begin);
  windows_.insert(windows_.begin() + static_cast<std::ptrdiff_t>(at), left_over.begin(), left_over.end());
  return removed;
}

/// Those before them move, if they are fewer: tensors are mostly dropped in the order in which they were mapped.
void MmuMap::remove(std::size_t first, std::size_t last) {
  if (first == last) return;
  const auto at = [this](std::size_t i) { return windows_.begin() + static_cast<std::ptrdiff_t>(i); };
  if (first - gone_ >= windows_.size() - last) {
    windows_.erase(at(first), at(last));
    return;
  }
  std::move_backward(at(gone_), at(first), at(last));
  const std::size_t gone = gone_ + last - first;
  std::fill(at(gone_), at(gone), Window());
  gone_ = gone;
  if (2 * gone_ < windows_.size()) return;
  windows_.erase(windows_.begin(), at(gone_));
  gone_ = 0;
}

const MmuMap::Window* MmuMap::window_at(VirtAddr a) const {
  if (last_ < windows_.size() && windows_[last_].holds(a)) return &windows_[last_];
  const std::size_t i = first_ending_after(a);
  if (i == windows_.size() || !windows_[i].holds(a)) return nullptr;
  last_ = i;
  return &windows_[i];
}

void MmuMap::translate(VirtAddr begin, Bytes size, std::vector<PhysPiece>& out, SourceLine source) const {
  KB_ASSERT(size >= 0_B, "translating {} B", size.count());
  out.clear();
  for (Bytes done; done < size;) {
    const VirtAddr at = begin + done;
    const Window* w = window_at(at);
    if (w == nullptr) {
      out.clear();
      throw fault(at, {begin, size, source});
    }
    const Bytes part = std::min(size - done, w->end - at);
    w->segment->append_pieces(at - w->segment->begin(), part, out);
    done += part;
  }
}

PhysAddr MmuMap::translate(VirtAddr at, SourceLine source) const {
  const Window* w = window_at(at);
  if (w == nullptr) throw fault(at, {at, 1_B, source});
  return w->segment->address_of(at - w->segment->begin());
}

std::optional<PhysAddr> MmuMap::find(VirtAddr begin, Bytes size) const {
  const Window* w = window_at(begin);
  if (w == nullptr || w->end < begin + size) return std::nullopt;
  return w->segment->in_one_piece(begin - w->segment->begin(), size);
}

std::string MmuMap::neighbours_of(VirtAddr a) const {
  const auto show = [](const Window& w, std::uint64_t gap, const char* where) {
    return fmt::format("{} at [{}, {}) {} B {}", w.segment->name(), to_string(w.begin), to_string(w.end), gap,
                       where);
  };
  if (window_count() == 0) return "nothing is mapped here";
  const std::size_t i = first_ending_after(a);
  std::string text = "nearest mapping: ";
  if (i > gone_) text += show(windows_[i - 1], a.raw() - (windows_[i - 1].end.raw() - 1), "below");
  if (i > gone_ && i < windows_.size()) text += ", ";
  if (i < windows_.size()) text += show(windows_[i], windows_[i].begin.raw() - a.raw(), "above");
  return text;
}

MmuFault MmuMap::fault(VirtAddr a, const Access& access) const {
  const auto& [begin, size, source] = access;
  const std::string line =
      source.file.empty() ? "" : fmt::format(" issued at {}:{}", source.file, source.line);
  return MmuFault(
      {.id = "address.mmu-fault",
       .where = fmt::format("{}.pe_mmu", to_string(pe_)),
       .what = fmt::format("{} is not mapped (access to {} B at {}{}); {}", to_string(a), size.count(),
                           to_string(begin), line, neighbours_of(a)),
       .hint = "a kernel that runs past its tensor needs a mask or other offsets; a tensor is mapped on "
               "its own SIP only, and no longer once it is dropped"},
      pe_, a);
}

}  // namespace kernbench::address
