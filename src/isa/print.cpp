#include <fmt/format.h>

#include <ostream>

#include "base/text.hpp"
#include "kernbench/isa.hpp"

namespace kernbench::isa {
namespace {

std::string type_of(const Operand& o) { return fmt::format("{}{}", to_string(o.dtype), to_string(o.shape)); }

std::string text_of(const std::vector<Operand>& operands) {
  std::vector<std::string> texts;
  for (const auto& o : operands) texts.push_back(to_string(o));
  return join(texts);
}

std::string access_text(const std::vector<std::int64_t>& strides, const ActiveLanes& lanes,
                        const std::vector<std::uint64_t>& places) {
  if (!places.empty()) return fmt::format(" and {} more places", places.size() - 1);
  std::string text;
  if (!strides.empty()) text += fmt::format(" strides [{}]", join(strides));
  if (!lanes) return text;
  std::vector<std::string> runs;
  for (const auto run : *lanes) runs.push_back(fmt::format("{}:{}", run.begin, run.end));
  return text + fmt::format(" lanes [{}]", join(runs));
}

struct Printer {
  std::string operator()(const DmaRead& c) const {
    auto text = fmt::format("{} = dma_read {:#x}{}", to_string(c.result), c.address,
                            access_text(c.strides, c.lanes, c.places));
    return c.lanes && c.other != 0 ? text + fmt::format(" other {}", c.other) : text;
  }
  std::string operator()(const DmaWrite& c) const {
    return fmt::format("dma_write {:#x}{} {}", c.address, access_text(c.strides, c.lanes, c.places),
                       to_string(c.tile));
  }
  std::string operator()(const Atomic& c) const {
    return fmt::format("atomic {} {:#x}{} {}", to_string(c.op), c.address,
                       access_text(c.strides, c.lanes, c.places), to_string(c.tile));
  }
  std::string operator()(const LoadScalar& c) const {
    return fmt::format("load_scalar {:#x} {}", c.address, to_string(c.dtype));
  }
  std::string operator()(const Gemm& c) const {
    auto text = fmt::format("{} = gemm {}, {}", to_string(c.result), to_string(c.a), to_string(c.b));
    return c.acc ? text + fmt::format(" acc {}", to_string(*c.acc)) : text;
  }
  std::string operator()(const Math& c) const {
    auto text = fmt::format("{} = {}", to_string(c.result), to_string(c.op));
    if (!c.operands.empty()) text += fmt::format(" {}", text_of(c.operands));
    if (c.axis) text += fmt::format(" axis {}", *c.axis);
    return c.reversed ? text + " reversed" : text;
  }
  std::string operator()(const Composite& c) const {
    auto text = fmt::format("composite {} {}, {} -> {}", to_string(c.op), to_string(c.a), to_string(c.b),
                            to_string(c.out));
    for (const auto& e : c.epilogue) {
      text += e.point == EpiloguePoint::per_k_step ? " per k step " : " then ";
      text += to_string(e.op);
      if (e.operand) text += fmt::format(" {}", to_string(*e.operand));
    }
    return text;
  }
  std::string operator()(const IpcqSend& c) const {
    return fmt::format("send {} {}", c.direction, to_string(c.tile));
  }
  std::string operator()(const IpcqRecv& c) const {
    auto text = fmt::format("{} = {} {}", to_string(c.result), c.is_async ? "recv_async" : "recv",
                            c.direction.empty() ? "any" : c.direction);
    return c.space ? text + fmt::format(" to {} {:#x}", to_string(*c.space), c.result.address) : text;
  }
  std::string operator()(const Wait& c) const { return fmt::format("wait #{}", c.command); }
  std::string operator()(const Fence&) const { return "fence"; }
};

}  // namespace

std::string to_string(const Operand& o) {
  switch (o.kind) {
    case ValueKind::scalar:
      return fmt::format("{}:{}", o.scalar, to_string(o.dtype));
    case ValueKind::reference:
      return fmt::format("@{:#x}:{}", o.address, type_of(o));
    case ValueKind::tile:
    case ValueKind::placed:
    case ValueKind::view:
      break;
  }
  return fmt::format("%{}:{}", o.id, type_of(o));
}

std::string to_string(const AnyCommand& command) { return std::visit(Printer{}, command); }

std::string listing(const Program& program) {
  std::string text = fmt::format("{} on {}\n", program.kernel(), to_string(program.pe()));
  CommandIndex index = 0;
  for (const auto& c : program.commands())
    text +=
        fmt::format("#{:<4} {:<70} {}\n", index++, to_string(decode(program, c)), to_string(program.line(c)));
  return text;
}

std::ostream& operator<<(std::ostream& out, const AnyCommand& command) { return out << to_string(command); }

}  // namespace kernbench::isa
