#include "cli/probe_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::cli {
namespace {

using topology::Graph;
using topology::NodeId;
using topology::NodeKind;

enum class Level { system, sip, cube, pe };
constexpr std::array<const char*, 4> kLevelNames = {"system", "sip", "cube", "pe"};
constexpr std::size_t kReadable = 64, kMost = 512;  // rows or columns

struct Kind {
  const char* name;
  NodeKind node;
  Level level;  // there is one in each …
};
constexpr std::array kKinds = {
    Kind{"pe", NodeKind::pe_dma, Level::pe},     Kind{"hbm", NodeKind::hbm_ctrl, Level::pe},
    Kind{"tcm", NodeKind::pe_tcm, Level::pe},    Kind{"sram", NodeKind::sram, Level::cube},
    Kind{"m_cpu", NodeKind::m_cpu, Level::cube}, Kind{"io_cpu", NodeKind::io_cpu, Level::sip},
    Kind{"host", NodeKind::host, Level::system}};

const Kind& kind_of(const std::string& name) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return name == k.name; });
  if (found == kKinds.end())
    throw InputError(
        {"probe.matrix", name, "a matrix knows no such part", suggest(name, matrix_kinds(), "parts")});
  return *found;
}

NodeId node_of(const Graph& graph, const Kind& kind, PeCoord at) {
  switch (kind.node) {
    case NodeKind::host:
      return graph.host();
    case NodeKind::io_cpu:
      return graph.io(at.sip, kind.node);
    case NodeKind::m_cpu:
      return graph.m_cpu(at.in_cube());
    case NodeKind::sram:
      return graph.sram(at.in_cube());
    case NodeKind::hbm_ctrl:
      return graph.hbm_ctrl(at);
    case NodeKind::pe_dma:
    case NodeKind::pe_tcm:
      return graph.pe(at, kind.node);
    default:
      KB_ASSERT(false, "a matrix of {}", to_string(kind.node));
  }
}

MatrixPart part_at(const Graph& graph, const Kind& kind, PeCoord at, Level level) {
  const NodeId node = node_of(graph, kind, at);
  switch (level) {
    case Level::system:
      return {node, "", "host"};
    case Level::sip:
      return {node, "", fmt::format("sip{}", at.sip)};
    case Level::cube:
      return {node, fmt::format("sip{}", at.sip), fmt::format("cube{}", at.cube)};
    case Level::pe:
      break;
  }
  return {node, fmt::format("sip{}.cube{}", at.sip, at.cube), fmt::format("pe{}", at.pe)};
}

/// One part for each place of the level, in order: of finer kinds the first one there.
std::vector<MatrixPart> parts(const Graph& graph, const Kind& kind, Level level, const std::string& within) {
  const Level own = std::min(level, kind.level);
  const int sips = own >= Level::sip ? graph.sips() : 1;
  const int cubes = own >= Level::cube ? graph.cubes() : 1;
  const int pes = own >= Level::pe ? graph.pes() : 1;
  std::vector<MatrixPart> all;
  for (int sip = 0; sip < sips; ++sip)
    for (int cube = 0; cube < cubes; ++cube) {
      const std::string place = fmt::format("sip{}.cube{}.", sip, cube);
      if (own >= Level::sip && !within.empty() && !place.starts_with(within + ".")) continue;
      for (int pe = 0; pe < pes; ++pe) all.push_back(part_at(graph, kind, {sip, cube, pe}, own));
    }
  return all;
}

Level level_named(const std::string& name) {
  for (const Level level : {Level::pe, Level::cube, Level::sip})
    if (name == kLevelNames[static_cast<std::size_t>(level)]) return level;
  const std::vector<std::string> known = {"pe", "cube", "sip"};
  throw InputError({"probe.matrix", name, "no such step of a matrix", suggest(name, known, "steps")});
}

/// Rows and columns at the finest level that can be read, or at the one asked for.
Level choose_parts(const Graph& graph, const Kind& from, const Kind& to, Matrix& matrix) {
  const MatrixRequest& request = matrix.request;
  const bool asked = !request.by.empty();
  Level level = asked ? level_named(request.by) : Level::pe;
  while (true) {
    matrix.rows = parts(graph, from, level, request.within);
    matrix.columns = parts(graph, to, level, request.within);
    const std::size_t longest = std::max(matrix.rows.size(), matrix.columns.size());
    if (matrix.rows.empty() || matrix.columns.empty())
      throw InputError({"probe.matrix", request.within, "the machine has no such SIP or cube",
                        "give --within sip0 or sip0.cube0"});
    if (longest <= (asked ? kMost : kReadable)) return level;
    if (asked || level == Level::sip)
      throw InputError({"probe.matrix", "",
                        fmt::format("a matrix of {} rows or columns is too large", longest),
                        "restrict it with --within sip0, or take one part each with --by cube"});
    level = static_cast<Level>(static_cast<int>(level) - 1);
  }
}

std::string remark_for(Level level, const Kind& from, const Kind& to) {
  const auto finest = std::max(from.level, to.level);
  if (level >= finest) return {};
  return fmt::format("One {} per {}, the first, stands for all of it; --by {} shows every one.",
                     finest == Level::pe ? "PE" : "cube", kLevelNames[static_cast<std::size_t>(level)],
                     kLevelNames[static_cast<std::size_t>(finest)]);
}

}  // namespace

std::vector<std::string> matrix_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

bool is_matrix_memory(const std::string& kind) { return device::is_memory(kind_of(kind).node); }

const char* Matrix::op() const {
  if (!is_matrix_memory(request.to)) return "message";
  return request.op == device::Direction::read ? "read" : "write";
}

Matrix measure_matrix(device::Prober& prober, const MatrixRequest& request) {
  Matrix matrix{.request = request};
  const Kind& from = kind_of(request.from);
  const Kind& to = kind_of(request.to);
  const Level level = choose_parts(prober.graph(), from, to, matrix);
  matrix.remark = remark_for(level, from, to);
  for (const MatrixPart& row : matrix.rows)
    for (const MatrixPart& column : matrix.columns) {
      std::optional<double>& value = matrix.values.emplace_back();
      if (row.node == column.node) continue;
      const double ns = prober.time(prober.make_case(row.node, column.node, request.op, request.bytes)).ns();
      value = request.bandwidth ? static_cast<double>(request.bytes.count()) / ns : ns;
    }
  if (std::ranges::none_of(matrix.values, &std::optional<double>::has_value))
    throw InputError({"probe.matrix", "",
                      fmt::format("there is one {} here, and no way from it to itself", request.from),
                      "name parts of two kinds, or take more of the machine with --within"});
  return matrix;
}

}  // namespace kernbench::cli
