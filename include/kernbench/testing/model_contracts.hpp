// Contract suites for models of your own: what every matrix unit, vector unit, memory, link and DMA engine must keep. The models
// that ship pass the same ones.
//
//   EXPECT_THAT(models::broken_promises(models::memory<Fair>(), params), IsEmpty());   // or any other test framework
//
// Each gives a sentence for every promise that is broken, and nothing if all are kept. They try many cases, made from fixed seeds.
#pragma once

#include <string>
#include <vector>

#include "kernbench/compute_model.hpp"
#include "kernbench/dma_model.hpp"
#include "kernbench/link_model.hpp"
#include "kernbench/memory_model.hpp"

namespace kernbench::models {

using Complaints = std::vector<std::string>;

/// Tiles have extents; cycles are finite, not negative and the same each time; no product is done in less than `at_least`, in one piece
/// or tile by tile.
Complaints broken_promises(const MatrixModel& model);
/// Likewise.
Complaints broken_promises(const VectorModel& model);
/// Every burst is answered once, not in the past, the same each time; nothing is scheduled when nothing is asked; no access and no stream
/// is faster than the bound. `hbm` has the parameters of the impl, those of kind `hbm` among them.
Complaints broken_promises(const MemoryBehaviour& behaviour, const ParamSet& hbm);
/// It chooses one of those it is shown, lets none pass in less than its time, and does the same each time.
Complaints broken_promises(const LinkFactory& make, const ParamSet& params);
/// Requests are the bytes of the transfer, each once and in order; who has nothing in flight may request.
Complaints broken_promises(const DmaModel& model);

}  // namespace kernbench::models
