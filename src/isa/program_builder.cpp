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

ProgramBuilder::ProgramBuilder(std::string kernel, PeCoord pe, const Program* model) {
  body_->kernel = std::move(kernel);
  program_.pe_ = pe;
  if (model != nullptr) {
    model_ = model->body_;
    follows_ = model_->kernel == body_->kernel;
    program_.addresses_.reserve(model->addresses_.size());
  }
  program_.body_ = follows_ ? model_ : body_;
}

/// Stops following the model: copies what was the same. Readers are counted again, for the model's have
/// readers that are still to come here.
void ProgramBuilder::go_own_way() {
  follows_ = false;
  const auto copy = [](const auto& from, std::size_t count, auto& to) {
    to.reserve(from.size());
    for (std::size_t i = 0; i < count; ++i) to.push_back(from[i]);
  };
  copy(model_->commands, commands_, body_->commands);
  copy(model_->values, values_, body_->values);
  copy(model_->places, places_, body_->places);
  copy(model_->scalars, scalars_, body_->scalars);
  program_.body_ = body_;
  for (ValueId id = 0; id < values_; ++id) {
    Value& v = body_->values[id];
    const bool has_readers = v.kind == ValueKind::tile || v.kind == ValueKind::placed;
    v.last_reader = has_readers ? v.producer : kNone;
    v.readers = 0;
  }
  for (CommandIndex i = 0; i < commands_; ++i) note_readers(program_.reads(body_->commands[i]), i);
}

bool ProgramBuilder::is_as_model() const {
  if (!follows_) return false;
  const Program::Body &a = *body_, &b = *model_;
  const auto sizes_of_own = [](const Program::Body& x) {
    return std::array{x.more_reads.size(), x.shapes.size(),     x.strides.size(),    x.masks.size(),
                      x.runs.size(),       x.directions.size(), x.composites.size(), x.steps.size(),
                      x.files.size(),      x.lines.size(),      x.instances.size()};
  };
  return commands_ == b.commands.size() && values_ == b.values.size() && places_ == b.places.size() &&
         scalars_ == b.scalars.size() && sizes_of_own(a) == sizes_of_own(b);
}

const Program& ProgramBuilder::exact_program() {
  if (follows_ && !is_as_model()) go_own_way();
  return program_;
}

std::optional<std::int64_t> ProgramBuilder::known_peak() const {
  return is_as_model() ? std::optional(model_->peak_granules) : std::nullopt;
}

Program ProgramBuilder::take(std::int64_t peak_granules) {
  if (!is_as_model() || peak_granules != model_->peak_granules) {
    if (follows_) go_own_way();
    body_->peak_granules = peak_granules;
    body_->commands.trim();
    body_->values.trim();
    body_->places.trim();
    body_->scalars.trim();
  }
  program_.addresses_.trim();
  Program made = std::exchange(program_, {});
  follows_ = false;
  body_ = std::make_shared<Program::Body>();  // the other one is the program's
  program_.body_ = body_;
  return made;
}

void ProgramBuilder::begin_instance() {
  if (commands_ == 0) return;
  body_->instances.push_back(commands_);
  check_new(&Program::Body::instances, body_->instances.size() - 1);
}

std::uint32_t ProgramBuilder::shape(std::span<const std::int64_t> extents) {
  const auto same = [&](const Shape& s) {
    bool equal = static_cast<std::size_t>(s.rank()) == extents.size();
    for (std::size_t i = 0; equal && i < extents.size(); ++i) equal = s.begin()[i] == extents[i];
    return equal;
  };
  const auto known = body_->shapes.size();
  const auto id = shape_ids_.find_or_add(
      body_->shapes, [&] { return hash_of(extents); }, same, [&] { return Shape(extents); });
  if (id == known) check_new(&Program::Body::shapes, known);
  return id;
}

std::uint32_t ProgramBuilder::strides(const Strides& strides) {
  const auto known = body_->strides.size();
  const auto id = strides_ids_.find_or_add(
      body_->strides, [&] { return hash_of(strides); }, [&](const Strides& s) { return s == strides; },
      [&] { return strides; });
  if (id == known) check_new(&Program::Body::strides, known);
  return id;
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
  const auto known = body_->masks.size(), known_runs = body_->runs.size();
  const auto id = mask_ids_.find_or_add(
      body_->masks, [&] { return hash; }, same, make);
  check_new(&Program::Body::masks, known);
  check_new(&Program::Body::runs, known_runs);
  return id;
}

std::uint32_t ProgramBuilder::scattered(std::span<const LaneRange> runs,
                                        std::span<const std::uint64_t> addresses) {
  Program::Mask mask{static_cast<std::uint32_t>(body_->runs.size()), static_cast<std::uint32_t>(runs.size()),
                     0, static_cast<std::uint32_t>(program_.run_addresses_.size())};
  for (const auto run : runs) mask.lanes += run.end - run.begin;
  body_->runs.insert(body_->runs.end(), runs.begin(), runs.end());
  program_.run_addresses_.insert(program_.run_addresses_.end(), addresses.begin(), addresses.end());
  body_->masks.push_back(mask);
  check_new(&Program::Body::masks, body_->masks.size() - 1);
  check_new(&Program::Body::runs, mask.first_run);
  return static_cast<std::uint32_t>(body_->masks.size() - 1);
}

std::uint32_t ProgramBuilder::direction(std::string_view name) {
  auto& names = body_->directions;
  const auto found = std::ranges::find(names, name);
  const auto id = static_cast<std::uint32_t>(found - names.begin());
  if (found != names.end()) return id;
  names.emplace_back(name);
  check_new(&Program::Body::directions, id);
  return id;
}

std::uint32_t ProgramBuilder::file(const char* name) {
  auto& files = body_->files;
  const auto found = std::ranges::find(files, std::string_view(name));
  const auto id = static_cast<std::uint32_t>(found - files.begin());
  if (found != files.end()) return id;
  files.emplace_back(name);
  check_new(&Program::Body::files, id);
  return id;
}

std::uint32_t ProgramBuilder::new_line(const char* file, std::uint32_t line) {
  const Program::Line wanted{this->file(file), line};
  const auto same = [&](Program::Line l) { return l.file == wanted.file && l.line == wanted.line; };
  const auto known = body_->lines.size();
  const auto id = line_ids_.find_or_add(
      body_->lines, [&] { return mix(wanted.file, line); }, same, [&] { return wanted; });
  check_new(&Program::Body::lines, known);
  return id;
}

std::uint32_t ProgramBuilder::composite(const CompositeSpec& spec, std::span<const EpilogueStep> steps) {
  auto& all = body_->steps;
  body_->composites.push_back(spec);
  body_->composites.back().first_step = static_cast<std::uint32_t>(all.size());
  body_->composites.back().step_count = static_cast<std::uint32_t>(steps.size());
  const auto known = all.size();
  all.insert(all.end(), steps.begin(), steps.end());
  check_new(&Program::Body::steps, known);
  check_new(&Program::Body::composites, body_->composites.size() - 1);
  return static_cast<std::uint32_t>(body_->composites.size() - 1);
}

std::uint32_t ProgramBuilder::add_place(Program::Place place) {
  const auto same = [&place](const Program::Place& m) { return m == place; };
  if (!is_next(&Program::Body::places, places_, same)) body_->places.push_back(place);
  return places_++;
}

std::uint32_t ProgramBuilder::add_reads(std::span<const ValueId> reads) {
  const auto first = static_cast<std::uint32_t>(body_->more_reads.size());
  body_->more_reads.insert(body_->more_reads.end(), reads.begin(), reads.end());
  check_new(&Program::Body::more_reads, first);
  return first;
}

ValueId ProgramBuilder::placed(DType dtype, std::uint32_t shape, std::uint64_t address) {
  return add({.shape = shape,
              .place = add_place({kNone, kNone, this->address(address)}),
              .producer = commands_,
              .last_reader = commands_,
              .dtype = dtype,
              .kind = ValueKind::placed});
}

ValueId ProgramBuilder::view(ValueId base, std::uint32_t shape, const Strides& strides, std::int64_t offset) {
  const Value& of = program_.value(base);
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
  const auto same = [bits](double m) { return std::bit_cast<std::uint64_t>(m) == bits; };
  if (!is_next(&Program::Body::scalars, scalars_, same)) body_->scalars.push_back(number);
  const auto place = scalars_++;
  const auto id = add({.shape = shape({}), .place = place, .dtype = dtype, .kind = ValueKind::scalar});
  seen = {bits, dtype, id};
  return id;
}

}  // namespace kernbench::isa
