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

ProgramBuilder::ProgramBuilder(std::string kernel, PeCoord pe, const Program* like) {
  program_.kernel_ = std::move(kernel);
  program_.pe_ = pe;
  if (like == nullptr) return;
  program_.commands_.reserve(like->commands_.size());
  program_.values_.reserve(like->values_.size());
  program_.places_.reserve(like->places_.size());
  program_.scalars_.reserve(like->scalars_.size());
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
    bool equal = static_cast<std::size_t>(s.rank()) == extents.size();
    for (std::size_t i = 0; equal && i < extents.size(); ++i) equal = s.begin()[i] == extents[i];
    return equal;
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
    return m.first_address == kNone &&
           std::ranges::equal(std::span(program_.runs_).subspan(m.first_run, m.run_count), runs);
  };
  const auto make = [&] {
    const auto first = static_cast<std::uint32_t>(program_.runs_.size());
    program_.runs_.insert(program_.runs_.end(), runs.begin(), runs.end());
    return Program::Mask{first, static_cast<std::uint32_t>(runs.size()), lanes};
  };
  return mask_ids_.find_or_add(
      program_.masks_, [&] { return hash; }, same, make);
}

std::uint32_t ProgramBuilder::scattered(std::span<const LaneRange> runs,
                                        std::span<const std::uint64_t> addresses) {
  Program::Mask mask{static_cast<std::uint32_t>(program_.runs_.size()),
                     static_cast<std::uint32_t>(runs.size()), 0,
                     static_cast<std::uint32_t>(program_.run_addresses_.size())};
  for (const auto run : runs) mask.lanes += run.end - run.begin;
  program_.runs_.insert(program_.runs_.end(), runs.begin(), runs.end());
  program_.run_addresses_.insert(program_.run_addresses_.end(), addresses.begin(), addresses.end());
  program_.masks_.push_back(mask);
  return static_cast<std::uint32_t>(program_.masks_.size() - 1);
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

std::uint32_t ProgramBuilder::new_line(const char* file, std::uint32_t line) {
  const Program::Line wanted{this->file(file), line};
  const auto same = [&](Program::Line l) { return l.file == wanted.file && l.line == wanted.line; };
  return line_ids_.find_or_add(
      program_.lines_, [&] { return mix(wanted.file, line); }, same, [&] { return wanted; });
}

std::uint32_t ProgramBuilder::composite(const CompositeSpec& spec, std::span<const EpilogueStep> steps) {
  auto& all = program_.steps_;
  program_.composites_.push_back(spec);
  program_.composites_.back().first_step = static_cast<std::uint32_t>(all.size());
  program_.composites_.back().step_count = static_cast<std::uint32_t>(steps.size());
  all.insert(all.end(), steps.begin(), steps.end());
  return static_cast<std::uint32_t>(program_.composites_.size() - 1);
}

std::uint32_t ProgramBuilder::add_place(Program::Place place) {
  program_.places_.push_back(place);
  return static_cast<std::uint32_t>(program_.places_.size() - 1);
}

std::uint32_t ProgramBuilder::add_reads(std::span<const ValueId> reads) {
  const auto first = static_cast<std::uint32_t>(program_.more_reads_.size());
  program_.more_reads_.insert(program_.more_reads_.end(), reads.begin(), reads.end());
  return first;
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

}  // namespace kernbench::isa
