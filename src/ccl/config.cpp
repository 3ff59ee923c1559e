#include "ccl/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

constexpr Range kWorldSizes{1, 1 << 20};

/// The keys of rings, in `defaults` and in every entry.
std::vector<Param> ring_params() {
  return {
      Param::choice("buffer_kind", "tcm", {"tcm", "hbm", "sram"},
                    "where rings lie: TCM of the PE, its HBM slice, SRAM of its cube"),
      Param::integer("n_slots", 4, {1, 65536}, "slots of each ring"),
      Param::integer("slot_size", 4096, {1, 1 << 30}, "bytes of each slot"),
      Param::choice("backpressure", "sleep", {"sleep", "poll"},
                    "what a sender without credit does: sleep until one comes, or look every poll_ns"),
      Param::number("poll_ns", 100, {1e-3, 1e9}, "how often a polling sender looks"),
      Param::choice("credit_policy", "on_last_use", {"on_last_use", "on_recv"},
                    "when a slot is free: after the last reader of its tile, or when it was received"),
      Param::integer("ipcq_credit_size_bytes", 16, {0, 65536}, "size of the message that returns a credit"),
      Param::integer("vc_chunk_size", 256, {1, 1 << 30}, "accepted for old files; has no effect").optional(),
  };
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

address::MemorySpace space_of(const std::string& buffer_kind) {
  return buffer_kind == "hbm"    ? address::MemorySpace::Hbm
         : buffer_kind == "sram" ? address::MemorySpace::Sram
                                 : address::MemorySpace::Tcm;
}

/// Values of an entry where it has them, else the defaults'.
class Chosen {
 public:
  Chosen(const ParamSet& entry, const ParamSet& defaults) : entry_(entry), defaults_(defaults) {}
  const ParamSet& of(std::string_view name) const { return entry_.has(name) ? entry_ : defaults_; }

 private:
  const ParamSet& entry_;
  const ParamSet& defaults_;
};

device::QueueRules rules_of(const Chosen& chosen) {
  const auto text = [&](const char* name) { return chosen.of(name).text(name); };
  const auto integer = [&](const char* name) { return chosen.of(name).integer(name); };
  return {.slots = static_cast<int>(integer("n_slots")),
          .slot_size = Bytes(integer("slot_size")),
          .memory = space_of(text("buffer_kind")),
          .credit = text("credit_policy") == "on_recv" ? device::CreditPolicy::on_recv
                                                       : device::CreditPolicy::on_last_use,
          .backpressure =
              text("backpressure") == "poll" ? device::Backpressure::poll : device::Backpressure::sleep,
          .poll = chosen.of("poll_ns").time("poll_ns"),
          .credit_bytes = Bytes(integer("ipcq_credit_size_bytes"))};
}

std::optional<int> optional_int(const ParamSet& params, const char* name) {
  if (!params.has(name)) return std::nullopt;
  return static_cast<int>(params.integer(name));
}

}  // namespace

std::vector<Param> default_params() {
  std::vector<Param> params = {
      Param::text("algorithm", "intercube_allreduce", "of all_reduce, for the groups it serves"),
      Param::choice("group", "", {"sip", "cube", "pe"},
                    "members of collectives that name no group; left out: sips, and cubes for tensors with "
                    "one shard in each if the file names an algorithm between cubes")
          .optional(),
      Param::integer("world_size", 1, kWorldSizes, "given: every rank is one PE, and there are so many")
          .optional(),
  };
  for (auto& param : ring_params()) params.push_back(std::move(param));
  return params;
}

std::vector<Param> entry_params(const Registry& registry) {
  std::vector<Param> params = {
      Param::text("module", "", "the registered algorithm, also with a path before it").optional(),
      Param::choice("topology", "", names_of(registry.topologies()), "who is whose neighbour").optional(),
      Param::choice("mapper", "", names_of(registry.mappers()), "which PEs of a member take part").optional(),
      Param::choice("validator", "", names_of(registry.validators()), "which layout of tensors it needs")
          .optional(),
      Param::integer("n_elem", 1, kElementRange, "elements of each member, in benches").optional(),
      Param::integer("world_size", 1, kWorldSizes, "given: every rank is one PE, and there are so many")
          .optional(),
      Param::integer(
          "root_cube", 0, {0, 31},
          "the cube of a SIP to which the others reduce, below the number of its cubes; left out: the middle")
          .optional(),
      Param::text("reduce_op", "",
                  "told to kernels of Python modules, as is every key that begins with kernel_")
          .optional(),
      Param::integer("chunk_size", 1, kElementRange, "told to kernels of Python modules").optional(),
  };
  for (auto& param : ring_params()) params.push_back(std::move(param).optional());
  return params;
}

Settings Config::settings(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  if (found == entries_.end())
    throw InputError({"ccl.unknown-algorithm", source_, fmt::format("no algorithm is called {}", quote(name)),
                      suggest(name, names_, "algorithms")});
  const auto& entry = found->params;
  Settings settings{.name = found->name,
                    .algorithm = entry.text("module"),
                    .topology = entry.text("topology"),
                    .mapper = entry.text("mapper"),
                    .validator = entry.text("validator"),
                    .rules = rules_of({entry, defaults_}),
                    .n_elem = {},
                    .world_size = optional_int(entry.has("world_size") ? entry : defaults_, "world_size"),
                    .root_cube = optional_int(entry, "root_cube")};
  if (entry.has("n_elem")) settings.n_elem = entry.integer("n_elem");
  std::map<std::string, std::string> config;
  for (const auto& param : entry.params())
    if (entry.has(param.name) &&
        (param.name == "reduce_op" || param.name == "chunk_size" || param.name.starts_with("kernel_")))
      config[param.name] = kernbench::to_yaml(entry.value(param.name));
  if (!config.empty())
    settings.kernel_config = std::make_shared<const std::map<std::string, std::string>>(std::move(config));
  return settings;
}

std::optional<Group> Config::group() const {
  if (!defaults_.has("group")) return std::nullopt;
  const std::string& name = defaults_.text("group");
  return name == "cube" ? Group::cube : name == "pe" ? Group::pe : Group::sip;
}

Settings Config::wiring(std::string_view topology, std::string_view mapper) const {
  return {.name = fmt::format("{} of {}", topology, mapper),
          .algorithm = {},
          .topology = std::string(topology),
          .mapper = std::string(mapper),
          .validator = "any",
          .rules = rules_of({defaults_, defaults_}),
          .n_elem = {},
          .world_size = {},
          .root_cube = {}};
}

std::string to_yaml(const Config& config) {
  std::string text = "defaults:\n";
  const auto write = [&](const ParamSet& params, const char* indent) {
    for (const auto& param : params.params())
      if (params.has(param.name))
        text += fmt::format("{}{}: {}\n", indent, param.name, kernbench::to_yaml(params.value(param.name)));
  };
  write(config.defaults_, "  ");
  text += "algorithms:\n";
  for (const auto& entry : config.entries_) {
    text += fmt::format("  {}:\n", kernbench::to_yaml(ParamValue(entry.name)));
    write(entry.params, "    ");
  }
  return text;
}

}  // namespace kernbench::ccl
