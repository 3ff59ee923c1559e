#pragma once

#include <kernbench/registry.hpp>

#include <algorithm>

namespace acme {

namespace models = kernbench::models;

class WindowedDma : public models::DmaModel {
 public:
  explicit WindowedDma(const kernbench::ParamSet& params)
      : request_(params.integer("request_bytes")), window_(params.bytes("window_bytes")) {}

  /// Rows stay whole; a long one is cut.
  void split(const models::DmaRows& piece, std::vector<models::DmaRows>& requests) const override {
    for (std::int64_t row = 0; row < piece.rows; ++row)
      for (std::int64_t at = 0; at < piece.row_bytes; at += request_)
        requests.push_back({.offset = piece.offset + row * piece.stride + at,
                            .row_bytes = std::min(request_, piece.row_bytes - at)});
  }
  bool may_request(const models::DmaLoad& open, kernbench::Bytes next) const override {
    return open.requests == 0 || open.bytes + next <= window_;
  }
  std::optional<kernbench::Bytes> window() const override {
    return std::max(window_, kernbench::Bytes(request_));
  }

 private:
  const std::int64_t request_;
  const kernbench::Bytes window_;
};

inline kernbench::topology::Impl windowed_dma() {
  using kernbench::Param;
  return {
      "acme.windowed_dma",
      "requests of bounded size within a window",
      {Param::integer("request_bytes", 1024, {16, 1 << 20}, "bytes of one request"),
       Param::integer("window_bytes", 16384, {16, 1 << 30}, "bytes asked for and not received, per channel")},
      models::dma<WindowedDma>()};
}

}  // namespace acme
