// Prints what a machine costs to build, from 2,048 to 131,072 PEs: load the file, build the graph, then visit
// every node and every link and keep them in arrays, as whoever runs the machine keeps its state. Each
// measurement has a process of its own, so that all pay for fresh memory; sizes take turns, and times are
// processor time, the best of several.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <kernbench/graph.hpp>
#include <string>
#include <vector>

namespace {

using namespace kernbench::topology;

constexpr double kMostRatio = 2;  // of the time per PE, largest to smallest machine
constexpr double kMostKibPerPe = 32;
constexpr int kRepetitions = 7;

struct Size {
  int sips, mesh_w, mesh_h, pe_per_corner;
  std::int64_t pes() const { return std::int64_t{4} * sips * mesh_w * mesh_h * pe_per_corner; }
  std::vector<std::string> overrides() const {
    return {fmt::format("system.sips.count={}", sips), fmt::format("sip.cube_mesh.w={}", mesh_w),
            fmt::format("sip.cube_mesh.h={}", mesh_h),
            fmt::format("cube.pe_layout.pe_per_corner={}", pe_per_corner)};
  }
};
constexpr std::array kSizes = {Size{16, 4, 4, 2}, Size{64, 4, 4, 2}, Size{128, 8, 4, 2}, Size{256, 8, 4, 2},
                               Size{256, 8, 4, 4}};

struct Cost {
  double seconds = 1e9;
  double kib = 0;
  std::uint64_t nodes = 0, links = 0;
};

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss);
}

Cost build(const Size& size) {
  const double before = peak_kib();
  const double begin = processor_seconds();
  const Machine machine = load_machine("default", size.overrides(), builtin_registry());
  const Graph graph(machine);
  std::vector<Node> nodes;
  std::vector<Link> links;
  nodes.reserve(graph.node_count());
  links.reserve(graph.link_count());
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) nodes.push_back(graph.node({i}));
  for (std::uint32_t i = 0; i < graph.link_count(); ++i) links.push_back(graph.link({i}));
  return {processor_seconds() - begin, peak_kib() - before, nodes.size(), links.size()};
}

Cost build_in_own_process(const Size& size) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  if (::fork() == 0) {
    const Cost cost = build(size);
    ::_exit(::write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  ::close(ends[1]);
  Cost cost;
  if (::read(ends[0], &cost, sizeof cost) != sizeof cost) cost = {};
  ::close(ends[0]);
  ::wait(nullptr);
  return cost;
}

std::array<Cost, kSizes.size()> measure() {
  std::array<Cost, kSizes.size()> best;
  for (int repetition = 0; repetition < kRepetitions; ++repetition)
    for (std::size_t i = 0; i < kSizes.size(); ++i)
      if (const Cost cost = build_in_own_process(kSizes[i]); cost.seconds < best[i].seconds) best[i] = cost;
  return best;
}

double ns_per_pe(std::size_t i, const Cost& cost) {
  return cost.seconds * 1e9 / static_cast<double>(kSizes[i].pes());
}

}  // namespace

int main() {
  const auto costs = measure();
  fmt::print("{:>5} {:>6} {:>4} {:>9} {:>10} {:>10} {:>11} {:>10} {:>11}\n", "SIPs", "cubes", "PEs",
             "total PEs", "nodes", "links", "build", "ns per PE", "KiB per PE");
  double most_kib = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const Size& size = kSizes[i];
    const double kib = costs[i].kib / static_cast<double>(size.pes());
    most_kib = std::max(most_kib, kib);
    fmt::print("{:>5} {:>6} {:>4} {:>9} {:>10} {:>10} {:>8.1f} ms {:>10.0f} {:>11.2f}\n", size.sips,
               size.mesh_w * size.mesh_h, 4 * size.pe_per_corner, size.pes(), costs[i].nodes, costs[i].links,
               costs[i].seconds * 1e3, ns_per_pe(i, costs[i]), kib);
  }
  const double ratio = ns_per_pe(kSizes.size() - 1, costs.back()) / ns_per_pe(0, costs.front());
  fmt::print(
      "time per PE at {} against {} PEs: {:.2f} (target <= {}); memory per PE at most {:.2f} KiB (target < "
      "{})\n",
      kSizes.back().pes(), kSizes.front().pes(), ratio, kMostRatio, most_kib, kMostKibPerPe);
  return 0;
}
