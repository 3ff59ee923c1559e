#include "kernbench/run_bench.hpp"

#include <fmt/format.h>

#include <numeric>

#include "base/parse.hpp"
#include "kernbench/error.hpp"
#include "runtime/engine.hpp"

namespace kernbench::runtime {

DeviceSelector DeviceSelector::sip(int number) {
  DeviceSelector selector;
  selector.sip_ = number;
  if (number < 0)
    throw InputError({"runtime.device", "", fmt::format("device 'sip:{}'", number), "SIPs count from 0"});
  return selector;
}

DeviceSelector DeviceSelector::parse(std::string_view text) {
  constexpr std::string_view kSip = "sip:";
  if (text == "all") return {};
  if (text.starts_with(kSip))
    if (const auto number = parse_whole<int>(text.substr(kSip.size())); number && *number >= 0)
      return sip(*number);
  throw InputError({"runtime.device", "", fmt::format("unknown device '{}'", text),
                    "it is `all`, or `sip:N` such as sip:0"});
}

std::vector<int> DeviceSelector::sips(const topology::Machine& machine) const {
  if (sip_ >= machine.sips())
    throw InputError({"runtime.device", "",
                      fmt::format("device '{}' is not in the machine", to_string(*this)),
                      fmt::format("it has sip:0 to sip:{}; or use `all`", machine.sips() - 1)});
  if (sip_ >= 0) return {sip_};
  std::vector<int> all(static_cast<std::size_t>(machine.sips()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string to_string(const DeviceSelector& selector) {
  return selector.sip_ < 0 ? "all" : fmt::format("sip:{}", selector.sip_);
}

BenchRun run_bench(const topology::Machine& machine, const std::function<void(Torch&)>& host,
                   const DeviceSelector& device, TorchOptions options) {
  const std::vector<int> sips = device.sips(machine);
  BenchRun run{std::make_unique<Torch>(machine, std::move(options)), {}};
  Engine& engine = run.torch->engine();
  engine.select_devices(sips);
  host(*run.torch);
  if (engine.requests().empty())
    throw InputError({"runtime.nothing-submitted", "",
                      "the host program submitted nothing, so there is nothing to measure",
                      "make a tensor, launch a kernel"});
  engine.finish();
  for (const auto& request : engine.requests())
    if (request->done()) run.completed = std::max(run.completed, request->completed());
  return run;
}

}  // namespace kernbench::runtime
