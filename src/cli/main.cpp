#include "base/heap.hpp"
#include "kernbench/cli.hpp"

int main(int argc, char** argv) {
  kernbench::prefer_huge_pages();
  auto registry = kernbench::builtin_registry();
  return kernbench::cli_main(argc, argv, registry);
}
