// The DMA engine of a PE (kind `pe_dma`), as a model: how a transfer is split into requests, and how much may be in flight.
//
//   class Windowed : public models::DmaModel {
//    public:
//     explicit Windowed(const ParamSet& params) : window_(params.bytes("window_bytes")) {}
//     bool may_request(const models::DmaLoad& open, Bytes next) const override {
//       return open.bytes == 0_B || open.bytes + next <= window_;
//     }
//   };
//   registry.components.add_impl("pe_dma", {"acme.windowed_dma", "…", {…}, models::dma<Windowed>()});
//
// Contract. One model serves the channels of all engines, from several threads: every function is const and depends on its arguments
// and the parameters alone. A channel that has nothing in flight must be allowed to request. The requests of a split are the
// bytes of the transfer, each once, in order. Transfers start, and retire, in the order in which they were issued.
// kernbench/testing/model_contracts.hpp checks this for any model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
};

/// Every piece one request, all of them at once; what ships. `pe_dma.outstanding` bounds the transfers.
class WholeDma final : public DmaModel {
 public:
  WholeDma() = default;
  explicit WholeDma(const ParamSet&) {}
  bool whole() const override { return true; }
};

using DmaFactory = std::function<std::unique_ptr<DmaModel>(const ParamSet&)>;

template <class Model>
DmaFactory dma() {
  return [](const ParamSet& params) { return std::make_unique<Model>(params); };
}

}  // namespace kernbench::models
