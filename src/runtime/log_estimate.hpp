// How much memory the records of a launch will take, before it runs.
#pragma once

#include <memory>
#include <span>

#include "device/pe_spec.hpp"
#include "kernbench/program.hpp"

namespace kernbench::runtime {

/// About as many records as a program will write: one for each command, and those of a composite's tiles.
std::int64_t records_of(const isa::Program& program, const device::PeSpec& spec);

/// InputError (`runtime.memory`) if there is no room in memory for the records of these programs.
void check_room_for_records(const std::string& launch,
                            std::span<const std::shared_ptr<const isa::Program>> programs,
                            const device::PeSpec& spec);

}  // namespace kernbench::runtime
