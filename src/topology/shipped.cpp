#include "kernbench/machine.hpp"
#include "topology/embedded.hpp"

namespace kernbench::topology {
namespace {

/// The text of the file's first comment line.
std::string first_comment(const std::string& yaml) {
  const std::size_t begin = yaml.find_first_not_of("# ");
  return yaml.substr(begin, yaml.find('\n', begin) - begin);
}

std::vector<ShippedMachine> read_embedded() {
  std::vector<ShippedMachine> machines;
  for (const EmbeddedText* text = kEmbeddedTexts; text->name; ++text)
    machines.push_back({text->name, first_comment(text->text), text->text});
  return machines;
}

}  // namespace

const std::vector<ShippedMachine>& shipped_machines() {
  static const std::vector<ShippedMachine> machines = read_embedded();
  return machines;
}

}  // namespace kernbench::topology
