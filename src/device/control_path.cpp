#include "device/control_path.hpp"

#include <algorithm>
#include <utility>

#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::NodeId;
using topology::NodeKind;

ControlSpec ControlSpec::of(const topology::Machine& machine) {
  const ParamSet& host = machine.at("system.host");
  return {host.time("submit_ns"),
          host.time("complete_ns"),
          machine.at("sip.io.io_cpu").time("overhead_ns"),
          machine.at("cube.m_cpu").time("overhead_ns"),
          machine.at("launch").bytes("control_bytes"),
          machine.at("launch").text("start") == "barrier"};
}

namespace {

/// From one node to another. Most machines have control messages of no bytes, which need no more than a signal does.
struct OneWay {
  const SignalRoute* signal = nullptr;
  Route* route = nullptr;  // null: they have no bytes

  OneWay() = default;
  OneWay(Fabric& fabric, NodeId from, NodeId to, Bytes bytes)
      : route(bytes > 0_B ? &fabric.route(from, to) : nullptr) {
    signal = route ? route : &fabric.signal_route(from, to);
  }
  /// How long a message takes that waits for nobody.
  Time unloaded(Bytes bytes) const {
    if (!route) return signal->latency;
    const PacketFormat& format = route->pace.format();
    const std::int64_t packets = (bytes.count() + format.payload.count() - 1) / format.payload.count();
    return signal->latency + route->pace.bandwidth().time_for(format.end(packets - 1, bytes));
  }
};

}  // namespace

/// A CPU on the way: serves one message at a time.
struct ControlPath::Cpu {
  Cpu(Fabric& fabric, NodeId n, Time overhead)
      : node(n), service(overhead), partition(fabric.partition_of(n)), server(partition) {}
  NodeId node;
  Time service;
  sim::Partition& partition;
  sim::Server server;
};

/// That of a cube. It knows the ways from the IO CPU and to its PEs, which every request takes: they are found when
/// first needed.
struct ControlPath::MCpu : Cpu {
  struct Way {
    OneWay there, back;
    Time unloaded;  // there
  };
  using Ways = std::vector<Way>;
  using Cpu::Cpu;

  const Way& from_io(const ControlPath& path, NodeId io) {
    if (!io_way.there.signal) io_way = find(path, io, node);
    return io_way;
  }
  /// To a part of each PE.
  const Ways& to_pes(const ControlPath& path, CubeCoord cube, NodeKind part) {
    for (const auto& known : ways)
      if (known.first == part) return known.second;
    const topology::Graph& graph = path.fabric_.graph();
    Ways& made = ways.emplace_back(part, Ways()).second;
    for (int pe = 0; pe < graph.pes(); ++pe)
      made.push_back(find(path, node, graph.pe({cube.sip, cube.cube, pe}, part)));
    return made;
  }

  static Way find(const ControlPath& path, NodeId from, NodeId to) {
    const Bytes bytes = path.spec_.message_bytes;
    const OneWay there(path.fabric_, from, to, bytes);
    return {there, OneWay(path.fabric_, to, from, bytes), there.unloaded(bytes)};
  }

  Way io_way;
  std::vector<std::pair<NodeKind, Ways>> ways;  // per part of a PE, per PE
};

/// One step of a control message: over the fabric to a node, or through a CPU; `then` follows.
template <class Owner>
class ControlPath::Step : public sim::Event {
 public:
  using Then = void (ControlPath::*)(Owner&);
  explicit Step(Owner& owner) : Event(&arrive), owner_(owner) {}

  void send(ControlPath& path, const OneWay& way, Then then) {
    note(path, then);
    if (!way.route) return path.fabric_.signal(*way.signal, *this);
    if (!data_) {
      auto data = std::make_unique<Data>(*this);
      data_ = data.get();
      owner_.whole().messages.push_back(std::move(data));
    }
    data_->route = way.route;
    data_->bytes = path.spec_.message_bytes;
    path.fabric_.send(*data_);
  }

  void serve(ControlPath& path, Cpu& cpu, Then then) {
    wait(path, cpu.partition, cpu.server.reserve(cpu.service), then);
  }

  void wait(ControlPath& path, sim::Partition& here, Time until, Then then) {
    note(path, then);
    here.schedule_at(*this, until);
  }

 private:
  struct Data final : Message {
    explicit Data(Step& s) : step(s) {}
    void on_delivered() override { step.fire(); }
    Step& step;
  };
  void note(ControlPath& path, Then then) {
    path_ = &path;
    then_ = then;
  }
  static void arrive(sim::Event& e) {
    auto& step = static_cast<Step&>(e);
    (step.path_->*step.then_)(step.owner_);
  }

  Owner& owner_;
  ControlPath* path_ = nullptr;
  Then then_ = nullptr;
  Data* data_ = nullptr;  // only if messages have bytes; the request's
};

/// The way to a target PE, and back.
struct ControlPath::Leg final : PeTask {
  Leg() : step(*this) {}
  State& whole() const;
  const MCpu::Way* way = nullptr;
  Cube* cube = nullptr;
  Step<Leg> step;
};

/// A target cube of a request. Its legs are there from its M CPU's work to the last answer: requests that wait for a CPU, which
/// may be many, have none.
struct ControlPath::Cube {
  Cube() : step(*this) {}
  State& whole() const { return *state; }
  State* state = nullptr;
  MCpu* cpu = nullptr;
  std::size_t first = 0;  // of its targets
  std::size_t count = 0;
  std::unique_ptr<Leg[]> legs;
  std::size_t open = 0;
  Time answered;    // when the last answer so far is here
  Step<Cube> step;  // there, through the CPU, and back the same way
};

struct ControlRequest::State {
  explicit State(ControlRequest& r) : request(r), step(*this) {}
  State& whole() { return *this; }
  ControlRequest& request;
  ControlPath::Step<State> step;
  std::vector<ControlPath::Cube> cubes;
  std::vector<std::unique_ptr<Message>> messages;
  std::size_t open = 0;
  Time stamp;
};

ControlRequest::State& ControlPath::Leg::whole() const { return *cube->state; }

ControlRequest::ControlRequest() = default;
ControlRequest::~ControlRequest() = default;

ControlPath::ControlPath(Fabric& fabric, const topology::Machine& machine)
    : fabric_(fabric), spec_(ControlSpec::of(machine)) {
  const topology::Graph& graph = fabric.graph();
  for (int sip = 0; sip < graph.sips(); ++sip) {
    io_cpus_.push_back(std::make_unique<Cpu>(fabric, graph.io(sip, NodeKind::io_cpu), spec_.io_cpu));
    for (int cube = 0; cube < graph.cubes(); ++cube)
      m_cpus_.push_back(std::make_unique<MCpu>(fabric, graph.m_cpu({sip, cube}), spec_.m_cpu));
  }
}

ControlPath::~ControlPath() = default;

ControlPath::Cpu& ControlPath::io_cpu(int sip) { return *io_cpus_[static_cast<std::size_t>(sip)]; }
ControlPath::MCpu& ControlPath::m_cpu(CubeCoord cube) {
  return *m_cpus_[static_cast<std::size_t>(cube.sip * fabric_.graph().cubes() + cube.cube)];
}

void ControlPath::submit(ControlRequest& request) {
  KB_ASSERT(!request.targets.empty(), "a request for no PE of sip{}", request.sip);
  const topology::Graph& graph = fabric_.graph();
  KB_ASSERT(std::is_sorted(request.targets.begin(), request.targets.end()) &&
                request.targets.front().sip == request.sip && request.targets.back().sip == request.sip,
            "the targets of a request to sip{} must be of it, and in order", request.sip);
  request.submitted_ = fabric_.partition_of(graph.host()).now();
  request.late_starts_ = 0;
  request.latest_ = Time();
  request.state_ = std::make_unique<State>(request);
  if (spec_.submit == Time()) return leave_host(*request.state_);
  request.state_->step.wait(*this, fabric_.partition_of(graph.host()), request.submitted_ + spec_.submit,
                            &ControlPath::leave_host);
}

void ControlPath::leave_host(State& state) {
  const OneWay way(fabric_, fabric_.graph().host(), io_cpu(state.request.sip).node, spec_.message_bytes);
  state.step.send(*this, way, &ControlPath::at_io_cpu);
}

void ControlPath::at_io_cpu(State& state) {
  state.step.serve(*this, io_cpu(state.request.sip), &ControlPath::fan_out);
}

/// The target cubes of a request, each with its part of the targets.
void ControlPath::make_cubes(State& state) {
  const std::vector<PeCoord>& targets = state.request.targets;
  std::size_t cubes = 1;
  for (std::size_t i = 1; i < targets.size(); ++i) cubes += targets[i].cube != targets[i - 1].cube ? 1 : 0;
  state.cubes = std::vector<Cube>(cubes);
  Cube* cube = state.cubes.data();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (i > 0 && targets[i].cube != targets[i - 1].cube) ++cube;
    if (cube->count++ > 0) continue;
    cube->state = &state;
    cube->cpu = &m_cpu(targets[i].in_cube());
    cube->first = i;
  }
}

/// When an unloaded message from the IO CPU, which has it now, reaches the farthest target.
Time ControlPath::stamp_of(const State& state) {
  const ControlRequest& request = state.request;
  const Cpu& io = io_cpu(request.sip);
  Time farthest;
  for (const Cube& cube : state.cubes) {
    const Time to_cube = cube.cpu->from_io(*this, io.node).unloaded + spec_.m_cpu;
    const MCpu::Ways& ways = cube.cpu->to_pes(*this, request.targets[cube.first].in_cube(), request.part);
    for (std::size_t i = cube.first; i < cube.first + cube.count; ++i)
      farthest = std::max(farthest, to_cube + ways[static_cast<std::size_t>(request.targets[i].pe)].unloaded);
  }
  return io.partition.now() + farthest;
}

void ControlPath::make_legs(Cube& cube) {
  ControlRequest& request = cube.state->request;
  const MCpu::Ways& ways = cube.cpu->to_pes(*this, request.targets[cube.first].in_cube(), request.part);
  cube.legs = std::make_unique<Leg[]>(cube.count);
  for (std::size_t i = 0; i < cube.count; ++i) {
    Leg& leg = cube.legs[i];
    leg.request = &request;
    leg.pe = request.targets[cube.first + i];
    leg.index = cube.first + i;
    if (spec_.barrier) leg.stamp = cube.state->stamp;
    leg.cube = &cube;
    leg.way = &ways[static_cast<std::size_t>(leg.pe.pe)];
  }
}

/// The IO CPU has worked on it: on to all target cubes at once.
void ControlPath::fan_out(State& state) {
  make_cubes(state);
  state.stamp = stamp_of(state);
  state.open = state.cubes.size();
  for (Cube& cube : state.cubes) cube.step.send(*this, cube.cpu->io_way.there, &ControlPath::at_m_cpu);
}

void ControlPath::at_m_cpu(Cube& cube) { cube.step.serve(*this, *cube.cpu, &ControlPath::fan_out); }

/// The M CPU has worked on it: on to all target PEs at once.
void ControlPath::fan_out(Cube& cube) {
  make_legs(cube);
  cube.open = cube.count;
  for (std::size_t i = 0; i < cube.count; ++i)
    cube.legs[i].step.send(*this, cube.legs[i].way->there, &ControlPath::at_pe);
}

void ControlPath::at_pe(Leg& leg) {
  ControlRequest& request = *leg.request;
  leg.arrival = leg.cube->cpu->partition.now();
  if (spec_.barrier && leg.arrival > leg.stamp) {
    ++request.late_starts_;
    request.latest_ = std::max(request.latest_, leg.arrival - leg.stamp);
  }
  request.at_pe(leg);
}

/// Answers of no bytes wait for nobody, so that it is known when they will be back: the last one alone makes an event.
void ControlPath::complete(PeTask& task) {
  auto& leg = static_cast<Leg&>(task);
  Cube& cube = *leg.cube;
  if (spec_.message_bytes > 0_B) return leg.step.send(*this, leg.way->back, &ControlPath::back_at_m_cpu);
  sim::Partition& here = cube.cpu->partition;
  cube.answered = std::max(cube.answered, here.now() + leg.way->back.signal->latency);
  if (--cube.open == 0) cube.step.wait(*this, here, cube.answered, &ControlPath::fold);
}

void ControlPath::back_at_m_cpu(Leg& leg) {
  if (--leg.cube->open == 0) fold(*leg.cube);
}

/// The M CPU works on the folded completion once, after the last PE. Messages with bytes refer to their legs.
void ControlPath::fold(Cube& cube) {
  if (spec_.message_bytes == 0_B) cube.legs.reset();
  cube.step.serve(*this, *cube.cpu, &ControlPath::answer);
}

void ControlPath::answer(Cube& cube) {
  cube.step.send(*this, cube.cpu->io_way.back, &ControlPath::back_at_io_cpu);
}

/// The IO CPU, likewise, after the last cube.
void ControlPath::back_at_io_cpu(Cube& cube) {
  State& state = *cube.state;
  if (--state.open == 0) state.step.serve(*this, io_cpu(state.request.sip), &ControlPath::answer);
}

void ControlPath::answer(State& state) {
  const OneWay way(fabric_, io_cpu(state.request.sip).node, fabric_.graph().host(), spec_.message_bytes);
  state.step.send(*this, way, &ControlPath::back_at_host);
}

void ControlPath::back_at_host(State& state) {
  if (spec_.complete == Time()) return complete(state);
  sim::Partition& host = fabric_.partition_of(fabric_.graph().host());
  state.step.wait(*this, host, host.now() + spec_.complete, &ControlPath::complete);
}

void ControlPath::complete(State& state) {
  ControlRequest& request = state.request;
  // Its memory may serve the next request. Messages with bytes leave traces in the partitions they come from.
  std::unique_ptr<State> over;
  if (spec_.message_bytes == 0_B) over = std::move(request.state_);
  request.completed_ = fabric_.partition_of(fabric_.graph().host()).now();
  request.on_completed();
}

}  // namespace kernbench::device
