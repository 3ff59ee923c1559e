#include "device/memory.hpp"

namespace kernbench::device {

/// All requests of an instant were sent before it, for every way takes a picosecond: those that have not come yet are
/// before `all_are_here_` in the queue. Those from other partitions come first, so that the last one on its way from
/// here need not wait for any.
void Memory::request(Access& access) {
  const bool last = access.asks_from_here() && --on_the_way_ == 0;
  if (last && requests_.empty()) return access.serve();
  std::size_t at = requests_.size();
  while (at > 0 && access.goes_before(*requests_[at - 1])) --at;
  requests_.insert(at, &access);
  if (!all_are_here_.scheduled()) partition_.schedule(all_are_here_, Time());
}

void Memory::serve_requests() {
  for (Access* access : requests_) access->serve();
  requests_.clear();
}

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
  data_.followed = direction == Direction::write;
  data_.ready.clear();
  progress = {};
  step_ = direction == Direction::read ? Step::serve : Step::commit;
  if (direction == Direction::read) {
    if (asks_from_here()) ++memory.on_the_way_;
    return fabric.signal(*there_, next_step_);
  }
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
  access_.memory_->on_packet(access_, packet, tail);
}

void Access::Data::on_run(const Run& run) { access_.memory_->on_run(access_, run); }

void Access::Data::on_run_cut(std::int64_t from, std::int64_t end) {
  access_.memory_->on_run_cut(access_, from, end);
}

void Access::step() {
  if (step_ == Step::serve) return memory_->request(*this);
  step_ == Step::commit ? commit() : on_done();
}

bool Access::goes_before(const Access& other) const {
  if (issuer_ != other.issuer_) return issuer_.index < other.issuer_.index;
  return data_.channel < other.data_.channel;
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
  memory_->partition().schedule_at(next_step_, through_memory_);
}

void Access::commit() {
  on_committed();
  step_ = Step::acknowledge;
  memory_->fabric().signal(way_back(), next_step_);
}

}  // namespace kernbench::device
