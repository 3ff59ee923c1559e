#include "report/command_text.hpp"

#include <fmt/format.h>

#include <span>

#include "base/append.hpp"
#include "base/text.hpp"

namespace kernbench::report {
namespace {

using isa::CommandKind;
using isa::ValueKind;

void append_hex(std::string& out, std::uint64_t address) { append(out, "{:#x}", address); }

void append_number(std::string& out, std::uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}

}  // namespace

const std::string& CommandWriter::type_of(isa::ValueId id) {
  const isa::Value& value = program_.value(id);
  std::string& text = types_[std::uint64_t{value.shape} << 8 | static_cast<std::uint64_t>(value.dtype)];
  if (text.empty()) text = fmt::format("{}{}", to_string(value.dtype), to_string(program_.shape(id)));
  return text;
}

void CommandWriter::append_value(isa::ValueId id) {
  switch (program_.value(id).kind) {
    case ValueKind::scalar:
      append(out_.operands, "{}", program_.scalar(id));
      return;
    case ValueKind::reference:
      return append_hex(out_.operands, program_.address(id));
    case ValueKind::tile:
    case ValueKind::placed:
    case ValueKind::view:
      out_.operands += '%';
      return append_number(out_.operands, id);
  }
}

void CommandWriter::result(isa::ValueId id) {
  append_value(id);
  out_.operands += " = ";
  out_.shapes += type_of(id);
}

void CommandWriter::operand(isa::ValueId id) {
  if (!out_.operands.empty() && !out_.operands.ends_with("= ")) out_.operands += ", ";
  append_value(id);
  if (program_.value(id).kind == ValueKind::scalar) return;
  if (!out_.shapes.empty()) out_.shapes += out_.shapes.find(" = ") == out_.shapes.npos ? " = " : ", ";
  out_.shapes += type_of(id);
}

void CommandWriter::transfer_text(const isa::Command& c) {
  out_.text = to_string(c.kind);
  if (c.strides != isa::kNone) {
    const isa::Strides strides = program_.strides(c);
    const auto rank = static_cast<std::size_t>(program_.shape(program_.moved(c)).rank());
    append(out_.text, " strides [{}]", join(std::span(strides).first(rank)));
  }
  if (!program_.masked(c)) return;
  append(out_.text, " lanes {}", program_.active_lanes(c));
  if (c.kind == CommandKind::dma_read && program_.other(c) != 0)
    append(out_.text, " other {}", program_.other(c));
}

void CommandWriter::dma(const isa::Command& c) {
  transfer_text(c);
  if (c.kind == CommandKind::dma_read) {
    result(c.result);
    append_hex(out_.operands, program_.address(c));
  } else {
    append_hex(out_.operands, program_.address(c));
    out_.operands += " = ";
    operand(program_.moved(c));
  }
}

void CommandWriter::compute(const isa::Command& c) {
  out_.text = c.kind == CommandKind::gemm ? to_string(c.kind) : to_string(c.op);
  const auto kind = info(c.op).kind;
  const bool along = kind == MathKind::reduction || kind == MathKind::scan || kind == MathKind::arrangement;
  if (c.kind == CommandKind::math && along) append(out_.text, " axis {}", program_.axis(c));
  result(c.result);
  for (const isa::ValueId id : program_.reads(c)) operand(id);
}

void CommandWriter::composite(const isa::Command& c) {
  const isa::CompositeSpec& spec = program_.composite(c);
  out_.text = fmt::format("composite {}", to_string(spec.op));
  result(spec.out);
  operand(spec.a);
  operand(spec.b);
  for (const isa::EpilogueStep& step : program_.epilogue(spec)) {
    out_.text += step.point == isa::EpiloguePoint::per_k_step ? " per k step " : " then ";
    out_.text += to_string(step.op);
    if (step.operand != isa::kNone) operand(step.operand);
  }
}

void CommandWriter::queue(const isa::Command& c) {
  const std::string_view direction = program_.direction(c);
  out_.text = fmt::format("{} {}", to_string(c.kind), direction.empty() ? "any" : direction);
  if (c.kind == CommandKind::ipcq_send) return operand(c.read[0]);
  result(c.result);
  out_.operands.resize(out_.operands.size() - 3);  // nothing follows
  if (!program_.has_destination(c)) return;
  append(out_.text, " to {}", to_string(program_.destination_space(c)));
}

const CommandText& CommandWriter::write(const isa::Command& c) {
  out_.text.clear(), out_.operands.clear(), out_.shapes.clear();
  switch (c.kind) {
    case CommandKind::dma_read:
    case CommandKind::dma_write:
    case CommandKind::atomic:
      dma(c);
      break;
    case CommandKind::load_scalar:
      out_.text = to_string(c.kind);
      append_hex(out_.operands, program_.address(c));
      out_.shapes = to_string(program_.scalar_dtype(c));
      break;
    case CommandKind::gemm:
    case CommandKind::math:
      compute(c);
      break;
    case CommandKind::composite:
      composite(c);
      break;
    case CommandKind::ipcq_send:
    case CommandKind::ipcq_recv:
      queue(c);
      break;
    case CommandKind::wait:
      out_.text = "wait", out_.operands = fmt::format("#{}", program_.waited(c));
      break;
    case CommandKind::fence:
      out_.text = "fence";
      break;
  }
  return out_;
}

}  // namespace kernbench::report
