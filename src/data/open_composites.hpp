// Composites whose records have begun and not ended, and whose work is put off until they have.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "data/composite.hpp"

namespace kernbench::data {

/// How far the records of a composite have come.
struct OpenComposite {
  std::uint64_t serial = 0;  // in order of their beginning
  std::uint32_t origin = 0;
  std::uint32_t command = 0;
  std::shared_ptr<Composite> work;
  std::int64_t reads = 0, products = 0, writes = 0;
  bool put_off = false;  // none of it has been done
};

/// Finds the composites that are put off by the bytes they read and write.
class OpenComposites {
 public:
  void add(OpenComposite& composite);
  void remove(OpenComposite& composite);

  /// Those that another access to these bytes disturbs: any access to their result, a write to their
  /// operands.
  std::vector<OpenComposite*> disturbed_by(const Pieces& pieces, bool write) const;
  std::vector<OpenComposite*> all() const;
  /// Whether a composite writes bytes that it reads.
  static bool overlaps_itself(const Composite& composite);

 private:
  struct Span {  // bytes one after the other, sorted
    std::uint64_t begin, end;
  };
  struct Spans {
    std::vector<Span> read, written;
  };
  static void append_spans(const Pieces& pieces, std::vector<Span>& out);
  static bool overlaps(const std::vector<Span>& spans, const Piece& piece);
  template <class Fn>
  static void for_pages(const Spans& spans, Fn fn);

  std::unordered_map<OpenComposite*, Spans> spans_;
  std::unordered_map<std::uint64_t, std::vector<OpenComposite*>> by_page_;
};

}  // namespace kernbench::data
