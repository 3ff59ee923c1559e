#include "device/memory.hpp"

#include "device/instant.hpp"

namespace kernbench::device {

namespace {

/// Data that a memory sends to those who read it goes behind what its PE sends, by receiver.
constexpr std::uint32_t kAnswers = 1U << 31;

}  // namespace

void Memory::request(Access& access) {
  std::size_t at = requests_.size();
  while (at > 0 && access.goes_before(*requests_[at - 1])) --at;
  requests_.insert(at, &access);
  if (!all_are_here_.scheduled()) partition_.choose(all_are_here_, choice_rank(Chooser::memory, node_.index));
}

void Memory::serve_requests() {
  for (Access* access : requests_) access->serve();
  requests_.clear();
}

void Access::start(Memory& memory, topology::NodeId issuer, topology::NodeId end, Direction direction,
                   Extent extent, Channel traffic, Lane* lane) {
  Fabric& fabric = memory.fabric();
  const bool reads = direction == Direction::read;
  if (memory_ != &memory || issuer_ != issuer || end_ != end || direction_ != direction) {
    signal_route_ = reads ? &fabric.request_route(issuer, memory.node()) : nullptr;
    route = reads ? nullptr : &fabric.route(end, memory.node());
    look_at_packets(memory.arrivals() != nullptr);
  }
  issuer_ = issuer;
  end_ = end;
  direction_ = direction;
  onward_ = nullptr;
  followed = !reads;
  rank = reads ? kAnswers + end.index : lane ? lane->rank() : 0;
  ask(memory, extent, traffic);
  if (reads) return;
  step_ = Step::commit;
  lane ? lane->send(fabric, *this) : fabric.send(*this);
}

void Access::start_through(Memory& from, topology::NodeId engine, Extent extent, const Onward& onward,
                           Channel traffic, std::uint32_t order) {
  signal_route_ = &from.fabric().request_route(engine, from.node());
  route = nullptr;
  issuer_ = end_ = engine;
  direction_ = Direction::read;
  onward_ = &onward;
  look_at_packets(true);
  followed = true;
  rank = order;
  ask(from, extent, traffic);
}

/// What it is about; the request of a read goes out.
void Access::ask(Memory& memory, Extent extent, Channel traffic) {
  memory_ = &memory;
  extent_ = extent;
  bytes = extent.bytes();
  channel = traffic;
  forget_ready();
  progress_ = {};
  if (direction_ == Direction::write) return;
  step_ = Step::serve;
  memory.fabric().request(*signal_route_, next_step(), traffic, rank);
}

void AccessStep::fire(sim::Event& e) { static_cast<Access&>(static_cast<AccessStep&>(e)).step(); }

void Access::step() {
  if (step_ == Step::serve) return memory_->request(*this);
  step_ == Step::commit ? commit() : on_done();
}

bool Access::goes_before(const Access& other) const {
  if (issuer_ != other.issuer_) return issuer_.index < other.issuer_.index;
  if (channel != other.channel) return channel < other.channel;
  return rank < other.rank;
}

void Access::serve() {
  at_memory_ = memory_->partition().now();
  if (onward_) return pass_on();
  if (!route) route = &memory_->fabric().route(memory_->node(), end_);
  memory_->serve_read(*this);
}

/// The data goes on past the engine. Whoever gets it may be told of packets before `serve_read` returns; all else of it is
/// a read until then.
void Access::pass_on() {
  Memory& from = *memory_;
  route = &from.fabric().route(from.node(), end_, onward_->memory->node());
  memory_ = onward_->memory;
  from.serve_read(*this);
  extent_ = onward_->extent;
  issuer_ = onward_->told;
  direction_ = Direction::write;
  step_ = Step::commit;
  signal_route_ = nullptr;
}

void Access::on_delivered() {
  if (direction_ == Direction::read) return on_done();
  at_memory_ = memory_->partition().now();
  const Time done = memory_->finish_write(*this);
  if (done != Time::never()) written(done);
}

void Access::written(Time at) {
  progress_.done = at;
  if (at == memory_->partition().now()) return commit();
  if (!wants_commit_ && acknowledges_ahead(at)) return;
  memory_->partition().schedule_at(next_step(), at);
}

/// Whether the acknowledgement, known before the write is in the memory, is on its way.
bool Access::acknowledges_ahead(Time written) {
  find_way_back();
  if (!memory_->fabric().acknowledge_ahead(*signal_route_, next_step(), written)) return false;
  step_ = Step::acknowledge;
  return true;
}

void Access::not_yet_written() {
  memory_->partition().cancel(next_step());
  step_ = Step::commit;
}

void Access::find_way_back() {
  if (!signal_route_) signal_route_ = &memory_->fabric().acknowledgement_route(memory_->node(), issuer_);
}

void Access::commit() {
  on_committed();
  step_ = Step::acknowledge;
  find_way_back();
  memory_->fabric().acknowledge(*signal_route_, next_step(), channel, kAnswers + issuer_.index, key());
}

}  // namespace kernbench::device
