// Makes programs, command by command. It keeps the tables and who reads what; whether operands fit each other
// is for the caller to have checked.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/interner.hpp"
#include "kernbench/program.hpp"

namespace kernbench::isa {

class ProgramBuilder {
 public:
  /// With a `model`: commands are compared with those of the model. As long as they are the same, only
  /// addresses are kept. At the first difference the builder copies what was the same and keeps everything
  /// itself.
  ProgramBuilder(std::string kernel, PeCoord pe, const Program* model = nullptr);

  /// What was recorded, and nothing else. A builder that follows a model which has more stops following it.
  const Program& program();
  /// Where to look up what was recorded, by its id. While the builder follows a model, the model's later commands
  /// and values are in it, too: its sizes say nothing.
  const Program& tables() const { return program_; }
  /// The peak of the scratch, known without measuring if the whole program is the same as the model.
  std::optional<std::int64_t> known_peak() const;
  /// Trims small tables and sets the peak of the scratch. The builder must not be used afterwards.
  Program take(std::int64_t peak_granules);

  CommandIndex next_command() const { return commands_; }
  ValueId next_value() const { return values_; }

  /// What follows is another kernel instance.
  void begin_instance();

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
  CommandIndex append(const Command& c, std::span<const ValueId> reads) {
    const auto more = reads.size() <= c.read.size() ? kNone : add_reads(reads);
    const auto same = [&](const Command& m) {
      return m.kind == c.kind && m.op == c.op && m.detail8 == c.detail8 && m.line == c.line &&
             m.result == c.result && m.place == c.place && m.strides == c.strides && m.detail == c.detail &&
             m.read_count == reads.size() && has_reads(m, reads, more);
    };
    if (!is_next(&Program::Body::commands, commands_, same)) add(c, reads, more);
    return commands_++;
  }

 private:
  /// Whether entry `i` of the model's table is the one to be added. If not, the builder stops following the
  /// model.
  template <class T, class Same>
  bool is_next(Table<T> Program::Body::*table, std::size_t i, Same same) {
    if (!follows_) return false;
    const Table<T>& all = *model_.*table;
    if (i < all.size() && same(all[i])) [[likely]]
      return true;
    go_own_way();
    return false;
  }
  /// The same for small tables, which the builder keeps itself anyway: what `add(table)` appends, if anything, must
  /// stand in the model's at the same place. Returns what `add` does.
  template <class T, class Add>
  auto add_to(std::vector<T> Program::Body::*table, Add add) {
    const std::size_t known = (*body_.*table).size();
    const auto result = add(*body_.*table);
    if (follows_ && (*body_.*table).size() > known) check_new(table, known);
    return result;
  }
  /// Appends all of them; returns where the first one stands.
  template <class T>
  std::uint32_t add_all(std::vector<T> Program::Body::*table, std::span<const T> items) {
    return add_to(table, [&](std::vector<T>& all) {
      const auto first = static_cast<std::uint32_t>(all.size());
      all.insert(all.end(), items.begin(), items.end());
      return first;
    });
  }
  template <class T>
  void check_new(std::vector<T> Program::Body::*table, std::size_t from) {
    const std::vector<T>&own = *body_.*table, &all = *model_.*table;
    const auto first = static_cast<std::ptrdiff_t>(from);
    if (own.size() > all.size() || !std::equal(own.begin() + first, own.end(), all.begin() + first))
      go_own_way();
  }
  void go_own_way();
  bool is_as_model() const;

  static bool has_reads(const Command& m, std::span<const ValueId> reads, std::uint32_t more) {
    if (more != kNone) return m.read[0] == more;
    for (std::size_t i = 0; i < reads.size(); ++i)
      if (m.read[i] != reads[i]) return false;
    return true;
  }
  void add(Command c, std::span<const ValueId> reads, std::uint32_t more) {
    c.read_count = static_cast<std::uint8_t>(reads.size());
    if (more == kNone)
      std::copy(reads.begin(), reads.end(), c.read.begin());
    else
      c.read[0] = more;
    note_readers(reads, commands_);
    body_->commands.push_back(c);
  }
  ValueId add(const Value& v) {
    const auto same = [&v](const Value& m) {
      return m.shape == v.shape && m.place == v.place && m.producer == v.producer &&
             m.granules == v.granules && m.dtype == v.dtype && m.kind == v.kind;
    };
    if (!is_next(&Program::Body::values, values_, same)) body_->values.push_back(v);
    return values_++;
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
  std::shared_ptr<const Program::Body>
      model_;             // stays when it is no longer followed: somebody may look at it
  bool follows_ = false;  // the model's commands, values, places and scalars are its own
  Program program_;       // has the body, or that of the model
  std::uint32_t commands_ = 0, values_ = 0, places_ = 0, scalars_ = 0;
  Interner shape_ids_, strides_ids_, mask_ids_, line_ids_;
  std::array<SeenScalar, 32> seen_scalars_;  // by hash: kernels use the same few numbers again and again
  std::array<SeenLine, 64> seen_lines_;
};

}  // namespace kernbench::isa
