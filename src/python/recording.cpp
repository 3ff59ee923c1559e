#include "python/recording.hpp"

#include <fmt/format.h>

#include <set>

#include "kernbench/error.hpp"

namespace kernbench::python {
namespace {

/// Programs refer to file names for as long as somebody may print them.
const char* lasting(const std::string& text) {
  static auto* const texts = new std::set<std::string>;
  return texts->insert(text).first->c_str();
}

int instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  (void)frame;
  return -1;
#endif
}

}  // namespace

namespace {
thread_local std::weak_ptr<Recording> running;
}

std::shared_ptr<Recording> Recording::current() { return running.lock(); }
void Recording::begin(std::weak_ptr<Recording> recording) { running = std::move(recording); }
Recording::Running::Running(std::weak_ptr<Recording> recording)
    : before_(std::exchange(running, std::move(recording))) {}
Recording::Running::~Running() { running = std::move(before_); }

Recording::Recording(tl::Environment environment)
    : own_(std::make_unique<tl::Context>(std::move(environment))), context_(own_.get()) {}

void Recording::know_shards(std::vector<tl::Shard> shards) {
  if (!own_ || !own_->environment().shards.empty() || !own_->program().commands().empty()) return;
  tl::Environment environment = own_->environment();
  environment.shards = std::move(shards);
  *own_ = tl::Context(std::move(environment));
}

void Recording::fail_over(const char* what) {
  throw tl::KernelError(
      {.id = "tl.over",
       .where = "",
       .what = fmt::format("{} is used after the kernel run it belongs to", what),
       .hint = "tl, tiles and shards live while their kernel runs; pass data through memory or queues"});
}

Recording::Code& Recording::code_of(PyObject* code) {
  const auto [found, is_new] = codes_.try_emplace(code);
  if (is_new) {
    found->second.code = py::reinterpret_borrow<py::object>(code);
    found->second.file = lasting(py::str(found->second.code.attr("co_filename")));
  }
  return found->second;
}

void Recording::pin_line(const std::string& file, std::uint32_t line) {
  tl::Context& tl = context("tl");
  pinned_ = !file.empty();
  tl.set_line(pinned_ ? lasting(file) : nullptr, line);
}

/// Finding the line of an instruction walks a table of the whole function, so it is done once for each.
void Recording::mark_running_line() {
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == nullptr || context_ == nullptr) return;
  PyCodeObject* const code = PyFrame_GetCode(frame);
  PyObject* const key = reinterpret_cast<PyObject*>(code);
  if (last_ == nullptr || last_->code.ptr() != key) last_ = &code_of(key);
  Py_DECREF(key);
  const int instruction = instruction_of(frame);
  std::uint32_t line = 0;
  if (instruction < 0) {
    line = static_cast<std::uint32_t>(PyFrame_GetLineNumber(frame));
  } else if (const auto found = last_->lines.find(instruction); found != last_->lines.end()) {
    line = found->second;
  } else {
    line = static_cast<std::uint32_t>(PyFrame_GetLineNumber(frame));
    last_->lines.emplace(instruction, line);
  }
  context_->set_line(last_->file, line);
}

}  // namespace kernbench::python
