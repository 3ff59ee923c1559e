#include "device/compute_engine.hpp"

#include <algorithm>
#include <utility>

namespace kernbench::device {

void Work::fill_phases(OpRecord& record) const {
  record.phase = {packed_phase(unit_wait_), packed_phase(unit_taken_ - started - unit_wait_),
                  packed_phase(computed - unit_taken_)};
}

void ComputeEngine::push(Work& work) {
  work.next_ = nullptr;
  (first_ ? last_->next_ : first_) = &work;
  last_ = &work;
  start_fetch();
}

void ComputeEngine::start_fetch() {
  if (fetching_ || !first_) return;
  fetching_ = std::exchange(first_, first_->next_);
  fetch_over_ = false;
  fetching_->started = partition_.now();
  fetching_->on_started();
  fetching_->fetch_alone_ = ports_.read_bw.time_for(fetching_->fetch);
  if (fetching_->fetch == 0_B) return end_fetch();
  fabric_.take_turn(
      *ports_.read,
      {.duration = fetching_->fetch_alone_, .done = &fetch_end_, .rank = ports_.rank, .turn = turn_});
}

void ComputeEngine::end_fetch() {
  fetch_over_ = true;
  fetching_->fetched = partition_.now();
  fetching_->on_fetched();
  start_compute();
}

void ComputeEngine::start_compute() {
  if (computing_ || !fetching_ || !fetch_over_) return;
  computing_ = std::exchange(fetching_, nullptr);
  compute_over_ = false;
  computing_->unit_wait_ = unit_wait(*computing_);
  computing_->unit_taken_ = partition_.now();
  left_by_ = computing_->self;
  room_since_ = partition_.now();
  partition_.schedule(compute_end_, computing_->compute);
  start_fetch();
  if (has_room()) listener_.on_room(*this, *computing_);
}

/// Fetch and unit work at once. Work whose fetch alone would have taken longer than the unit was still busy
/// waited for its fetch. Otherwise it waited for the unit, which has no idle moment then, and for its fetch only as
/// much longer as others held up the port.
Time ComputeEngine::unit_wait(const Work& work) const {
  const Time busy = std::max(unit_busy_until_ - work.started, Time());
  return work.fetch_alone_ > busy ? Time() : busy;
}

void ComputeEngine::end_compute() {
  unit_busy_until_ = partition_.now();
  compute_over_ = true;
  computing_->computed = partition_.now();
  start_store();
}

void ComputeEngine::start_store() {
  if (storing_ || !computing_ || !compute_over_) return;
  storing_ = std::exchange(computing_, nullptr);
  start_compute();
  if (storing_->store == 0_B) return end_store();
  ports_.write->occupy({ports_.write_bw.time_for(storing_->store), &store_end_, ports_.rank});
}

void ComputeEngine::end_store() {
  Work& done = *std::exchange(storing_, nullptr);
  done.on_done();
  start_store();
}

}  // namespace kernbench::device
