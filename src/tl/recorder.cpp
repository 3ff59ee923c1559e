#include "tl/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/text.hpp"
#include "isa/scratch.hpp"

namespace kernbench::tl {
namespace {

std::uint32_t next_recording() {
  static std::atomic<std::uint32_t> last = 0;
  return ++last;
}

}  // namespace

Recorder::Recorder(Environment environment)
    : environment_(std::move(environment)),
      recording_(next_recording()),
      scratch_granules_(static_cast<std::uint64_t>(environment_.scratch.count() / isa::kGranuleBytes)),
      builder_(environment_.kernel, environment_.pe, environment_.like) {}

void Recorder::begin() {
  recording_ = next_recording();
  builder_ = isa::ProgramBuilder(environment_.kernel, environment_.pe);
  finished_program_ = {};
  finished_ = false;
  known_.clear();
  last_ways_ = {};
}

const isa::Program& Recorder::finish() {
  if (finished_) return finished_program_;
  finished_program_ = builder_.take(peak_granules());
  finished_ = true;
  return finished_program_;
}

std::int64_t Recorder::peak_granules() {
  const auto limit = static_cast<std::int64_t>(scratch_granules_);
  if (const auto known = builder_.known_peak(); known && *known <= limit) return *known;
  const auto use = isa::measure_scratch(builder_.program(), limit);
  if (use.first_above_limit) fail_scratch(*use.first_above_limit);
  return use.peak_granules;
}

const isa::Program& Recorder::program() { return finished_ ? finished_program_ : builder_.program(); }

isa::Program Recorder::take() {
  finish();
  auto program = std::move(finished_program_);
  begin();
  return program;
}

void Recorder::set_line(const char* file, std::uint32_t line) {
  forced_file_ = file;
  forced_line_ = line;
}

isa::SourceLine Recorder::source_line(At at) const {
  return forced_file_ == nullptr ? isa::SourceLine{at.file_name(), at.line()}
                                 : isa::SourceLine{forced_file_, forced_line_};
}

void Recorder::fail(At at, Complaint complaint) const { fail(source_line(at), std::move(complaint)); }

void Recorder::fail(isa::SourceLine line, Complaint complaint) const {
  throw KernelError({.id = fmt::format("tl.{}", complaint.id),
                     .where = fmt::format("kernel '{}' on {}, {}", environment_.kernel,
                                          to_string(environment_.pe), to_string(line)),
                     .what = std::move(complaint.what),
                     .hint = std::move(complaint.hint)});
}

void Recorder::fail_scratch(isa::CommandIndex command) const {
  constexpr std::size_t kListed = 8;
  const auto& program = builder_.tables();
  const auto live = isa::live_tiles(program, command);
  std::int64_t granules = 0;
  for (const auto id : live) granules += program.value(id).granules;
  std::string list;
  for (const auto id : std::span(live).first(std::min(live.size(), kListed))) {
    const auto& producer = program.command(program.value(id).producer);
    const auto name =
        producer.kind == isa::CommandKind::math ? to_string(producer.op) : to_string(producer.kind);
    list += fmt::format("\n    {}  {}  by {} at {}", describe(id), to_string(program.bytes(id)), name,
                        to_string(program.line(producer)));
  }
  if (live.size() > kListed) list += fmt::format("\n    and {} more", live.size() - kListed);
  fail(program.line(program.command(command)),
       {"scratch",
        fmt::format("live tiles take {} of scratch, {} more than the PE's {}; the largest of {}:{}",
                    to_string(Bytes(granules * isa::kGranuleBytes)),
                    to_string(Bytes(granules * isa::kGranuleBytes) - environment_.scratch),
                    to_string(environment_.scratch), live.size(), list),
        "a tile is live until its last reader; use smaller tiles or read them for the last time earlier"});
}

void Recorder::fail_handle(const Tile& t, std::string_view op, At at) const {
  if (t.recorder_ == nullptr)
    fail(at,
         {"tile", fmt::format("{} of an empty tile", op), "assign the handle the result of a tl call first"});
  if (is_own(t))
    fail(at, {"tile", fmt::format("{} of {}, a reference to memory", op, describe(t.id_)),
              "load it first; only composite takes references"});
  fail(at, {"tile", fmt::format("{} of a tile of another recording", op),
            "tiles live in the kernel run that made them; pass data through memory or queues"});
}

const isa::Program& Recorder::tables_of(const Tile& tile) {
  if (tile.recorder_ == nullptr)
    throw KernelError({.id = "tl.tile",
                       .where = "",
                       .what = "an empty tile has no dtype and no shape",
                       .hint = "assign the handle the result of a tl call first"});
  if (tile.recording_ != tile.recorder_->recording_)
    throw KernelError({.id = "tl.tile",
                       .where = "",
                       .what = "dtype or shape of a tile of another recording",
                       .hint = "tiles live in the kernel run that made them"});
  return tile.recorder_->tables();
}

std::string Recorder::describe(isa::ValueId id) const {
  return to_string(isa::operand(builder_.tables(), id));
}

std::string Recorder::describe(std::span<const isa::ValueId> ids) const {
  std::vector<std::string> texts;
  for (const auto id : ids) texts.push_back(describe(id));
  return join(texts);
}

void Recorder::check_op(const Op& op, At at) const {
  if (op.recorder_ != this || op.recording_ != recording_ || op.command_ >= builder_.next_command())
    fail(at, {"tile", "wait for a command of another recording", "wait in the kernel run that made it"});
}

std::uint32_t Recorder::shape_id(const Dims& dims, std::string_view op, At at) {
  return placed(
      at, "shape", [&] { return std::string(op); }, [&] { return builder_.shape(dims.values()); });
}

void Recorder::fail_large_tile(DType dtype, std::uint32_t shape, At at) const {
  fail(at, {"scratch",
            fmt::format("a tile {}{} alone exceeds the PE's scratch of {}", to_string(dtype),
                        to_string(builder_.tables().shape_of(shape)), to_string(environment_.scratch)),
            "work on smaller tiles"});
}

isa::ValueId Recorder::new_tile(DType dtype, std::uint32_t shape, At at) {
  constexpr std::uint64_t kGranule = isa::kGranuleBytes;
  const auto elements = static_cast<std::uint64_t>(builder_.tables().shape_of(shape).elements());
  if (elements > scratch_granules_ * kGranule) fail_large_tile(dtype, shape, at);
  const auto granules = (elements * static_cast<std::uint64_t>(itemsize(dtype)) + kGranule - 1) / kGranule;
  if (granules > scratch_granules_) fail_large_tile(dtype, shape, at);
  return builder_.tile(dtype, shape, static_cast<std::uint32_t>(granules));
}

isa::CommandIndex Recorder::append(isa::Command c, std::span<const isa::ValueId> reads, At at) {
  if (finished_) [[unlikely]]
    fail(at, {"tile", "the recording has ended", "start a new one with run_kernel or begin()"});
  c.line = forced_file_ == nullptr ? builder_.line(at.file_name(), at.line())
                                   : builder_.line(forced_file_, forced_line_);
  return builder_.append(c, reads);
}

}  // namespace kernbench::tl
