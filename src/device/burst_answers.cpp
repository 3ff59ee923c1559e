#include "device/burst_answers.hpp"

#include <algorithm>

#include "device/fabric.hpp"
#include "device/memory.hpp"

namespace kernbench::device {

void BurstAnswers::let_packets_go(Fabric& fabric) {
  if (answered == through.size() || through[answered] == Time::never()) return;
  Message& data = access->data();
  const std::int64_t packet = fabric.packet_bytes().count(), all = data.bytes.count();
  const std::int64_t before = data.ready.packets();
  std::int64_t needed = std::min((before + 1) * packet, all);  // bytes, for the next packet to leave
  for (; answered < through.size() && through[answered] != Time::never(); ++answered) {
    latest = std::max(latest, through[answered]);
    for (; needed <= ends[answered] && data.ready.packets() * packet < all;
         needed = std::min(needed + packet, all))
      data.ready.push_back(latest);
  }
  if (data.ready.packets() > before) fabric.more_is_ready(data);
}

}  // namespace kernbench::device
