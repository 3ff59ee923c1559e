// Messages of one packet that are alone at their source: they start without a choice (ADR 51), and are open again if somebody
// comes before that.
#include <algorithm>
#include <utility>

#include "device/fabric.hpp"
#include "device/instant.hpp"
#include "device/source.hpp"

namespace kernbench::device {

/// Starts a message of one packet without a choice, if it is alone here and it is known when it can start.
bool Source::start_by_itself(Message& message) {
  if (!fabric_.options_.shortcuts || fabric_.watcher_ || message.packets_ > 1 || !others_.empty())
    return false;
  if (all_have_come_.scheduled() || link_is_free_.scheduled() || !message.route->first().open) return false;
  const Time now = partition_.now();
  const Time at = std::max({now, first_link_.free_at, offer(message)});
  if (at == Time::never() || (first_link_.guest && first_link_.instant >= now)) return false;
  starts_.next_offer = message.route->next_offer;
  starts_.packet = fabric_.book(message, at);
  if (!starts_.packet) return false;
  starts_.at = at;
  starts_.round = at == now ? partition_.round() : 0;
  if (pause_ > 0) --pause_;
  return true;
}

/// Somebody comes: takes back the start of the message that needed no choice, and opens it again. False if
/// the start stands: its instant is over, or its turn at this instant is. In the latter case the source is
/// now as if it had chosen.
bool Source::recall_start() {
  Packet* packet = std::exchange(starts_.packet, nullptr);
  const Time now = partition_.now();
  if (starts_.at < now) return false;
  Message& message = *packet->message;
  if (starts_.at == now && partition_.would_have_chosen(rank(), starts_.round)) {
    has_started(message.channel);
    emptied_at_ = now;
    return false;
  }
  open_again(*packet);
  if (starts_.at == now) partition_.choose_after_all(all_have_come_, rank(), starts_.round);
  return true;
}

void Source::open_again(Packet& packet) {
  Message& message = *packet.message;
  fabric_.unbook(packet);
  message.route->next_offer = starts_.next_offer;
  add(message);
}

bool Source::give_up_start(const Packet& packet) {
  if (starts_.packet != &packet || !recall_start()) return false;
  if (starts_.at > partition_.now()) partition_.schedule_at(link_is_free_, starts_.at);
  return true;
}

}  // namespace kernbench::device
