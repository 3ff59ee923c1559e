// `kernbench probe [latency A B | bandwidth A B | matrix]`
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/new_file.hpp"
#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/output_files.hpp"
#include "cli/probe_matrix.hpp"
#include "cli/probe_report.hpp"
#include "cli/value_check.hpp"
#include "kernbench/error.hpp"
#include "report/probe_json.hpp"

namespace kernbench::cli {
namespace {

using device::Direction;
using device::Prober;
using nlohmann::ordered_json;

/// What all probes take.
struct Common {
  MachineChoice machine;
  std::string json;  // where to; empty: not wanted
  std::string op = "read";
  bool for_memory = false;  // --op or --offset was given

  Direction direction() const { return op == "read" ? Direction::read : Direction::write; }
};

void declare_common(CLI::App& command, Common& common) {
  common.machine.declare_option(command);
  declare_json(command, common.json, "Write it for programs");
}

void declare_op(CLI::App& command, Common& common) {
  check_value(command.add_option("--op", common.op, "Read from the memory (unless told), or write to it"),
              one_of({"read", "write"}))
      ->type_name("read|write");
}

/// Sizes with or without a unit: 4096, 32KiB, 1M.
CLI::Option* declare_bytes(CLI::App& command, std::int64_t& bytes, const char* about) {
  return check_value(command.add_option("--bytes", bytes, about), size_in_bytes())->type_name("N");
}

int run_catalogue_command(const Session& session, const Common& common) {
  Prober prober(common.machine.load(session.registry));
  const device::Catalogue catalogue = device::run_catalogue(prober);
  answer(
      common.json,
      [&] { return json_text(report::catalogue_json(prober.machine(), prober.graph(), catalogue)); },
      [&] { return catalogue_text(prober.machine(), prober.graph(), catalogue); });
  return catalogue.holds() ? 0 : 1;
}

/// What is no memory is sent a message: --op and --offset would say nothing.
void check_is_memory(const Common& common, bool memory, const std::string& to) {
  if (common.for_memory && !memory)
    throw InputError({"cli.usage", to, "this is no memory: it is sent a message, without --op and --offset",
                      "leave them out, or name a memory: HBM, SRAM or TCM"});
}

struct PairOptions : Common {
  std::string from, to;
  std::int64_t bytes = -1;  // −1: as the command says
  std::int64_t offset = 0;
};

int run_pair(const Session& session, const PairOptions& options, Bytes for_memory, Bytes for_message) {
  Prober prober(options.machine.load(session.registry));
  const topology::NodeId from = prober.graph().find(options.from);
  const topology::NodeId to = prober.graph().find(options.to);
  const bool memory = device::is_memory(prober.graph().node(to).kind);
  check_is_memory(options, memory, options.to);
  const Bytes bytes = options.bytes >= 0 ? Bytes(options.bytes) : memory ? for_memory : for_message;
  const auto result = prober.measure(prober.make_case(from, to, options.direction(), bytes, options.offset));
  answer(
      options.json, [&] { return json_text(report::probe_json(prober.graph(), result)); },
      [&] { return probe_text(prober.graph(), result); });
  return result.agrees() ? 0 : 1;
}

/// `latency` and `bandwidth` differ in how much is sent unless told.
void add_pair(CLI::App& probe, Session& session, const char* name, const char* about, const char* bytes_about,
              Bytes for_memory, Bytes for_message) {
  CLI::App* command = probe.add_subcommand(name, about);
  const auto options = std::make_shared<PairOptions>();
  command
      ->add_option("A", options->from,
                   "From this node: a path such as sip0.cube5.r1c4, host; a PE means its pe_dma")
      ->required();
  command
      ->add_option("B", options->to,
                   "To this node. A memory (hbm_ctrl.peN, sram, peN.pe_tcm) is read or written, "
                   "any other node is sent a message")
      ->required();
  declare_bytes(*command, options->bytes, bytes_about);
  declare_op(*command, *options);
  check_value(command->add_option("--offset", options->offset, "Where in the memory; left out: 0"),
              size_in_bytes())
      ->type_name("N");
  declare_common(*command, *options);
  command->callback([&session, options, for_memory, for_message, command] {
    options->for_memory = command->count("--op") + command->count("--offset") > 0;
    session.action = [&session, options, for_memory, for_message] {
      return run_pair(session, *options, for_memory, for_message);
    };
  });
}

struct MatrixOptions : Common {
  MatrixRequest request;
  std::string metric = "latency";
  std::int64_t bytes = -1;
  std::string output;
};

ordered_json matrix_json(const topology::Graph& graph, const Matrix& matrix) {
  const auto paths = [&](const std::vector<MatrixPart>& parts) {
    ordered_json all = ordered_json::array();
    for (const MatrixPart& part : parts) all.push_back(graph.path(part.node));
    return all;
  };
  ordered_json values = ordered_json::array();
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    ordered_json row = ordered_json::array();
    for (std::size_t c = 0; c < matrix.columns.size(); ++c)
      row.push_back(matrix.at(r, c) ? ordered_json(*matrix.at(r, c)) : ordered_json());
    values.push_back(std::move(row));
  }
  return {{"metric", matrix.request.bandwidth ? "effective_gbs" : "total_ns"},
          {"op", matrix.op()},
          {"bytes", matrix.request.bytes.count()},
          {"from", paths(matrix.rows)},
          {"to", paths(matrix.columns)},
          {"values", std::move(values)},
          {"remark", matrix.remark}};
}

std::string summary(const Matrix& matrix) {
  double least = 1e300, most = 0, sum = 0;
  std::size_t count = 0;
  for (const auto& value : matrix.values) {
    if (!value) continue;
    least = std::min(least, *value);
    most = std::max(most, *value);
    sum += *value;
    ++count;
  }
  const char* unit = matrix.request.bandwidth ? "GB/s" : "ns";
  return fmt::format("{} × {}: {:.3f} to {:.3f} {}, mean {:.3f}.{}{}\n", matrix.rows.size(),
                     matrix.columns.size(), least, most, unit, sum / static_cast<double>(count),
                     matrix.remark.empty() ? "" : " ", matrix.remark);
}

int run_matrix(const Session& session, MatrixOptions& options) {
  const bool to_stdout = options.output == "-";
  if (to_stdout && options.json == "-")
    throw InputError({"cli.usage", "", "-o - and --json both want standard output", "leave one out"});
  check_files_differ(std::vector<OutputFile>{{"--json", options.json}, {"-o", options.output}});
  Prober prober(options.machine.load(session.registry));
  options.request.op = options.direction();
  options.request.bandwidth = options.metric == "bandwidth";
  const Bytes usual = options.request.bandwidth ? 32_KiB : 64_B;
  options.request.bytes = options.bytes >= 0 ? Bytes(options.bytes) : usual;
  if (!options.output.empty() && !to_stdout) check_writable(options.output);
  check_is_memory(options, is_matrix_memory(options.request.to), options.request.to);
  const Matrix matrix = measure_matrix(prober, options.request);
  if (!options.output.empty()) {
    const std::string svg = draw_matrix(prober.machine(), prober.graph(), matrix);
    to_stdout ? write_stdout(svg) : write_file(options.output, svg);
  }
  const std::string where = options.output.empty() ? "" : options.output + ": ";
  if (!options.json.empty()) write_json(options.json, dump_json(matrix_json(prober.graph(), matrix)) + "\n");
  if (options.json != "-" && !to_stdout) write_stdout(where + summary(matrix));
  return 0;
}

void add_matrix(CLI::App& probe, Session& session) {
  CLI::App* command =
      probe.add_subcommand("matrix", "Distances between all parts of two kinds, as a heat map");
  const auto options = std::make_shared<MatrixOptions>();
  MatrixRequest& request = options->request;
  command->add_option("--from", request.from, "pe, hbm, tcm, sram, m_cpu, io_cpu or host")
      ->capture_default_str();
  command->add_option("--to", request.to, "Likewise; memories are read or written")->capture_default_str();
  check_value(command->add_option("--metric", options->metric, "What the cells show: latency, unless told"),
              one_of({"latency", "bandwidth"}))
      ->type_name("latency|bandwidth");
  declare_bytes(*command, options->bytes, "How much: 64 B for latency, 32 KiB for bandwidth, unless given");
  declare_op(*command, *options);
  command->add_option("--within", request.within, "Only parts of sip0, or of sip0.cube3")->type_name("PLACE");
  command->add_option("--by", request.by, "One part per pe, cube or sip; left out: as fine as can be read")
      ->type_name("pe|cube|sip");
  command->add_option("-o,--output", options->output, "The SVG file to write; - for standard output")
      ->type_name("FILE");
  declare_common(*command, *options);
  command->callback([&session, options, command] {
    options->for_memory = command->count("--op") > 0;
    session.action = [&session, options] { return run_matrix(session, *options); };
  });
}

}  // namespace

void add_probe_command(CLI::App& app, Session& session) {
  CLI::App* probe = app.add_subcommand(
      "probe", "Measure distances in a machine; bare: the standard catalogue, with checks");
  probe->require_subcommand(0, 1);
  const auto options = std::make_shared<Common>();
  declare_common(*probe, *options);
  probe->callback([&session, options, probe] {
    if (!probe->get_subcommands().empty()) return;
    session.action = [&session, options] { return run_catalogue_command(session, *options); };
  });
  add_pair(*probe, session, "latency", "How long a small access or an empty message takes from A to B",
           "How much: 64 for memories, 0 for messages, unless given", 64_B, 0_B);
  add_pair(*probe, session, "bandwidth", "How fast a large transfer from A to B is",
           "How much: 1 MiB unless given", 1_MiB, 1_MiB);
  add_matrix(*probe, session);
  for (CLI::App* command : probe->get_subcommands({})) command->group("Commands");
}

}  // namespace kernbench::cli
