// host_write: the host writes a tensor to the slices of all PEs of a SIP, in equal messages that leave together, as
// a host program does. Unit: a packet-hop. The checksum is made of the times at which each slice had its part and the
// host knew it.
#include <deque>

#include "device/device.hpp"
#include "workload.hpp"

namespace kernbench::bench {
namespace {

using device::Device;

constexpr std::int64_t kPart = 12288 * 96 * 2;  // columns of 12,288 halves, 96 for each PE

class Part final : public device::Access {
 public:
  explicit Part(sim::Partition& host) : host_(host) {}
  std::uint64_t checksum() const {
    return static_cast<std::uint64_t>(at_memory().ps() * 31 + through_memory().ps() * 37 + done_.ps());
  }

 private:
  void on_done() override { done_ = host_.now(); }
  sim::Partition& host_;
  Time done_;
};

}  // namespace

Result host_write(bool runs) {
  Device device(topology::load_machine("default", {}, topology::builtin_registry()), {.shortcuts = runs});
  const topology::Graph& graph = device.graph();
  std::deque<Part> parts;
  const auto write_all = [&] {
    for (int cube = 0; cube < graph.cubes(); ++cube)
      for (int pe = 0; pe < graph.pes(); ++pe)
        parts.emplace_back(device.host_partition())
            .start(device.hbm({0, cube, pe}), graph.host(), graph.host(), device::Direction::write,
                   {.offset = 0, .row_bytes = kPart});
    device.simulation().run();
  };
  Result result{.seconds = seconds_of(write_all)};
  result.units = static_cast<std::int64_t>(device.fabric().counters().packet_hops);
  for (const Part& part : parts) result.checksum = result.checksum * 31 + part.checksum();
  return result;
}

}  // namespace kernbench::bench
