// What a PE's MMU knows: which virtual bytes are which physical bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/address.hpp"

namespace kernbench::address {

/// Consecutive physical bytes.
struct PhysPiece {
  PhysAddr begin;
  Bytes size;
  friend constexpr bool operator==(PhysPiece, PhysPiece) = default;
};

/// The mapping of one tensor: pieces that follow each other from a virtual base, each anywhere in the
/// machine. Immutable, so that all PEs that see the tensor alike share one object: a tensor over the 128 PEs
/// of a SIP costs 128 pieces and 128 references, not 128 × 128 pieces.
class MapSegment {
 public:
  /// Each piece must be non-empty and stay within one resource. `name` is the tensor's, for messages.
  MapSegment(VirtAddr base, std::vector<PhysPiece> pieces, std::string name);

  VirtAddr begin() const { return base_; }
  VirtAddr end() const { return base_ + size_; }
  const std::string& name() const { return name_; }

  /// The physical address of the byte `offset` after the base.
  PhysAddr address_of(Bytes offset) const;
  /// The physical address of the `size` bytes that begin `offset` after the base, if one piece holds them
  /// all.
  std::optional<PhysAddr> in_one_piece(Bytes offset, Bytes size) const;
  /// Appends the physical pieces of the `size` bytes that begin `offset` after the base, all in the segment.
  void append_pieces(Bytes offset, Bytes size, std::vector<PhysPiece>& out) const;

 private:
  struct Place {
    Bytes offset;  // from the base
    PhysAddr begin;
  };
  std::size_t index_of(Bytes offset) const;
  Bytes end_of(std::size_t index) const;

  VirtAddr base_;
  Bytes size_;
  Bytes uniform_;  // the size of every piece but the last, when they are alike: found by division; else 0
  std::vector<Place> pieces_;
  std::string name_;
};

/// The line of a kernel that issued a command; empty where there is none.
struct SourceLine {
  std::string_view file;
  int line = 0;
};

/// The map of one PE: windows onto segments, sorted by virtual address in one flat array. A look-up tries the
/// window of the last one and then searches by halves; nothing is allocated and no count of references is
/// touched. A map belongs to one PE and so to one thread (even `translate` remembers); segments may be shared
/// by all.
class MmuMap {
 public:
  explicit MmuMap(PeCoord pe) : pe_(pe) {}

  /// Maps a whole segment. An overlap with what is mapped is an assertion: virtual ranges come from one
  /// allocator, and a range is unmapped before it is given back.
  void insert(std::shared_ptr<const MapSegment> segment);
  /// Maps one piece.
  void insert(VirtAddr base, PhysPiece piece, std::string name);
  /// Unmaps whatever is mapped in [begin, begin + size) and says how many bytes that was.
  Bytes erase(VirtAddr begin, Bytes size);

  /// The physical pieces of [begin, begin + size), in order, as they were mapped (neighbours are not joined:
  /// they may lie behind different controllers). Replaces the content of `out`, whose storage is reused.
  /// A byte that is not mapped throws `MmuFault` and leaves `out` empty.
  void translate(VirtAddr begin, Bytes size, std::vector<PhysPiece>& out, SourceLine source = {}) const;
  /// The physical address of one byte.
  PhysAddr translate(VirtAddr at, SourceLine source = {}) const;

  /// The physical address of [begin, begin + size) if it is mapped and lies in one piece.
  std::optional<PhysAddr> find(VirtAddr begin, Bytes size) const;

  PeCoord pe() const { return pe_; }
  std::size_t window_count() const { return windows_.size() - gone_; }

 private:
  struct Window {  // the part of a segment that is mapped
    VirtAddr begin;
    VirtAddr end;
    std::shared_ptr<const MapSegment> segment;
    bool holds(VirtAddr a) const { return begin <= a && a < end; }
  };
  struct Access {
    VirtAddr begin;
    Bytes size;
    SourceLine source;
  };

  std::size_t first_ending_after(VirtAddr a) const;
  void remove(std::size_t first, std::size_t last);
  const Window* window_at(VirtAddr a) const;  // null if nothing is mapped there
  std::string neighbours_of(VirtAddr a) const;
  MmuFault fault(VirtAddr a, const Access& access) const;

  PeCoord pe_;
  std::vector<Window> windows_;
  std::size_t gone_ = 0;  // so many at the front are empty
  mutable std::size_t last_ = 0;
};

}  // namespace kernbench::address
