#include "device/compute_engine.hpp"

#include <utility>

namespace kernbench::device {

void ComputeEngine::push(Work& work) {
  waiting_.push_back(&work);
  start_fetch();
}

void ComputeEngine::start_fetch() {
  if (fetching_ || waiting_.empty()) return;
  fetching_ = waiting_.front();
  waiting_.pop_front();
  fetch_over_ = false;
  fetching_->started = partition_.now();
  fetching_->on_started();
  if (fetching_->fetch == 0_B) return end_fetch();
  fabric_.take_turn(*ports_.read, ports_.read_bw.time_for(fetching_->fetch), fetch_end_);
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
  left_by_ = computing_->self;
  room_since_ = partition_.now();
  partition_.schedule(compute_end_, computing_->compute);
  start_fetch();
  if (has_room()) listener_.on_room(*this, *computing_);
}

void ComputeEngine::end_compute() {
  compute_over_ = true;
  computing_->computed = partition_.now();
  start_store();
}

void ComputeEngine::start_store() {
  if (storing_ || !computing_ || !compute_over_) return;
  storing_ = std::exchange(computing_, nullptr);
  start_compute();
  if (storing_->store == 0_B) return end_store();
  partition_.schedule_at(store_end_,
                         fabric_.occupy(ports_.write, ports_.write_bw.time_for(storing_->store), partition_));
}

void ComputeEngine::end_store() {
  Work& done = *std::exchange(storing_, nullptr);
  done.on_done();
  start_store();
}

}  // namespace kernbench::device
