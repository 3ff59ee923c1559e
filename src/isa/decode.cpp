#include <fmt/format.h>

#include "kernbench/error.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::isa {
namespace {

std::vector<std::int64_t> given_strides(const Program& program, const Command& c) {
  if (c.strides == kNone) return {};
  const auto strides = program.strides(c);
  return {strides.begin(), strides.begin() + program.shape(program.moved(c)).rank()};
}

ActiveLanes active_lanes(const Program& program, const Command& c) {
  if (!program.masked(c)) return std::nullopt;
  const auto runs = program.active_runs(c);
  return std::vector<LaneRange>(runs.begin(), runs.end());
}

std::vector<std::uint64_t> places(const Program& program, const Command& c) {
  const auto places = program.run_addresses(c);
  return {places.begin(), places.end()};
}

Math decode_math(const Program& program, const Command& c) {
  Math math{.op = c.op,
            .operands = {},
            .result = operand(program, c.result),
            .axis = std::nullopt,
            .reversed = false};
  for (const auto id : program.reads(c)) math.operands.push_back(operand(program, id));
  const auto kind = info(c.op).kind;
  if (kind == MathKind::reduction || kind == MathKind::arrangement || kind == MathKind::scan)
    math.axis = program.axis(c);
  math.reversed = program.reversed(c);
  return math;
}

Gemm decode_gemm(const Program& program, const Command& c) {
  const auto reads = program.reads(c);
  Gemm gemm{.a = operand(program, reads[0]),
            .b = operand(program, reads[1]),
            .acc = std::nullopt,
            .result = operand(program, c.result)};
  if (reads.size() > 2) gemm.acc = operand(program, reads[2]);
  return gemm;
}

Composite decode_composite(const Program& program, const Command& c) {
  const auto& spec = program.composite(c);
  Composite composite{.op = spec.op,
                      .a = operand(program, spec.a),
                      .b = operand(program, spec.b),
                      .out = operand(program, spec.out),
                      .epilogue = {}};
  for (const auto& step : program.epilogue(spec)) {
    Epilogue e{.op = step.op, .point = step.point, .operand = std::nullopt};
    if (step.operand != kNone) e.operand = operand(program, step.operand);
    composite.epilogue.push_back(e);
  }
  return composite;
}

IpcqRecv decode_recv(const Program& program, const Command& c) {
  IpcqRecv recv{.direction = std::string(program.direction(c)),
                .result = operand(program, c.result),
                .space = std::nullopt};
  if (program.has_destination(c)) recv.space = program.destination_space(c);
  recv.is_async = program.is_async(c);
  return recv;
}

}  // namespace

Operand operand(const Program& program, ValueId id) {
  const auto& value = program.value(id);
  Operand operand{.kind = value.kind, .id = id, .dtype = value.dtype, .shape = program.shape(id)};
  if (value.kind == ValueKind::scalar) {
    operand.id = 0;
    operand.scalar = program.scalar(id);
  } else if (value.kind == ValueKind::reference) {
    operand.id = 0;
    operand.address = program.address(id);
  } else if (value.kind == ValueKind::placed) {
    operand.address = program.address(id);
  }
  return operand;
}

AnyCommand decode(const Program& program, const Command& c) {
  switch (c.kind) {
    case CommandKind::dma_read:
      return DmaRead{program.address(c),       operand(program, c.result), given_strides(program, c),
                     active_lanes(program, c), program.other(c),           places(program, c)};
    case CommandKind::dma_write:
      return DmaWrite{program.address(c), operand(program, c.read[0]), given_strides(program, c),
                      active_lanes(program, c), places(program, c)};
    case CommandKind::load_scalar:
      return LoadScalar{program.address(c), program.scalar_dtype(c)};
    case CommandKind::gemm:
      return decode_gemm(program, c);
    case CommandKind::math:
      return decode_math(program, c);
    case CommandKind::composite:
      return decode_composite(program, c);
    case CommandKind::ipcq_send:
      return IpcqSend{std::string(program.direction(c)), operand(program, c.read[0])};
    case CommandKind::ipcq_recv:
      return decode_recv(program, c);
    case CommandKind::wait:
      return Wait{program.waited(c)};
    case CommandKind::atomic:
      return Atomic{c.op,
                    program.address(c),
                    operand(program, c.read[0]),
                    given_strides(program, c),
                    active_lanes(program, c),
                    places(program, c)};
    case CommandKind::fence:
      break;
  }
  return Fence{};
}

std::vector<AnyCommand> decode(const Program& program) {
  std::vector<AnyCommand> all;
  all.reserve(program.commands().size());
  for (const auto& c : program.commands()) all.push_back(decode(program, c));
  return all;
}

void AnyCommand::wrong_kind() const {
  throw InputError({.id = "isa.command-kind",
                    .where = "",
                    .what = fmt::format("the command is '{}', not of the kind asked for", to_string(*this)),
                    .hint = "ask with is<…>() first, or look at listing(program)"});
}

}  // namespace kernbench::isa
