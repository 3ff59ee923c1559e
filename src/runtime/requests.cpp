#include "runtime/requests.hpp"

#include <algorithm>

namespace kernbench::runtime {

using device::Cause;
using device::Direction;
using device::OpKind;
using device::OpRecord;
using device::OpRef;

namespace {

std::uint32_t host_origin(device::Processors& processors, int sip, std::uint32_t number) {
  return processors.add_origin({nullptr, {sip, -1, -1}, number, nullptr});
}

/// The record of a request that ends now.
OpRef write_record(device::Processors& processors, const Cause& before, OpRecord record) {
  const OpRef self = processors.writer().next(0);
  record.end = processors.device().host_partition().now();
  processors.writer().write(self, before, record);
  return self;
}

}  // namespace

MapRequest::MapRequest(device::Processors& processors, std::uint32_t number,
                       std::shared_ptr<const Storage> storage)
    : Request(Phase::map, {}),
      processors_(processors),
      origin_(host_origin(processors, storage->sip, number)),
      storage_(std::move(storage)) {}

void MapRequest::leave(const Cause& before) {
  device::Device& device = processors_.device();
  at_work_.emplace(device, storage_->sip, device.machine().cubes(), device.machine().pes());
  at_work_->segment_for = [this](PeCoord pe) { return storage_->segment(pe); };
  at_work_->on_complete = [this, before] {
    complete(write_record(processors_, before,
                          {.start = at_work_->submitted(), .origin = origin_, .kind = OpKind::host_map}));
  };
  at_work_->submit();
}

Question MapRequest::question() const {
  return {.phase = phase(), .stream = stream().number(), .storage = storage_};
}

UnmapRequest::UnmapRequest(device::Processors& processors, std::uint32_t number,
                           std::shared_ptr<const Storage> storage, StorageSpace& space)
    : Request(Phase::unmap, {}),
      processors_(processors),
      origin_(host_origin(processors, storage->sip, number)),
      storage_(std::move(storage)),
      space_(space) {}

void UnmapRequest::leave(const Cause& before) {
  device::Device& device = processors_.device();
  at_work_.emplace(device, storage_->sip, device.machine().cubes(), device.machine().pes(), storage_->base,
                   storage_->size());
  at_work_->on_complete = [this, before] {
    if (!done()) space_.free(*storage_);
    complete(write_record(processors_, before,
                          {.start = at_work_->submitted(), .origin = origin_, .kind = OpKind::host_map}));
  };
  at_work_->submit();
}

Question UnmapRequest::question() const {
  return {.phase = phase(), .stream = stream().number(), .storage = storage_};
}

void UnmapRequest::take_over(const Request&, OpRef record) {
  space_.free(*storage_);
  complete(record);
}

class TransferRequest::AtWork final : public device::HostTransfer {
 public:
  AtWork(device::Device& device, Direction direction, TransferRequest& request)
      : HostTransfer(device, direction), request_(request) {}

 private:
  void on_completed() override { request_.completed(); }
  TransferRequest& request_;
};

TransferRequest::TransferRequest(device::Processors& processors, std::uint32_t number, Direction direction,
                                 std::shared_ptr<const Storage> storage, std::vector<Chunk> chunks)
    : Request(direction == Direction::read ? Phase::read : Phase::write, {}),
      processors_(processors),
      direction_(direction),
      origin_(host_origin(processors, storage->sip, number)),
      storage_(std::move(storage)),
      chunks_(std::move(chunks)) {
  const auto& holders = storage_->layout.holders();
  const auto before = [](const Chunk& c, std::uint32_t block) { return c.block < block; };
  for (const std::uint32_t h : storage_->owners) {
    const std::uint32_t block = holders[h].block;
    for (auto c = std::lower_bound(chunks_.begin(), chunks_.end(), block, before);
         c != chunks_.end() && c->block == block; ++c) {
      places_.push_back({static_cast<std::uint32_t>(c - chunks_.begin()), h, moved_});
      moved_ += c->bytes();
    }
  }
}

TransferRequest::~TransferRequest() = default;
void TransferRequest::let_go() { at_work_.reset(); }

address::PhysAddr TransferRequest::address(const Place& place) const {
  const Chunk& chunk = chunks_[place.chunk];
  return storage_->copies[place.holder] + Bytes(chunk.offset - storage_->layout.blocks()[chunk.block].offset);
}

void TransferRequest::leave(const Cause& before) {
  before_ = before;
  at_work_ = std::make_unique<AtWork>(processors_.device(), direction_, *this);
  for (const Place& place : places_) {
    const Chunk& chunk = chunks_[place.chunk];
    at_work_->add_rows(address(place), chunk.row_bytes, chunk.rows, chunk.stride);
  }
  at_work_->submit();
}

/// Phases are those of the part that was done last.
void TransferRequest::completed() {
  const bool read = direction_ == Direction::read;
  OpRecord record{.start = at_work_->submitted(),
                  .amount = static_cast<std::uint64_t>(moved_),
                  .origin = origin_,
                  .kind = read ? OpKind::host_read : OpKind::host_write};
  record.phase = {device::packed_phase(at_work_->at_memory() - at_work_->submitted()),
                  device::packed_phase(at_work_->through_memory() - at_work_->at_memory()), 0};
  complete(write_record(processors_, before_, record));
}

Question TransferRequest::question() const {
  Question question{.phase = phase(), .stream = stream().number()};
  for (const Place& place : places_) {
    const Chunk& chunk = chunks_[place.chunk];
    question.rows.push_back({address(place), chunk.row_bytes, chunk.rows, chunk.stride});
  }
  return question;
}

InstallRequest::InstallRequest(device::Processors& processors, std::uint32_t number, int sip,
                               device::WiringPtr wiring, device::WiringPtr replaced)
    : Request(Phase::install, wiring->name()),
      processors_(processors),
      sip_(sip),
      origin_(host_origin(processors, sip, number)),
      wiring_(std::move(wiring)),
      replaced_(std::move(replaced)) {}

void InstallRequest::leave(const Cause& before) {
  at_work_.emplace(processors_, wiring_, sip_, replaced_);
  at_work_->on_complete = [this, before](device::WiringRequest& done) {
    complete(write_record(processors_, before,
                          {.start = done.submitted(), .origin = origin_, .kind = OpKind::host_map}));
  };
  at_work_->submit();
}

/// The machine is another one then: this never comes again.
Question InstallRequest::question() const {
  return {.phase = phase(), .stream = stream().number(), .comes_again = false};
}

LaunchRequest::LaunchRequest(device::Processors& processors, std::uint32_t number, int sip, std::string name,
                             ProgramSetPtr programs, const device::WiringPtr& wiring,
                             std::shared_ptr<JointLaunch> joint)
    : Request(Phase::launch, std::move(name)),
      processors_(processors),
      programs_(std::move(programs)),
      wiring_(wiring),
      joint_(std::move(joint)),
      is_joint_(joint_ != nullptr) {
  if (joint_)
    origin_ = host_origin(processors, sip, number);
  else
    at_work_ = std::make_unique<device::KernelLaunch>(
        processors, number, sip, programs_->programs(), wiring, std::vector<std::uint32_t>(),
        processors.notes_fingerprints() ? programs_->fingerprints() : std::vector<std::uint64_t>());
}

const WrittenBytes& LaunchRequest::writes() const {
  static const WrittenBytes none;
  return dropped_ ? none : programs_->writes();
}

void LaunchRequest::drop_programs() {
  static const auto none = std::make_shared<const ProgramSet>();
  dropped_ = true;
  if (!wiring_ || taken_over_)
    programs_ = none;
  else if (programs_.use_count() == 1)
    programs_->forget_writes();
}

void LaunchRequest::leave(const Cause& before) {
  if (joint_) return joint_->left(*this, before);
  taken_over_ = false;
  at_work_->before = before;
  at_work_->on_complete = [this](device::KernelLaunch& launch) { completed(launch, launch.completion()); };
  processors_.device().control().submit(*at_work_);
}

void LaunchRequest::completed(const device::KernelLaunch& launch, OpRef record) {
  pe_exec_ = launch.pe_exec();
  late_starts_ = launch.late_starts();
  complete(record);
}

Question LaunchRequest::question() const {
  return {.phase = phase(),
          .stream = stream().number(),
          .programs = programs_,
          .wiring = wiring_,
          .comes_again = comes_again()};
}

std::pair<std::uint32_t, std::uint32_t> LaunchRequest::origins() const {
  if (joint_) return {origin_, 1};
  return {at_work_->first_origin(), static_cast<std::uint32_t>(programs().size()) + 1};
}

void LaunchRequest::take_over(const Request& like, OpRef record) {
  const auto& launch = static_cast<const LaunchRequest&>(like);
  pe_exec_ = launch.pe_exec_;
  late_starts_ = launch.late_starts_;
  taken_over_ = true;
  complete(record);
}

void JointLaunch::left(LaunchRequest& part, const Cause& before) {
  parts_.push_back(&part);
  if (before.met > before_.met) before_ = before;
  if (parts_.size() == wanted_) send();
}

void JointLaunch::send() {
  std::vector<std::pair<std::shared_ptr<const isa::Program>, std::uint32_t>> all;
  for (const LaunchRequest* part : parts_)
    for (const auto& program : part->programs()) all.emplace_back(program, part->number());
  std::ranges::sort(all, {}, [](const auto& one) { return one.first->pe(); });
  Programs programs;
  std::vector<std::uint32_t> numbers;
  for (auto& [program, number] : all) {
    programs.push_back(std::move(program));
    numbers.push_back(number);
  }
  std::vector<std::uint64_t> fingerprints;
  if (processors_.notes_fingerprints()) fingerprints = fingerprints_of(programs);
  at_work_ = std::make_unique<device::KernelLaunch>(processors_, parts_.front()->number(), sip_,
                                                    std::move(programs), wiring_, numbers, fingerprints);
  at_work_->before = before_;
  at_work_->on_complete = [this](device::KernelLaunch& launch) {
    OpRef record = launch.completion();  // of the first part
    for (LaunchRequest* part : parts_) {
      if (part != parts_.front())
        record = write_record(
            processors_, launch.last_end(),
            {.start = launch.last_end().instant, .origin = part->origin_, .kind = OpKind::host_launch});
      part->completed(launch, record);
    }
  };
  processors_.device().control().submit(*at_work_);
}

void LaunchRequest::let_go() {
  at_work_.reset();
  joint_.reset();
}

Trace LaunchRequest::trace() const {
  Trace trace = Request::trace();
  trace.pe_exec = pe_exec_;
  trace.network = trace.total - pe_exec_;
  trace.late_starts = late_starts_;
  trace.note = note;
  trace.compulsory = compulsory;
  return trace;
}

}  // namespace kernbench::runtime
