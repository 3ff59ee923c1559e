#include "device/op_record.hpp"

namespace kernbench::device {

std::string_view to_string(OpKind kind) {
  constexpr std::array<std::string_view, kOpKinds> kNames = {
      "dma_read",   "dma_write",   "load_scalar", "gemm",       "math",         "ipcq_send",
      "ipcq_recv",  "tile_dma_in", "tile_gemm",   "tile_math",  "tile_dma_out", "program",
      "host_write", "host_read",   "host_map",    "host_launch"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Resource resource) {
  constexpr std::array<std::string_view, kResources> kNames = {"none",  "fabric",  "memory",    "tcm_read",
                                                               "gemm",  "math",    "tcm_write", "cpu",
                                                               "queue", "control", "host_link", "window"};
  return kNames[static_cast<std::size_t>(resource)];
}

std::string_view to_string(Reason reason) {
  constexpr std::array<std::string_view, kReasons> kNames = {"operand", "engine", "queue", "credit",
                                                             "scratch", "issue",  "start"};
  return kNames[static_cast<std::size_t>(reason)];
}

bool is_dma(OpKind kind) {
  switch (kind) {
    case OpKind::dma_read:
    case OpKind::dma_write:
    case OpKind::load_scalar:
    case OpKind::tile_dma_in:
    case OpKind::tile_dma_out:
      return true;
    case OpKind::gemm:
    case OpKind::math:
    case OpKind::ipcq_send:
    case OpKind::ipcq_recv:
    case OpKind::tile_gemm:
    case OpKind::tile_math:
    case OpKind::program:
    case OpKind::host_write:
    case OpKind::host_read:
    case OpKind::host_map:
    case OpKind::host_launch:
      break;
  }
  return false;
}

std::array<Resource, 4> phase_resources(OpKind kind) {
  using enum Resource;
  switch (kind) {
    case OpKind::dma_read:
    case OpKind::load_scalar:
    case OpKind::tile_dma_in:
    case OpKind::host_read:
    case OpKind::dma_write:
    case OpKind::tile_dma_out:
    case OpKind::host_write:
      return {fabric, memory, fabric, none};  // request, bursts, data; data, bursts, acknowledgement
    case OpKind::gemm:
    case OpKind::tile_gemm:
      return {gemm, tcm_read, gemm, tcm_write};  // waiting for the unit, fetch, compute, store
    case OpKind::math:
    case OpKind::tile_math:
      return {math, tcm_read, math, tcm_write};
    case OpKind::ipcq_send:
      return {fabric, fabric, memory, none};  // until it has left, on the way, bursts
    case OpKind::ipcq_recv:
      return {queue, fabric, none, none};  // its overhead, the way out of the slot
    case OpKind::program:
    case OpKind::host_map:
    case OpKind::host_launch:
      return {control, none, none, none};
  }
  return {};
}

}  // namespace kernbench::device
