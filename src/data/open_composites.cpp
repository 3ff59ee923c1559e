#include "data/open_composites.hpp"

#include <algorithm>
#include <utility>

#include "data/memory_store.hpp"

namespace kernbench::data {
namespace {

std::uint64_t end_of(const Piece& p) { return p.at.raw() + static_cast<std::uint64_t>(p.bytes); }

}  // namespace

void OpenComposites::append_spans(const Pieces& pieces, std::vector<Span>& out) {
  for (const auto& p : pieces) out.push_back({p.at.raw(), end_of(p)});
  std::ranges::sort(out, {}, &Span::begin);
  std::vector<Span> joined;
  for (const auto& s : out) {
    if (!joined.empty() && s.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, s.end);
    else
      joined.push_back(s);
  }
  out = std::move(joined);
}

bool OpenComposites::overlaps(const std::vector<Span>& spans, const Piece& piece) {
  const auto after = std::ranges::upper_bound(spans, piece.at.raw(), {}, &Span::end);
  return after != spans.end() && after->begin < end_of(piece);
}

template <class Fn>
void OpenComposites::for_pages(const Spans& spans, Fn fn) {
  for (const auto* list : {&spans.read, &spans.written}) {
    auto next = std::uint64_t{0};
    for (const auto& s : *list) {
      const auto last = (s.end - 1) / MemoryStore::kPageBytes;
      for (auto page = std::max(next, s.begin / MemoryStore::kPageBytes); page <= last; ++page) fn(page);
      next = last + 1;
    }
  }
}

void OpenComposites::add(OpenComposite& composite) {
  Spans spans;
  append_spans(composite.work->a_pieces(), spans.read);
  append_spans(composite.work->b_pieces(), spans.read);
  append_spans(composite.work->out_pieces(), spans.written);
  for_pages(spans, [&](std::uint64_t page) { by_page_[page].push_back(&composite); });
  spans_.emplace(&composite, std::move(spans));
}

void OpenComposites::remove(OpenComposite& composite) {
  const auto found = spans_.find(&composite);
  if (found == spans_.end()) return;
  for_pages(found->second, [&](std::uint64_t page) {
    const auto at = by_page_.find(page);
    if (at == by_page_.end()) return;
    std::erase(at->second, &composite);
    if (at->second.empty()) by_page_.erase(at);
  });
  spans_.erase(found);
}

std::vector<OpenComposite*> OpenComposites::disturbed_by(const Pieces& pieces, bool write) const {
  std::vector<OpenComposite*> disturbed;
  if (spans_.empty()) return disturbed;
  const auto check = [&](const Piece& piece, OpenComposite* composite) {
    const auto& spans = spans_.at(composite);
    if (!overlaps(spans.written, piece) && !(write && overlaps(spans.read, piece))) return;
    if (std::ranges::find(disturbed, composite) == disturbed.end()) disturbed.push_back(composite);
  };
  for (const auto& piece : pieces) {
    const auto last = (end_of(piece) - 1) / MemoryStore::kPageBytes;
    for (auto page = piece.at.raw() / MemoryStore::kPageBytes; page <= last; ++page) {
      const auto found = by_page_.find(page);
      if (found == by_page_.end()) continue;
      for (auto* composite : found->second) check(piece, composite);
    }
  }
  return disturbed;
}

std::vector<OpenComposite*> OpenComposites::all() const {
  std::vector<OpenComposite*> list;
  for (const auto& [composite, spans] : spans_) list.push_back(composite);
  std::ranges::sort(list, {}, &OpenComposite::serial);
  return list;
}

bool OpenComposites::overlaps_itself(const Composite& composite) {
  std::vector<Span> read;
  append_spans(composite.a_pieces(), read);
  append_spans(composite.b_pieces(), read);
  return std::ranges::any_of(composite.out_pieces(), [&](const Piece& p) { return overlaps(read, p); });
}

}  // namespace kernbench::data
