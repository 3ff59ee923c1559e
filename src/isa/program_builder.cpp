#include "isa/program_builder.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace kernbench::isa {
namespace {

std::uint64_t hash_of(std::span<const std::int64_t> words) {
  std::uint64_t hash = words.size();
  for (const auto word : words) hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E37'79B9'7F4A'7C15u;
  return hash ^ (hash >> 32);
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::string kernel, PeCoord pe) {
  program_.kernel_ = std::move(kernel);
  program_.pe_ = pe;
}

Program ProgramBuilder::take(std::int64_t peak_granules) {
  program_.peak_granules_ = peak_granules;
  program_.commands_.trim();
  program_.values_.trim();
  program_.places_.trim();
  program_.scalars_.trim();
  return std::move(program_);
}

std::uint32_t ProgramBuilder::shape(std::span<const std::int64_t> extents) {
  const auto same = [&](const Shape& s) {
    return static_cast<std::size_t>(s.rank()) == extents.size() &&
           std::equal(s.begin(), s.end(), extents.begin());
  };
  return shape_ids_.find_or_add(
      program_.shapes_, [&] { return hash_of(extents); }, same, [&] { return Shape(extents); });
}

std::uint32_t ProgramBuilder::strides(const Strides& strides) {
  return strides_ids_.find_or_add(
      program_.strides_, [&] { return hash_of(strides); }, [&](const Strides& s) { return s == strides; },
      [&] { return strides; });
}

std::uint32_t ProgramBuilder::mask(std::span<const LaneRange> runs) {
  std::uint64_t hash = runs.size();
  std::int64_t lanes = 0;
  for (const auto run : runs) {
    hash = mix(mix(hash, static_cast<std::uint64_t>(run.begin)), static_cast<std::uint64_t>(run.end));
    lanes += run.end - run.begin;
  }
  const auto same = [&](const Program::Mask& m) {
    return std::ranges::equal(std::span(program_.runs_).subspan(m.first_run, m.run_count), runs);
  };
  const auto make = [&] {
    const auto first = static_cast<std::uint32_t>(program_.runs_.size());
    program_.runs_.insert(program_.runs_.end(), runs.begin(), runs.end());
    return Program::Mask{first, static_cast<std::uint32_t>(runs.size()), lanes};
  };
  return mask_ids_.find_or_add(
      program_.masks_, [&] { return hash; }, same, make);
}

std::uint32_t ProgramBuilder::direction(std::string_view name) {
  auto& names = program_.directions_;
  const auto found = std::ranges::find(names, name);
  const auto id = static_cast<std::uint32_t>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  return id;
}

std::uint32_t ProgramBuilder::file(const char* name) {
  auto& files = program_.files_;
  const auto found = std::ranges::find(files, std::string_view(name));
  const auto id = static_cast<std::uint32_t>(found - files.begin());
  if (found == files.end()) files.emplace_back(name);
  return id;
}

std::uint32_t ProgramBuilder::line(const char* file, std::uint32_t line) {
  auto& seen = seen_lines_[(line ^ (reinterpret_cast<std::uintptr_t>(file) >> 4)) % seen_lines_.size()];
  if (seen.file == file && seen.line == line) return seen.id;
  const Program::Line wanted{this->file(file), line};
  const auto same = [&](Program::Line l) { return l.file == wanted.file && l.line == wanted.line; };
  const auto id = line_ids_.find_or_add(
      program_.lines_, [&] { return mix(wanted.file, line); }, same, [&] { return wanted; });
  seen = {file, line, id};
  return id;
}

std::uint32_t ProgramBuilder::composite(const CompositeSpec& spec, std::span<const EpilogueStep> steps) {
  auto& all = program_.steps_;
  program_.composites_.push_back(spec);
  program_.composites_.back().first_step = static_cast<std::uint32_t>(all.size());
  program_.composites_.back().step_count = static_cast<std::uint32_t>(steps.size());
  all.insert(all.end(), steps.begin(), steps.end());
  return static_cast<std::uint32_t>(program_.composites_.size() - 1);
}

ValueId ProgramBuilder::add(const Value& value) {
  program_.values_.push_back(value);
  return static_cast<ValueId>(program_.values_.size() - 1);
}

std::uint32_t ProgramBuilder::add_place(Program::Place place) {
  program_.places_.push_back(place);
  return static_cast<std::uint32_t>(program_.places_.size() - 1);
}

ValueId ProgramBuilder::tile(DType dtype, std::uint32_t shape, std::uint32_t granules) {
  const auto producer = next_command();
  return add({.shape = shape,
              .producer = producer,
              .last_reader = producer,
              .granules = granules,
              .dtype = dtype,
              .kind = ValueKind::tile});
}

ValueId ProgramBuilder::placed(DType dtype, std::uint32_t shape, std::uint64_t address) {
  const auto id = tile(dtype, shape, 0);
  program_.values_[id].kind = ValueKind::placed;
  program_.values_[id].place = add_place({kNone, kNone, static_cast<std::int64_t>(address)});
  return id;
}

ValueId ProgramBuilder::view(ValueId base, std::uint32_t shape, const Strides& strides, std::int64_t offset) {
  const auto& of = program_.values_[base];
  return add({.shape = shape,
              .place = add_place({base, this->strides(strides), offset}),
              .producer = of.producer,
              .dtype = of.dtype,
              .kind = ValueKind::view});
}

ValueId ProgramBuilder::reference(DType dtype, std::uint32_t shape, std::uint64_t address,
                                  const Strides& strides) {
  return add({.shape = shape,
              .place = add_place({kNone, this->strides(strides), static_cast<std::int64_t>(address)}),
              .dtype = dtype,
              .kind = ValueKind::reference});
}

ValueId ProgramBuilder::scalar(DType dtype, double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  auto& seen = seen_scalars_[mix(bits, static_cast<std::uint64_t>(dtype)) % seen_scalars_.size()];
  if (seen.id != kNone && seen.bits == bits && seen.dtype == dtype) return seen.id;
  const auto place = static_cast<std::uint32_t>(program_.scalars_.size());
  program_.scalars_.push_back(number);
  const auto id = add({.shape = shape({}), .place = place, .dtype = dtype, .kind = ValueKind::scalar});
  seen = {bits, dtype, id};
  return id;
}

void ProgramBuilder::note_readers(std::span<const ValueId> reads, CommandIndex reader) {
  for (const auto id : reads) {
    auto& tile = program_.values_[program_.base(id)];
    if (tile.producer == kNone || (tile.readers > 0 && tile.last_reader == reader)) continue;
    tile.last_reader = reader;
    ++tile.readers;
  }
}

CommandIndex ProgramBuilder::append(Command c, std::span<const ValueId> reads) {
  const auto index = next_command();
  c.read_count = static_cast<std::uint8_t>(reads.size());
  if (reads.size() <= c.read.size()) {
    std::ranges::copy(reads, c.read.begin());
  } else {
    c.read[0] = static_cast<std::uint32_t>(program_.more_reads_.size());
    program_.more_reads_.insert(program_.more_reads_.end(), reads.begin(), reads.end());
  }
  note_readers(reads, index);
  program_.commands_.push_back(c);
  return index;
}

}  // namespace kernbench::isa
