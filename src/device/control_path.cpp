#include "device/control_path.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "kernbench/error.hpp"

namespace kernbench::device {

using topology::NodeId;
using topology::NodeKind;

ControlSpec ControlSpec::of(const topology::Machine& machine) {
  return {machine.at("sip.io.io_cpu").time("overhead_ns"), machine.at("cube.m_cpu").time("overhead_ns"),
          machine.at("launch").bytes("control_bytes"), machine.at("launch").text("start") == "barrier"};
}

/// A CPU on the way: serves one message at a time.
struct ControlPath::Cpu {
  Cpu(Fabric& fabric, NodeId n, Time overhead)
      : node(n), service(overhead), partition(fabric.partition_of(n)), server(partition) {}
  NodeId node;
  Time service;
  sim::Partition& partition;
  sim::Server server;
};

/// One step of a control message: over the fabric to a node, or through a CPU; `then()` follows.
class ControlPath::Step {
 public:
  Step() : data_(*this), arrived_(*this) {}

  void send(Fabric& fabric, Route& route, Bytes bytes, std::function<void()> then) {
    then_ = std::move(then);
    if (bytes == 0_B) return fabric.signal(route, arrived_);
    data_.route = &route;
    data_.bytes = bytes;
    fabric.send(data_);
  }

  void serve(Cpu& cpu, std::function<void()> then) {
    then_ = std::move(then);
    cpu.partition.schedule_at(arrived_, cpu.server.reserve(cpu.service));
  }

 private:
  struct Data final : Message {
    explicit Data(Step& s) : step(s) {}
    void on_delivered() override { step.arrive(); }
    Step& step;
  };
  void arrive() { std::exchange(then_, nullptr)(); }

  Data data_;
  std::function<void()> then_;
  sim::MemberEvent<&Step::arrive> arrived_;
};

/// A target cube of a request.
struct ControlPath::Cube {
  struct Pe {
    PeTask task;
    Step step;  // there, then back
  };
  ControlRequest* request = nullptr;
  Cpu* cpu = nullptr;
  Step step;  // there, through the CPU, and back the same way
  std::vector<std::unique_ptr<Pe>> pes;
  std::size_t open = 0;
};

struct ControlRequest::State {
  ControlPath::Step step;
  std::vector<std::unique_ptr<ControlPath::Cube>> cubes;
  std::size_t open = 0;

  ControlPath::Cube& cube_of(CubeCoord cube) {
    const auto found = std::find_if(cubes.begin(), cubes.end(),
                                    [&](const auto& c) { return c->pes.front()->task.pe.in_cube() == cube; });
    KB_ASSERT(found != cubes.end(), "a completion from {}, which was no target", to_string(cube));
    return **found;
  }
};

ControlRequest::ControlRequest() = default;
ControlRequest::~ControlRequest() = default;

ControlPath::ControlPath(Fabric& fabric, const topology::Machine& machine)
    : fabric_(fabric), spec_(ControlSpec::of(machine)) {
  const topology::Graph& graph = fabric.graph();
  for (int sip = 0; sip < graph.sips(); ++sip) {
    io_cpus_.push_back(std::make_unique<Cpu>(fabric, graph.io(sip, NodeKind::io_cpu), spec_.io_cpu));
    for (int cube = 0; cube < graph.cubes(); ++cube)
      m_cpus_.push_back(std::make_unique<Cpu>(fabric, graph.m_cpu({sip, cube}), spec_.m_cpu));
  }
}

ControlPath::~ControlPath() = default;

ControlPath::Cpu& ControlPath::io_cpu(int sip) { return *io_cpus_[static_cast<std::size_t>(sip)]; }
ControlPath::Cpu& ControlPath::m_cpu(CubeCoord cube) {
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
  request.state_ = std::make_unique<ControlRequest::State>();
  Cpu& cpu = io_cpu(request.sip);
  request.state_->step.send(
      fabric_, fabric_.route(graph.host(), cpu.node), spec_.message_bytes, [this, &request] {
        request.state_->step.serve(io_cpu(request.sip), [this, &request] { fan_out(request); });
      });
}

/// When an unloaded message from the IO CPU reaches the farthest target.
Time ControlPath::stamp(const ControlRequest& request) const {
  const topology::Graph& graph = fabric_.graph();
  Time farthest;
  for (const PeCoord& pe : request.targets) {
    const Route& to_cube = fabric_.route(graph.io(pe.sip, NodeKind::io_cpu), graph.m_cpu(pe.in_cube()));
    const Route& to_pe = fabric_.route(graph.m_cpu(pe.in_cube()), graph.pe(pe, request.part));
    const auto unloaded = [&](const Route& route) {
      return route.latency + route.pace.bandwidth().time_for(spec_.message_bytes);
    };
    farthest = std::max(farthest, unloaded(to_cube) + spec_.m_cpu + unloaded(to_pe));
  }
  return fabric_.partition_of(graph.io(request.sip, NodeKind::io_cpu)).now() + farthest;
}

/// The IO CPU has worked on it: on to all target cubes at once.
void ControlPath::fan_out(ControlRequest& request) {
  const Time start = spec_.barrier ? stamp(request) : Time();
  auto& cubes = request.state_->cubes;
  for (const PeCoord& pe : request.targets) {
    if (cubes.empty() || cubes.back()->pes.front()->task.pe.in_cube() != pe.in_cube()) {
      cubes.push_back(std::make_unique<Cube>());
      cubes.back()->request = &request;
      cubes.back()->cpu = &m_cpu(pe.in_cube());
    }
    cubes.back()->pes.push_back(std::make_unique<Cube::Pe>());
    cubes.back()->pes.back()->task = {&request, pe, start, {}};
  }
  request.state_->open = cubes.size();
  for (const auto& cube : cubes) {
    Route& route = fabric_.route(io_cpu(request.sip).node, cube->cpu->node);
    cube->step.send(fabric_, route, spec_.message_bytes,
                    [this, c = cube.get()] { c->step.serve(*c->cpu, [this, c] { fan_out(*c); }); });
  }
}

/// The M CPU has worked on it: on to all target PEs at once.
void ControlPath::fan_out(Cube& cube) {
  cube.open = cube.pes.size();
  for (const auto& pe : cube.pes) {
    Route& route = fabric_.route(cube.cpu->node, fabric_.graph().pe(pe->task.pe, cube.request->part));
    pe->step.send(fabric_, route, spec_.message_bytes, [this, t = &pe->task] { at_pe(*t); });
  }
}

void ControlPath::at_pe(PeTask& task) {
  ControlRequest& request = *task.request;
  task.arrival = fabric_.partition_of(fabric_.graph().pe(task.pe, request.part)).now();
  if (spec_.barrier && task.arrival > task.stamp) {
    ++request.late_starts_;
    request.latest_ = std::max(request.latest_, task.arrival - task.stamp);
  }
  request.at_pe(task);
}

void ControlPath::complete(PeTask& task) {
  Cube& cube = task.request->state_->cube_of(task.pe.in_cube());
  const auto pe =
      std::find_if(cube.pes.begin(), cube.pes.end(), [&](const auto& p) { return &p->task == &task; });
  Route& route = fabric_.route(fabric_.graph().pe(task.pe, task.request->part), cube.cpu->node);
  (*pe)->step.send(fabric_, route, spec_.message_bytes, [this, &cube] { fold(cube); });
}

/// The M CPU works on the folded completion once, after the last PE.
void ControlPath::fold(Cube& cube) {
  if (--cube.open > 0) return;
  cube.step.serve(*cube.cpu, [this, &cube] {
    Route& route = fabric_.route(cube.cpu->node, io_cpu(cube.request->sip).node);
    cube.step.send(fabric_, route, spec_.message_bytes, [this, &cube] { fold(*cube.request); });
  });
}

/// The IO CPU, likewise, after the last cube.
void ControlPath::fold(ControlRequest& request) {
  if (--request.state_->open > 0) return;
  request.state_->step.serve(io_cpu(request.sip), [this, &request] {
    Route& route = fabric_.route(io_cpu(request.sip).node, fabric_.graph().host());
    request.state_->step.send(fabric_, route, spec_.message_bytes, [this, &request] {
      request.completed_ = fabric_.partition_of(fabric_.graph().host()).now();
      request.on_completed();
    });
  });
}

}  // namespace kernbench::device
