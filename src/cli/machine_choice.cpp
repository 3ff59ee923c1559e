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

namespace {

constexpr std::string_view kCcl = "ccl.";

}  // namespace

topology::Machine MachineChoice::load(const Registry& registry) const {
  std::vector<std::string> of_machine;
  for (const std::string& o : overrides)
    if (!o.starts_with(kCcl)) of_machine.push_back(o);
  return topology::load_machine(file, of_machine, registry.components);
}

std::vector<std::string> MachineChoice::ccl_overrides() const {
  std::vector<std::string> found;
  for (const std::string& o : overrides)
    if (o.starts_with(kCcl)) found.push_back(o.substr(kCcl.size()));
  return found;
}

}  // namespace kernbench::cli
