#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "tl/recorder.hpp"

namespace kernbench::tl {

Context::Context(Environment environment) : recorder_(std::make_unique<Recorder>(std::move(environment))) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

Context::Held::Held(std::unique_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}
Context::Held::~Held() = default;
Context::Held::Held(Held&&) noexcept = default;
Context::Held& Context::Held::operator=(Held&&) noexcept = default;
Recorder* Context::Held::reject_moved_from() {
  throw KernelError({.id = "tl.context",
                     .where = "",
                     .what = "a tl::Context that was moved from records nothing",
                     .hint = "use the context it was moved to"});
}

int Context::program_id(int axis, At at) const {
  const auto pe = recorder_->environment().pe;
  switch (axis) {
    case 0:
      return pe.pe;
    case 1:
      return pe.cube;
    case 2:
      return pe.sip;
    default:  // an axis is a number, not one of a list
      recorder_->fail_program_axis("program_id", axis, at);
  }
}

int Context::num_programs(int axis, At at) const {
  if (axis < 0 || axis > 2) recorder_->fail_program_axis("num_programs", axis, at);
  return recorder_->environment().num_programs[static_cast<std::size_t>(axis)];
}

void Recorder::fail_program_axis(const char* call, int axis, At at) const {
  fail(at, {"axis", fmt::format("{}({})", call, axis),
            "axis 0 is the PE in its cube, 1 the cube in its SIP, 2 the SIP"});
}

void Context::reject_not_positive(const char* what, std::int64_t number, At at) const {
  recorder_->fail(at, {"scalar", fmt::format("the {} is {}", what, number), "it must be above 0"});
}

std::vector<Shard> Context::shards(Ptr tensor, At at) const {
  std::vector<Shard> found;
  std::vector<std::string> known;
  for (const auto& s : recorder_->environment().shards) {
    if (s.tensor == tensor && s.interleaved)
      recorder_->fail(at,
                      {"shard", fmt::format("tensor '{}' is interleaved: its pages lie on all PEs", s.name),
                       "use its pointer, which counts it in row-major order, or another policy"});
    if (s.tensor == tensor) found.push_back(s);
    known.push_back(fmt::format("{} at {:#x}", s.name.empty() ? "a tensor" : s.name, s.tensor.address()));
  }
  const bool is_argument =
      std::ranges::find(recorder_->environment().tensors, tensor) != recorder_->environment().tensors.end();
  if (found.empty() && !is_argument)
    recorder_->fail(at,
                    {"shard", fmt::format("this PE holds no shard of a tensor at {:#x}", tensor.address()),
                     known.empty() ? "pass a tensor as kernel argument and give its pointer, unchanged"
                                   : "it holds shards of: " + kernbench::join(known)});
  return found;
}

const Shard& Context::shard(Ptr tensor, At at) const {
  const auto count = shards(tensor, at).size();
  if (count == 0)
    recorder_->fail(at,
                    {"shard", fmt::format("this PE holds nothing of the tensor at {:#x}", tensor.address()),
                     "use shards(), which may be empty, or launch on the PEs that hold it"});
  if (count > 1)
    recorder_->fail(
        at, {"shard", fmt::format("this PE holds {} tiles of the tensor at {:#x}", count, tensor.address()),
             "use shards(), which gives them all in dealing order"});
  for (const auto& s : recorder_->environment().shards)
    if (s.tensor == tensor) return s;
  KB_ASSERT(false, "a shard that was just found is gone");
  return recorder_->environment().shards.front();
}

const Environment& Context::environment() const { return recorder_->environment(); }
void Context::begin_instance() { recorder_->builder().begin_instance(); }

void Context::begin() { recorder_->begin(); }
const isa::Program& Context::finish() { return recorder_->finish(); }
const isa::Program& Context::program() const { return recorder_->program(); }
isa::Program Context::take_program() { return recorder_->take(); }
void Context::set_line(const char* file, std::uint32_t line) { recorder_->set_line(file, line); }

}  // namespace kernbench::tl
