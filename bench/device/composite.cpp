// tile-pipeline: the composite product C = A · B of 512³ in f16 on one PE, both operands in its HBM slice, from
// the recorded program to its records in the op log. Unit: a record (4096 DMA-ins, 2048 GEMM steps, 256
// DMA-outs). The checksum is made of the start and end of each.
#include "device/launch.hpp"
#include "kernbench/tl.hpp"
#include "trace/op_log.hpp"
#include "workload.hpp"

namespace kernbench::bench {
namespace {

using device::OpKind;
using device::OpRecord;

constexpr int kSize = 512;
constexpr PeCoord kPe{0, 0, 0};
constexpr std::uint64_t kBase = 0x1'0000'0000;  // where the PE sees its slice

void kernel(tl::Context& tl) {
  const auto matrix = [&](int megabytes) {
    return tl.ref(tl::Ptr(kBase) + (megabytes << 20), {kSize, kSize}, DType::f16);
  };
  tl.composite("gemm", matrix(0), matrix(16), matrix(32));
}

/// Passes records on to the op log and adds up their times: those of each kind with a weight of its own.
class Checksum : public device::OpSink {
 public:
  explicit Checksum(device::OpSink& log) : log_(log) {}
  void append(int partition, const OpRecord& r) override {
    if (r.kind == OpKind::program) start_ = r.end;
    if (const std::int64_t weight = weight_of(r.kind); weight > 0) {
      sum_ += static_cast<std::uint64_t>((r.start - start_).ps() + weight * (r.end - start_).ps());
      ++records_;
    }
    log_.append(partition, r);
  }
  std::uint64_t sum() const { return sum_; }
  std::int64_t records() const { return records_; }

 private:
  static std::int64_t weight_of(OpKind kind) {
    if (kind == OpKind::tile_dma_in) return 3;
    if (kind == OpKind::tile_gemm) return 5;
    return kind == OpKind::tile_dma_out ? 7 : 0;
  }
  device::OpSink& log_;
  Time start_;
  std::uint64_t sum_ = 0;
  std::int64_t records_ = 0;
};

}  // namespace

Result tile_pipeline() {
  device::Device machine(topology::load_machine("default", {}, topology::builtin_registry()), {});
  device::Processors processors(machine);
  machine.mmu(kPe).insert(address::VirtAddr(kBase),
                          {address::pe_hbm_addr(kPe, machine.machine().hbm_slice(), 0_B), 64_MiB}, "slice");
  trace::OpLog log(machine.simulation().partitions());
  Checksum checksum(log);
  processors.writer().set_sink(&checksum);
  tl::Context tl({.kernel = "tile_pipeline", .pe = kPe});
  run_kernel(kernel, tl);
  device::KernelLaunch launch(processors, 0, kPe.sip,
                              {std::make_shared<const isa::Program>(tl.take_program())});
  machine.control().submit(launch);
  const double seconds = seconds_of([&] { machine.simulation().run(); });
  return {checksum.records(), checksum.sum(), seconds};
}

std::size_t bytes_per_record() { return sizeof(OpRecord); }

}  // namespace kernbench::bench
