#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/command.hpp"

namespace kernbench::cli {

void MachineChoice::declare(CLI::App& command) { declare_as(command, "machine"); }

void MachineChoice::declare_option(CLI::App& command) { declare_as(command, "--topology"); }

void MachineChoice::declare_as(CLI::App& command, const char* name) {
  std::vector<std::string> names;
  for (const auto& shipped : topology::shipped_machines()) names.push_back(shipped.name);
  command.add_option(name, file, "A machine file, or a shipped machine: " + join(names))
      ->type_name("F")
      ->capture_default_str();
  command
      .add_option("--set", overrides, "Override a value of the machine, e.g. sip.cube_mesh.w=8 (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

topology::Machine MachineChoice::load(const Registry& registry) const {
  return topology::load_machine(file, overrides, registry.components);
}

}  // namespace kernbench::cli
