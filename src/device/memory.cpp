#include "device/memory.hpp"

namespace kernbench::device {

void Access::start(Memory& memory, topology::NodeId issuer, topology::NodeId end, Direction direction,
                   Extent extent, Channel channel, Lane* lane) {
  Fabric& fabric = memory.fabric();
  memory_ = &memory;
  direction_ = direction;
  extent_ = extent;
  data_.bytes = extent.bytes();
  data_.channel = channel;
  data_.ready.clear();
  progress = {};
  issuer_ = issuer;
  end_ = end;
  if (direction == Direction::read) {
    fabric.signal(fabric.route(issuer, memory.node()), request_);
  } else {
    data_.route = &fabric.route(end, memory.node());
    lane ? lane->send(data_) : fabric.send(data_);
  }
}

void Access::Data::on_packet(std::int64_t packet, Time tail) {
  if (access_.direction_ == Direction::write) access_.memory_->on_packet(access_, packet, tail);
}

void Access::Data::on_run() {
  if (access_.direction_ == Direction::write) access_.memory_->on_run(access_);
}

void Access::Data::on_run_cut(std::int64_t from) {
  if (access_.direction_ == Direction::write) access_.memory_->on_run_cut(access_, from);
}

void Access::serve() {
  at_memory_ = memory_->partition().now();
  data_.route = &memory_->fabric().route(memory_->node(), end_);  // the memory's to look up: it sends
  memory_->serve_read(*this);
}

void Access::data_delivered() {
  if (direction_ == Direction::read) {
    through_memory_ = data_.ready.empty() ? at_memory_ : data_.ready.front();
    return on_done();
  }
  at_memory_ = memory_->partition().now();
  through_memory_ = memory_->finish_write(*this);
  memory_->partition().schedule_at(commit_, through_memory_);
}

void Access::commit() {
  Fabric& fabric = memory_->fabric();
  fabric.signal(fabric.route(memory_->node(), issuer_), acknowledge_);
}

}  // namespace kernbench::device
