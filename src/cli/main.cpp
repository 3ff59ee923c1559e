#include "kernbench/cli.hpp"

int main(int argc, char** argv) {
  auto registry = kernbench::builtin_registry();
  return kernbench::cli_main(argc, argv, registry);
}
