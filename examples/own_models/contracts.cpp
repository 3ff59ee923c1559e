#include <kernbench/machine.hpp>
#include <kernbench/testing/model_contracts.hpp>

#include <iostream>

#include "first_ready.hpp"
#include "small_first.hpp"
#include "systolic.hpp"
#include "windowed_dma.hpp"

int main() {
  namespace models = kernbench::models;
  auto registry = kernbench::builtin_components();
  registry.add_impl("pe_gemm", acme::systolic());
  registry.add_impl("router", acme::small_first());
  registry.add_impl("hbm", acme::first_ready());
  registry.add_impl("pe_dma", acme::windowed_dma());
  // A model is made from the parameters of its part: those of a machine that names it, the kind's among them.
  const auto machine = kernbench::load_machine(
      "small",
      {"pe.pe_gemm.impl=acme.systolic", "cube.routers.impl=acme.small_first",
       "cube.hbm.impl=acme.first_ready", "cube.hbm.cap=4", "pe.pe_dma.impl=acme.windowed_dma"},
      registry);

  int broken = 0;
  const auto tell = [&](const char* model, const models::Complaints& complaints) {
    for (const std::string& sentence : complaints) std::cout << model << ": " << sentence << '\n';
    broken += static_cast<int>(complaints.size());
  };
  const auto hbm = std::get<models::MemoryBehaviour>(acme::first_ready().behaviour);
  tell("acme.systolic", models::broken_promises(acme::Systolic(machine.at("pe.pe_gemm"))));
  tell("acme.small_first",
       models::broken_promises(models::links<acme::SmallFirst>(), machine.at("cube.routers")));
  tell("acme.first_ready", models::broken_promises(hbm, machine.at("cube.hbm")));
  tell("acme.windowed_dma", models::broken_promises(acme::WindowedDma(machine.at("pe.pe_dma"))));
  std::cout << broken << " promises broken\n";
  return broken == 0 ? 0 : 1;
}
