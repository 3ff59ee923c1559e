#include "device/memory.hpp"

namespace kernbench::device {

void Access::start(Memory& memory, topology::NodeId issuer, topology::NodeId end, Direction direction,
                   Extent extent, Channel channel, Lane* lane) {
  Fabric& fabric = memory.fabric();
  if (memory_ != &memory || issuer_ != issuer || end_ != end || direction_ != direction) {
    there_ = &fabric.route(direction == Direction::read ? issuer : end, memory.node());
    back_ = nullptr;
  }
  memory_ = &memory;
  issuer_ = issuer;
  end_ = end;
  direction_ = direction;
  extent_ = extent;
  data_.bytes = extent.bytes();
  data_.channel = channel;
  data_.ready.clear();
  progress = {};
  if (direction == Direction::read) return fabric.signal(*there_, request_);
  data_.route = there_;
  lane ? lane->send(fabric, data_) : fabric.send(data_);
}

/// Routes are the sender's: this one belongs to the memory's partition.
Route& Access::way_back() {
  if (!back_)
    back_ = &memory_->fabric().route(memory_->node(), direction_ == Direction::read ? end_ : issuer_);
  return *back_;
}

void Access::Data::on_packet(std::int64_t packet, Time tail) {
  if (access_.direction_ == Direction::write) access_.memory_->on_packet(access_, packet, tail);
}

void Access::Data::on_run(const Run& run) {
  if (access_.direction_ == Direction::write) access_.memory_->on_run(access_, run);
}

void Access::Data::on_run_cut(std::int64_t from, std::int64_t end) {
  if (access_.direction_ == Direction::write) access_.memory_->on_run_cut(access_, from, end);
}

void Access::serve() {
  at_memory_ = memory_->partition().now();
  data_.route = &way_back();
  memory_->serve_read(*this);
}

void Access::data_delivered() {
  if (direction_ == Direction::read) {
    through_memory_ = data_.ready.empty() ? at_memory_ : data_.ready.front();
    return on_done();
  }
  at_memory_ = memory_->partition().now();
  through_memory_ = memory_->finish_write(*this);
  if (through_memory_ == at_memory_) return commit();
  memory_->partition().schedule_at(commit_, through_memory_);
}

void Access::commit() {
  on_committed();
  memory_->fabric().signal(way_back(), acknowledge_);
}

}  // namespace kernbench::device
