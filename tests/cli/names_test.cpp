// The examples in the public headers, as a program writes them that says `using namespace kernbench`.
#include <gtest/gtest.h>

#include "kernbench/bench.hpp"
#include "kernbench/ccl.hpp"
#include "kernbench/ccl_steps.hpp"
#include "kernbench/cli.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/functional.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/registry.hpp"
#include "kernbench/tl.hpp"
#include "kernbench/torch.hpp"

using namespace kernbench;

namespace {

void scale(tl::Context& tl, tl::Ptr x, int n, float factor) {
  const auto mine = tl.shard(x);
  tl.store(mine.ptr, tl.load(mine.ptr, {n}, f16) * factor);
}

TEST(Names, OfTheHeadersExamplesAreClearAfterUsingNamespaceKernbench) {
  topology::Registry components = builtin_components();
  components.add_impl("pe_gemm", {"acme.systolic",
                                  "a weight-stationary array",
                                  {Param::integer("fill_cycles", 12, {0, 1000}, "cycles to fill it")}});
  const Machine machine = load_machine("small", {"sip.cube_mesh.w=1", "sip.cube_mesh.h=1"}, components);
  EXPECT_EQ(machine.cubes(), 1);
  ccl::Registry collectives = builtin_collectives();
  EXPECT_FALSE(collectives.algorithms().empty());
  auto registry = builtin_registry();
  EXPECT_FALSE(registry.benches.all().empty());

  Torch torch(load_machine("small"));
  Tensor x = torch.full({1024}, 3, f16, DPPolicy{.cube = Split::column_wise, .pe = Split::column_wise}, "x");
  torch.launch("scale", scale, x, 32, 2.0F);
  EXPECT_EQ(x.numpy().at<F16>({1023}), F16(6.0F));
}

int with_name(const std::function<void(Registry&)>& extend) {
  std::string program = "acme", command = "version";
  char* argv[] = {program.data(), command.data(), nullptr};
  return cli_main(2, argv, extend);
}

TEST(Names, AWrongImplIsAnErrorWithAnExitCode) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(with_name([](Registry& r) { r.components.add_impl("pe_gem", {"acme.systolic", "", {}}); }), 2);
  const auto text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("no kind 'pe_gem' to add 'acme.systolic' to"), std::string::npos) << text;
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(with_name([](Registry& r) { r.components.add_impl("pe_gemm", {"acme.systolic", "", {}}); }), 0);
  ::testing::internal::GetCapturedStdout();
}

}  // namespace
