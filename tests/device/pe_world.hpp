// One machine, kernels on it, and all records.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "device/device_world.hpp"
#include "device/launch.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::device::testing {

inline constexpr std::uint64_t kBase =
    0x1'0000'0000;  // every PE's slice is mapped here, from its first byte on

class Log : public OpSink {
 public:
  void append(int, const OpRecord& record) override { records.push_back(record); }
  std::vector<OpRecord> records;
};

class Kernels {
 public:
  explicit Kernels(std::vector<std::string> overrides = {}, FabricOptions options = {},
                   const std::string& machine = "default")
      : device(load(std::move(overrides), machine), options), processors(device) {
    processors.writer().set_sink(&log);
  }

  void map(PeCoord pe, Bytes bytes = 64_MiB) {
    if (device.mmu(pe).window_count() > 0) return;
    device.mmu(pe).insert(address::VirtAddr(kBase),
                          {address::pe_hbm_addr(pe, device.machine().hbm_slice(), 0_B), bytes}, "slice");
  }

  /// Records the kernel for one PE, launches it there and runs to the end.
  template <class Kernel, class... Args>
  KernelLaunch& run(PeCoord pe, Kernel kernel, Args... args) {
    return run(std::vector<PeCoord>{pe}, kernel, args...);
  }
  template <class Kernel, class... Args>
  KernelLaunch& run(const std::vector<PeCoord>& pes, Kernel kernel, Args... args) {
    KernelLaunch& launch = submit(pes, kernel, args...);
    device.simulation().run();
    return launch;
  }
  /// The same without running.
  template <class Kernel, class... Args>
  KernelLaunch& submit(const std::vector<PeCoord>& pes, Kernel kernel, Args... args) {
    std::vector<std::shared_ptr<const isa::Program>> programs;
    for (const PeCoord& pe : pes) {
      map(pe);
      tl::Context tl({.kernel = "kernel", .pe = pe});
      run_kernel(kernel, tl, args...);
      programs.push_back(std::make_shared<const isa::Program>(tl.take_program()));
    }
    launches.push_back(std::make_unique<KernelLaunch>(processors, static_cast<std::uint32_t>(launches.size()),
                                                      pes[0].sip, programs));
    device.control().submit(*launches.back());
    return *launches.back();
  }

  /// Records of a kind, times counted from the start of the (only) program.
  std::vector<OpRecord> of(OpKind kind) const {
    std::vector<OpRecord> found;
    for (const OpRecord& r : log.records)
      if (r.kind == kind) found.push_back(r);
    return found;
  }
  Time program_start() const { return of(OpKind::program).front().end; }
  struct Span {
    Time start, end;
    friend bool operator==(const Span&, const Span&) = default;
    friend void PrintTo(const Span& s, std::ostream* out) {
      *out << "[" << to_string(s.start) << ", " << to_string(s.end) << "]";
    }
  };
  std::vector<Span> spans(OpKind kind) const {
    std::vector<Span> found;
    for (const OpRecord& r : of(kind)) found.push_back({r.start - program_start(), r.end - program_start()});
    return found;
  }

  Device device;
  Processors processors;
  Log log;
  std::vector<std::unique_ptr<KernelLaunch>> launches;
};

}  // namespace kernbench::device::testing
