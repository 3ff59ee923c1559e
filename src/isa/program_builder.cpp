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

std::uint32_t find_or_add(std::vector<std::string>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  const auto place = static_cast<std::uint32_t>(found - names.begin());
  if (found == names.end()) names.emplace_back(name);
  return place;
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

const Program& ProgramBuilder::program() {
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
  commands_ = values_ = places_ = scalars_ = 0;
  body_ = std::make_shared<Program::Body>();  // the other one is the program's
  program_.body_ = body_;
  return made;
}

void ProgramBuilder::begin_instance() {
  if (commands_ == 0) return;
  add_all(&Program::Body::instances, std::span<const CommandIndex>(&commands_, 1));
}

std::uint32_t ProgramBuilder::shape(std::span<const std::int64_t> extents) {
  const auto same = [&](const Shape& s) {
    bool equal = static_cast<std::size_t>(s.rank()) == extents.size();
    for (std::size_t i = 0; equal && i < extents.size(); ++i) equal = s.begin()[i] == extents[i];
    return equal;
  };
  return add_to(&Program::Body::shapes, [&](auto& shapes) {
    return shape_ids_.find_or_add(
        shapes, [&] { return hash_of(extents); }, same, [&] { return Shape(extents); });
  });
}

std::uint32_t ProgramBuilder::strides(const Strides& strides) {
  return add_to(&Program::Body::strides, [&](auto& all) {
    return strides_ids_.find_or_add(
        all, [&] { return hash_of(strides); }, [&](const Strides& s) { return s == strides; },
        [&] { return strides; });
  });
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
    return Program::Mask{add_all(&Program::Body::runs, runs), static_cast<std::uint32_t>(runs.size()), lanes};
  };
  return add_to(&Program::Body::masks, [&](auto& masks) {
    return mask_ids_.find_or_add(
        masks, [&] { return hash; }, same, make);
  });
}

std::uint32_t ProgramBuilder::scattered(std::span<const LaneRange> runs,
                                        std::span<const std::uint64_t> addresses) {
  Program::Mask mask{add_all(&Program::Body::runs, runs), static_cast<std::uint32_t>(runs.size()), 0,
                     static_cast<std::uint32_t>(program_.run_addresses_.size())};
  for (const auto run : runs) mask.lanes += run.end - run.begin;
  program_.run_addresses_.insert(program_.run_addresses_.end(), addresses.begin(), addresses.end());
  return add_all(&Program::Body::masks, std::span<const Program::Mask>(&mask, 1));
}

std::uint32_t ProgramBuilder::direction(std::string_view name) {
  return add_to(&Program::Body::directions, [&](auto& names) { return find_or_add(names, name); });
}

std::uint32_t ProgramBuilder::file(const char* name) {
  return add_to(&Program::Body::files, [&](auto& files) { return find_or_add(files, name); });
}

std::uint32_t ProgramBuilder::new_line(const char* file, std::uint32_t line) {
  const Program::Line wanted{this->file(file), line};
  const auto same = [&](Program::Line l) { return l.file == wanted.file && l.line == wanted.line; };
  return add_to(&Program::Body::lines, [&](auto& lines) {
    return line_ids_.find_or_add(
        lines, [&] { return mix(wanted.file, line); }, same, [&] { return wanted; });
  });
}

std::uint32_t ProgramBuilder::composite(const CompositeSpec& spec, std::span<const EpilogueStep> steps) {
  CompositeSpec own = spec;
  own.first_step = add_all(&Program::Body::steps, steps);
  own.step_count = static_cast<std::uint32_t>(steps.size());
  return add_all(&Program::Body::composites, std::span<const CompositeSpec>(&own, 1));
}

std::uint32_t ProgramBuilder::add_place(Program::Place place) {
  const auto same = [&place](const Program::Place& m) { return m == place; };
  if (!is_next(&Program::Body::places, places_, same)) body_->places.push_back(place);
  return places_++;
}

std::uint32_t ProgramBuilder::add_reads(std::span<const ValueId> reads) {
  return add_all(&Program::Body::more_reads, reads);
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
