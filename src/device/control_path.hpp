// The control path: how the host reaches PEs, and how they answer.
//
// host → switch → pcie_ep → io_cpu → each target cube's m_cpu → each target PE; completions fold back the
// same way. `io_cpu` and `m_cpu` serve one message at a time, `overhead_ns` each, then send to all their
// children at once; a folded completion pays the overhead once, after the last child.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/fabric.hpp"
#include "kernbench/coords.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::device {

struct ControlSpec {
  Time submit, complete;  // of the host: before a request leaves, after its completion has come
  Time io_cpu, m_cpu;     // service times
  Bytes message_bytes;    // 0: a signal
  bool barrier = true;    // PEs start together
  static ControlSpec of(const topology::Machine& machine);
};

class ControlRequest;

/// One target PE of a request.
struct PeTask {
  ControlRequest* request = nullptr;
  PeCoord pe;
  std::size_t index = 0;  // among the request's targets
  Time stamp;             // with `launch.start: barrier`, the instant at which all PEs may start
  Time arrival;           // of the request at this PE
};

/// A request that goes to PEs of one SIP: a map, a launch, an installation. Derive from it, name the targets,
/// hand it to `ControlPath::submit`, keep it until `on_completed`.
class ControlRequest {
 public:
  ControlRequest();
  virtual ~ControlRequest();
  ControlRequest(const ControlRequest&) = delete;
  ControlRequest& operator=(const ControlRequest&) = delete;

  int sip = 0;
  std::vector<PeCoord> targets;                          // of that SIP, ascending
  topology::NodeKind part = topology::NodeKind::pe_cpu;  // which part of the PE it is for

  Time submitted() const { return submitted_; }
  Time completed() const { return completed_; }
  Time total() const { return completed_ - submitted_; }
  /// PEs that it reached after the stamp, and how late the last of them was.
  int late_starts() const { return late_starts_; }
  Time latest_start() const { return latest_; }

 protected:
  friend class ControlPath;
  /// The request is at a PE. Whoever carries it out calls `ControlPath::complete(task)` then or later.
  virtual void at_pe(PeTask& task) = 0;
  /// The completion is back at the host.
  virtual void on_completed() = 0;

 private:
  struct State;
  std::unique_ptr<State> state_;
  Time submitted_, completed_;
  int late_starts_ = 0;
  Time latest_;
};

class ControlPath {
 public:
  ControlPath(Fabric& fabric, const topology::Machine& machine);
  ~ControlPath();

  /// Called in the host's partition.
  void submit(ControlRequest& request);
  /// The task is done. Called in the partition of its PE.
  void complete(PeTask& task);

 private:
  friend struct ControlRequest::State;
  template <class Owner>
  class Step;
  struct Cpu;
  struct MCpu;
  struct Leg;
  struct Cube;
  using State = ControlRequest::State;

  // In the order in which they follow each other.
  void leave_host(State& state);
  void at_io_cpu(State& state);
  void fan_out(State& state);
  void at_m_cpu(Cube& cube);
  void fan_out(Cube& cube);
  void at_pe(Leg& leg);
  void back_at_m_cpu(Leg& leg);
  void fold(Cube& cube);
  void answer(Cube& cube);
  void back_at_io_cpu(Cube& cube);
  void answer(State& state);
  void back_at_host(State& state);
  void complete(State& state);

  void make_cubes(State& state);
  void make_legs(Cube& cube);
  Time stamp_of(const State& state);
  MCpu& m_cpu(CubeCoord cube);
  Cpu& io_cpu(int sip);

  Fabric& fabric_;
  const ControlSpec spec_;
  std::vector<std::unique_ptr<Cpu>> io_cpus_;  // per SIP
  std::vector<std::unique_ptr<MCpu>> m_cpus_;  // per cube
};

}  // namespace kernbench::device
