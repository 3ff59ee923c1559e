// The command line with benches that no user would ship: one that gets stuck, one with a race, one that is long, one that
// never ends, one that crashes, one that reads and writes files.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "kernbench/cli.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/torch.hpp"

namespace kernbench {
namespace {

using namespace kernbench::dtypes;

/// PE 1 waits for a word that nobody sends.
void stuck(Torch& torch, const Options&, BenchReport&) {
  const Tensor x = torch.empty({8, 64}, f16, DPPolicy{.pe = Split::row_wise, .num_cubes = 1}, "x");
  dist::launch(
      torch, {.name = "stuck", .topology = "intracube_ring"},
      [](tl::Context& tl, tl::Ptr p) {
        tl.load(p, {64}, f16);
        if (tl.program_id(0) == 1) tl.recv("W", {64}, f16);
      },
      x);
}

/// Two PEs write one place.
void race(Torch& torch, const Options&, BenchReport& report) {
  const Tensor x =
      torch.empty({16}, f16, DPPolicy{.pe = Split::column_wise, .num_cubes = 1, .num_pes = 2}, "x");
  torch.launch(
      "race", [](tl::Context& tl, tl::Ptr p) { tl.store(p, tl.full({8}, 1, f16)); }, x);
  report.line("race: <b>two</b> writers & no order");
}

/// Every PE of a SIP loads a little, again and again.
void many(Torch& torch, const Options& options, BenchReport& report) {
  const std::int64_t pes = torch.machine().cubes() * torch.machine().pes();
  const DPPolicy one_each{.cube = Split::row_wise, .pe = Split::row_wise};
  const Tensor x = torch.empty({pes, 64}, f16, one_each, "x");
  const auto each = (options.integer("ops") + 99 * pes) / (100 * pes);
  for (int launch = 0; launch < 100; ++launch)
    torch.wait(torch.launch(
        "many",
        [](tl::Context& tl, tl::Ptr p, std::int64_t times) {
          for (std::int64_t i = 0; i < times; ++i) tl.load(p, {64}, f16);
        },
        x, each));
  report.line("many: done");
}

/// Its host function never returns and never looks whether it shall.
void endless(Torch&, const Options&, BenchReport&) {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void crash(Torch&, const Options&, BenchReport&) { std::abort(); }

void files(Torch& torch, const Options& options, BenchReport& report) {
  std::string text = options.text("in");
  if (!text.empty() && text != "shipped") {
    std::ifstream in(text);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  if (const std::string& out = options.text("out"); !out.empty()) std::ofstream(out) << "written";
  race(torch, options, report);
  report.line("files: " + text);
}

}  // namespace
}  // namespace kernbench

int main(int argc, char** argv) {
  using namespace kernbench;
  return cli_main(argc, argv, [](Registry& registry) {
    registry.benches.add({"stuck", "waits for a word that nobody sends", {}, stuck});
    registry.benches.add({"race", "two PEs write one place", {}, race});
    registry.benches.add({"endless", "never ends", {}, endless});
    registry.benches.add({"crash", "ends its process", {}, crash});
    registry.benches.add({"files",
                          "reads one file and writes another",
                          {Param::input_file("in", "", {"shipped"}, "what is read"),
                           Param::output_file("out", "written.txt", "what is written; empty: nothing")},
                          files});
    registry.benches.add({"many",
                          "loads a little, again and again",
                          {Param::integer("ops", 1'000'000, {1, 1e8}, "operations")},
                          many});
  });
}
