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
  body_->kernel = std::move(kernel);
  program_.body_ = body_;
  program_.pe_ = pe;
  if (like == nullptr) return;
  body_->commands.reserve(like->body_->commands.size());
  body_->values.reserve(like->body_->values.size());
  body_->places.reserve(like->body_->places.size());
  body_->scalars.reserve(like->body_->scalars.size());
  program_.addresses_.reserve(like->addresses_.size());
}

Program ProgramBuilder::take(std::int64_t peak_granules) {
  body_->peak_granules = peak_granules;
  body_->commands.trim();
  body_->values.trim();
  body_->places.trim();
  body_->scalars.trim();
  program_.addresses_.trim();
  Program made = std::exchange(program_, {});
  body_ = std::make_shared<Program::Body>();  // the other one is the program's
  program_.body_ = body_;
  return made;
}

std::uint32_t ProgramBuilder::shape(std::span<const std::int64_t> extents) {
  const auto same = [&](const Shape& s) {
    bool equal = static_cast<std::size_t>(s.rank()) == extents.size();
    for (std::size_t i = 0; equal && i < extents.size(); ++i) equal = s.begin()[i] == extents[i];
    return equal;
  };
  return shape_ids_.find_or_add(
      body_->shapes, [&] { return hash_of(extents); }, same, [&] { return Shape(extents); });
}

std::uint32_t ProgramBuilder::strides(const Strides& strides) {
  return strides_ids_.find_or_add(
      body_->strides, [&] { return hash_of(strides); }, [&](const Strides& s) { return s == strides; },
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
           std::ranges::equal(std::span(body_->runs).subspan(m.first_run, m.run_count), runs);
  };
  const auto make = [&] {
    const auto first = static_cast<std::uint32_t>(body_->runs.size());
    body_->runs.insert(body_->runs.end(), runs.begin(), runs.end());
    return Program::Mask{first, static_cast<std::uint32_t>(runs.size()), lanes};
  };
  return mask_ids_.find_or_add(
      body_->masks, [&] { return hash; }, same, make);
}

std::uint32_t ProgramBuilder::scattered(std::span<const LaneRange> runs,
                                        std::span<const std::uint64_t> addresses) {
  Program::Mask mask{static_cast<std::uint32_t>(body_->runs.size()), static_cast<std::uint32_t>(runs.size()),
                     0, static_cast<std::uint32_t>(program_.run_addresses_.size())};
  for (const auto run : runs) mask.lanes += run.end - run.begin;
  body_->runs.insert(body_->runs.end(), runs.begin(), runs.end());
  program_.run_addresses_.insert(program_.run_addresses_.end(), addresses.begin(), addresses.end());
  body_->masks.push_back(mask);
  return static_cast<std::uint32_t>(body_->masks.size() - 1);
}

std::uint32_t ProgramBuilder::direction(std::string_view name) {
  auto& names = body_->directions;
  const auto found = std::ranges::find(names, name);
  const auto id = static_cast<std::uint32_t>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  return id;
}

std::uint32_t ProgramBuilder::file(const char* name) {
  auto& files = body_->files;
  const auto found = std::ranges::find(files, std::string_view(name));
  const auto id = static_cast<std::uint32_t>(found - files.begin());
  if (found == files.end()) files.emplace_back(name);
  return id;
}

std::uint32_t ProgramBuilder::new_line(const char* file, std::uint32_t line) {
  const Program::Line wanted{this->file(file), line};
  const auto same = [&](Program::Line l) { return l.file == wanted.file && l.line == wanted.line; };
  return line_ids_.find_or_add(
      body_->lines, [&] { return mix(wanted.file, line); }, same, [&] { return wanted; });
}

std::uint32_t ProgramBuilder::composite(const CompositeSpec& spec, std::span<const EpilogueStep> steps) {
  auto& all = body_->steps;
  body_->composites.push_back(spec);
  body_->composites.back().first_step = static_cast<std::uint32_t>(all.size());
  body_->composites.back().step_count = static_cast<std::uint32_t>(steps.size());
  all.insert(all.end(), steps.begin(), steps.end());
  return static_cast<std::uint32_t>(body_->composites.size() - 1);
}

std::uint32_t ProgramBuilder::add_place(Program::Place place) {
  body_->places.push_back(place);
  return static_cast<std::uint32_t>(body_->places.size() - 1);
}

std::uint32_t ProgramBuilder::add_reads(std::span<const ValueId> reads) {
  const auto first = static_cast<std::uint32_t>(body_->more_reads.size());
  body_->more_reads.insert(body_->more_reads.end(), reads.begin(), reads.end());
  return first;
}

ValueId ProgramBuilder::placed(DType dtype, std::uint32_t shape, std::uint64_t address) {
  const auto id = tile(dtype, shape, 0);
  body_->values[id].kind = ValueKind::placed;
  body_->values[id].place = add_place({kNone, kNone, this->address(address)});
  return id;
}

ValueId ProgramBuilder::view(ValueId base, std::uint32_t shape, const Strides& strides, std::int64_t offset) {
  const auto& of = body_->values[base];
  return add({.shape = shape,
              .place = add_place({base, this->strides(strides), offset}),
              .producer = of.producer,
              .dtype = of.dtype,
              .kind = ValueKind::view});
}

ValueId ProgramBuilder::reference(DType dtype, std::uint32_t shape, std::uint64_t address,
                                  const Strides& strides) {
  return add({.shape = shape,
              .place = add_place({kNone, this->strides(strides), this->address(address)}),
              .dtype = dtype,
              .kind = ValueKind::reference});
}

ValueId ProgramBuilder::scalar(DType dtype, double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  auto& seen = seen_scalars_[mix(bits, static_cast<std::uint64_t>(dtype)) % seen_scalars_.size()];
  if (seen.id != kNone && seen.bits == bits && seen.dtype == dtype) return seen.id;
  const auto place = static_cast<std::uint32_t>(body_->scalars.size());
  body_->scalars.push_back(number);
  const auto id = add({.shape = shape({}), .place = place, .dtype = dtype, .kind = ValueKind::scalar});
  seen = {bits, dtype, id};
  return id;
}

}  // namespace kernbench::isa
