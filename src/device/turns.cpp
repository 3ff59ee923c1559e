#include "device/turns.hpp"

#include <algorithm>

namespace kernbench::device {

void Turns::add(const OpenBurst& burst) {
  const Stream stream = burst.of->stream;
  queue_of(channels_[dram_.channel_of(burst.number)], stream).bursts.push_back(burst);
  ++waiting_;
  const auto count = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const Count& known) { return known.stream == stream; });
  count == streams_.end() ? streams_.push_back({stream, 1}) : void(++count->bursts);
}

Turns::Queue& Turns::queue_of(Channel& channel, Stream stream) {
  for (const auto& queue : channel.queues)
    if (queue->bursts.back().of->stream == stream) return *queue;
  if (spare_.empty()) {
    spare_.push_back(std::make_unique<Queue>());
    spare_.back()->bursts.reserve(64);
  }
  channel.queues.push_back(std::move(spare_.back()));
  spare_.pop_back();
  return *channel.queues.back();
}

Time Turns::taken_at(std::size_t channel) const {
  const auto& queues = channels_[channel].queues;
  if (queues.empty()) return Time::never();
  const Queue& next = *queues.front();
  return std::max(dram_.free_at(channel), next.bursts[next.first].at);
}

Time Turns::next() const {
  Time next = Time::never();
  for (std::size_t c = 0; c < channels_.size(); ++c) next = std::min(next, taken_at(c));
  return next;
}

void Turns::take(Time until, std::vector<OpenBurst>& taken) {
  if (idle()) return;
  for (std::size_t c = 0; c < channels_.size(); ++c)
    for (Time at = taken_at(c); at < until; at = taken_at(c)) take_one(c, at, taken);
}

void Turns::take_one(std::size_t channel, Time at, std::vector<OpenBurst>& taken) {
  auto& queues = channels_[channel].queues;
  Queue& queue = *queues.front();
  const OpenBurst burst = queue.bursts[queue.first++];
  std::rotate(queues.begin(), queues.begin() + 1, queues.end());
  burst.of->through[burst.index] = dram_.serve(burst.number, burst.of->stream.direction, at);
  --burst.of->missing;
  taken.push_back(burst);
  forget_one(burst.of->stream);
  if (queue.first < queue.bursts.size()) return;
  queue.bursts.clear();
  queue.first = 0;
  spare_.push_back(std::move(queues.back()));
  queues.pop_back();
}

void Turns::forget_one(Stream stream) {
  --waiting_;
  const auto count = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const Count& known) { return known.stream == stream; });
  if (--count->bursts == 0) streams_.erase(count);
}

void Turns::give_up(std::vector<OpenBurst>& all) {
  for (Channel& channel : channels_) {
    for (auto& queue : channel.queues) {
      all.insert(all.end(), queue->bursts.begin() + static_cast<std::ptrdiff_t>(queue->first),
                 queue->bursts.end());
      queue->bursts.clear();
      queue->first = 0;
      spare_.push_back(std::move(queue));
    }
    channel.queues.clear();
  }
  streams_.clear();
  waiting_ = 0;
}

}  // namespace kernbench::device
