// Makes programs, command by command. It keeps the tables and who reads what; whether operands fit each other
// is for the caller to have checked.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "isa/interner.hpp"
#include "kernbench/program.hpp"

namespace kernbench::isa {

class ProgramBuilder {
 public:
  /// Makes room for as much as is in `like`, if it is given.
  ProgramBuilder(std::string kernel, PeCoord pe, const Program* like = nullptr);

  const Program& program() const { return program_; }
  /// Trims small tables and sets the peak of the scratch. The builder must not be used afterwards.
  Program take(std::int64_t peak_granules);

  CommandIndex next_command() const { return static_cast<CommandIndex>(body_->commands.size()); }

  /// What follows is another kernel instance.
  void begin_instance() {
    if (next_command() > 0) body_->instances.push_back(next_command());
  }

  /// A new entry each time, so that programs that differ in addresses alone are alike in all else.
  std::uint32_t address(std::uint64_t address) {
    program_.addresses_.push_back(address);
    return static_cast<std::uint32_t>(program_.addresses_.size() - 1);
  }
  std::uint32_t shape(std::span<const std::int64_t> extents);
  std::uint32_t strides(const Strides& strides);
  /// Empty runs, too, are a mask: nothing moves.
  std::uint32_t mask(std::span<const LaneRange> runs);
  /// The same, each run at an address of its own.
  std::uint32_t scattered(std::span<const LaneRange> runs, std::span<const std::uint64_t> addresses);
  std::uint32_t direction(std::string_view name);
  std::uint32_t line(const char* file, std::uint32_t line) {
    auto& seen = seen_lines_[(line ^ (reinterpret_cast<std::uintptr_t>(file) >> 4)) % seen_lines_.size()];
    if (seen.file != file || seen.line != line) seen = {file, line, new_line(file, line)};
    return seen.id;
  }
  std::uint32_t composite(const CompositeSpec& spec, std::span<const EpilogueStep> steps);

  /// The result of the next command. `granules` is 0 if it lives elsewhere than in scratch.
  ValueId tile(DType dtype, std::uint32_t shape, std::uint32_t granules) {
    const auto producer = next_command();
    return add({.shape = shape,
                .producer = producer,
                .last_reader = producer,
                .granules = granules,
                .dtype = dtype,
                .kind = ValueKind::tile});
  }
  /// The same, at an address.
  ValueId placed(DType dtype, std::uint32_t shape, std::uint64_t address);
  /// `base` is a tile, not a view.
  ValueId view(ValueId base, std::uint32_t shape, const Strides& strides, std::int64_t offset);
  ValueId reference(DType dtype, std::uint32_t shape, std::uint64_t address, const Strides& strides);
  ValueId scalar(DType dtype, double number);

  /// Appends `c`, which reads `reads`.
  CommandIndex append(Command c, std::span<const ValueId> reads) {
    const auto index = next_command();
    c.read_count = static_cast<std::uint8_t>(reads.size());
    if (reads.size() <= c.read.size())
      for (std::size_t i = 0; i < reads.size(); ++i) c.read[i] = reads[i];
    else
      c.read[0] = add_reads(reads);
    note_readers(reads, index);
    body_->commands.push_back(c);
    return index;
  }

 private:
  ValueId add(const Value& value) {
    body_->values.push_back(value);
    return static_cast<ValueId>(body_->values.size() - 1);
  }
  std::uint32_t add_reads(std::span<const ValueId> reads);
  std::uint32_t new_line(const char* file, std::uint32_t line);
  std::uint32_t add_place(Program::Place place);
  std::uint32_t file(const char* name);
  void note_readers(std::span<const ValueId> reads, CommandIndex reader) {
    for (const auto id : reads) {
      auto& tile = body_->values[program_.base(id)];
      if (tile.producer == kNone || (tile.readers > 0 && tile.last_reader == reader)) continue;
      tile.last_reader = reader;
      ++tile.readers;
    }
  }

  struct SeenScalar {
    std::uint64_t bits = 0;
    DType dtype = DType::f32;
    ValueId id = kNone;
  };
  struct SeenLine {
    const char* file = nullptr;
    std::uint32_t line = 0;
    std::uint32_t id = 0;
  };

  std::shared_ptr<Program::Body> body_ = std::make_shared<Program::Body>();
  Program program_;  // has the body, too
  Interner shape_ids_, strides_ids_, mask_ids_, line_ids_;
  std::array<SeenScalar, 32> seen_scalars_;  // by hash: kernels use the same few numbers again and again
  std::array<SeenLine, 64> seen_lines_;
};

}  // namespace kernbench::isa
