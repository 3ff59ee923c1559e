// Prints what a machine costs to build, from 2,048 to 131,072 PEs, in nanoseconds per PE:
// - check: `kernbench topology check` as a user calls it, from start to exit;
// - graph: load the file, build the graph and visit every node and every link;
// - device: load the file and build the whole machine, ready to run: every link, memory and control CPU.
// Graph and device have a process of their own, in which they are built several times. The first time all memory is
// fresh; later a small machine fits into what the one before has left, while a large one gets fresh pages again. Wall
// time is what a user waits; processor time (the system's part included) is the same without the machine's other work.
// Sizes take turns; each figure is the least of several.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <kernbench/graph.hpp>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace {

using namespace kernbench::topology;

constexpr double kMostRatio = 2;  // of the time per PE, largest to smallest machine
constexpr double kMostKibPerPe = 32;
constexpr int kRepetitions = 7;
constexpr int kTimesInProcess = 4;

struct Size {
  int sips, mesh_w, mesh_h, pe_per_corner;
  std::int64_t pes() const { return std::int64_t{4} * sips * mesh_w * mesh_h * pe_per_corner; }
  std::vector<std::string> overrides() const {
    return {fmt::format("system.sips.count={}", sips), fmt::format("sip.cube_mesh.w={}", mesh_w),
            fmt::format("sip.cube_mesh.h={}", mesh_h),
            fmt::format("cube.pe_layout.pe_per_corner={}", pe_per_corner)};
  }
  Machine load() const { return load_machine("default", overrides(), builtin_registry()); }
};
constexpr std::array kSizes = {Size{16, 4, 4, 2}, Size{64, 4, 4, 2}, Size{128, 8, 4, 2}, Size{256, 8, 4, 2},
                               Size{256, 8, 4, 4}};

struct Times {
  double wall = 1e18, processor = 1e18;  // ns
  void keep_least(const Times& other) {
    wall = std::min(wall, other.wall), processor = std::min(processor, other.processor);
  }
};

double ns_by(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

class Stopwatch {
 public:
  Times read() const {
    return {ns_by(CLOCK_MONOTONIC) - wall_, ns_by(CLOCK_PROCESS_CPUTIME_ID) - processor_};
  }

 private:
  double wall_ = ns_by(CLOCK_MONOTONIC), processor_ = ns_by(CLOCK_PROCESS_CPUTIME_ID);
};

double peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss);
}

/// A sum over what was visited, so that nobody can leave the visit out.
std::uint64_t checksum(const Graph& graph) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i)
    sum = sum * 31 + static_cast<std::uint64_t>(graph.node({i}).kind);
  for (std::uint32_t i = 0; i < graph.link_count(); ++i)
    sum = sum * 31 + graph.link({i}).to.index + static_cast<std::uint64_t>(graph.link({i}).wire.ps());
  return sum;
}

/// What one process found out.
struct Report {
  Times first, again;
  double kib = 0;
  std::uint32_t nodes = 0, links = 0;

  void keep_least(const Report& other) {
    first.keep_least(other.first), again.keep_least(other.again);
    kib = std::max(kib, other.kib), nodes = other.nodes, links = other.links;
  }
};

/// Times of making something, not of taking it down.
template <class Make>
Report report_of(Make&& make) {
  Report report;
  const double before = peak_kib();
  for (int i = 0; i < kTimesInProcess; ++i) {
    const Stopwatch watch;
    const auto made = make(report);
    (i == 0 ? report.first : report.again).keep_least(watch.read());
    report.kib = peak_kib() - before;
  }
  return report;
}

Report build_graph(const Size& size) {
  return report_of([&](Report& report) {
    Graph graph(size.load());
    asm volatile("" : : "r"(checksum(graph)));
    report.nodes = graph.node_count(), report.links = graph.link_count();
    return graph;
  });
}

Report build_device(const Size& size) {
  return report_of([&](Report&) { return kernbench::device::Device(size.load()); });
}

Report in_own_process(Report (*build)(const Size&), const Size& size) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  if (::fork() == 0) {
    const Report report = build(size);
    ::_exit(::write(ends[1], &report, sizeof report) == sizeof report ? 0 : 1);
  }
  ::close(ends[1]);
  Report report;
  if (::read(ends[0], &report, sizeof report) != sizeof report) report = {};
  ::close(ends[0]);
  ::wait(nullptr);
  return report;
}

/// As a user calls it. A program that fails counts as endless, lest it look fast.
double wall_of_check(const std::string& kernbench, const Size& size) {
  std::vector<std::string> words = {kernbench, "topology", "check", "default"};
  for (const std::string& o : size.overrides()) words.insert(words.end(), {"--set", o});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int status = 0;
  const Stopwatch watch;
  if (::fork() == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::wait(&status);
  return status == 0 ? watch.read().wall : Times().wall;
}

struct Cost {
  double check = Times().wall;
  Report graph, device;

  static constexpr int kColumns = 7;
  std::array<double, kColumns> columns() const {
    return {check,
            graph.first.processor,
            graph.again.processor,
            device.first.wall,
            device.first.processor,
            device.again.wall,
            device.again.processor};
  }
};
using Costs = std::array<Cost, kSizes.size()>;

Costs measure(const std::string& kernbench) {
  Costs best;
  for (int repetition = 0; repetition < kRepetitions; ++repetition)
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      best[i].check = std::min(best[i].check, wall_of_check(kernbench, kSizes[i]));
      best[i].graph.keep_least(in_own_process(build_graph, kSizes[i]));
      best[i].device.keep_least(in_own_process(build_device, kSizes[i]));
    }
  return best;
}

double per_pe(const Costs& costs, std::size_t size, std::size_t column) {
  return costs[size].columns()[column] / static_cast<double>(kSizes[size].pes());
}

void print_head() {
  constexpr auto kHead =
      "{:>5} {:>6} {:>4} {:>7} {:>8} {:>8}  {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}  {:>7}\n";
  fmt::print("ns per PE, least of {}; `again`: in the same process\n", kRepetitions);
  fmt::print(kHead, "", "", "", "", "", "", "check", "graph", "again", "device", "device", "again", "again",
             "KiB");
  fmt::print(kHead, "SIPs", "cubes", "PEs", "in all", "nodes", "links", "wall", "cpu", "cpu", "wall", "cpu",
             "wall", "cpu", "per PE");
}

void print_table(const Costs& costs) {
  print_head();
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const Size& size = kSizes[i];
    fmt::print("{:>5} {:>6} {:>4} {:>7} {:>8} {:>8} ", size.sips, size.mesh_w * size.mesh_h,
               4 * size.pe_per_corner, size.pes(), costs[i].graph.nodes, costs[i].graph.links);
    for (std::size_t c = 0; c < Cost::kColumns; ++c) fmt::print(" {:>8.0f}", per_pe(costs, i, c));
    fmt::print("  {:>7.2f}\n", costs[i].device.kib / static_cast<double>(size.pes()));
  }
  fmt::print("{:<44}", fmt::format("{} to {} PEs (target <= {})", kSizes.back().pes(), kSizes.front().pes(),
                                   kMostRatio));
  for (std::size_t c = 0; c < Cost::kColumns; ++c)
    fmt::print(" {:>8.2f}", per_pe(costs, kSizes.size() - 1, c) / per_pe(costs, 0, c));
  fmt::print("  {:>7}\n", fmt::format("< {}", kMostKibPerPe));
}

}  // namespace

int main(int, char** argv) {
  print_table(measure(std::filesystem::path(argv[0]).replace_filename("kernbench").string()));
  return 0;
}
