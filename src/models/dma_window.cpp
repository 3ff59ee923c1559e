#include <algorithm>

#include "kernbench/dma_model.hpp"

namespace kernbench::models {
namespace {

constexpr std::int64_t kLeast = 256;

/// Bytes of one row from `at` on, up to the next multiple of `size`.
std::int64_t to_next_multiple(std::int64_t at, std::int64_t size) { return size - at % size; }

}  // namespace

Bytes WindowDma::request_bytes(Bytes window) {
  const std::int64_t part = window.count() / 128 / kLeast * kLeast;
  return Bytes(std::clamp(part, std::min(kLeast, window.count()), window.count()));
}

/// Short rows go together, long ones are cut.
void WindowDma::split(const DmaRows& piece, std::vector<DmaRows>& requests) const {
  if (whole() || piece.bytes().count() <= std::max(window_.count() / 16, request_.count())) {
    requests.push_back(piece);
    return;
  }
  const std::int64_t size = request_.count();
  const std::int64_t together = std::max<std::int64_t>(1, size / piece.row_bytes);
  for (std::int64_t row = 0; row < piece.rows; row += together) {
    DmaRows part = piece;
    part.offset += row * piece.stride;
    part.rows = std::min(together, piece.rows - row);
    if (piece.rows > 1 && piece.row_bytes <= size) {
      requests.push_back(part);
      continue;
    }
    const std::int64_t end = part.offset + part.row_bytes;
    for (std::int64_t at = part.offset; at < end; at += requests.back().row_bytes)
      requests.push_back({.offset = at, .row_bytes = std::min(to_next_multiple(at, size), end - at)});
  }
}

}  // namespace kernbench::models
