// The programs of a launch, and what follows from them alone. A launch whose programs are those of an earlier one shares them with
// it, so that nothing of this is kept or worked out twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernbench/program.hpp"
#include "runtime/written_bytes.hpp"

namespace kernbench::runtime {

using Programs = std::vector<std::shared_ptr<const isa::Program>>;

/// The fingerprint of each.
std::vector<std::uint64_t> fingerprints_of(const Programs& programs);

/// Not for several threads at once.
class ProgramSet {
 public:
  ProgramSet() = default;
  explicit ProgramSet(Programs programs) : programs_(std::move(programs)) {}

  const Programs& programs() const { return programs_; }
  /// Each is worked out when it is asked for first.
  const WrittenBytes& writes() const;
  std::uint64_t fingerprint(std::size_t program) const;
  const std::vector<std::uint64_t>& fingerprints() const;
  std::uint64_t commands() const;
  /// They are worked out again if somebody asks.
  void forget_writes() const { writes_.reset(); }

  /// To the last operand.
  friend bool operator==(const ProgramSet& a, const ProgramSet& b);

 private:
  Programs programs_;
  mutable std::optional<WrittenBytes> writes_;
  mutable std::vector<std::uint64_t> fingerprints_;  // 0: not yet
};

using ProgramSetPtr = std::shared_ptr<const ProgramSet>;

/// Knows the sets that are still around.
class ProgramSets {
 public:
  /// A known set with equal programs, else a new one.
  ProgramSetPtr share(Programs programs);

 private:
  /// Those that came last of many that look alike: the layers of a model.
  struct Shelf {
    std::vector<std::weak_ptr<const ProgramSet>> sets;
    std::size_t next = 0;  // to be replaced
  };
  static constexpr std::size_t kMost = 256;

  std::unordered_map<std::uint64_t, Shelf> shelves_;
};

}  // namespace kernbench::runtime
