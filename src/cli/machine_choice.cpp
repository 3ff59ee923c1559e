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
  return topology::load_machine(file, has_ccl_ ? overrides_of(false) : overrides, registry.components);
}

void MachineChoice::declare_ccl(CLI::App& command) {
  has_ccl_ = true;
  command
      .add_option("--ccl", ccl_file,
                  "The collectives' file, or default: the one that ships; left out: ccl.yaml in the current "
                  "folder, else the one that ships")
      ->type_name("F");
}

std::vector<std::string> MachineChoice::ccl_overrides() const { return overrides_of(true); }

std::vector<std::string> MachineChoice::overrides_of(bool ccl) const {
  std::vector<std::string> found;
  for (const std::string& one : overrides)
    if (one.starts_with("ccl.") == ccl) found.push_back(one);
  return found;
}

}  // namespace kernbench::cli
