// Distances between all parts of two kinds, and their picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/probe.hpp"

namespace kernbench::cli {

struct MatrixRequest {
  std::string from = "pe", to = "hbm";  // kinds of parts: see `matrix_kinds`
  bool bandwidth = false;               // else latency
  device::Direction op = device::Direction::read;
  Bytes bytes;
  std::string within;  // `sip0` or `sip0.cube3`: only parts of it; empty: all
  std::string by;      // `pe`, `cube`, `sip`: one part per …; empty: as fine as readable
};

/// The names of the kinds of parts a matrix can have.
std::vector<std::string> matrix_kinds();
/// Whether parts of that kind are read and written rather than sent messages.
bool is_matrix_memory(const std::string& kind);

struct MatrixPart {
  topology::NodeId node;
  std::string group, label;  // `sip0.cube5` and `pe3`
};

struct Matrix {
  MatrixRequest request;
  std::vector<MatrixPart> rows, columns;
  std::vector<std::optional<double>> values;  // ns or GB/s, row by row; none from a node to itself
  std::string remark;                         // what was left out; may be empty

  const char* op() const;  // `read`, `write` or `message`
  std::optional<double> at(std::size_t row, std::size_t column) const {
    return values[row * columns.size() + column];
  }
};

Matrix measure_matrix(device::Prober& prober, const MatrixRequest& request);
/// A heat map as SVG.
std::string draw_matrix(const topology::Machine& machine, const topology::Graph& graph, const Matrix& matrix);

}  // namespace kernbench::cli
