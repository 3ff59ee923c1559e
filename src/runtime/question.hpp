// What a request asks of the machine, as far as the machine can tell.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/installed_wiring.hpp"
#include "kernbench/torch.hpp"
#include "runtime/program_set.hpp"
#include "runtime/storage.hpp"

namespace kernbench::runtime {

struct Question {
  /// Rows of a transfer.
  struct Rows {
    address::PhysAddr address;
    std::int64_t row_bytes, rows, stride;
    friend bool operator==(const Rows&, const Rows&) = default;
  };

  Phase phase;
  int stream;
  std::shared_ptr<const Storage> storage = nullptr;  // that is mapped, or unmapped
  std::vector<Rows> rows = {};                       // that are read or written
  ProgramSetPtr programs = nullptr;
  device::WiringPtr wiring = nullptr;
  bool comes_again = true;  // false: two of these are never the same

  /// Whether the machine would do the same, asked this or that in the same state. By content, to the last operand.
  friend bool operator==(const Question& a, const Question& b);
  /// Equal questions have equal ones.
  std::uint64_t digest() const;
};

/// Whether both lie at the same addresses, virtual and physical.
bool in_same_place(const Storage& a, const Storage& b);

}  // namespace kernbench::runtime
