#include <kernbench/cli.hpp>

#include "first_ready.hpp"
#include "small_first.hpp"
#include "systolic.hpp"
#include "windowed_dma.hpp"

int main(int argc, char** argv) {
  auto registry = kernbench::builtin_registry();
  registry.components.add_impl("pe_gemm", acme::systolic());
  registry.components.add_impl("router", acme::small_first());
  registry.components.add_impl("router", acme::late_fee());
  registry.components.add_impl("hbm", acme::first_ready());
  registry.components.add_impl("pe_dma", acme::windowed_dma());
  return kernbench::cli_main(argc, argv, registry);
}
