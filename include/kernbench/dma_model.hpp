// The DMA engine of a PE (kind `pe_dma`), as a model: how a transfer is split into requests, and how much may be in flight.
//
//   class Windowed : public models::DmaModel {
//    public:
//     explicit Windowed(const ParamSet& params) : window_(params.bytes("window_bytes")) {}
//     bool may_request(const models::DmaLoad& open, Bytes next) const override {
//       return open.bytes == 0_B || open.bytes + next <= window_;
//     }
//     std::optional<Bytes> window() const override { return window_; }
//   };
//   registry.components.add_impl("pe_dma", {"acme.windowed_dma", "…", {…}, models::dma<Windowed>()});
//
// Contract. One model serves the channels of all engines, from several threads: every function is const and depends on its arguments
// and the parameters alone. A channel that has nothing in flight must be allowed to request. The requests of a split are the
// bytes of the transfer, each once, in order. Transfers start, and retire, in the order in which they were issued. The requests of a
// channel go out in order; data that a memory sends back for them comes in that order, too.
// kernbench/testing/model_contracts.hpp checks this for any model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernbench/param.hpp"
#include "kernbench/units.hpp"

namespace kernbench::models {

/// Bytes of one memory: `rows` rows of `row_bytes`, `stride` apart, from `offset` on.
struct DmaRows {
  std::int64_t offset = 0;
  std::int64_t row_bytes = 0;
  std::int64_t rows = 1;
  std::int64_t stride = 0;
  Bytes bytes() const { return Bytes(rows * row_bytes); }
  bool operator==(const DmaRows&) const = default;
};

/// What a channel has asked for and not received, or sent and not seen acknowledged.
struct DmaLoad {
  int transfers = 0;  // commands accepted and not retired
  int requests = 0;
  Bytes bytes;
};

class DmaModel {
 public:
  virtual ~DmaModel() = default;
  /// Whether it never splits and never holds a request back: then `split` and `may_request` are not asked.
  virtual bool whole() const { return false; }
  /// Appends the requests for a piece of a transfer; by default one.
  virtual void split(const DmaRows& piece, std::vector<DmaRows>& requests) const {
    requests.push_back(piece);
  }
  /// Whether a request of `next` bytes may go out beside what is open.
  virtual bool may_request(const DmaLoad& /*open*/, Bytes /*next*/) const { return true; }
  /// A channel never has more bytes than this in flight: for the lower bound of a launch and for `probe`. None: that is not
  /// known, and the engine has no part in the bound.
  virtual std::optional<Bytes> window() const { return std::nullopt; }
};

/// What ships: requests within a window of `window_bytes` per channel. With 0, every piece is one request, and all of them go
/// out at once; `pe_dma.outstanding` bounds the transfers either way.
class WindowDma final : public DmaModel {
 public:
  explicit WindowDma(const ParamSet& params) : WindowDma(params.bytes("window_bytes")) {}
  explicit WindowDma(Bytes window) : window_(window), request_(request_bytes(window)) {}

  bool whole() const override { return window_ == Bytes(); }
  void split(const DmaRows& piece, std::vector<DmaRows>& requests) const override;
  bool may_request(const DmaLoad& open, Bytes next) const override {
    return open.requests == 0 || open.bytes + next <= window_;
  }
  std::optional<Bytes> window() const override { return whole() ? std::nullopt : std::optional(window_); }

  /// A piece of at most a sixteenth of the window is one request. A larger one is cut into requests of this size, at its
  /// multiples: a 128th of the window in whole 256 bytes, but at least that.
  static Bytes request_bytes(Bytes window);

 private:
  const Bytes window_, request_;
};

using DmaFactory = std::function<std::unique_ptr<DmaModel>(const ParamSet&)>;

template <class Model>
DmaFactory dma() {
  return [](const ParamSet& params) { return std::make_unique<Model>(params); };
}

}  // namespace kernbench::models
