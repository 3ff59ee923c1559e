// The kinds of requests.
#pragma once

#include <functional>
#include <optional>

#include "device/install.hpp"
#include "device/request.hpp"
#include "kernbench/ndarray.hpp"
#include "runtime/program_set.hpp"
#include "runtime/region.hpp"
#include "runtime/storage.hpp"
#include "runtime/stream.hpp"
#include "runtime/written_bytes.hpp"

namespace kernbench::runtime {

/// Tells the MMUs of a SIP about a tensor.
class MapRequest final : public Request {
 public:
  MapRequest(device::Processors& processors, std::uint32_t number, std::shared_ptr<const Storage> storage);
  const std::shared_ptr<const Storage>& storage() const { return storage_; }
  const std::string& name() const override { return storage_->name; }

 private:
  void leave(const device::Cause& before) override;
  void let_go() override { at_work_.reset(); }
  Question question() const override;
  std::pair<std::uint32_t, std::uint32_t> origins() const override { return {origin_, 1}; }

  device::Processors& processors_;
  const std::uint32_t origin_;
  std::shared_ptr<const Storage> storage_;
  std::optional<device::MapRequest> at_work_;
};

/// Makes them forget it; then its memory is free.
class UnmapRequest final : public Request {
 public:
  UnmapRequest(device::Processors& processors, std::uint32_t number, std::shared_ptr<const Storage> storage,
               StorageSpace& space);
  const Storage& storage() const { return *storage_; }
  const std::string& name() const override { return storage_->name; }

 private:
  void leave(const device::Cause& before) override;
  void let_go() override { at_work_.reset(); }
  Question question() const override;
  std::pair<std::uint32_t, std::uint32_t> origins() const override { return {origin_, 1}; }
  void take_over(const Request& like, device::OpRef record) override;

  device::Processors& processors_;
  const std::uint32_t origin_;
  std::shared_ptr<const Storage> storage_;
  StorageSpace& space_;
  std::optional<device::UnmapRequest> at_work_;
};

/// The bytes of a region in the order of the storage: so many.
using Content = std::function<std::shared_ptr<const std::byte>(std::size_t)>;

/// A write to, or a read from, a region of a tensor: all copies of it.
class TransferRequest final : public Request {
 public:
  TransferRequest(device::Processors& processors, std::uint32_t number, device::Direction direction,
                  std::shared_ptr<const Storage> storage, std::vector<Chunk> chunks);

  const Storage& storage() const { return *storage_; }
  const std::string& name() const override { return storage_->name; }
  /// One transfer for each run of bytes of each copy.
  struct Place {
    std::uint32_t chunk;
    std::uint32_t holder;
    std::int64_t in_buffer;  // of a read, where all copies have a place of their own
  };
  const std::vector<Chunk>& chunks() const { return chunks_; }
  const std::vector<Place>& places() const { return places_; }
  address::PhysAddr address(const Place& place) const;
  Bytes moved() const { return Bytes(moved_); }  // over all copies

  /// What a write writes; null if nobody wants to know. And the bytes that it keeps.
  Content content;
  std::int64_t content_bytes = 0;
  /// Where a read puts what it finds; empty if nobody wants to know. And the first byte that nobody had written, if there is
  /// one; then nothing was read.
  ByteBuffer buffer;
  std::optional<address::PhysAddr> unwritten;

 private:
  class AtWork;
  void leave(const device::Cause& before) override;
  void let_go() override;
  void completed();
  Question question() const override;
  std::pair<std::uint32_t, std::uint32_t> origins() const override { return {origin_, 1}; }

  device::Processors& processors_;
  const device::Direction direction_;
  const std::uint32_t origin_;
  std::shared_ptr<const Storage> storage_;
  std::vector<Chunk> chunks_;
  std::vector<Place> places_;
  std::int64_t moved_ = 0;
  device::Cause before_;
  std::unique_ptr<AtWork> at_work_;

 public:
  ~TransferRequest() override;
};

/// Carries queues to the PEs of a SIP.
class InstallRequest final : public Request {
 public:
  InstallRequest(device::Processors& processors, std::uint32_t number, int sip, device::WiringPtr wiring,
                 device::WiringPtr replaced);
  /// The wiring that is gone then; null if none is.
  const device::WiringPtr& replaced() const { return replaced_; }

 private:
  void leave(const device::Cause& before) override;
  void let_go() override { at_work_.reset(); }
  Question question() const override;
  std::pair<std::uint32_t, std::uint32_t> origins() const override { return {origin_, 1}; }

  device::Processors& processors_;
  const int sip_;
  const std::uint32_t origin_;
  device::WiringPtr wiring_, replaced_;
  std::optional<device::InstallRequest> at_work_;
};

class LaunchRequest;

/// A launch on one SIP that several streams take part in, each with a request and its own programs. It goes out when
/// all of these have left their streams, and completes them all.
class JointLaunch {
 public:
  JointLaunch(device::Processors& processors, int sip, std::size_t parts, device::WiringPtr wiring)
      : processors_(processors), sip_(sip), wanted_(parts), wiring_(std::move(wiring)) {}

 private:
  friend class LaunchRequest;
  void left(LaunchRequest& part, const device::Cause& before);
  void send();

  device::Processors& processors_;
  const int sip_;
  const std::size_t wanted_;
  const device::WiringPtr wiring_;
  std::vector<LaunchRequest*> parts_;  // that have left
  device::Cause before_;
  std::unique_ptr<device::KernelLaunch> at_work_;
};

class LaunchRequest final : public Request {
 public:
  LaunchRequest(device::Processors& processors, std::uint32_t number, int sip, std::string name,
                ProgramSetPtr programs, const device::WiringPtr& wiring,
                std::shared_ptr<JointLaunch> joint = nullptr);
  const Programs& programs() const { return programs_->programs(); }
  /// The same; launches with equal programs may have it in common.
  const ProgramSetPtr& program_set() const { return programs_; }
  /// What they may write to memory.
  const WrittenBytes& writes() const;
  /// False: it is part of a joint launch, and two of these are never the same.
  bool comes_again() const { return !is_joint_; }
  /// Whose queues they may use; null: none.
  const device::WiringPtr& wiring() const { return wiring_; }
  /// Nobody will ask for them any more, nor for what they write. Those that send stay if the machine knows of them: messages on
  /// their way refer to them.
  void drop_programs();
  Trace trace() const override;
  /// What its trace says beside the times.
  std::string note;
  Time compulsory;

 private:
  friend class JointLaunch;
  void leave(const device::Cause& before) override;
  void let_go() override;
  void completed(const device::KernelLaunch& launch, device::OpRef record);
  Question question() const override;
  std::pair<std::uint32_t, std::uint32_t> origins() const override;
  void take_over(const Request& like, device::OpRef record) override;

  device::Processors& processors_;
  ProgramSetPtr programs_;
  const device::WiringPtr wiring_;
  std::unique_ptr<device::KernelLaunch> at_work_;
  std::shared_ptr<JointLaunch> joint_;
  const bool is_joint_;
  std::uint32_t origin_ = 0;  // of a part of a joint launch
  bool taken_over_ = false;   // the machine never saw it
  bool dropped_ = false;      // the programs, or what they write
  Time pe_exec_;
  int late_starts_ = 0;
};

}  // namespace kernbench::runtime
