#include "device/burst_answers.hpp"

#include <algorithm>

#include "device/fabric.hpp"
#include "device/memory.hpp"

namespace kernbench::device {

void BurstAnswers::let_packets_go(Fabric& fabric) {
  Message& data = access->data();
  const std::int64_t packet = fabric.packet_bytes().count();
  const std::int64_t before = data.ready.packets();
  for (; answered < through.size() && through[answered] != Time::never(); ++answered) {
    latest = std::max(latest, through[answered]);
    while (data.ready.packets() < (data.bytes.count() + packet - 1) / packet &&
           std::min((data.ready.packets() + 1) * packet, data.bytes.count()) <= ends[answered])
      data.ready.push_back(latest);
  }
  if (data.ready.packets() > before) fabric.more_is_ready(data);
}

}  // namespace kernbench::device
