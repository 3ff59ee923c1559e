#include "runtime/log_estimate.hpp"

#include <fmt/format.h>

#include "base/memory.hpp"
#include "device/op_record.hpp"
#include "kernbench/error.hpp"

namespace kernbench::runtime {
namespace {

/// A step loads the operands that lie in memory, and multiplies; an output tile passes its epilogue and is stored.
std::int64_t records_of_composite(const isa::Program& program, const isa::Command& c,
                                  const device::PeSpec& spec) {
  const isa::CompositeSpec& composite = program.composite(c);
  const auto in_memory = [&](isa::ValueId id) {
    return program.value(id).kind == isa::ValueKind::reference ? 1 : 0;
  };
  const Shape &a = program.shape(composite.a), &b = program.shape(composite.b);
  const std::int64_t outputs =
      spec.tiles(a[a.rank() - 2], spec.tile.m) * spec.tiles(b[b.rank() - 1], spec.tile.n);
  const std::int64_t steps = spec.tiles(a[a.rank() - 1], spec.tile.k);
  return outputs * (steps * (1 + in_memory(composite.a) + in_memory(composite.b)) + composite.step_count +
                    in_memory(composite.out));
}

}  // namespace

std::int64_t records_of(const isa::Program& program, const device::PeSpec& spec) {
  std::int64_t records = 0;
  for (const isa::Command& c : program.commands())
    records += c.kind == isa::CommandKind::composite ? records_of_composite(program, c, spec) : 1;
  return records;
}

/// Looking how much is left takes longer than a small launch.
void check_room_for_records(const std::string& launch,
                            std::span<const std::shared_ptr<const isa::Program>> programs,
                            const device::PeSpec& spec) {
  constexpr std::int64_t kWorthALook = 64 << 20;
  std::int64_t records = 0;
  for (const auto& program : programs) records += records_of(*program, spec);
  const std::int64_t bytes = records * static_cast<std::int64_t>(sizeof(device::OpRecord));
  if (bytes < kWorthALook) return;
  const std::int64_t left = memory_left();
  if (bytes <= left) return;
  const auto gib = [](std::int64_t n) { return static_cast<double>(n) / (1 << 30); };
  throw InputError(
      {"runtime.memory", fmt::format("launch '{}'", launch),
       fmt::format("it would write about {} records, {:.1f} GiB, and {:.1f} GiB of memory are left", records,
                   gib(bytes), gib(left)),
       "keep the records on disk or not at all (`--log disk`, `--log none`; TorchOptions::log), or run "
       "a smaller part"});
}

}  // namespace kernbench::runtime
