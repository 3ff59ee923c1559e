// Which PEs a launch runs on.
#pragma once

#include <vector>

#include "runtime/engine.hpp"

namespace kernbench::runtime {

/// The grid that is given, or the PEs that hold a shard of some tensor. InputError (`runtime.launch`) if that is no
/// rectangle from 0 on, or tensors lie elsewhere than on the current device.
LaunchSpec plan_launch(Engine& engine, const LaunchOptions& options,
                       const std::vector<const TensorState*>& tensors);

}  // namespace kernbench::runtime
