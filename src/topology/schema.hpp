// The shape of a topology file: which sections and components stand where. What a component takes is the
// registry's business; what a section takes is described here.
#pragma once

#include <string>
#include <vector>

#include "kernbench/param.hpp"

namespace kernbench::topology {

/// A place in the file. `kind` empty: a section with `params`; else a component of that kind.
struct SchemaEntry {
  std::string path;
  std::string kind;
  std::vector<Param> params;
  bool optional = false;  // a file may leave the section out; the machine then has no such group
};

/// Parents come before their children.
const std::vector<SchemaEntry>& schema();
const SchemaEntry* find_entry(const std::string& path);

/// Names that may stand below a section: its parameters and the groups inside it.
std::vector<std::string> known_keys(const SchemaEntry& section);

}  // namespace kernbench::topology
